//! Moving dead letters back.

mod common;

use common::Server;
use local_sqs::{QueueAttributes, Redrive};
use serde_json::{Value, json};
use std::time::Instant;

const DEAD: &str = "arn:aws:sqs:us-east-1:000000000000:dead";
const OTHER: &str = "arn:aws:sqs:us-east-1:000000000000:other";

/// A queue `q` and its dead-letter queue `dead`, into which each body went; and their URLs.
async fn server(bodies: &[&str]) -> (Server, String, String) {
    let server = Server::new();
    let dead = server.make("dead", &QueueAttributes::default());
    server.make("other", &QueueAttributes::default());
    let redrive = Some(Redrive::to_queue("dead", 1));
    let attributes = QueueAttributes { visibility_timeout_s: Some(0), redrive, ..QueueAttributes::default() };
    let url = server.make("q", &attributes);
    for body in bodies {
        server.send(&url, body).await;
    }
    server.receive(&url).await;
    assert!(server.receive(&url).await.is_empty());
    assert_eq!(server.counts("dead").0, bodies.len());
    (server, url, dead)
}

async fn tasks(server: &Server) -> Value {
    server.ok("ListMessageMoveTasks", json!({"SourceArn": DEAD, "MaxResults": 10})).await["Results"].clone()
}

#[tokio::test]
async fn dead_letters_go_back_and_start_anew() {
    let (server, url, dead) = server(&["a", "b", "in flight"]).await;
    let handled = server.receive_with(&dead, json!({"MaxNumberOfMessages": 3})).await;
    for message in handled.iter().filter(|m| m["Body"] != "in flight") {
        server.hide(&dead, message, 0).await;
    }
    let old: Vec<_> = handled.iter().map(|m| m["MessageId"].clone()).collect();
    server.advance(5);
    server.ok("StartMessageMoveTask", json!({"SourceArn": DEAD})).await;
    assert_eq!((server.counts("dead"), server.counts("q")), ((0, 1, 0), (2, 0, 0)));
    for message in server.receive(&url).await {
        assert_eq!(message["Attributes"]["ApproximateReceiveCount"], "1");
        assert!(message["Attributes"].get("DeadLetterQueueSourceArn").is_none());
        assert!(!old.contains(&message["MessageId"]));
    }
    let task = tasks(&server).await[0].clone();
    assert_eq!((&task["Status"], &task["ApproximateNumberOfMessagesMoved"]), (&json!("COMPLETED"), &json!(2)));
}

#[tokio::test]
async fn a_destination_may_be_named() {
    let (server, _, _) = server(&["a"]).await;
    server.ok("StartMessageMoveTask", json!({"SourceArn": DEAD, "DestinationArn": OTHER})).await;
    assert_eq!((server.counts("dead"), server.counts("q"), server.counts("other")), ((0, 0, 0), (0, 0, 0), (1, 0, 0)));
}

#[tokio::test]
async fn a_rate_is_kept_by_the_servers_clock() {
    let (server, url, _) = server(&["a", "b", "c", "d", "e", "f", "g", "h"]).await;
    // The machine's own time runs on as well: how much of it at most, in whole seconds.
    let began = Instant::now();
    let slack = || usize::try_from(began.elapsed().as_secs()).unwrap() + 1;
    let started =
        server.ok("StartMessageMoveTask", json!({"SourceArn": DEAD, "MaxNumberOfMessagesPerSecond": 1})).await;
    let running = tasks(&server).await[0].clone();
    assert_eq!((&running["Status"], &running["MaxNumberOfMessagesPerSecond"]), (&json!("RUNNING"), &json!(1)));
    assert_eq!(running["TaskHandle"], started["TaskHandle"]);
    assert!(server.counts("q").0 < slack());
    let second = server.refused("StartMessageMoveTask", json!({"SourceArn": DEAD})).await;
    assert_eq!(second, "InvalidParameterValueException", "one move at a time");
    server.advance(4);
    let moved = server.counts("q").0;
    assert!(4 <= moved && moved < 4 + slack(), "{moved}");
    server.advance(4);
    assert_eq!((server.counts("q").0, server.counts("dead").0), (8, 0));
    let over = tasks(&server).await[0].clone();
    assert_eq!((&over["Status"], &over["ApproximateNumberOfMessagesMoved"]), (&json!("COMPLETED"), &json!(8)));
    assert!(over.get("TaskHandle").is_none());
    assert_eq!(server.receive(&url).await.len(), 8);
}

#[tokio::test]
async fn a_running_move_can_be_cancelled() {
    let (server, _, _) = server(&["a", "b", "c", "d", "e", "f", "g", "h"]).await;
    let request = json!({"SourceArn": DEAD, "MaxNumberOfMessagesPerSecond": 1});
    let handle = server.ok("StartMessageMoveTask", request.clone()).await["TaskHandle"].clone();
    server.advance(1);
    let cancelled = server.ok("CancelMessageMoveTask", json!({"TaskHandle": handle})).await;
    let moved = server.counts("q").0;
    assert_eq!(cancelled, json!({"ApproximateNumberOfMessagesMoved": moved}));
    assert!((1..8).contains(&moved), "{moved}");
    server.advance(60);
    assert_eq!((server.counts("dead").0, server.counts("q").0), (8 - moved, moved));
    assert_eq!(tasks(&server).await[0]["Status"], "CANCELLED");
    server.ok("StartMessageMoveTask", request).await;
}

#[tokio::test]
async fn a_long_poll_wakes_when_a_message_is_moved() {
    let (server, url, _) = server(&["a"]).await;
    server.ok("StartMessageMoveTask", json!({"SourceArn": DEAD, "MaxNumberOfMessagesPerSecond": 1})).await;
    let mut poll = Box::pin(server.receive_with(&url, json!({"WaitTimeSeconds": 20})));
    assert!(common::waits(&mut poll).await);
    server.advance(1);
    assert_eq!(poll.await[0]["Body"], "a");
}

/// Somebody who empties the dead-letter queue ends the move; one whose queue is gone fails.
#[tokio::test]
async fn a_running_move_ends_with_what_there_is_to_move() {
    let (server, _, dead) = server(&["a", "b", "c"]).await;
    let request = json!({"SourceArn": DEAD, "MaxNumberOfMessagesPerSecond": 1});
    server.ok("StartMessageMoveTask", request.clone()).await;
    assert!(!server.receive(&dead).await.is_empty());
    server.advance(1);
    assert_eq!(tasks(&server).await[0]["Status"], "COMPLETED");
    server.advance(60);
    server
        .ok(
            "StartMessageMoveTask",
            json!({"SourceArn": DEAD, "DestinationArn": OTHER, "MaxNumberOfMessagesPerSecond": 1}),
        )
        .await;
    server.ok("DeleteQueue", json!({"QueueUrl": "http://127.0.0.1:9324/000000000000/other"})).await;
    server.advance(1);
    let failed = tasks(&server).await[0].clone();
    assert_eq!(
        (&failed["Status"], &failed["FailureReason"]),
        (&json!("FAILED"), &json!("AWS.SimpleQueueService.NonExistentQueue"))
    );
}

#[tokio::test]
async fn what_has_no_way_back_stays() {
    let (server, url, dead) = server(&[]).await;
    server.send(&dead, "sent here").await;
    server.ok("StartMessageMoveTask", json!({"SourceArn": DEAD})).await;
    assert_eq!((server.counts("dead"), server.counts("q")), ((1, 0, 0), (0, 0, 0)));
    let failed = tasks(&server).await[0].clone();
    assert_eq!(
        (&failed["Status"], &failed["FailureReason"]),
        (&json!("FAILED"), &json!("CouldNotDetermineMessageSource"))
    );
    server.ok("DeleteQueue", json!({"QueueUrl": url})).await;
    let refused = server.refused("StartMessageMoveTask", json!({"SourceArn": DEAD})).await;
    assert_eq!(refused, "InvalidParameterValueException");
}

#[tokio::test]
async fn bad_moves_are_refused_and_only_ten_are_remembered() {
    let (server, _, _) = server(&[]).await;
    for (request, refused) in [
        (json!({}), "MissingRequiredParameterException"),
        (json!({"SourceArn": "x"}), "ResourceNotFoundException"),
        (json!({"SourceArn": OTHER}), "InvalidParameterValueException"),
        (json!({"SourceArn": DEAD, "DestinationArn": DEAD}), "InvalidParameterValueException"),
        (json!({"SourceArn": DEAD, "DestinationArn": "x"}), "ResourceNotFoundException"),
        (json!({"SourceArn": DEAD, "MaxNumberOfMessagesPerSecond": 0}), "InvalidParameterValueException"),
        (json!({"SourceArn": DEAD, "MaxNumberOfMessagesPerSecond": 501}), "InvalidParameterValueException"),
    ] {
        assert_eq!(server.refused("StartMessageMoveTask", request.clone()).await, refused, "{request}");
    }
    let mut handle = Value::Null;
    for _ in 0..12 {
        handle = server.ok("StartMessageMoveTask", json!({"SourceArn": DEAD})).await["TaskHandle"].clone();
    }
    assert_eq!(tasks(&server).await.as_array().unwrap().len(), 10);
    let over = server.refused("CancelMessageMoveTask", json!({"TaskHandle": handle})).await;
    assert_eq!(over, "InvalidParameterValueException");
    let unknown = server.refused("CancelMessageMoveTask", json!({"TaskHandle": "x"})).await;
    assert_eq!(unknown, "ResourceNotFoundException");
}
