//! Messages in the queue that nobody can read: they harm no neighbour, and none of them is lost (G4).

use crate::support::{DEAD, DELIVERIES, PARKING, TestApp, eventually, push};
use serde_json::{Value, json};

/// Lets SQS give up on what the consumers keep refusing, without waiting for ten visibility timeouts. The dead-letter
/// function must be paused.
async fn give_up(app: &TestApp, copies: usize) {
    app.control(&json!({"deliver": "pause"}));
    app.advance(49);
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
    eventually("it is parked", async || (app.queues.held(PARKING) == texts.len()).then_some(())).await;
    app.queues_empty().await;
    let mut parked: Vec<String> = Vec::new();
    while parked.len() < texts.len() {
        for message in app.queues.take(PARKING, 600).await {
            let note: Value = serde_json::from_str(message.body().unwrap()).unwrap();
            assert!(note["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{note}");
            parked.push(note["what"]["body"].as_str().unwrap_or_else(|| panic!("{note}")).to_owned());
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
    eventually("the garbage is parked", async || (app.queues.held(PARKING) == 1).then_some(())).await;
    eventually("only the other is left", async || (app.queues.held(DEAD) == 1).then_some(())).await;
    for _ in 0..3 {
        app.advance(49);
        eventually("it was looked at again", async || (app.queues.counts(DEAD).in_flight == 1).then_some(())).await;
    }
    assert_eq!((app.queues.held(DEAD), app.queues.held(PARKING)), (1, 1));
    assert_eq!(app.queues.held(DELIVERIES), 0);
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
    eventually("all ten wait", async || (app.queues.counts(DELIVERIES).visible == 10).then_some(())).await;
    app.control(&json!({"deliver": "resume"}));
    for id in &ids {
        app.reaches(id, "sent").await;
    }
    // Only the poison is kept; the neighbours were acknowledged, not repeated with it.
    eventually("only the poison is left", async || (app.queues.held(DELIVERIES) == 1).then_some(())).await;
    give_up(&app, 1).await;
    app.control(&json!({"dead_letter": "resume"}));
    eventually("the poison is parked", async || (app.queues.held(PARKING) == 1).then_some(())).await;
    app.drained().await;
    for number in 0..9 {
        assert_eq!(app.calls(&format!("device-of-neighbour-{number}")).len(), 1);
    }
    app.stop().await;
}
