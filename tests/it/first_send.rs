//! The main path: one message per key (G1), and another body under the key is refused (G2).

use crate::support::{TestApp, push};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_send_is_queued_and_delivered_once() {
    let app = TestApp::start().await;
    let answer = app.send(&push("order-1042-shipped", "pixel-of-ada-0001"), 202).await;
    let id = answer.id();
    assert_eq!(answer.body, json!({"status": "queued", "id": id}));
    assert_eq!(answer.header("location"), format!("/v1/messages/{id}"));
    assert_eq!(answer.header("content-type"), "application/json");
    assert!(!answer.headers.contains_key("idempotent-replayed"));
    let rest = id.strip_prefix("msg_").unwrap();
    assert_eq!(rest.len(), 40);
    assert!(rest.bytes().all(|b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b)), "{id}");

    let message = app.reaches(&id, "sent").await;
    app.drained().await;
    let calls = app.calls("pixel-of-ada-0001");
    assert_eq!(calls.len(), 1);
    let call = &calls[0];
    assert_eq!((call.provider, call.accepted, call.status), ("fcm", true, Some(200)));
    assert_eq!(call.collapse_id.as_deref(), Some(id.as_str()));
    assert_eq!(call.payload["message"]["notification"]["title"], "Shipped");
    assert_eq!(call.payload["message"]["data"]["message_id"], id.as_str());

    assert_eq!(message["id"], id.as_str());
    assert_eq!(message["idempotency_key"], "order-1042-shipped");
    assert_eq!(message["delivery"], "at_least_once");
    assert_eq!(message["held"], json!(null));
    assert!(message["request_hash"].as_str().unwrap().starts_with("v1:"));
    assert_eq!(
        message["counts"],
        json!({"pending": 0, "sending": 0, "sent": 1, "failed": 0, "unknown": 0, "expired": 0})
    );
    let device = &message["deliveries"][0];
    assert_eq!(device["token"], "…a-0001");
    assert_eq!((&device["status"], &device["attempts"]), (&json!("sent"), &json!(1)));
    assert_eq!(device["provider_id"].as_str(), call.id.as_deref());
    assert_eq!(device["last_error"], json!(null));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_retry_gets_the_first_id_and_causes_no_push() {
    let app = TestApp::start().await;
    let body = push("retry", "device-of-retry");
    let id = app.queued(&body).await;
    // At once, after delivery, and when all of it is long over.
    app.duplicate(&body, &id).await;
    app.reaches(&id, "sent").await;
    app.duplicate(&body, &id).await;
    app.advance(29 * 86_400);
    app.duplicate(&body, &id).await;
    app.drained().await;
    assert_eq!(app.calls("device-of-retry").len(), 1);
    assert_eq!(app.message(&id).await["status"], "sent");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_body_under_the_key_is_refused_and_changes_nothing() {
    let app = TestApp::start().await;
    let body = push("mismatch-of-bodies", "device-of-mismatch");
    let id = app.queued(&body).await;
    let variants = [
        ("/notification/title", json!("Delayed")),
        ("/notification/body", json!("Order 1042 is on its way. ")),
        ("/to/0/token", json!("another-device")),
        ("/to/0/platform", json!("web")),
        ("/ttl_seconds", json!(86_401)),
        ("/priority", json!("normal")),
        ("/delivery", json!("at_most_once")),
        ("/collapse_key", json!("order-1042")),
        ("/app", json!("com.example.acme.beta")),
        ("/data", json!({"order": "1042"})),
    ];
    for (pointer, value) in variants {
        let mut other = body.clone();
        match other.pointer_mut(pointer) {
            Some(member) => *member = value,
            None => other[&pointer[1..]] = value,
        }
        let answer = app.send(&other, 422).await;
        answer.problem(422, "idempotency_key_reused");
        assert!(!answer.text.contains(&id), "{pointer}: a mismatch tells nothing of the first message");
    }
    app.duplicate(&body, &id).await;
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-mismatch").len(), 1);
    assert!(app.calls("another-device").is_empty());
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_found_by_its_key_too() {
    let app = TestApp::start().await;
    let id = app.queued(&push("order 7 é", "device-of-find")).await;
    app.reaches(&id, "sent").await;
    let found = app.get("/v1/messages?idempotency_key=order%207%20%C3%A9&idempotency_key=ignored&x=1", 200).await;
    assert_eq!(found.body, app.message(&id).await);
    app.get("/v1/messages?idempotency_key=order", 404).await.problem(404, "not_found");
    app.get("/v1/messages", 400).await.problem(400, "validation_failed");
    app.get("/v1/messages?idempotency_key=", 400).await.problem(400, "idempotency_key_invalid");
    for id in ["msg_x", "1", &id.replace("msg_", "rf_"), &id.to_uppercase(), &format!("{id}a")] {
        app.get(&format!("/v1/messages/{id}"), 404).await.problem(404, "not_found");
    }
    app.stop().await;
}
