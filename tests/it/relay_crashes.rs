//! A relay that dies anywhere is repeated from the stream: nothing is lost, nothing is called twice (G4, G5).

use crate::support::{TestApp, push, push_to, tokens};
use protocol::machine::relay::EFFECTS;
use serde_json::json;

/// Messages that only the relay delivers, and a relay that crashes after `effect`.
async fn relay_crashes_after(effect: &str) {
    let app = TestApp::start().await;
    // Accepted while the relay rests, so that all of them are in its hands when it crashes.
    app.control(&json!({"relay": "pause", "inline_send": "fail"}));
    let one = app.queued(&push("relay-one", "device-of-relay-one")).await;
    let devices = tokens("relay-many", 250);
    let many = app.queued(&push_to("relay-many", &devices)).await;
    app.crash("relay", &format!("after_{effect}"));
    app.advance(3);
    app.control(&json!({"relay": "resume"}));
    app.crashed().await;
    app.reaches(&one, "sent").await;
    let message = app.reaches(&many, "sent").await;
    assert_eq!(message["counts"]["sent"], 250);
    app.drained().await;
    assert_eq!(app.calls("device-of-relay-one").len(), 1);
    for token in &devices {
        assert_eq!(app.calls(token).len(), 1, "{token}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_dies_after_looking_delivers_once() {
    relay_crashes_after("look").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_dies_after_sending_delivers_once() {
    relay_crashes_after("send").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_dies_three_times_in_a_row_delivers_once() {
    let app = TestApp::start().await;
    app.control(&json!({"relay": "pause", "inline_send": "fail"}));
    let devices = tokens("stubborn", 5);
    let mut ids = Vec::new();
    for token in &devices {
        ids.push(app.queued(&push(token, token)).await);
    }
    for _ in 0..3 {
        app.crash("relay", "after_send");
    }
    app.control(&json!({"relay": "resume"}));
    app.crashed().await;
    for id in &ids {
        app.reaches(id, "sent").await;
    }
    app.drained().await;
    assert!(devices.iter().all(|token| app.calls(token).len() == 1));
    app.stop().await;
}

#[test]
fn every_crash_point_of_the_relay_is_covered() {
    // "park" needs a record that nobody can read; the relay's own tests have it.
    assert_eq!(EFFECTS, ["look", "send", "park"]);
}
