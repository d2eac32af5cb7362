//! An API that dies after its write has accepted the message: the retry is told so, and the relay delivers (G1, G4).

use crate::support::{DELIVERIES, TestApp, push, push_to, tokens};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_write_loses_nothing_and_the_retry_is_harmless() {
    let app = TestApp::start().await;
    app.crash("api", "after_put");
    let body = push("crashed", "device-of-crashed");
    let lost = app.send(&body, 502).await;
    assert_eq!(lost.body, json!({"message": "Internal Server Error"}), "as API Gateway words it");
    let retry = app.send(&body, 202).await;
    assert_eq!(retry.body["status"], "duplicate_ignored");
    assert_eq!(retry.header("idempotent-replayed"), "true");
    let id = retry.id();
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-crashed").len(), 1);
    app.duplicate(&body, &id).await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_write_is_delivered_even_if_nobody_retries() {
    let app = TestApp::start().await;
    app.crash("api", "after_put");
    let devices = tokens("abandoned", 45);
    app.send(&push_to("abandoned", &devices), 502).await;
    let id = app.get("/v1/messages?idempotency_key=abandoned", 200).await.id();
    app.advance(3);
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert!(devices.iter().all(|token| app.calls(token).len() == 1));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_queue_send_is_delivered_once() {
    let app = TestApp::start().await;
    app.crash("api", "after_send");
    let body = push("crashed-late", "device-of-crashed-late");
    app.send(&body, 502).await;
    let retry = app.send(&body, 202).await;
    assert_eq!(retry.body["status"], "duplicate_ignored");
    app.reaches(&retry.id(), "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-crashed-late").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_inline_send_is_no_failure_to_the_caller() {
    let app = TestApp::start().await;
    app.control(&json!({"inline_send": "fail"}));
    let body = push("no-inline", "device-of-no-inline");
    let id = app.queued(&body).await;
    app.duplicate(&body, &id).await;
    app.advance(3);
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-no-inline").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_the_relay_can_deliver_waits_for_the_relay() {
    let app = TestApp::start().await;
    app.control(&json!({"relay": "pause", "inline_send": "fail"}));
    let body = push("relay-only", "device-of-relay-only");
    let id = app.queued(&body).await;
    // Long past grace and window there is still no copy that could be delivered.
    app.advance(600);
    app.duplicate(&body, &id).await;
    assert_eq!(app.queues.left(DELIVERIES).await, 0);
    let waiting = app.message(&id).await;
    assert_eq!((&waiting["status"], &waiting["counts"]["pending"]), (&json!("queued"), &json!(1)));
    assert!(app.calls("device-of-relay-only").is_empty());
    app.control(&json!({"relay": "resume"}));
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-relay-only").len(), 1);
    app.stop().await;
}
