//! A queue that delivers every copy twice and in any order, as SQS may: still one call per device (G5).

use crate::support::{TestApp, push_to, tokens};
use futures_util::future::join_all;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_copy_stored_twice_calls_every_device_once() {
    let app = TestApp::start().await;
    app.control(&json!({"copies": "twice"}));
    let bodies: Vec<_> =
        (0..30).map(|n| push_to(&format!("twice-{n}"), &tokens(&format!("twice-{n}"), 1 + n))).collect();
    let ids = join_all(bodies.iter().map(|body| app.queued(body))).await;
    for id in &ids {
        app.reaches(id, "sent").await;
    }
    app.control(&json!({"copies": "once"}));
    app.worn_copies_return().await;
    app.drained().await;
    for (n, id) in ids.iter().enumerate() {
        for token in tokens(&format!("twice-{n}"), 1 + n) {
            assert_eq!(app.calls(&token).len(), 1, "{token}");
        }
        let message = app.message(id).await;
        assert!(message["deliveries"].as_array().unwrap().iter().all(|device| device["attempts"] == 1), "{message}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_stored_twice_is_one_retry() {
    let app = TestApp::start().await;
    app.control(&json!({"copies": "twice"}));
    let devices = tokens("twice-again", 10);
    let refusal = sandbox::Outcome::Answer { status: 429, reason: None, retry_after: Some(1), timestamp: None };
    app.script_all(&devices, &refusal);
    let id = app.queued(&push_to("twice-again", &devices)).await;
    app.reaches(&id, "sent").await;
    app.control(&json!({"copies": "once"}));
    app.worn_copies_return().await;
    app.drained().await;
    for token in &devices {
        let statuses: Vec<_> = app.calls(token).iter().map(|call| call.status).collect();
        assert_eq!(statuses, [Some(429), Some(200)], "{token}");
    }
    app.stop().await;
}
