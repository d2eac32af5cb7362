//! A consumer that dies between any two of its steps (G4, G5): the message ends, at_least_once repeats only what may
//! have been lost with it, at_most_once never calls twice.

use crate::support::{TestApp, push};
use protocol::machine::deliver::EFFECTS;
use serde_json::{Value, json};

/// Past a lease and past the visibility timeout: whatever died with its consumer is seen again.
const SEEN_AGAIN: u64 = 49;

/// Sends to a device that follows `script`, with a consumer that dies after `effect`; time passes and all is drained.
/// The message, and its calls as (accepted, status).
async fn dies(effect: &str, delivery: &str, script: &Value) -> (Value, Vec<(bool, Option<u16>)>) {
    let app = TestApp::start().await;
    app.script("device-of-crash", script).await;
    app.crash("deliver", &format!("after_{effect}"));
    let mut body = push("crash", "device-of-crash");
    body["delivery"] = json!(delivery);
    let id = app.queued(&body).await;
    app.crashed().await;
    app.advance(SEEN_AGAIN);
    let ended = crate::support::eventually("the message ends", async || {
        let message = app.message(&id).await;
        (message["status"] != "queued" && message["status"] != "sending").then_some(message)
    })
    .await;
    app.advance(SEEN_AGAIN);
    app.drained().await;
    assert_eq!(app.message(&id).await, ended, "what has ended stays as it is");
    app.duplicate(&body, &id).await;
    let calls = app.calls("device-of-crash");
    assert!(calls.iter().all(|call| call.collapse_id.as_deref() == Some(id.as_str())));
    let calls = calls.iter().map(|call| (call.accepted, call.status)).collect();
    app.stop().await;
    (ended, calls)
}

const TAKEN: (bool, Option<u16>) = (true, Some(200));
const LATER: (bool, Option<u16>) = (false, Some(429));

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_claim_is_delivered_once_the_lease_is_over() {
    let (message, calls) = dies("claim", "at_least_once", &json!([])).await;
    assert_eq!((&message["status"], calls), (&json!("sent"), vec![TAKEN]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_claim_is_unknown_at_most_once() {
    let (message, calls) = dies("claim", "at_most_once", &json!([])).await;
    assert_eq!((&message["status"], calls), (&json!("unknown"), vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_call_is_called_at_most_twice() {
    let (message, calls) = dies("call", "at_least_once", &json!([])).await;
    assert_eq!((&message["status"], calls), (&json!("sent"), vec![TAKEN, TAKEN]));
    assert_eq!(message["deliveries"][0]["attempts"], 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_call_is_called_once_at_most_once() {
    let (message, calls) = dies("call", "at_most_once", &json!([])).await;
    assert_eq!((&message["status"], calls), (&json!("unknown"), vec![TAKEN]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_record_is_called_once() {
    for delivery in ["at_least_once", "at_most_once"] {
        let (message, calls) = dies("record", delivery, &json!([])).await;
        assert_eq!((&message["status"], calls), (&json!("sent"), vec![TAKEN]), "{delivery}");
        assert_eq!(message["deliveries"][0]["attempts"], 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_successor_leaves_two_copies_and_one_retry() {
    let refused_once = json!([{"status": 429, "retry_after": 1}]);
    for delivery in ["at_least_once", "at_most_once"] {
        let (message, calls) = dies("successor", delivery, &refused_once).await;
        assert_eq!((&message["status"], calls), (&json!("sent"), vec![LATER, TAKEN]), "{delivery}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_before_the_successor_is_made_up_for_by_the_copy_itself() {
    let refused_once = json!([{"status": 429, "retry_after": 1}]);
    for delivery in ["at_least_once", "at_most_once"] {
        let (message, calls) = dies("record", delivery, &refused_once).await;
        assert_eq!((&message["status"], calls), (&json!("sent"), vec![LATER, TAKEN]), "{delivery}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_before_the_claim_costs_nothing() {
    for delivery in ["at_least_once", "at_most_once"] {
        let (message, calls) = dies("prepare", delivery, &json!([])).await;
        assert_eq!((&message["status"], calls), (&json!("sent"), vec![TAKEN]), "{delivery}");
        assert_eq!(message["deliveries"][0]["attempts"], 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_read_of_a_retry_costs_nothing() {
    // The first receive does not read; its successor does.
    let refused_once = json!([{"status": 429, "retry_after": 1}]);
    for delivery in ["at_least_once", "at_most_once"] {
        let (message, calls) = dies("read", delivery, &refused_once).await;
        assert_eq!((&message["status"], calls), (&json!("sent"), vec![LATER, TAKEN]), "{delivery}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_consumer_dying_three_times_still_ends_truthfully() {
    let app = TestApp::start().await;
    for _ in 0..3 {
        app.crash("deliver", "after_call");
    }
    let id = app.queued(&push("three", "device-of-three")).await;
    for calls in 1..=3 {
        app.called("device-of-three", calls).await;
        crate::support::eventually("it crashes", async || {
            (app.system.control().armed().len() == 3 - calls).then_some(())
        })
        .await;
        app.advance(SEEN_AGAIN);
    }
    // Three answers were lost: a fourth call would be one too many, and nobody knows of the first three.
    app.reaches(&id, "unknown").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-three").len(), 3);
    app.stop().await;
}

#[test]
fn every_crash_point_of_a_consumer_is_covered() {
    // "settle" is in `deadlines`, "release" in `consumers`: the copy stays either way.
    assert_eq!(EFFECTS, ["prepare", "read", "claim", "settle", "record", "call", "successor", "release"]);
}
