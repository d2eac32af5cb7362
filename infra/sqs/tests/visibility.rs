//! What a received message may and may not do while it is hidden, and what its handle is good for.

mod common;

use common::Server;
use local_sqs::QueueAttributes;
use serde_json::json;

fn short() -> QueueAttributes {
    QueueAttributes { visibility_timeout_s: Some(10), ..QueueAttributes::default() }
}

#[tokio::test]
async fn a_received_message_is_hidden_and_comes_back() {
    let (server, url) = Server::with_queue(&short());
    server.send(&url, "x").await;
    let first = server.receive(&url).await.remove(0);
    assert!(server.receive(&url).await.is_empty());
    assert_eq!(server.counts("q"), (0, 1, 0));

    server.advance(10);
    assert_eq!(server.counts("q"), (1, 0, 0));
    let second = server.receive(&url).await.remove(0);
    assert_eq!(second["Attributes"]["ApproximateReceiveCount"], "2");
    let first_time = &first["Attributes"]["ApproximateFirstReceiveTimestamp"];
    assert_eq!(&second["Attributes"]["ApproximateFirstReceiveTimestamp"], first_time);
    assert_ne!(first["ReceiptHandle"], second["ReceiptHandle"]);
}

#[tokio::test]
async fn a_replaced_handle_deletes_nothing_and_an_expired_one_still_does() {
    let (server, url) = Server::with_queue(&short());
    server.send(&url, "x").await;
    let first = server.receive(&url).await.remove(0);
    server.advance(10);
    let second = server.receive(&url).await.remove(0);
    server.delete(&url, &first).await;
    assert_eq!(server.counts("q"), (0, 1, 0));
    assert_eq!(server.hide(&url, &first, 0).await.error(), "InvalidParameterValueException");
    assert_eq!(server.counts("q"), (0, 1, 0));
    // Visible again but not yet received: the last handle is still good for a delete.
    server.advance(10);
    server.delete(&url, &second).await;
    assert_eq!(server.counts("q"), (0, 0, 0));
    assert!(server.receive(&url).await.is_empty());
}

#[tokio::test]
async fn hiding_can_be_shortened_and_extended() {
    let (server, url) = Server::with_queue(&short());
    server.send(&url, "x").await;
    let message = server.receive(&url).await.remove(0);
    assert_eq!(server.hide(&url, &message, 100).await.status, 200);
    server.advance(50);
    assert!(server.receive(&url).await.is_empty());
    assert_eq!(server.hide(&url, &message, 0).await.status, 200);
    assert_eq!(server.hide(&url, &message, 5).await.error(), "MessageNotInflight");
    assert_eq!(server.receive(&url).await.len(), 1);
}

#[tokio::test]
async fn hiding_has_limits() {
    let (server, url) = Server::with_queue(&short());
    server.send(&url, "x").await;
    let message = server.receive(&url).await.remove(0);
    for bad in [-1, 43_201] {
        assert_eq!(server.hide(&url, &message, bad).await.error(), "InvalidParameterValueException");
    }
    assert_eq!(server.hide(&url, &message, 43_190).await.status, 200);
    // Twelve hours count from the receive, not from the change.
    server.advance(20);
    assert_eq!(server.hide(&url, &message, 43_190).await.error(), "InvalidParameterValueException");
    server.delete(&url, &message).await;
    assert_eq!(server.hide(&url, &message, 5).await.error(), "InvalidParameterValueException");
    let missing = json!({"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]});
    assert_eq!(server.refused("ChangeMessageVisibility", missing).await, "MissingRequiredParameterException");
}

#[tokio::test]
async fn each_receive_may_choose_its_own_time_zero_included() {
    let (server, url) = Server::with_queue(&short());
    server.send(&url, "x").await;
    for count in ["1", "2", "3"] {
        let messages = server.receive_with(&url, json!({"VisibilityTimeout": 0})).await;
        // Once per receive, although it is visible again at the same instant.
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0]["Attributes"]["ApproximateReceiveCount"], count);
    }
    server.receive_with(&url, json!({"VisibilityTimeout": 3})).await;
    server.advance(3);
    assert_eq!(server.counts("q"), (1, 0, 0));
}

#[tokio::test]
async fn garbage_and_foreign_handles_are_refused() {
    let (server, url) = Server::with_queue(&short());
    let other = server.sqs.create_queue("other", &short()).unwrap();
    server.send(&other, "x").await;
    let foreign = server.receive(&other).await.remove(0);
    for handle in [json!("garbage"), json!(""), json!("é"), foreign["ReceiptHandle"].clone()] {
        let request = json!({"QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": 1});
        assert_eq!(server.refused("DeleteMessage", request.clone()).await, "ReceiptHandleIsInvalid", "{handle}");
        assert_eq!(server.refused("ChangeMessageVisibility", request).await, "ReceiptHandleIsInvalid", "{handle}");
    }
    assert_eq!(server.counts("other"), (0, 1, 0));
}

#[tokio::test]
async fn visibility_changes_in_a_batch_fare_each_for_itself() {
    let (server, url) = Server::with_queue(&short());
    server.send(&url, "a").await;
    let message = server.receive(&url).await.remove(0);
    let entries = json!([
        {"Id": "a", "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 0},
        {"Id": "again", "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 5},
        {"Id": "far", "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 43_201},
    ]);
    let answer = server.ok("ChangeMessageVisibilityBatch", json!({"QueueUrl": url, "Entries": entries})).await;
    assert_eq!(answer["Successful"], json!([{"Id": "a"}]));
    assert_eq!(answer["Failed"][0]["Code"], "AWS.SimpleQueueService.MessageNotInflight");
    assert_eq!(answer["Failed"][1]["Code"], "InvalidParameterValue");
    assert_eq!(server.counts("q"), (1, 0, 0));
}
