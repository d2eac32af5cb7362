//! What comes too late is not sent, and said truthfully: expired if no call may have been accepted, else unknown
//! (G4, G6). The clock alone decides what a reader is told, so a lost copy leaves nothing "sending" for ever.

use crate::support::{DELIVERIES, TestApp, eventually, push};
use serde_json::{Value, json};

/// A push worth ten seconds, which is the shortest of the short durations.
fn brief(key: &str, token: &str) -> Value {
    let mut body = push(key, token);
    body["ttl_seconds"] = json!(10);
    body
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_not_delivered_in_time_expires_without_a_call() {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause"}));
    let body = brief("late", "device-of-late");
    let id = app.queued(&body).await;
    let waiting = app.message(&id).await;
    assert_eq!(waiting["status"], "queued");
    app.advance(11);
    // Past the deadline but within a lease of it, somebody may still be at it.
    assert_eq!(app.message(&id).await["status"], "queued");
    app.advance(11);
    let by_clock = app.message(&id).await;
    assert_eq!((&by_clock["status"], &by_clock["counts"]["expired"]), (&json!("expired"), &json!(1)));
    assert_eq!(by_clock["deliveries"][0]["updated_at"], json!(null), "nothing was stored yet");

    app.control(&json!({"deliver": "resume"}));
    let settled = eventually("it is settled", async || {
        let message = app.message(&id).await;
        (!message["deliveries"][0]["updated_at"].is_null()).then_some(message)
    })
    .await;
    assert_eq!((&settled["status"], &settled["deliveries"][0]["attempts"]), (&json!("expired"), &json!(0)));
    app.drained().await;
    assert!(app.calls("device-of-late").is_empty());
    // The key is as valid as before: an expired message is not sent again by its retry.
    app.duplicate(&body, &id).await;
    app.drained().await;
    assert!(app.calls("device-of-late").is_empty());
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_while_settling_settles_again() {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause"}));
    let id = app.queued(&brief("settle-crash", "device-of-settle-crash")).await;
    app.advance(22);
    app.crash("deliver", "after_settle");
    app.control(&json!({"deliver": "resume"}));
    app.crashed().await;
    app.advance(49);
    app.drained().await;
    assert_eq!(app.message(&id).await["status"], "expired");
    assert!(app.calls("device-of-settle-crash").is_empty());
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purged_queue_leaves_no_message_sending() {
    let app = TestApp::start().await;
    app.crash("deliver", "after_claim");
    let claimed = app.queued(&brief("purged-claimed", "device-of-purged")).await;
    app.crashed().await;
    app.control(&json!({"deliver": "pause", "relay": "pause", "dead_letter": "pause"}));
    let untouched = app.queued(&brief("purged-untouched", "device-of-purged")).await;
    let url = app.queues.url(DELIVERIES).await;
    app.queues.client.purge_queue().queue_url(url).send().await.unwrap();
    assert_eq!(app.message(&claimed).await["status"], "sending");
    assert_eq!(app.message(&untouched).await["status"], "queued");
    app.advance(21);
    // Who claimed it may have called; the other one nobody ever touched.
    assert_eq!(app.message(&claimed).await["status"], "unknown");
    assert_eq!(app.message(&untouched).await["status"], "expired");
    assert!(app.calls("device-of-purged").is_empty());
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_only_ever_refused_for_now_expires() {
    let app = TestApp::start().await;
    app.script("device-of-refused", &json!([{"status": 429, "retry_after": 3_600}])).await;
    let id = app.queued(&brief("refused", "device-of-refused")).await;
    app.called("device-of-refused", 1).await;
    app.only_a_successor_waits().await;
    // The wait that the provider asked for ends at the deadline, so that the end is told in time.
    app.advance(11);
    let message = app.reaches(&id, "expired").await;
    assert_eq!(message["deliveries"][0]["attempts"], 1);
    assert_eq!(message["deliveries"][0]["last_error"]["code"], "RESOURCE_EXHAUSTED");
    app.drained().await;
    assert_eq!(app.calls("device-of-refused").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_have_been_accepted_is_unknown_after_its_deadline() {
    let app = TestApp::start().await;
    app.script("device-of-doubt", &json!([{"status": 503, "retry_after": 3_600}])).await;
    let id = app.queued(&brief("doubt", "device-of-doubt")).await;
    app.called("device-of-doubt", 1).await;
    app.only_a_successor_waits().await;
    app.advance(11);
    app.reaches(&id, "unknown").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-doubt").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ttl_of_nothing_is_tried_now_and_the_provider_is_told_now_or_never() {
    let app = TestApp::start().await;
    let mut body = push("now-or-never", "device-of-now");
    body["ttl_seconds"] = json!(0);
    let id = app.queued(&body).await;
    app.reaches(&id, "sent").await;
    app.drained().await;
    let calls = app.calls("device-of-now");
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].payload["message"]["android"]["ttl"], "0s");
    app.stop().await;
}
