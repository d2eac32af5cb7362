//! Messages in the queue that nobody can read: they harm no neighbour, and none of them is lost (G4).

use crate::support::{DEAD, DELIVERIES, PARKING, TestApp, eventually, push};
use serde_json::json;

/// Lets SQS give up on what the consumers keep refusing, without waiting for ten visibility timeouts. The dead-letter
/// function must be paused.
async fn give_up(app: &TestApp, copies: usize) {
    app.control(&json!({"deliver": "pause"}));
    app.pass(49).await;
    app.queues.wear_out(copies).await;
    app.control(&json!({"deliver": "resume"}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_is_parked_with_its_reason() {
    let app = TestApp::start().await;
    app.control(&json!({"dead_letter": "pause"}));
    let texts = ["not json", "{}", r#"{"type":7}"#, r#"{"type":"hello world"}"#, r#"{"type":"deliver_v1"}"#];
    for text in texts {
        app.queues.send(DELIVERIES, text).await;
    }
    give_up(&app, texts.len()).await;
    app.control(&json!({"dead_letter": "resume"}));
    eventually("it is parked", async || (app.queues.left(PARKING).await == texts.len()).then_some(())).await;
    app.queues_empty().await;
    let mut parked: Vec<String> = Vec::new();
    while parked.len() < texts.len() {
        for message in app.queues.take(PARKING, 600).await {
            let reason = message.message_attributes().and_then(|all| all.get("reason")?.string_value());
            assert!(reason.is_some_and(|reason| reason.contains("no envelope")), "{message:?}");
            parked.push(message.body().unwrap().to_owned());
        }
    }
    parked.sort_unstable();
    let mut expected = texts;
    expected.sort_unstable();
    assert_eq!(parked, expected);
    assert!(app.system.sandbox().ledger(None).is_empty());
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_of_the_future_is_left_for_code_that_knows_it() {
    let app = TestApp::start().await;
    app.control(&json!({"dead_letter": "pause"}));
    app.queues.send(DELIVERIES, r#"{"type":"deliver_v9","secret":"of the future"}"#).await;
    give_up(&app, 1).await;
    app.control(&json!({"dead_letter": "resume"}));
    // A letter of garbage behind it shows that the function was there and passed it.
    app.queues.send(DEAD, "garbage").await;
    eventually("the garbage is parked", async || (app.queues.left(PARKING).await == 1).then_some(())).await;
    eventually("only the other is left", async || (app.queues.left(DEAD).await == 1).then_some(())).await;
    for _ in 0..3 {
        app.advance(49);
        eventually("it was looked at again", async || (app.queues.counts(DEAD).await.in_flight == 1).then_some(()))
            .await;
    }
    assert_eq!((app.queues.left(DEAD).await, app.queues.left(PARKING).await), (1, 1));
    assert_eq!(app.queues.left(DELIVERIES).await, 0);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_in_a_batch_does_not_stop_its_neighbours() {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause", "dead_letter": "pause"}));
    let mut ids = Vec::new();
    for number in 0..9 {
        let name = format!("device-of-neighbour-{number}");
        ids.push(app.queued(&push(&name, &name)).await);
        if number == 4 {
            app.queues.send(DELIVERIES, "{\"type\":\"deliver_v1\",\"id\":\"poison\"}").await;
        }
    }
    eventually("all ten wait", async || (app.queues.counts(DELIVERIES).await.visible == 10).then_some(())).await;
    app.control(&json!({"deliver": "resume"}));
    for id in &ids {
        app.reaches(id, "sent").await;
    }
    // Only the poison is kept; the neighbours were acknowledged, not repeated with it.
    eventually("only the poison is left", async || (app.queues.left(DELIVERIES).await == 1).then_some(())).await;
    give_up(&app, 1).await;
    app.control(&json!({"dead_letter": "resume"}));
    eventually("the poison is parked", async || (app.queues.left(PARKING).await == 1).then_some(())).await;
    app.drained().await;
    for number in 0..9 {
        assert_eq!(app.calls(&format!("device-of-neighbour-{number}")).len(), 1);
    }
    app.stop().await;
}

/// The largest thing that SQS holds is parked as it is, and a copy whose numbers make no sense is dealt with like any.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_huge_or_absurd_is_dealt_with_too() {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause", "relay": "pause"}));
    app.queued(&push("absurd", "device-of-absurd")).await;
    let copy = eventually("the copy is there", async || app.queues.take(DELIVERIES, 0).await.pop()).await;
    let mut absurd: serde_json::Value = serde_json::from_str(copy.body().unwrap()).unwrap();
    for member in ["at", "valid_until", "expires_at", "deliver_by"] {
        absurd[member] = json!(u64::MAX);
    }
    app.control(&json!({"deliver": "resume", "relay": "resume"}));
    app.queues.send(DEAD, &"é".repeat(500_000)).await;
    app.queues.send(DEAD, &absurd.to_string()).await;
    app.queues.send(DELIVERIES, &absurd.to_string()).await;
    eventually("the huge one is parked", async || (app.queues.left(PARKING).await == 1).then_some(())).await;
    app.drained().await;
    assert_eq!(app.calls("device-of-absurd").len(), 1);
    app.stop().await;
}
