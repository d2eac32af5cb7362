//! Moving dead letters back.

mod common;

use common::Server;
use local_sqs::{QueueAttributes, Redrive};
use serde_json::{Value, json};

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
        (json!({"SourceArn": DEAD, "MaxNumberOfMessagesPerSecond": 5}), "UnsupportedOperation"),
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
