//! Copies that SQS gave up on: a receive is not an attempt, so they are sent after all, or settled truthfully (G4, G6).

use crate::support::{Consumer, DEAD, DELIVERIES, Gate, PARKING, TestApp, eventually, push, push_to, tokens};
use serde_json::{Value, json};

/// A message whose only copy became a dead letter without any call; all consumers rest.
async fn worn_out(body: &Value, copies: usize) -> (TestApp, String) {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause", "relay": "pause", "dead_letter": "pause"}));
    let id = app.queued(body).await;
    app.queues.wear_out(copies).await;
    (app, id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_that_was_never_called_for_is_re_driven_and_sent_once() {
    let devices = tokens("dead", 21);
    let (app, id) = worn_out(&push_to("dead", &devices), 2).await;
    assert_eq!(app.message(&id).await["status"], "queued");
    assert!(devices.iter().all(|token| app.calls(token).is_empty()));
    app.control(&json!({"dead_letter": "resume"}));
    eventually("the letters are copies again", async || {
        (app.queues.left(DEAD).await == 0 && app.queues.left(DELIVERIES).await == 2).then_some(())
    })
    .await;
    app.control(&json!({"deliver": "resume", "relay": "resume"}));
    app.reaches(&id, "sent").await;
    app.drained().await;
    for token in &devices {
        assert_eq!(app.calls(token).len(), 1, "{token}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_past_its_deadline_is_settled_as_expired() {
    let mut body = push("dead-late", "device-of-dead-late");
    body["ttl_seconds"] = json!(10);
    let (app, id) = worn_out(&body, 1).await;
    app.advance(11);
    app.control(&json!({"dead_letter": "resume"}));
    app.reaches(&id, "expired").await;
    app.queues_empty().await;
    app.control(&json!({"deliver": "resume", "relay": "resume"}));
    app.drained().await;
    assert!(app.calls("device-of-dead-late").is_empty());
    assert_eq!(app.message(&id).await["deliveries"][0]["attempts"], 0);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_of_a_message_that_was_sent_is_deleted() {
    let (app, id) = worn_out(&push("dead-sent", "device-of-dead-sent"), 1).await;
    // The relay's copy overtakes the dead one.
    app.advance(3);
    app.control(&json!({"deliver": "resume", "relay": "resume"}));
    app.reaches(&id, "sent").await;
    assert_eq!(app.queues.left(DEAD).await, 1);
    app.control(&json!({"dead_letter": "resume"}));
    app.drained().await;
    assert_eq!(app.calls("device-of-dead-sent").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_under_a_live_lease_is_left_alone() {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause", "relay": "pause"}));
    let id = app.queued(&push("dead-leased", "device-of-dead-leased")).await;
    let copies = eventually("the copy is there", async || {
        let copies = app.queues.take(DELIVERIES, 600).await;
        (!copies.is_empty()).then_some(copies)
    })
    .await;
    let gate = Gate::after("claim");
    let consumer = Consumer::with(&app, gate.clone()).await;
    let meanwhile = async {
        gate.holds().await;
        // Another copy of the chunk is given up while the consumer is at it; garbage behind it shows that the
        // function has been there.
        app.queues.send(DEAD, copies[0].body().unwrap()).await;
        eventually("the letter is looked at", async || (app.queues.counts(DEAD).await.in_flight == 1).then_some(()))
            .await;
        app.queues.send(DEAD, "garbage").await;
        eventually("the garbage is parked", async || (app.queues.left(PARKING).await == 1).then_some(())).await;
        assert_eq!(app.queues.left(DELIVERIES).await, 1, "the consumer's own, nothing re-driven");
        gate.open();
    };
    let (ended, ()) = tokio::join!(consumer.handle(&copies), meanwhile);
    assert_eq!(ended, [true]);
    assert_eq!(app.message(&id).await["status"], "sent");
    app.queues.give_back(&copies).await;
    app.advance(600);
    app.control(&json!({"deliver": "resume", "relay": "resume"}));
    app.drained().await;
    assert_eq!(app.calls("device-of-dead-leased").len(), 1);
    app.stop().await;
}

/// The dead-letter function dies after `effect`, and the letter is there again later.
async fn dies_after(effect: &str, ttl_seconds: u32, status: &str, calls: usize) {
    let mut body = push("dead-crash", "device-of-dead-crash");
    body["ttl_seconds"] = json!(ttl_seconds);
    let (app, id) = worn_out(&body, 1).await;
    app.advance(11);
    app.crash("dead_letter", &format!("after_{effect}"));
    app.control(&json!({"dead_letter": "resume"}));
    app.crashed().await;
    // First the time, then the consumers: nothing of theirs is cut off by it.
    app.advance(49);
    app.control(&json!({"deliver": "resume", "relay": "resume"}));
    app.reaches(&id, status).await;
    app.drained().await;
    assert_eq!(app.calls("device-of-dead-crash").len(), calls);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_re_drive_may_die_after_reading() {
    dies_after("read", 3_600, "sent", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_re_drive_may_die_before_deleting_its_letter() {
    dies_after("redrive", 3_600, "sent", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_settling_may_die_before_deleting_its_letter() {
    dies_after("settle", 10, "expired", 0).await;
}
