//! Delays, retention and long polls, on a clock that the test moves.

mod common;

use common::{Server, receive_request, waits};
use local_sqs::QueueAttributes;
use serde_json::json;

#[tokio::test]
async fn delays_of_the_queue_and_of_a_message() {
    let (server, url) = Server::with_queue(&QueueAttributes { delay_s: Some(60), ..Default::default() });
    server.send(&url, "queue's").await;
    server.ok("SendMessage", json!({"QueueUrl": url, "MessageBody": "own", "DelaySeconds": 900})).await;
    server.ok("SendMessage", json!({"QueueUrl": url, "MessageBody": "none", "DelaySeconds": 0})).await;
    assert_eq!(server.counts("q"), (1, 0, 2));
    server.advance(60);
    assert_eq!(server.counts("q"), (2, 0, 1));
    server.advance(840);
    assert_eq!(server.counts("q"), (3, 0, 0));
}

#[tokio::test]
async fn old_messages_leave_wherever_they_are() {
    let attributes = QueueAttributes { retention_s: Some(60), visibility_timeout_s: Some(600), ..Default::default() };
    let (server, url) = Server::with_queue(&attributes);
    for body in ["in flight", "visible"] {
        server.send(&url, body).await;
    }
    let message = server.receive_with(&url, json!({"MaxNumberOfMessages": 1})).await.remove(0);
    server.ok("SendMessage", json!({"QueueUrl": url, "MessageBody": "delayed", "DelaySeconds": 900})).await;
    server.advance(30);
    assert_eq!(server.counts("q"), (1, 1, 1));
    server.advance(30);
    assert_eq!(server.counts("q"), (0, 0, 0));
    server.delete(&url, &message).await;
    // A longer retention does not bring anything back; a shorter one takes effect at once.
    server.send(&url, "kept").await;
    let longer = json!({"QueueUrl": url, "Attributes": {"MessageRetentionPeriod": "120"}});
    server.ok("SetQueueAttributes", longer).await;
    server.advance(90);
    assert_eq!(server.counts("q"), (1, 0, 0));
    let shorter = json!({"QueueUrl": url, "Attributes": {"MessageRetentionPeriod": "60"}});
    server.ok("SetQueueAttributes", shorter).await;
    assert_eq!(server.counts("q"), (0, 0, 0));
}

#[tokio::test]
async fn a_long_poll_ends_when_the_clock_passes_its_time() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    let mut poll = Box::pin(server.receive_with(&url, json!({"WaitTimeSeconds": 20})));
    assert!(waits(&mut poll).await);
    server.advance(10);
    assert!(waits(&mut poll).await);
    server.advance(10);
    assert!(poll.await.is_empty());
}

#[tokio::test]
async fn the_queue_may_set_the_wait_and_a_receive_may_override_it() {
    let (server, url) = Server::with_queue(&QueueAttributes { receive_wait_s: Some(20), ..Default::default() });
    assert!(waits(&mut Box::pin(server.receive(&url))).await);
    assert!(server.receive_with(&url, json!({"WaitTimeSeconds": 0})).await.is_empty());
}

#[tokio::test]
async fn a_send_wakes_every_long_poll_that_gets_something() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    let wait = json!({"WaitTimeSeconds": 20, "MaxNumberOfMessages": 1});
    let mut first = Box::pin(server.receive_with(&url, wait.clone()));
    let mut second = Box::pin(server.receive_with(&url, wait));
    assert!(waits(&mut first).await && waits(&mut second).await);
    server.send(&url, "a").await;
    assert_eq!(first.await.len(), 1);
    assert!(waits(&mut second).await);
    server.send(&url, "b").await;
    assert_eq!(second.await[0]["Body"], "b");
}

#[tokio::test]
async fn the_end_of_hiding_and_of_a_delay_wake_a_long_poll() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    server.send(&url, "hidden").await;
    server.receive_with(&url, json!({"VisibilityTimeout": 5})).await;
    let mut poll = Box::pin(server.receive_with(&url, json!({"WaitTimeSeconds": 20})));
    assert!(waits(&mut poll).await);
    server.advance(5);
    let message = poll.await.remove(0);
    server.delete(&url, &message).await;

    // The delayed message comes while the poll waits already.
    let mut poll = Box::pin(server.receive_with(&url, json!({"WaitTimeSeconds": 20})));
    assert!(waits(&mut poll).await);
    server.ok("SendMessage", json!({"QueueUrl": url, "MessageBody": "delayed", "DelaySeconds": 5})).await;
    assert!(waits(&mut poll).await);
    server.advance(5);
    assert_eq!(poll.await[0]["Body"], "delayed");
}

#[tokio::test]
async fn an_earlier_end_than_the_known_one_wakes_a_long_poll() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    server.send(&url, "x").await;
    let message = server.receive_with(&url, json!({"VisibilityTimeout": 1_000})).await.remove(0);
    let mut poll = Box::pin(server.receive_with(&url, json!({"WaitTimeSeconds": 20})));
    assert!(waits(&mut poll).await);
    server.hide(&url, &message, 0).await;
    assert_eq!(poll.await.len(), 1);
}

#[tokio::test]
async fn a_deleted_queue_ends_its_long_polls() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    let request = receive_request(&url, json!({"WaitTimeSeconds": 20}));
    let mut poll = Box::pin(server.call("ReceiveMessage", request));
    assert!(waits(&mut poll).await);
    server.ok("DeleteQueue", json!({"QueueUrl": url})).await;
    assert_eq!(poll.await.error(), "QueueDoesNotExist");
}

#[tokio::test]
async fn a_poll_that_was_given_up_takes_nothing() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    let mut poll = Box::pin(server.receive_with(&url, json!({"WaitTimeSeconds": 20})));
    assert!(waits(&mut poll).await);
    drop(poll);
    server.send(&url, "x").await;
    assert_eq!(server.counts("q"), (1, 0, 0));
}
