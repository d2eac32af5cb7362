//! A project with several apps: a message goes to the one it names (G2 for what it names, G3 for what it may not).

use crate::support::{TestApp, eventually, logs, push};
use http::Method;
use serde_json::{Value, json};
use sha2::Digest;
use store::{ApiKey, Project, SeedOutcome};

fn token(number: usize) -> String {
    format!("a99{number:061x}")
}

fn to_ios(key: &str, number: usize) -> Value {
    let mut body = push(key, "unused");
    body["to"] = json!([{"platform": "ios", "token": token(number)}]);
    body
}

fn naming(body: &Value, app: &str) -> Value {
    let mut body = body.clone();
    body["app"] = json!(app);
    body
}

const FIRST: &str = "com.example.acme";
const SECOND: &str = "com.example.acme.beta";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_named_app_is_the_topic_and_the_default_named_is_none_named() {
    let app = TestApp::start().await;
    let topics = |number: usize| -> Vec<String> {
        app.calls(&token(number)).iter().map(|call| call.headers["apns-topic"].clone()).collect()
    };
    let absent = to_ios("absent", 1);
    let id = app.queued(&absent).await;
    app.duplicate(&naming(&absent, FIRST), &id).await;
    app.send(&naming(&absent, SECOND), 422).await.problem(422, "idempotency_key_reused");
    app.reaches(&id, "sent").await;

    let default = to_ios("default", 2);
    let id = app.queued(&naming(&default, FIRST)).await;
    app.duplicate(&default, &id).await;
    app.reaches(&id, "sent").await;

    let second = to_ios("second", 3);
    let id = app.queued(&naming(&second, SECOND)).await;
    app.duplicate(&naming(&second, SECOND), &id).await;
    for other in [second.clone(), naming(&second, FIRST)] {
        app.send(&other, 422).await.problem(422, "idempotency_key_reused");
    }
    app.reaches(&id, "sent").await;

    // Part of the request even where no device of it is Apple's.
    let android = push("android", "device-of-apps");
    let id = app.queued(&naming(&android, SECOND)).await;
    app.send(&android, 422).await.problem(422, "idempotency_key_reused");
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!([topics(1), topics(2), topics(3)], [[FIRST], [FIRST], [SECOND]]);
    assert_eq!(app.calls("device-of-apps").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_app_is_refused_at_its_place_and_nothing_is_stored() {
    let app = TestApp::start().await;
    let body = to_ios("unknown", 1);
    for unknown in ["com.example.nope", "com.example.Acme", "com.example.globex", "com.example.acme.", "a b", ""] {
        let answer = app.send(&naming(&body, unknown), 400).await;
        answer.problem(400, "validation_failed");
        assert_eq!(answer.pointers(), ["/app"], "{unknown:?}");
    }
    // Together with all other faults, and for an android device too.
    let mut faulty = naming(&push("unknown", "with space"), "com.example.nope");
    faulty["priority"] = json!(7);
    assert_eq!(app.send(&faulty, 400).await.pointers(), ["/to/0/token", "/app", "/priority"]);
    app.get("/v1/messages?idempotency_key=unknown", 404).await;
    // An app belongs to its project.
    let answer = app.post("globex", &[], naming(&body, SECOND).to_string()).await;
    answer.problem(400, "validation_failed");
    let answer = app.post("globex", &[], naming(&body, "com.example.globex").to_string()).await.expect(202);
    assert_eq!(answer.body["status"], "queued");
    let id = app.queued(&naming(&body, SECOND)).await;
    app.reaches(&id, "sent").await;
    app.drained().await;
    let mut topics: Vec<String> = app.calls(&token(1)).iter().map(|call| call.headers["apns-topic"].clone()).collect();
    topics.sort();
    assert_eq!(topics, [SECOND, "com.example.globex"]);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_without_apps_has_none_to_name_until_it_has_been_given_some() {
    let app = TestApp::start().await;
    let key = ApiKey {
        project: "initech".to_owned(),
        name: "peter".to_owned(),
        scopes: vec!["messages:send".to_owned()],
        revoked_at_ms: None,
    };
    let hash = sha2::Sha256::digest(b"initech_key").into();
    assert!(matches!(app.system.store().add_api_key(&hash, &key).await, SeedOutcome::Stored));
    let url = format!("{}/v1/messages", app.system.ready().api);
    let headers = [("authorization", "Bearer initech_key"), ("content-type", "application/json")];
    let send = async |body: &Value| app.http.send(&Method::POST, &url, &headers, body.to_string()).await;
    let body = naming(&to_ios("first", 1), "com.example.initech");
    let refused = send(&body).await;
    refused.problem(400, "validation_failed");
    assert_eq!(refused.pointers(), ["/app"]);
    let project = Project { apps: vec!["com.example.initech".to_owned()] };
    assert!(matches!(app.system.store().add_project("initech", &project).await, SeedOutcome::Stored));
    // What was found is remembered for as long as an API key is.
    app.advance(protocol::timing::Timing::SHORT.key_cache.div_ceil(1_000) + 1);
    let answer = send(&body).await.expect(202);
    assert_eq!(answer.body["status"], "queued");
    let repeat = send(&to_ios("first", 1)).await.expect(202);
    assert_eq!(repeat.body, json!({"status": "duplicate_ignored", "id": answer.id()}));
    app.stop().await;
}

/// The API took the app, so the credentials are what lags behind: nothing is burned for it, and it is said meanwhile.
#[tokio::test]
async fn an_app_that_the_credentials_do_not_list_is_waited_for_and_told() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    app.system.sandbox().seed_project_with("acme", &[FIRST]).unwrap();
    let mut brief = naming(&to_ios("brief", 1), SECOND);
    brief["ttl_seconds"] = json!(10);
    let brief = app.queued(&brief).await;
    let patient = app.queued(&naming(&to_ios("patient", 2), SECOND)).await;
    let told = async |id: &str| {
        eventually("it is told", async || {
            let message = app.message(id).await;
            (message["deliveries"][0]["last_error"]["code"] == "app_not_in_credentials").then_some(message)
        })
        .await
    };
    let message = told(&patient).await;
    assert_eq!((&message["status"], &message["deliveries"][0]["attempts"]), (&json!("sending"), &json!(0)));
    let line = own.events("waiting").into_iter().find(|line| line["message_id"] == patient.as_str()).unwrap();
    assert_eq!((&line["code"], &line["level"]), (&json!("app_not_in_credentials"), &json!("ERROR")));
    told(&brief).await;
    assert!(own.events("device").is_empty(), "nobody was called");
    app.advance_at_rest(11).await;
    let expired = app.reaches(&brief, "expired").await;
    assert_eq!(expired["deliveries"][0]["last_error"]["code"], "app_not_in_credentials");
    app.system.sandbox().seed_project_with("acme", &[FIRST, SECOND]).unwrap();
    // What was read of the secret is good for five minutes.
    app.advance_at_rest(301).await;
    let sent = app.reaches(&patient, "sent").await;
    assert_eq!(sent["deliveries"][0]["attempts"], 1);
    app.drained().await;
    assert_eq!((app.calls(&token(1)).len(), app.calls(&token(2)).len()), (0, 1));
    app.stop().await;
}
