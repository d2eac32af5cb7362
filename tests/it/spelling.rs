//! The same request in other words is the same request (G1), and what differs in meaning is not (G2).

use crate::support::{TestApp, push};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_requests_spelled_differently_are_duplicates() {
    let app = TestApp::start().await;
    let first = r#"{"idempotency_key":"spelling","to":[{"platform":"android","token":"device-of-spelling"}],
        "notification":{"title":"Héllo","body":"World"},"ttl_seconds":60}"#;
    let id = app.post("acme", &[], first).await.expect(202).id();
    let spellings = [
        // Member order and white space.
        "{\n\t\"ttl_seconds\": 60, \"notification\": {\"body\": \"World\", \"title\": \"Héllo\"},\r\n \"to\": [ {\"token\": \"device-of-spelling\", \"platform\": \"android\"} ] , \"idempotency_key\": \"spelling\"}",
        // Escapes, in values and in names.
        r#"{"idempotency_key":"spell\u0069ng","to":[{"platform":"android","token":"device-of-spelling"}],
            "notification":{"t\u0069tle":"H\u00e9llo","body":"W\u006frld"},"ttl_seconds":60}"#,
        // One kind of number.
        r#"{"idempotency_key":"spelling","to":[{"platform":"android","token":"device-of-spelling"}],
            "notification":{"title":"Héllo","body":"World"},"ttl_seconds":60.0}"#,
        r#"{"idempotency_key":"spelling","to":[{"platform":"android","token":"device-of-spelling"}],
            "notification":{"title":"Héllo","body":"World"},"ttl_seconds":6e1}"#,
        // Defaults written out, and null for what is absent.
        r#"{"idempotency_key":"spelling","to":[{"platform":"android","token":"device-of-spelling"}],
            "notification":{"title":"Héllo","body":"World","image":null},"ttl_seconds":60,
            "priority":"high","delivery":"at_least_once","data":{},"collapse_key":null,"app":null}"#,
        // The project's first app, named.
        r#"{"idempotency_key":"spelling","to":[{"platform":"android","token":"device-of-spelling"}],
            "notification":{"title":"Héllo","body":"World"},"ttl_seconds":60,"app":"com.example.acme"}"#,
        r#"{"idempotency_key":"spelling","to":[{"platform":"android","token":"device-of-spelling"}],
            "notification":{"title":"Héllo","body":"World"},"ttl_seconds":60,"data":null,"priority":null}"#,
        // The same device twice is one device.
        r#"{"idempotency_key":"spelling","to":[{"platform":"android","token":"device-of-spelling"},
            {"token":"device-of-spelling","platform":"android"}],
            "notification":{"title":"Héllo","body":"World"},"ttl_seconds":60}"#,
    ];
    for spelling in spellings {
        let answer = app.post("acme", &[], spelling).await.expect(202);
        assert_eq!(answer.body, json!({"status": "duplicate_ignored", "id": id}), "{spelling}");
    }
    // Precomposed and combining accents are different texts: nothing is normalised.
    let combining = first.replace('é', "e\u{301}");
    app.post("acme", &[], combining).await.problem(422, "idempotency_key_reused");
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-spelling").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_absent_ttl_is_the_default_written_out() {
    let app = TestApp::start().await;
    let mut body = push("default-ttl", "device-of-default-ttl");
    let id = app.queued(&body).await;
    body["ttl_seconds"] = json!(86_400);
    app.duplicate(&body, &id).await;
    body["ttl_seconds"] = json!(86_399);
    app.send(&body, 422).await.problem(422, "idempotency_key_reused");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_order_of_devices_is_part_of_the_request_and_a_device_twice_is_called_once() {
    let app = TestApp::start().await;
    let a = json!({"platform": "android", "token": "device-of-order-a"});
    let b = json!({"platform": "web", "token": "device-of-order-b"});
    let mut body = push("order", "x");
    body["to"] = json!([a, b, a, b, a]);
    let id = app.queued(&body).await;
    body["to"] = json!([a, b]);
    app.duplicate(&body, &id).await;
    body["to"] = json!([b, a]);
    app.send(&body, 422).await.problem(422, "idempotency_key_reused");
    let message = app.reaches(&id, "sent").await;
    assert_eq!(message["deliveries"].as_array().unwrap().len(), 2);
    app.drained().await;
    assert_eq!((app.calls("device-of-order-a").len(), app.calls("device-of-order-b").len()), (1, 1));
    app.stop().await;
}
