//! Who may do what: a project never meets another's keys (G8), and an API key's scopes hold.

use crate::support::{TestApp, push};
use http::Method;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_projects_use_the_same_key_without_meeting() {
    let app = TestApp::start().await;
    let ours = push("shared-key", "device-of-acme");
    let theirs = push("shared-key", "device-of-globex");
    let acme = app.queued(&ours).await;
    let answer = app.post("globex", &[], theirs.to_string()).await.expect(202);
    assert_eq!(answer.body["status"], "queued");
    let globex = answer.id();
    assert_ne!(acme, globex);
    // Even the same body: another project's key is another key.
    assert_eq!(app.post("globex", &[], ours.to_string()).await.expect(422).body["code"], "idempotency_key_reused");

    app.reaches(&acme, "sent").await;
    let foreign = app.get(&format!("/v1/messages/{globex}"), 404).await;
    foreign.problem(404, "not_found");
    let by_key = app.get("/v1/messages?idempotency_key=shared-key", 200).await;
    assert_eq!(by_key.id(), acme);
    let path = format!("/v1/messages/{acme}");
    app.request(&Method::GET, &path, "globex", &[], String::new()).await.expect(404).problem(404, "not_found");
    app.drained().await;
    assert_eq!((app.calls("device-of-acme").len(), app.calls("device-of-globex").len()), (1, 1));
    assert!(app.calls("device-of-globex")[0].payload["message"]["data"]["message_id"] == globex.as_str());
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_people_of_a_project_share_its_keys() {
    let app = TestApp::start().await;
    let body = push("team", "device-of-team");
    let id = app.queued(&body).await;
    let second = app.post("acme_second", &[], body.to_string()).await.expect(202);
    assert_eq!(second.body, json!({"status": "duplicate_ignored", "id": id}));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_only_reads_cannot_send_and_no_key_can_do_nothing() {
    let app = TestApp::start().await;
    let body = push("access", "device-of-access");
    let refused = app.post("acme_readonly", &[], body.to_string()).await;
    refused.problem(403, "forbidden");
    assert!(refused.body["detail"].as_str().unwrap().contains("messages:send"));

    let url = format!("{}/v1/messages", app.system.ready().api);
    let acme = format!("Bearer {}", app.api_key("acme"));
    let wrong = [
        vec![],
        vec![("authorization", "Bearer nobody's key")],
        vec![("authorization", "Bearer ")],
        vec![("authorization", "Basic YWNtZTo=")],
        vec![("authorization", app.api_key("acme"))],
        vec![("authorization", acme.as_str()), ("authorization", acme.as_str())],
    ];
    for headers in wrong {
        let mut all = headers.clone();
        all.push(("content-type", "application/json"));
        let answer = app.http.send(&Method::POST, &url, &all, body.to_string()).await;
        answer.problem(401, "unauthorized");
        assert!(answer.header("www-authenticate").starts_with("Bearer"));
        let by_key = format!("{url}?idempotency_key=access");
        app.http.send(&Method::GET, &by_key, &headers, "").await.problem(401, "unauthorized");
    }

    // Nothing was stored by any of these: the key is free, and who only reads may read what comes of it.
    let id = app.queued(&body).await;
    app.reaches(&id, "sent").await;
    let path = format!("/v1/messages/{id}");
    let read = app.request(&Method::GET, &path, "acme_readonly", &[], String::new()).await.expect(200);
    assert_eq!(read.id(), id);
    app.drained().await;
    assert_eq!(app.calls("device-of-access").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_token_is_shown_to_nobody_in_full() {
    let app = TestApp::start().await;
    let secret = "fcm-token-that-nobody-may-read-c0ffee";
    let short = "elevenchars";
    app.script(secret, &json!([{"status": 404, "reason": "UNREGISTERED"}])).await;
    let mut body = push("masked", secret);
    body["to"].as_array_mut().unwrap().push(json!({"platform": "web", "token": short}));
    let mut answers = Vec::new();
    let sent = app.send(&body, 202).await;
    let id = sent.id();
    answers.push(sent.text);
    let message = app.reaches(&id, "partial").await;
    assert_eq!(message["deliveries"][0]["token"], "…c0ffee");
    assert_eq!(message["deliveries"][1]["token"], "…");
    answers.push(message.to_string());
    answers.push(app.send(&body, 202).await.text);
    answers.push(app.get("/v1/messages?idempotency_key=masked", 200).await.text);
    body["notification"]["title"] = json!("other");
    answers.push(app.send(&body, 422).await.text);
    body["to"][0]["token"] = json!(format!("{secret} with a space"));
    answers.push(app.send(&body, 400).await.text);
    for answer in answers {
        assert!(!answer.contains(secret) && !answer.contains(short), "{answer}");
        assert!(!answer.contains(&secret[..12]), "{answer}");
    }
    app.stop().await;
}
