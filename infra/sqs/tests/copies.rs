//! The switch that delivers every message twice and out of order, and many consumers at once without it.

mod common;

use common::Server;
use local_sqs::QueueAttributes;
use serde_json::json;
use std::collections::HashMap;

#[tokio::test]
async fn two_copies_live_apart_under_one_id() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    assert_eq!(server.control(r#"{"copies":"twice"}"#).await, 204);
    let id = server.send(&url, "x").await;
    assert_eq!(server.counts("q"), (2, 0, 0));
    let one = json!({"MaxNumberOfMessages": 1});
    let first = server.receive_with(&url, one.clone()).await.remove(0);
    server.delete(&url, &first).await;
    let second = server.receive_with(&url, one).await.remove(0);
    assert_eq!((&first["MessageId"], &second["MessageId"]), (&json!(id), &json!(id)));
    assert_ne!(first["ReceiptHandle"], second["ReceiptHandle"]);
    assert_eq!(second["Attributes"]["ApproximateReceiveCount"], "1");

    assert_eq!(server.control(r#"{"copies":"once"}"#).await, 204);
    server.send(&url, "y").await;
    assert_eq!(server.counts("q"), (1, 1, 0));
}

#[tokio::test]
async fn the_order_is_any() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    server.sqs.deliver_twice(true);
    for i in 0..50 {
        server.send(&url, &i.to_string()).await;
    }
    let mut bodies = Vec::new();
    while bodies.len() < 100 {
        let got = server.receive(&url).await;
        assert!(!got.is_empty());
        bodies.extend(got.iter().map(|m| m["Body"].as_str().unwrap().parse::<u32>().unwrap()));
    }
    // That 100 copies come in order by chance is out of the question.
    assert!(!bodies.is_sorted());
    bodies.sort_unstable();
    assert!(bodies.iter().copied().eq((0..50).flat_map(|i| [i, i])));
}

#[tokio::test]
async fn what_is_no_control_is_refused() {
    let server = Server::new();
    for bad in ["", "{}", r#"{"copies":"thrice"}"#, r#"{"copies":"once","more":1}"#] {
        assert_eq!(server.control(bad).await, 400, "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_consumers_get_each_message_once() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    for batch in 0..100 {
        let entries: Vec<_> =
            (0..10).map(|i| json!({"Id": i.to_string(), "MessageBody": format!("{batch}-{i}")})).collect();
        server.ok("SendMessageBatch", json!({"QueueUrl": url, "Entries": entries})).await;
    }
    let server = std::sync::Arc::new(server);
    let consumers: Vec<_> = (0..8)
        .map(|_| {
            let (server, url) = (server.clone(), url.clone());
            tokio::spawn(async move {
                let mut got = Vec::new();
                loop {
                    let messages = server.receive(&url).await;
                    if messages.is_empty() {
                        return got;
                    }
                    for message in messages {
                        server.delete(&url, &message).await;
                        got.push(message["Body"].as_str().unwrap().to_owned());
                    }
                }
            })
        })
        .collect();
    let mut seen = HashMap::new();
    for consumer in consumers {
        for body in consumer.await.unwrap() {
            *seen.entry(body).or_insert(0) += 1;
        }
    }
    assert_eq!((seen.len(), seen.values().max()), (1_000, Some(&1)));
    assert_eq!(server.counts("q"), (0, 0, 0));
}
