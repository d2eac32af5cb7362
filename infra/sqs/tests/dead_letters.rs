//! Messages that were received too often.

mod common;

use common::{Server, waits};
use local_sqs::{QueueAttributes, Redrive, SqsError};
use serde_json::json;

const SOURCE_ARN: &str = "arn:aws:sqs:us-east-1:000000000000:q";

fn server(limit: u32) -> (Server, String, String) {
    let server = Server::new();
    let dead = server.make("dead", &QueueAttributes::default());
    let attributes = QueueAttributes {
        visibility_timeout_s: Some(0),
        redrive: Some(Redrive::to_queue("dead", limit)),
        ..QueueAttributes::default()
    };
    let url = server.make("q", &attributes);
    (server, url, dead)
}

#[tokio::test]
async fn the_receive_after_the_limit_moves_a_message_as_it_is() {
    let (server, url, dead) = server(2);
    let request = json!({
        "QueueUrl": url, "MessageBody": "poison",
        "MessageAttributes": {"k": {"DataType": "String", "StringValue": "v"}},
    });
    let sent = server.ok("SendMessage", request).await;
    let first = server.receive(&url).await.remove(0);
    server.advance(100);
    assert_eq!(server.receive(&url).await.len(), 1);
    // The limit is reached, but only a further receive moves it.
    assert_eq!((server.counts("q"), server.counts("dead")), ((1, 0, 0), (0, 0, 0)));
    assert!(server.receive(&url).await.is_empty());
    assert_eq!((server.counts("q"), server.counts("dead")), ((0, 0, 0), (1, 0, 0)));

    let moved = server.receive(&dead).await.remove(0);
    assert_eq!(moved["MessageId"], sent["MessageId"]);
    assert_eq!(moved["MessageAttributes"]["k"]["StringValue"], "v");
    assert_eq!(moved["Attributes"]["SentTimestamp"], first["Attributes"]["SentTimestamp"]);
    assert_eq!(moved["Attributes"]["DeadLetterQueueSourceArn"], SOURCE_ARN);
    assert_eq!(moved["Attributes"]["ApproximateReceiveCount"], "3");
    // The handle from before means nothing any more, and does no harm.
    server.delete(&url, &first).await;
    assert_eq!(server.counts("dead"), (0, 1, 0));
}

#[tokio::test]
async fn a_worn_message_makes_room_for_a_good_one_and_wakes_the_other_queues_poll() {
    let (server, url, dead) = server(1);
    server.send(&url, "worn").await;
    server.receive(&url).await;
    server.send(&url, "good").await;
    let mut poll = Box::pin(server.receive_with(&dead, json!({"WaitTimeSeconds": 20})));
    assert!(waits(&mut poll).await);
    let got = server.receive_with(&url, json!({"MaxNumberOfMessages": 1})).await;
    assert_eq!(got[0]["Body"], "good");
    assert_eq!(poll.await[0]["Body"], "worn");
}

#[tokio::test]
async fn retention_in_the_dead_letter_queue_counts_from_the_first_send() {
    let (server, url, dead) = server(1);
    let shorter = json!({"QueueUrl": dead, "Attributes": {"MessageRetentionPeriod": "60"}});
    server.ok("SetQueueAttributes", shorter).await;
    server.send(&url, "x").await;
    server.receive(&url).await;
    server.advance(30);
    server.receive(&url).await;
    assert_eq!(server.counts("dead"), (1, 0, 0));
    server.advance(30);
    assert_eq!(server.counts("dead"), (0, 0, 0));
}

#[tokio::test]
async fn without_its_dead_letter_queue_a_message_stays() {
    let (server, url, dead) = server(1);
    server.send(&url, "x").await;
    server.ok("DeleteQueue", json!({"QueueUrl": dead})).await;
    for _ in 0..3 {
        assert_eq!(server.receive(&url).await.len(), 1);
    }
}

#[tokio::test]
async fn policies_are_checked_shown_and_removed() {
    let (server, url, dead) = server(3);
    let sources = server.ok("ListDeadLetterSourceQueues", json!({"QueueUrl": dead})).await;
    assert_eq!(sources["queueUrls"], json!([url]));
    let show = json!({"QueueUrl": url, "AttributeNames": ["RedrivePolicy"]});
    let shown = server.ok("GetQueueAttributes", show.clone()).await["Attributes"]["RedrivePolicy"].clone();
    let want = json!({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 3});
    assert_eq!(serde_json::from_str::<serde_json::Value>(shown.as_str().unwrap()).unwrap(), want);

    let set = |policy: &str| {
        server.call("SetQueueAttributes", json!({"QueueUrl": url, "Attributes": {"RedrivePolicy": policy}}))
    };
    for bad in ["x", "{}", &want.to_string().replace("dead\"", "nowhere\""), &want.to_string().replace(":3", ":0")] {
        assert_eq!(set(bad).await.error(), "InvalidParameterValueException", "{bad}");
    }
    assert_eq!(set("").await.status, 200);
    assert_eq!(server.ok("GetQueueAttributes", show).await, json!({}));
    let sources = server.ok("ListDeadLetterSourceQueues", json!({"QueueUrl": dead})).await;
    assert_eq!(sources["queueUrls"], json!([]));
}

#[tokio::test]
async fn a_dead_letter_queue_may_refuse_sources() {
    let (server, _, dead) = server(3);
    let deny = json!({"QueueUrl": dead, "Attributes": {"RedriveAllowPolicy": r#"{"redrivePermission":"denyAll"}"#}});
    server.ok("SetQueueAttributes", deny).await;
    let attributes = QueueAttributes { redrive: Some(Redrive::to_queue("dead", 1)), ..QueueAttributes::default() };
    assert!(matches!(server.sqs.create_queue("late", &attributes), Err(SqsError::InvalidParameterValue(_))));
}
