//! Planted secrets: each story puts words of its own where only one party should have them, and no line of the log may
//! hold one of them, whatever goes wrong, however a provider quotes what it was sent.
//!
//! What ordinary tests send is watched for by `support::logs` itself; here are the places that they do not reach: what
//! a provider or a token endpoint says, what a secret holds, what nobody can read, and a panic.

use super::support::{Consumer, DEAD, DELIVERIES, PARKING, TestApp, eventually, logs, refund};
use axum::{Router, body::Bytes, extract::State, http::HeaderMap, response::IntoResponse};
use futures_util::future::BoxFuture;
use http::{Method, StatusCode};
use platform::{AwsTimeouts, Boundary, aws_config_at};
use protocol::timing::Timing;
use push::{Provider, Push, PushSettings};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::net::TcpListener;

/// A word that is in no line unless it leaked.
fn canary(place: &str) -> String {
    let word = format!("canary-{place}-9f2c7d");
    logs::secret(&word);
    word
}

/// A send that holds a canary wherever a caller may write.
fn send(name: &str, to: &[(&str, String)]) -> Value {
    let to: Vec<Value> = to.iter().map(|(platform, token)| json!({"platform": platform, "token": token})).collect();
    json!({
        "idempotency_key": canary(&format!("{name}-key")),
        "to": to,
        "notification": {
            "title": canary("title"),
            "body": canary("body"),
            "image": format!("https://images.example/{}", canary("image")),
        },
        "data": {"order": canary("data")},
    })
}

/// A refund that holds a canary wherever a caller may write.
fn asked_back(name: &str) -> Value {
    let mut body = refund(&canary(&format!("{name}-key")), &canary(&format!("{name}-payment")));
    body["order_id"] = json!(canary("order"));
    body["note"] = json!(canary("note"));
    body
}

async fn secrets(app: &TestApp) -> aws_sdk_secretsmanager::Client {
    aws_sdk_secretsmanager::Client::new(&aws_config_at(AwsTimeouts::within(20_000), &app.system.ready().sandbox).await)
}

async fn secret(app: &TestApp, name: &str) -> Value {
    let secret = secrets(app).await.get_secret_value().secret_id(name).send().await.unwrap();
    let secret: Value = serde_json::from_str(secret.secret_string().unwrap()).unwrap();
    for member in ["key", "private_key"] {
        // Every line of the key, since any part of it is too much.
        secret[member].as_str().unwrap_or_default().lines().for_each(logs::secret);
    }
    secret
}

/// The way to the providers, with nothing in memory.
async fn instance(app: &TestApp) -> Push {
    let (store, clock) = (app.system.store().clone(), app.system.clock().clone());
    Push::new(PushSettings::default(), secrets(app).await, store, clock, Timing::SHORT)
}

async fn replace(app: &TestApp, name: &str, text: String) {
    secrets(app).await.put_secret_value().secret_id(name).secret_string(text).send().await.unwrap();
}

/// A provider that answers everything with this status and quotes all it was sent, in every place where a provider
/// has words: the code, the sentence, details and a header.
async fn quoting(status: u16) -> String {
    async fn quote(State(status): State<u16>, headers: HeaderMap, body: Bytes) -> impl IntoResponse {
        let authorization = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
        let authorization = authorization.unwrap_or_default();
        authorization.split(' ').for_each(logs::secret);
        let said = format!("{authorization} {}", String::from_utf8_lossy(&body));
        let answer = json!({
            "error": {"code": status, "message": said, "status": said, "details": [
                {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": said, "description": said}]},
            ]},
            "reason": said,
        });
        (StatusCode::from_u16(status).unwrap(), [("x-said", authorization)], answer.to_string())
    }
    /// The token endpoint's form: its code is good, so that it is kept.
    async fn refuse_grant(body: Bytes) -> impl IntoResponse {
        let assertion = String::from_utf8_lossy(&body).into_owned();
        logs::secret(assertion.split("assertion=").last().unwrap());
        let answer = json!({"error": "invalid_grant", "error_description": assertion});
        (StatusCode::BAD_REQUEST, answer.to_string())
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/token", axum::routing::post(refuse_grant)).fallback(quote).with_state(status);
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// Ends a story: nothing leaked, and there was something that could have.
async fn end(app: TestApp, own: &logs::Own, word: &str) {
    let seen = logs::lines_seen();
    app.stop().await;
    assert!(seen > 0 && !own.events(word).is_empty(), "the story left no {word}: {:#?}", own.lines());
}

#[tokio::test]
async fn nothing_of_a_refund_is_logged_whatever_becomes_of_it() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    for (name, script) in [
        ("paid", json!([])),
        ("lost", json!(["drop_after_accept"])),
        ("refused", json!([{"status": 400, "reason": "charge_disputed"}])),
        ("mismatched", json!([{"status": 400, "reason": "idempotency_error"}])),
    ] {
        let body = asked_back(name);
        app.script(body["payment_id"].as_str().unwrap(), &script).await;
        let id = app.created(&body).await;
        app.post_to("/v1/refunds", "acme", &body).await.expect(200);
        let mut other = body.clone();
        other["note"] = json!(canary("other-note"));
        app.post_to("/v1/refunds", "acme", &other).await.expect(422);
        other[canary("member")] = json!(canary("value"));
        app.post_to("/v1/refunds", "acme", &other).await.expect(400);
        app.decide("acme", &id, "approve").await.expect(200);
        let status = match name {
            "paid" | "lost" => "paid",
            "refused" => "failed",
            _ => "review",
        };
        app.payout_becomes(&id, status).await;
        app.get("/v1/refunds?status=approved", 200).await;
    }
    let reference = canary("reference");
    let body = json!({"outcome": "paid", "reference": reference});
    let review = app.get("/v1/refunds?status=approved", 200).await.body["refunds"][0]["id"].clone();
    let path = format!("/v1/refunds/{}/payout/resolve", review.as_str().unwrap());
    app.post_to(&path, "acme", &body).await.expect(200);
    end(app, &own, "payout_state").await;
}

#[tokio::test]
async fn nothing_of_a_send_is_logged_accepted_repeated_or_refused() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let hex = "c0ffee00".repeat(8);
    logs::secret(&hex);
    let to = [("android", canary("android-token")), ("web", canary("web-token")), ("ios", hex.to_uppercase())];
    let body = send("main", &to);
    let id = app.queued(&body).await;
    app.duplicate(&body, &id).await;
    app.reaches(&id, "sent").await;
    let path = format!("/v1/messages?idempotency_key={}", body["idempotency_key"].as_str().unwrap());
    app.get(&path, 200).await;

    let mut other = body.clone();
    other["notification"]["title"] = json!(canary("other-title"));
    app.send(&other, 422).await;
    let mut unknown = body.clone();
    unknown[canary("member")] = json!(canary("value"));
    app.send(&unknown, 400).await;
    let mut wrong = body.clone();
    wrong["to"][0]["token"] = json!(format!("{} with a space", canary("bad-token")));
    wrong["data"]["message_id"] = json!(canary("bad-data"));
    app.send(&wrong, 400).await;
    let header = canary("header-key");
    app.post("acme", &[("idempotency-key", &header)], body.to_string()).await.expect(400);
    app.post("acme", &[], format!("{{\"{}\": ", canary("syntax"))).await.expect(400);
    app.post("acme", &[("content-type", &canary("type"))], canary("text")).await.expect(415);
    let path = format!("/v1/{}?{}", canary("path"), canary("query"));
    app.request(&Method::GET, &path, "acme", &[], "").await.expect(404);
    let (url, key) = (format!("{}/v1/messages", app.system.ready().api), format!("Bearer {}", canary("api-key")));
    app.http.send(&Method::GET, &url, &[("authorization", &key)], "").await.expect(401);
    app.drained().await;
    end(app, &own, "request").await;
}

#[tokio::test]
async fn nothing_that_a_provider_quotes_is_logged() {
    for status in [400, 401, 403, 404, 429, 500, 503] {
        let own = logs::Own::start();
        let app = TestApp::start().await;
        let mut file = secret(&app, "sendonce/acme/fcm").await;
        file["fcm_base_url"] = json!(quoting(status).await);
        replace(&app, "sendonce/acme/fcm", file.to_string()).await;
        let hex = format!("{status:04}c0ffee").repeat(6);
        logs::secret(&hex);
        // APNs gives one word as its reason; here it is the token.
        app.script(&hex, &json!([{"status": status, "reason": hex}])).await;
        let body = send(&format!("quoted-{status}"), &[("android", canary("quoted-token")), ("ios", hex.clone())]);
        let id = app.queued(&body).await;
        eventually("both were called", async || (own.events("device").len() >= 2).then_some(())).await;
        app.get(&format!("/v1/messages/{id}"), 200).await;
        let report = instance(&app).await.check("acme", Provider::Fcm).await;
        assert!(!report.works());
        for line in own.events("device") {
            assert!(
                ["permanent", "our_bug", "token_dead", "hold", "not_now", "ambiguous"]
                    .contains(&line["class"].as_str().unwrap()),
                "{line}"
            );
        }
        end(app, &own, "device").await;
    }
}

#[tokio::test]
async fn nothing_that_a_token_endpoint_quotes_is_logged() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let mut file = secret(&app, "sendonce/acme/fcm").await;
    file["token_uri"] = json!(format!("{}/token", quoting(400).await));
    replace(&app, "sendonce/acme/fcm", file.to_string()).await;
    app.queued(&send("grant", &[("android", canary("grant-token"))])).await;
    eventually("it is told", async || (!own.events("hold").is_empty()).then_some(())).await;
    assert_eq!(own.events("hold")[0]["code"], "credentials_refused");
    end(app, &own, "hold").await;
}

#[tokio::test]
async fn nothing_that_a_bad_secret_holds_is_logged() {
    let good = {
        let app = TestApp::start().await;
        let good = [secret(&app, "sendonce/acme/fcm").await, secret(&app, "sendonce/acme/apns").await];
        app.stop().await;
        good
    };
    let hex = "beef0000".repeat(8);
    for (provider, name, file, to) in [
        (Provider::Fcm, "sendonce/acme/fcm", &good[0], ("android", canary("bad-secret-token"))),
        (Provider::Apns, "sendonce/acme/apns", &good[1], ("ios", hex)),
    ] {
        let own = logs::Own::start();
        let app = TestApp::start().await;
        let mut texts =
            vec![canary("not-json"), format!("{{\"{}\"", canary("cut")), json!([canary("array")]).to_string()];
        for member in file.as_object().unwrap().keys() {
            for value in [
                json!(canary("member")),
                json!([canary("member-array")]),
                json!(format!("http://{}", canary("member-url"))),
            ] {
                let mut changed = file.clone();
                changed[member] = value;
                texts.push(changed.to_string());
            }
        }
        for text in texts {
            replace(&app, name, text).await;
            let report = instance(&app).await.check("acme", provider).await;
            let said = format!("{report} {report:?}");
            for part in ["canary-not-json", "canary-cut", "canary-array"] {
                assert!(!said.contains(part), "{said}");
            }
        }
        let id = app.queued(&send(provider.as_str(), &[to])).await;
        eventually("it is told", async || (!own.events("hold").is_empty()).then_some(())).await;
        app.get(&format!("/v1/messages/{id}"), 200).await;
        end(app, &own, "hold").await;
    }
}

/// Panics with a canary after a claim, once. That a function's own stderr has nothing of it either is shown by
/// `crates/platform/tests/panics.rs`: here the tests' standard hook prints it.
#[derive(Debug)]
struct Panicking(String);

impl Boundary for Panicking {
    fn after<'a>(&'a self, effect: &'static str) -> BoxFuture<'a, ()> {
        assert!(effect != "claim", "a bug that quotes {}", self.0);
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn nothing_of_a_panic_a_lost_answer_or_garbage_is_logged() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause"}));
    let lost = canary("lost-token");
    app.script(&lost, &json!(["drop_after_accept", "hang", "reset"])).await;
    let id = app.queued(&send("lost", &[("android", lost)])).await;
    let copies = eventually("the copy is there", async || {
        let copies = app.queues.take(DELIVERIES, 1).await;
        (!copies.is_empty()).then_some(copies)
    })
    .await;
    let consumer = Consumer::with(&app, Arc::new(Panicking(canary("panic")))).await;
    assert_eq!(consumer.handle(&copies).await, [false], "it panicked");
    // Past the lease of the claim that panicked. Nothing runs; later a moved clock would only end invocations.
    app.advance(12);
    app.control(&json!({"deliver": "resume", "dead_letter": "pause"}));
    for text in [canary("garbage"), json!({"type": canary("garbage-type")}).to_string()] {
        app.queues.send(DELIVERIES, &text).await;
    }
    let damaged =
        json!({"type": "deliver_v1", "id": canary("garbage-id"), "devices": [{"token": canary("garbage-token")}]});
    app.queues.send(DELIVERIES, &damaged.to_string()).await;
    app.reaches(&id, "unknown").await;
    eventually("only the garbage is left", async || {
        (app.queues.left(DELIVERIES).await + app.queues.left(DEAD).await == 3).then_some(())
    })
    .await;
    app.control(&json!({"deliver": "pause"}));
    app.pass(49).await;
    app.queues.wear_out(3).await;
    app.control(&json!({"deliver": "resume", "dead_letter": "resume"}));
    eventually("the garbage is parked", async || (app.queues.left(PARKING).await == 3).then_some(())).await;
    assert!(own.events("device").iter().any(|line| line["class"] == "lost"));
    assert!(own.lines().iter().any(|line| line.contains("panicked; it comes back")));
    end(app, &own, "dead_letter").await;
}
