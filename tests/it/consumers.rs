//! One copy in two consumers' hands at the same moment: one of them calls (G5), and the other does not let the copy go
//! before it is done (G4).

use crate::support::{Consumer, DELIVERIES, Gate, TestApp, eventually, push, push_to, tokens};
use aws_sdk_sqs::types::Message;
use serde_json::json;

/// A system whose own consumers rest, one message in it, and its copy, hidden for as long as a test needs it.
async fn one_copy(key: &str, device: &str, delivery: &str) -> (TestApp, String, Vec<Message>) {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause", "relay": "pause"}));
    let mut body = push(key, device);
    body["delivery"] = json!(delivery);
    let id = app.queued(&body).await;
    let copies = eventually("the copy is there", async || {
        let copies = app.queues.take(DELIVERIES, 600).await;
        (!copies.is_empty()).then_some(copies)
    })
    .await;
    (app, id, copies)
}

/// Gives the system its consumers back and ends the test once nothing is left to do.
async fn finish(app: TestApp, copies: &[Message]) {
    app.queues.give_back(copies).await;
    app.advance(600);
    app.control(&json!({"deliver": "resume", "relay": "resume"}));
    app.drained().await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_consumers_of_one_copy_make_one_call() {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause", "relay": "pause"}));
    let devices = tokens("pair", 10);
    let mut ids = Vec::new();
    for token in &devices {
        ids.push(app.queued(&push(token, token)).await);
    }
    let mut copies = Vec::new();
    eventually("all copies are there", async || {
        copies.extend(app.queues.take(DELIVERIES, 600).await);
        (copies.len() == devices.len()).then_some(())
    })
    .await;
    let (one, other) = (Consumer::new(&app).await, Consumer::new(&app).await);
    let (by_one, by_other) = tokio::join!(one.handle(&copies), other.handle(&copies));
    for (position, id) in ids.iter().enumerate() {
        assert!(by_one[position] || by_other[position], "the one who called is done");
        assert_eq!(app.calls(&devices[position]).len(), 1);
        let message = app.message(id).await;
        assert_eq!((&message["status"], &message["deliveries"][0]["attempts"]), (&json!("sent"), &json!(1)));
    }
    finish(app, &copies).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_finds_a_live_lease_keeps_the_copy() {
    let (app, id, copies) = one_copy("live-lease", "device-of-live-lease", "at_least_once").await;
    let gate = Gate::after("claim");
    let (first, second) = (Consumer::with(&app, gate.clone()).await, Consumer::new(&app).await);
    let run = first.handle(&copies);
    let watch = async {
        gate.holds().await;
        assert_eq!(second.handle(&copies).await, [false], "acknowledging it would lose the message with the first");
        assert!(app.calls("device-of-live-lease").is_empty());
        assert_eq!(app.message(&id).await["status"], "sending");
        gate.open();
    };
    let (ended, ()) = tokio::join!(run, watch);
    assert_eq!(ended, [true]);
    assert_eq!(second.handle(&copies).await, [true], "now it is done");
    assert_eq!(app.calls("device-of-live-lease").len(), 1);
    assert_eq!(app.message(&id).await["status"], "sent");
    finish(app, &copies).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_consumer_of_a_chunk_calls_nobody_of_it() {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause", "relay": "pause"}));
    let devices = tokens("whole-chunk", 20);
    let id = app.queued(&push_to("whole-chunk", &devices)).await;
    let copies = eventually("the copy is there", async || {
        let copies = app.queues.take(DELIVERIES, 600).await;
        (!copies.is_empty()).then_some(copies)
    })
    .await;
    // The first stands still after the answer for one device; those for the others may have come or not.
    let gate = Gate::after("call");
    let (first, second) = (Consumer::with(&app, gate.clone()).await, Consumer::new(&app).await);
    let watch = async {
        gate.holds().await;
        assert_eq!(second.handle(&copies).await, [false]);
        gate.open();
    };
    let (ended, ()) = tokio::join!(first.handle(&copies), watch);
    assert_eq!(ended, [true]);
    assert!(devices.iter().all(|token| app.calls(token).len() == 1));
    assert_eq!(app.message(&id).await["counts"]["sent"], 20);
    finish(app, &copies).await;
}

/// Another copy meets a live lease and is released; the invocation dies right after. The copy comes back all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_dies_after_releasing_a_copy_loses_nothing() {
    let (app, id, copies) = one_copy("released", "device-of-released", "at_least_once").await;
    let gate = Gate::after("claim");
    let holder = Consumer::with(&app, gate.clone()).await;
    let run = holder.handle(&copies);
    let watch = async {
        gate.holds().await;
        app.crash("deliver", "after_release");
        app.control(&json!({"deliver": "resume"}));
        app.queues.send(DELIVERIES, copies[0].body().unwrap()).await;
        app.crashed().await;
        assert_eq!(app.message(&id).await["status"], "sending");
        gate.open();
    };
    let (ended, ()) = tokio::join!(run, watch);
    assert_eq!(ended, [true]);
    app.reaches(&id, "sent").await;
    finish(app, &copies).await;
}
