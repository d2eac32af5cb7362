//! A refused request stores nothing: the same key works once the request is fixed (G3). Errors are RFC 9457.

use crate::support::{TestApp, push};
use http::Method;
use serde_json::{Value, json};

/// Bodies under one key, each with the code and the places of its refusal.
fn faults() -> Vec<(Value, &'static str, Vec<&'static str>)> {
    let with = |pointer: &str, value: Value| {
        let mut body = push("fixed-later", "device-of-refusals");
        match body.pointer_mut(pointer) {
            Some(member) => *member = value,
            None => {
                let (parent, name) = pointer.rsplit_once('/').unwrap();
                body.pointer_mut(parent).unwrap()[name] = value;
            }
        }
        body
    };
    let device = |platform: &str, token: &str| json!({"platform": platform, "token": token});
    let failed = "validation_failed";
    vec![
        (with("/colapse_key", json!("x")), "unknown_member", vec!["/colapse_key"]),
        (with("/notification/sound", json!("x")), "unknown_member", vec!["/notification/sound"]),
        (with("/to/0", json!({"platform": "web", "token": "t", "a~/b": 1})), "unknown_member", vec!["/to/0/a~0~1b"]),
        (with("/to", json!([])), failed, vec!["/to"]),
        (with("/to", json!(null)), failed, vec!["/to"]),
        (with("/to", json!(vec![device("android", "t"); 501])), failed, vec!["/to"]),
        (with("/to/0/platform", json!("symbian")), failed, vec!["/to/0/platform"]),
        (with("/to/0/token", json!("with space")), failed, vec!["/to/0/token"]),
        (with("/to/0", device("ios", "abc")), failed, vec!["/to/0/token"]),
        (with("/notification", json!(null)), failed, vec![""]),
        (with("/notification/title", json!("")), failed, vec!["/notification/title"]),
        (with("/notification/image", json!("http://a/b.png")), failed, vec!["/notification/image"]),
        (
            with("/data", json!({"a": 1, "aps": "x", "google.x": "y"})),
            failed,
            vec!["/data/a", "/data/aps", "/data/google.x"],
        ),
        (with("/ttl_seconds", json!(60.5)), failed, vec!["/ttl_seconds"]),
        (with("/ttl_seconds", json!(-1)), failed, vec!["/ttl_seconds"]),
        (with("/ttl_seconds", json!(2_419_201)), failed, vec!["/ttl_seconds"]),
        (with("/ttl_seconds", json!("60")), failed, vec!["/ttl_seconds"]),
        (with("/priority", json!("HIGH")), failed, vec!["/priority"]),
        (with("/delivery", json!("exactly_once")), failed, vec!["/delivery"]),
        (with("/collapse_key", json!("")), failed, vec!["/collapse_key"]),
        (with("/app", json!("com.example.nope")), failed, vec!["/app"]),
        (with("/app", json!(7)), failed, vec!["/app"]),
        (with("/to/0", device("ios", "00f")), failed, vec!["/to/0/token"]),
        (with("/data", json!({"a": "x".repeat(4_000)})), "payload_too_large_for_provider", vec![""]),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_request_leaves_its_key_free() {
    let app = TestApp::start().await;
    for (body, code, pointers) in faults() {
        let answer = app.send(&body, 400).await;
        answer.problem(400, code);
        assert_eq!(answer.pointers(), pointers, "{body}");
    }
    for text in ["", "{", "[]", "7", "{\"a\":}", "{} {}", "\u{feff}{}"] {
        let answer = app.post("acme", &[], text).await;
        answer.problem(400, "invalid_json");
        assert!(!answer.pointers().is_empty(), "{text:?}");
    }
    app.get("/v1/messages?idempotency_key=fixed-later", 404).await;
    let id = app.queued(&push("fixed-later", "device-of-refusals")).await;
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-refusals").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_two_readers_could_read_differently_is_refused_and_leaves_the_key_free() {
    let app = TestApp::start().await;
    let around = |member: &str| {
        let to = r#""to":[{"platform":"android","token":"device-of-strict"}]"#;
        format!(r#"{{"idempotency_key":"strict",{to},"notification":{{"title":"a","body":"b"}},{member}}}"#)
    };
    let deep = format!(r#""data":{}{}"#, "[".repeat(64), "]".repeat(64));
    let cases = [
        (around(r#""priority":"high","priority":"normal""#), "duplicate_member", "/priority"),
        (around(r#""data":{"a":"1","\u0061":"1"}"#), "duplicate_member", "/data/a"),
        (around(r#""ttl_seconds":9007199254740992"#), "number_not_exact", "/ttl_seconds"),
        (around(r#""ttl_seconds":9007199254740993.0"#), "number_not_exact", "/ttl_seconds"),
        (around(r#""ttl_seconds":1e400"#), "number_not_exact", "/ttl_seconds"),
        (around(r#""ttl_seconds":60.00000000000000001"#), "validation_failed", "/ttl_seconds"),
        (around(r#""data":{"a":"\ud800"}"#), "invalid_json", "/data/a"),
        (around(&deep), "invalid_json", ""),
    ];
    for (text, code, pointer) in cases {
        let answer = app.post("acme", &[], text.clone()).await;
        answer.problem(400, code);
        assert!(answer.pointers().iter().any(|at| at.starts_with(pointer)), "{text}: {}", answer.text);
    }
    let mut not_utf8 = around(r#""data":{"a":"?"}"#).into_bytes();
    let at = not_utf8.iter().rposition(|byte| *byte == b'?').unwrap();
    not_utf8[at] = 0xff;
    app.post("acme", &[], not_utf8).await.problem(400, "invalid_json");

    // The largest whole number that every reader agrees on is only too long a time, and noncharacters are characters.
    app.post("acme", &[], around(r#""ttl_seconds":9007199254740991"#)).await.problem(400, "validation_failed");
    let answer = app.post("acme", &[], around("\"data\":{\"a\":\"\u{ffff}\"}")).await.expect(202);
    assert_eq!(answer.body["status"], "queued");
    app.reaches(&answer.id(), "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-strict").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_request_changes_nothing_of_what_its_key_holds() {
    let app = TestApp::start().await;
    let good = push("fixed-later", "device-of-refusals");
    let id = app.queued(&good).await;
    for (body, code, _) in faults() {
        app.send(&body, 400).await.problem(400, code);
    }
    app.duplicate(&good, &id).await;
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-refusals").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_faults_of_a_body_are_told_together() {
    let app = TestApp::start().await;
    let mut body = push("together", "with space");
    body["ttl_seconds"] = json!(-5);
    body["priority"] = json!("urgent");
    body["notification"]["body"] = json!(1);
    let answer = app.send(&body, 400).await;
    answer.problem(400, "validation_failed");
    let mut pointers = answer.pointers();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/notification/body", "/priority", "/to/0/token", "/ttl_seconds"]);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn routes_methods_types_and_sizes_are_refused_as_problems() {
    let app = TestApp::start().await;
    let body = push("surface", "device-of-surface").to_string();
    let empty = String::new;
    for path in ["/", "/v1", "/v1/message", "/v1/messages/", "/v2/messages", "/healthz/"] {
        app.get(path, 404).await.problem(404, "not_found");
    }
    for (method, path, allowed) in [
        (Method::DELETE, "/v1/messages", ["GET", "POST"]),
        (Method::PUT, "/v1/messages", ["GET", "POST"]),
        (Method::OPTIONS, "/v1/messages", ["GET", "POST"]),
        (Method::POST, "/v1/messages/msg_x", ["GET", "HEAD"]),
        (Method::POST, "/healthz", ["GET", "HEAD"]),
    ] {
        let answer = app.request(&method, path, "acme", &[], empty()).await;
        answer.problem(405, "method_not_allowed");
        let allow = answer.header("allow");
        assert!(allowed.iter().all(|method| allow.contains(method)), "{method} {path}: {allow}");
    }
    let json = "application/json";
    let types: [&[(&str, &str)]; 5] = [
        &[],
        &[("content-type", "text/plain")],
        &[("content-type", "application/json; charset=latin1")],
        &[("content-type", json), ("content-encoding", "gzip")],
        &[("content-type", "application/x-www-form-urlencoded")],
    ];
    for headers in types {
        let answer = app.request(&Method::POST, "/v1/messages", "acme", headers, body.clone()).await;
        answer.problem(415, "unsupported_media_type");
    }
    app.get("/v1/messages?idempotency_key=surface", 404).await;
    let utf8 = [("content-type", "Application/JSON; charset=\"UTF-8\"")];
    let id = app.request(&Method::POST, "/v1/messages", "acme", &utf8, body.clone()).await.expect(202).id();

    let head = app.request(&Method::HEAD, &format!("/v1/messages/{id}"), "acme", &[], empty()).await.expect(200);
    assert!(head.text.is_empty());
    let health = app.http.send(&Method::GET, &format!("{}/healthz", app.system.ready().api), &[], "").await;
    assert_eq!(health.expect(200).body, json!({"status": "ok"}));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_over_256_kib_is_refused_and_one_of_exactly_that_is_read() {
    let app = TestApp::start().await;
    let mut body = push("large", "device-of-large").to_string();
    let room = 256 * 1_024 - body.len();
    body.push_str(&" ".repeat(room));
    for _ in 0..20 {
        app.post("acme", &[], format!("{body} ")).await.problem(413, "body_too_large");
    }
    app.get("/v1/messages?idempotency_key=large", 404).await;
    assert_eq!(app.post("acme", &[], body).await.expect(202).body["status"], "queued");
    app.stop().await;
}
