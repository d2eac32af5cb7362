//! The idempotency key: in the body, in the header, in both, and what is no key (G1, G3).

use crate::support::{TestApp, push};
use serde_json::{Value, json};

/// A body without a key.
fn keyless(token: &str) -> Value {
    let mut body = push("", token);
    body.as_object_mut().unwrap().remove("idempotency_key");
    body
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_header_names_the_same_key_as_the_body() {
    let app = TestApp::start().await;
    let body = keyless("device-of-header").to_string();
    let first = app.post("acme", &[("idempotency-key", "order-7")], body).await.expect(202);
    assert_eq!(first.body["status"], "queued");
    let id = first.id();
    let repeats = [
        (Some(r#""order-7""#), None),
        (Some("  order-7 "), None),
        (None, Some("order-7")),
        (Some("order-7"), Some("order-7")),
        (Some(r#""order-7""#), Some("order-7")),
        (Some(""), Some("order-7")),
    ];
    for (header, member) in repeats {
        let headers: Vec<_> = header.into_iter().map(|key| ("idempotency-key", key)).collect();
        let mut body = keyless("device-of-header");
        if let Some(key) = member {
            body["idempotency_key"] = json!(key);
        }
        let answer = app.post("acme", &headers, body.to_string()).await.expect(202);
        assert_eq!(answer.body, json!({"status": "duplicate_ignored", "id": id}), "{header:?} {member:?}");
    }
    app.reaches(&id, "sent").await;
    assert_eq!(app.get("/v1/messages?idempotency_key=order-7", 200).await.id(), id);
    app.drained().await;
    assert_eq!(app.calls("device-of-header").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_different_keys_are_refused_and_neither_is_used_up() {
    let app = TestApp::start().await;
    let body = push("from-the-body", "device-of-conflict");
    let answer = app.post("acme", &[("idempotency-key", "from-the-header")], body.to_string()).await;
    answer.problem(400, "idempotency_key_conflict");
    assert_eq!(answer.pointers(), ["/idempotency_key"]);
    app.drained().await;
    assert!(app.calls("device-of-conflict").is_empty());
    for key in ["from-the-body", "from-the-header"] {
        app.get(&format!("/v1/messages?idempotency_key={key}"), 404).await;
        let id = app.queued(&push(key, "device-of-conflict")).await;
        app.reaches(&id, "sent").await;
    }
    app.drained().await;
    assert_eq!(app.calls("device-of-conflict").len(), 2);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_key_is_refused_by_its_own_code() {
    let app = TestApp::start().await;
    let missing = app.post("acme", &[], keyless("device-of-bad-key").to_string()).await;
    missing.problem(400, "idempotency_key_missing");
    assert_eq!(missing.pointers(), ["/idempotency_key"]);
    let members = [
        json!(""),
        json!(" \u{a0}\t"),
        json!("a\u{0}b"),
        json!("tab\tin"),
        json!("x".repeat(129)),
        json!("é".repeat(65)),
        json!(7),
        json!(["a"]),
    ];
    for member in members {
        let mut body = keyless("device-of-bad-key");
        body["idempotency_key"] = member.clone();
        let answer = app.post("acme", &[], body.to_string()).await;
        answer.problem(400, "idempotency_key_invalid");
        assert_eq!(answer.pointers(), ["/idempotency_key"], "{member}");
    }
    for header in ["a,b", "a b", r#""a"#, r#"a""#, r#""a"; p=1"#, r#""a\n""#, r#""""#, &"x".repeat(129)] {
        let answer = app.post("acme", &[("idempotency-key", header)], keyless("device-of-bad-key").to_string()).await;
        answer.problem(400, "idempotency_key_invalid");
    }
    let twice = [("idempotency-key", "a"), ("idempotency-key", "a")];
    app.post("acme", &twice, keyless("device-of-bad-key").to_string()).await.problem(400, "idempotency_key_invalid");
    app.drained().await;
    assert!(app.calls("device-of-bad-key").is_empty());
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_compared_byte_by_byte() {
    let app = TestApp::start().await;
    // The longest key, one in another case, one that differs by normalisation only, and separators of all kinds.
    let long = "é".repeat(64);
    let keys = ["Order", "order", "é", "e\u{301}", "a#b", "a", " a", "a:b/c?d=e&f", long.as_str(), "🚀"];
    let mut ids = Vec::new();
    for key in keys {
        let id = app.queued(&push(key, "device-of-bytes")).await;
        assert!(!ids.contains(&id));
        app.reaches(&id, "sent").await;
        assert_eq!(app.message(&id).await["idempotency_key"], key);
        ids.push(id);
    }
    // In a header, quotes and backslashes are escaped; the key is what they stand for.
    let odd = app.queued(&push(r#"say "hi" \o/"#, "device-of-bytes")).await;
    let header = [("idempotency-key", r#""say \"hi\" \\o/""#)];
    let repeat = app.post("acme", &header, keyless("device-of-bytes").to_string()).await.expect(202);
    assert_eq!(repeat.body, json!({"status": "duplicate_ignored", "id": odd}));
    app.reaches(&odd, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-bytes").len(), keys.len() + 1);
    app.stop().await;
}
