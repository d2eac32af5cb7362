//! docs/OBSERVABILITY.md is true, and so are the lines: each story leaves the events that the contract promises, and
//! every metric is a document of CloudWatch's embedded metric format with dimensions from closed sets.

use super::support::{DEAD, DELIVERIES, PARKING, TestApp, eventually, logs, push};
use api::{Api, Projects, contract::ROUTES};
use axum::body::Body;
use futures_util::{FutureExt, future::BoxFuture};
use http::Method;
use jsonschema::validator_for;
use platform::{
    Boundary, Random,
    events::{CLASSES, EVENTS, LETTER_OUTCOMES, PAYOUT_CLASSES, WEBHOOK_OUTCOMES, Word},
    metrics::{METRICS, NAMESPACE},
};
use protocol::{refund::payout::STATES, timing::Timing};
use queue::Queue;
use sendonce_http::Auth;
use serde_json::{Value, json};
use std::{collections::BTreeSet, panic::AssertUnwindSafe, sync::Arc};
use tower::ServiceExt;

const CONTRACT: &str = include_str!("../../docs/OBSERVABILITY.md");

/// The rows of the first table after `heading` whose head is `head`.
fn table(heading: &str, head: &str) -> Vec<&'static str> {
    let section = CONTRACT.split_once(heading).unwrap_or_else(|| panic!("docs/OBSERVABILITY.md has no {heading:?}")).1;
    let table = section.split_once(head).unwrap_or_else(|| panic!("{heading:?} has no table {head:?}")).1;
    table.lines().skip(2).take_while(|line| line.starts_with('|')).collect()
}

#[test]
fn the_document_lists_every_event_field_word_and_metric_as_the_code_has_them() {
    for event in EVENTS {
        let heading = format!("\n### `{}`\n\n{}\n", event.word, event.means);
        let rows: Vec<String> = event
            .fields
            .iter()
            .map(|row| format!("| `{}` | {} | {} | {} |", row.name, row.kind, row.there, row.means))
            .collect();
        assert_eq!(table(&heading, "| field | type | there | meaning |"), rows, "write {heading:?} as the code has it");
    }
    let headings = CONTRACT.lines().filter(|line| line.starts_with("### `")).count();
    assert_eq!(headings, EVENTS.len(), "an event is described that does not exist");

    let words = |words: &[Word]| -> Vec<String> {
        words.iter().map(|word| format!("| `{}` | {} |", word.word, word.means)).collect()
    };
    assert_eq!(table("\n## Classes\n", "| class | meaning |"), words(&CLASSES));
    assert_eq!(table("\n## Classes of payouts\n", "| class | meaning |"), words(&PAYOUT_CLASSES));
    assert_eq!(table("\n## Outcomes of webhooks\n", "| outcome | meaning |"), words(&WEBHOOK_OUTCOMES));
    assert_eq!(table("\n## Outcomes of dead letters\n", "| outcome | meaning |"), words(&LETTER_OUTCOMES));
    let metrics: Vec<String> = METRICS
        .iter()
        .map(|row| {
            let by: Vec<String> = row.dimensions.iter().map(|name| format!("`{name}`")).collect();
            let by = if by.is_empty() { "none".to_owned() } else { by.join(", ") };
            format!("| `{}` | {} | {by} | {} |", row.name, row.unit, row.means)
        })
        .collect();
    assert_eq!(table("\n## Metrics\n", "| metric | unit | dimensions | meaning |"), metrics);
}

/// A request's event, without what differs from run to run.
fn request_line(line: &Value) -> (&str, &str, u64, &str, &str, bool) {
    let text = |name: &str| line[name].as_str().unwrap_or_default();
    (
        text("method"),
        text("route"),
        line["status"].as_u64().unwrap(),
        text("code"),
        text("actor"),
        line["replayed"].as_bool().unwrap(),
    )
}

#[tokio::test]
async fn every_request_leaves_one_line() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let body = push("one-line-per-request", "device-of-one-line");
    let id = app.queued(&body).await;
    app.duplicate(&body, &id).await;
    let mut other = body.clone();
    other["notification"]["title"] = json!("Something else");
    app.send(&other, 422).await;
    app.get("/v1/messages?idempotency_key=one-line-per-request", 200).await;
    app.get("/v1/messages/msg_nonsense-in-a-path", 404).await;
    app.request(&Method::GET, "/v1/nonsense-in-a-path", "acme", &[], "").await.expect(404);
    app.request(&Method::DELETE, "/v1/messages", "acme", &[], "").await.expect(405);
    app.request(&Method::from_bytes(b"PURGE").unwrap(), "/healthz", "acme", &[], "").await.expect(405);
    app.post("acme_readonly", &[], body.to_string()).await.expect(403);
    let url = format!("{}/v1/messages", app.system.ready().api);
    app.http.send(&Method::POST, &url, &[("authorization", "Bearer nobody-s-api-key")], "").await.expect(401);

    let lines = own.events("request");
    let actor = lines[0]["actor"].as_str().unwrap().to_owned();
    let actor = actor.as_str();
    let (messages, message) = ("/v1/messages", "/v1/messages/{id}");
    let expected = [
        ("POST", messages, 202, "", actor, false),
        ("POST", messages, 202, "", actor, true),
        ("POST", messages, 422, "idempotency_key_reused", actor, false),
        ("GET", messages, 200, "", actor, false),
        ("GET", message, 404, "not_found", actor, false),
        ("GET", "unmatched", 404, "not_found", "", false),
        ("DELETE", messages, 405, "method_not_allowed", "", false),
        ("other", "/healthz", 405, "method_not_allowed", "", false),
        ("POST", messages, 403, "forbidden", "", false),
        ("POST", messages, 401, "unauthorized", "", false),
    ];
    assert_eq!(lines.iter().map(request_line).collect::<Vec<_>>(), expected);
    for (at, line) in lines.iter().enumerate() {
        assert!(line["request_id"].as_str().unwrap().starts_with("api-"), "{line}");
        assert!(line["latency_ms"].as_u64().unwrap() < 30_000, "{line}");
        let about = [0, 1, 3].contains(&at).then_some(id.as_str());
        assert_eq!(line["message_id"].as_str(), about, "{line}");
        let known = at < 5;
        assert_eq!(line["project"].as_str(), known.then_some("acme"), "{line}");
    }
    assert_eq!(lines.iter().map(|line| &line["request_id"]).map(Value::to_string).collect::<BTreeSet<_>>().len(), 10);
    app.stop().await;
}

#[tokio::test]
async fn every_device_outcome_leaves_one_line() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let token = "device-of-many-outcomes";
    app.script(token, &json!([{"status": 429, "retry_after": 1}, {"status": 500}, "drop_after_accept", "accept"]))
        .await;
    let mut body = push("many-outcomes", token);
    let ios = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0";
    app.script(ios, &json!([{"status": 410, "reason": "Unregistered"}])).await;
    body["to"].as_array_mut().unwrap().push(json!({"platform": "ios", "token": ios}));
    let ours = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f1";
    app.script(ours, &json!([{"status": 400, "reason": "BadPriority"}])).await;
    body["to"].as_array_mut().unwrap().push(json!({"platform": "ios", "token": ours}));
    let id = app.queued(&body).await;
    app.reaches(&id, "partial").await;
    app.drained().await;

    let mut lines = own.events("device");
    lines.retain(|line| line["message_id"] == id.as_str());
    let told = |device: u64| -> Vec<Value> {
        let lines = lines.iter().filter(|line| line["device"] == device);
        lines.map(|line| json!([line["provider"], line["class"], line["code"], line["level"]])).collect()
    };
    let expected = [
        json!(["fcm", "not_now", "RESOURCE_EXHAUSTED", "WARN"]),
        json!(["fcm", "ambiguous", "INTERNAL", "WARN"]),
        json!(["fcm", "lost", "connection_lost", "WARN"]),
        json!(["fcm", "accepted", null, "INFO"]),
    ];
    assert_eq!(told(0), expected);
    assert_eq!(told(1), [json!(["apns", "token_dead", "Unregistered", "WARN"])]);
    assert_eq!(told(2), [json!(["apns", "our_bug", "BadPriority", "ERROR"])]);
    let attempts: Vec<u64> = lines.iter().map(|line| line["attempt"].as_u64().unwrap()).collect();
    // All devices in the first, then one more for each further call.
    assert!(attempts[0] >= 1 && attempts[..3].iter().all(|attempt| *attempt == attempts[0]), "{attempts:?}");
    assert!(attempts[2..].is_sorted_by(|one, next| one < next), "{attempts:?}");
    assert!(lines.iter().all(|line| line["project"] == "acme" && line["chunk"] == 0));

    // Each call counts as the line says, in the same order; the barrier's of `drained` too.
    let counted: Vec<Value> = own
        .metrics("Calls")
        .iter()
        .map(|document| {
            let numbers = ["Calls", "Devices", "CallErrors", "CallLatency"].map(|name| &document[name]);
            json!([document["provider"], document["class"], numbers])
        })
        .collect();
    let expected: Vec<Value> = own
        .events("device")
        .iter()
        .map(|line| {
            let error = u64::from(line["class"] != "accepted");
            json!([line["provider"], line["class"], [json!(1), json!(1), json!(error), line["latency_ms"].clone()]])
        })
        .collect();
    assert_eq!(counted, expected);
    assert!(counted.len() > lines.len());
    app.stop().await;
}

/// Nobody is called for them any more, so no answer tells what became of them.
#[tokio::test]
async fn devices_that_end_without_a_call_leave_one_line_for_their_chunk() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let (lost, busy) = ("device-of-a-lost-answer", "device-that-is-busy");
    let wait = json!({"status": 429, "retry_after": 3600});
    app.script(lost, &json!(["reset", wait])).await;
    app.script(busy, &json!([wait, wait])).await;
    let mut body = push("settled", lost);
    body["to"].as_array_mut().unwrap().push(json!({"platform": "android", "token": busy}));
    body["ttl_seconds"] = json!(10);
    let id = app.queued(&body).await;
    app.called(busy, 1).await;
    app.only_a_successor_waits().await;
    assert!(own.events("settled").is_empty());
    app.advance(11);
    let message = eventually("both are ended", async || {
        let message = app.message(&id).await;
        let counts = &message["counts"];
        (counts["unknown"] == 1 && counts["expired"] == 1).then_some(message)
    })
    .await;
    app.queues_empty().await;
    let lines = own.events("settled");
    assert_eq!(lines.len(), 1, "{lines:?} {message}");
    let line = &lines[0];
    assert_eq!((&line["project"], &line["message_id"], &line["chunk"]), (&json!("acme"), &json!(id), &json!(0)));
    assert_eq!([&line["attempt"], &line["expired"], &line["unknown"]], [&json!(1), &json!(1), &json!(1)]);
    assert_eq!(line["level"], "WARN");
    let counted = own.metrics("DevicesExpired");
    assert_eq!(counted.len(), 1);
    assert_eq!([&counted[0]["DevicesExpired"], &counted[0]["DevicesUnknown"]], [&json!(1), &json!(1)]);
    app.stop().await;
}

/// The same where the copy became a dead letter first: the metrics count all devices that end so.
#[tokio::test]
async fn devices_that_a_dead_letter_ends_are_counted_too() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause", "relay": "pause", "dead_letter": "pause"}));
    let mut body = push("settled-late", "device-of-settled-late");
    body["ttl_seconds"] = json!(10);
    let id = app.queued(&body).await;
    app.queues.wear_out(1).await;
    app.advance(11);
    app.control(&json!({"dead_letter": "resume"}));
    app.reaches(&id, "expired").await;
    app.queues_empty().await;
    let lines = own.events("settled");
    assert_eq!(lines.len(), 1, "{lines:?}");
    let line = &lines[0];
    assert_eq!((&line["project"], &line["message_id"], &line["chunk"]), (&json!("acme"), &json!(id), &json!(0)));
    assert_eq!([&line["attempt"], &line["expired"], &line["unknown"]], [&json!(0), &json!(1), &json!(0)]);
    let counted = own.metrics("DevicesExpired");
    assert_eq!(counted.len(), 1);
    assert_eq!([&counted[0]["DevicesExpired"], &counted[0]["DevicesUnknown"]], [&json!(1), &json!(0)]);
    let letters = own.events("dead_letter");
    assert_eq!((letters.len(), &letters[0]["outcome"]), (1, &json!("settled")));
    app.stop().await;
}

#[tokio::test]
async fn a_project_without_credentials_is_told_at_error_level() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let client = aws_sdk_secretsmanager::Client::new(
        &platform::aws_config_at(platform::AwsTimeouts::within(20_000), &app.system.ready().sandbox).await,
    );
    let good = client.get_secret_value().secret_id("sendonce/acme/fcm").send().await.unwrap();
    let broken = r#"{"type": "service_account", "project_id": "a-project-id"}"#;
    client.put_secret_value().secret_id("sendonce/acme/fcm").secret_string(broken).send().await.unwrap();
    let mut ids = Vec::new();
    for number in 0..4 {
        ids.push(app.queued(&push(&format!("no-credentials-{number}"), "device-without-credentials")).await);
    }
    for id in &ids {
        eventually("it is held", async || (!app.message(id).await["held"].is_null()).then_some(())).await;
    }
    app.advance(10);
    let mended = good.secret_string.unwrap();
    client.put_secret_value().secret_id("sendonce/acme/fcm").secret_string(mended).send().await.unwrap();
    for id in &ids {
        app.reaches(id, "sent").await;
    }
    // However many copies waited, and looked again.
    let lines = eventually("both ends are told", async || {
        let lines = own.events("hold");
        (lines.len() >= 2).then_some(lines)
    })
    .await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, level, change) in [(&lines[0], "ERROR", "began"), (&lines[1], "WARN", "ended")] {
        assert_eq!((&line["level"], &line["change"]), (&json!(level), &json!(change)));
        assert_eq!((&line["project"], &line["provider"]), (&json!("acme"), &json!("fcm")));
        assert_eq!(line["code"], "credentials_invalid");
    }
    assert_eq!(lines[0]["detail"], "the secret sendonce/acme/fcm cannot be used: member client_email is missing");
    assert!(lines[1]["held_ms"].as_u64().unwrap() >= 10_000);
    let begun: Vec<Value> = own.metrics("HoldsBegun").iter().map(|d| json!([d["provider"], d["HoldsBegun"]])).collect();
    assert_eq!(begun, [json!(["fcm", 1]), json!(["fcm", 0])]);
    assert!(own.events("waiting").is_empty());
    app.stop().await;
}

/// What may pass by itself is no hold: the copy comes back and is told each time.
#[tokio::test]
async fn a_token_endpoint_that_does_not_answer_is_told_at_error_level() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let client = aws_sdk_secretsmanager::Client::new(
        &platform::aws_config_at(platform::AwsTimeouts::within(20_000), &app.system.ready().sandbox).await,
    );
    let good = client.get_secret_value().secret_id("sendonce/acme/fcm").send().await.unwrap();
    let mut file: Value = serde_json::from_str(good.secret_string().unwrap()).unwrap();
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    file["token_uri"] = json!(format!("http://{closed}/token"));
    client.put_secret_value().secret_id("sendonce/acme/fcm").secret_string(file.to_string()).send().await.unwrap();
    let id = app.queued(&push("no-token", "device-without-token")).await;
    let line = eventually("it is told", async || own.events("waiting").into_iter().next()).await;
    assert_eq!((&line["level"], &line["code"]), (&json!("ERROR"), &json!("token_unavailable")));
    assert_eq!((&line["project"], &line["message_id"], &line["chunk"]), (&json!("acme"), &json!(id), &json!(0)));
    assert!(own.events("hold").is_empty());
    let told: Vec<Value> = own.events("waiting").iter().map(|line| json!([line["code"], 1])).collect();
    let counted = own.metrics("WaitingCopies");
    let counted: Vec<Value> =
        counted.iter().map(|document| json!([document["code"], document["WaitingCopies"]])).collect();
    assert_eq!(counted, told, "each receive counts");
    app.stop().await;
}

/// Only some of a copy's devices cannot be called: they are told as waiting, as no call, and are called once they can be.
#[tokio::test]
async fn devices_that_nobody_was_called_for_are_told_as_waiting() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let client = aws_sdk_secretsmanager::Client::new(
        &platform::aws_config_at(platform::AwsTimeouts::within(20_000), &app.system.ready().sandbox).await,
    );
    let good = client.get_secret_value().secret_id("sendonce/acme/fcm").send().await.unwrap().secret_string.unwrap();
    let mut file: Value = serde_json::from_str(&good).unwrap();
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    file["token_uri"] = json!(format!("http://{closed}/token"));
    client.put_secret_value().secret_id("sendonce/acme/fcm").secret_string(file.to_string()).send().await.unwrap();
    let ios = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f2";
    let mut body = push("some-wait", "device-of-some-wait");
    body["to"].as_array_mut().unwrap().push(json!({"platform": "ios", "token": ios}));
    let id = app.queued(&body).await;
    app.called(ios, 1).await;
    let message = eventually("it is told", async || {
        let message = app.message(&id).await;
        (message["deliveries"][0]["last_error"]["code"] == "token_unavailable").then_some(message)
    })
    .await;
    assert_eq!([&message["deliveries"][0]["attempts"], &message["deliveries"][1]["attempts"]], [&json!(0), &json!(1)]);
    let line = &own.events("waiting")[0];
    assert_eq!((&line["code"], &line["message_id"]), (&json!("token_unavailable"), &json!(id)));
    assert!(own.events("device").iter().all(|line| line["device"] == 1), "a call that was not made is none");
    client.put_secret_value().secret_id("sendonce/acme/fcm").secret_string(good).send().await.unwrap();
    // What was read of the secret is good for five minutes.
    app.advance_at_rest(301).await;
    let sent = app.reaches(&id, "sent").await;
    assert_eq!((&sent["deliveries"][0]["attempts"], app.calls(ios).len()), (&json!(1), 1));
    app.stop().await;
}

#[tokio::test]
async fn the_relay_and_the_dead_letters_leave_their_lines() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    app.control(&json!({"inline_send": "fail", "deliver": "pause", "dead_letter": "pause"}));
    let id = app.queued(&push("relayed", "device-of-relayed")).await;
    // The stream's window and the grace; nothing runs that would lose its time.
    app.advance(3);
    let relayed = eventually("the relay enqueues it", async || {
        own.events("relay").into_iter().find(|line| line["enqueued"] == 1)
    })
    .await;
    assert_eq!((&relayed["parked"], &relayed["level"]), (&json!(0), &json!("INFO")));
    app.queues.send(DELIVERIES, "garbage").await;
    app.queues.wear_out(2).await;
    app.control(&json!({"inline_send": "work", "dead_letter": "resume"}));
    eventually("both are handled", async || {
        (app.queues.left(DEAD).await == 0 && app.queues.left(PARKING).await == 1).then_some(())
    })
    .await;
    let letters = eventually("both are told", async || {
        let letters = own.events("dead_letter");
        (letters.len() == 2).then_some(letters)
    })
    .await;
    let of = |outcome: &str| letters.iter().find(|line| line["outcome"] == outcome).unwrap();
    assert_eq!((&of("redriven")["message_id"], &of("redriven")["project"]), (&json!(id), &json!("acme")));
    assert_eq!((of("parked").get("message_id"), &of("parked")["level"]), (None, &json!("ERROR")));
    assert!(of("parked")["copy_id"].as_str().is_some_and(|id| !id.is_empty()));
    app.control(&json!({"deliver": "resume"}));
    app.reaches(&id, "sent").await;
    app.drained().await;
    app.stop().await;
}

/// A bug that shows after the message was stored.
#[derive(Debug)]
struct Panicking;

impl Boundary for Panicking {
    fn after<'a>(&'a self, effect: &'static str) -> BoxFuture<'a, ()> {
        assert!(effect != "put", "a bug");
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn a_request_that_panics_leaves_its_line_too() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let (store, clock, timing) = (app.system.store().clone(), app.system.clock().clone(), Timing::SHORT);
    let router = api::router(Arc::new(Api {
        auth: Auth::new(store.clone(), clock.clone(), timing.key_cache),
        projects: Projects::new(store.clone(), clock.clone(), timing.key_cache),
        store,
        deliveries: Queue::new(app.queues.client.clone(), app.queues.url(DELIVERIES).await),
        clock,
        random: Random::system(),
        timing,
        key_valid_days: 30,
        cors: Vec::new(),
        boundary: Arc::new(Panicking),
    }));
    let request = http::Request::post("/v1/messages")
        .header("authorization", format!("Bearer {}", app.api_key("acme")))
        .header("content-type", "application/json")
        .body(Body::from(push("panics", "device-of-panics").to_string()))
        .unwrap();
    // As without the layer: the runtime around it learns of the panic.
    assert!(AssertUnwindSafe(router.oneshot(request)).catch_unwind().await.is_err());
    let lines = own.events("request");
    assert_eq!(lines.len(), 1);
    let line = &lines[0];
    assert_eq!((&line["status"], &line["code"], &line["level"]), (&json!(500), &json!("panic"), &json!("ERROR")));
    assert_eq!((&line["route"], &line["project"]), (&json!("/v1/messages"), &json!("acme")));
    app.stop().await;
}

/// The rules of the specification that a document of ours could break.
fn schema() -> Value {
    let metric = json!({
        "type": "object", "required": ["Name", "Unit"], "additionalProperties": false,
        "properties": {"Name": {"type": "string", "minLength": 1, "maxLength": 1024}, "Unit": {"enum": ["Count", "Milliseconds"]}},
    });
    let set = json!({"type": "array", "maxItems": 30, "items": {"type": "string", "minLength": 1, "maxLength": 250}});
    let directive = json!({
        "type": "object", "required": ["Namespace", "Dimensions", "Metrics"], "additionalProperties": false,
        "properties": {
            "Namespace": {"const": NAMESPACE},
            "Dimensions": {"type": "array", "minItems": 1, "items": set},
            "Metrics": {"type": "array", "minItems": 1, "maxItems": 100, "items": metric},
        },
    });
    json!({
        "type": "object", "required": ["_aws"],
        "properties": {"_aws": {
            "type": "object", "required": ["Timestamp", "CloudWatchMetrics"], "additionalProperties": false,
            "properties": {
                "Timestamp": {"type": "integer", "minimum": 1_600_000_000_000_u64},
                "CloudWatchMetrics": {"type": "array", "minItems": 1, "items": directive},
            },
        }},
    })
}

/// Whether a dimension's value is from its closed set.
fn closed(dimension: &str, value: &str) -> bool {
    let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"];
    let waits = [
        "app_not_in_credentials",
        "credentials_missing",
        "credentials_invalid",
        "credentials_unavailable",
        "token_unavailable",
        "token_timeout",
    ];
    let known = |sets: &[&[Word]]| sets.iter().flat_map(|words| words.iter()).any(|word| word.word == value);
    match dimension {
        "route" => value == "unmatched" || ROUTES.iter().any(|row| row.path == value),
        "method" => methods.contains(&value),
        "provider" => ["apns", "fcm", "stripe"].contains(&value),
        "class" => known(&[&CLASSES, &PAYOUT_CLASSES]),
        "outcome" => known(&[&LETTER_OUTCOMES, &WEBHOOK_OUTCOMES]),
        "call" => ["create", "list"].contains(&value),
        "state" => STATES.iter().any(|state| state.as_str() == value),
        "code" => waits.contains(&value),
        _ => false,
    }
}

#[tokio::test]
async fn metrics_are_in_the_embedded_format_with_closed_dimensions() {
    let app = TestApp::start().await;
    let id = app.queued(&push("metrics", "device-of-metrics")).await;
    app.reaches(&id, "sent").await;
    app.http.send(&Method::GET, &format!("{}/unheard-of", app.system.ready().api), &[], "").await.expect(404);
    app.stop().await;
    // Everybody's, so that whatever else ran so far is judged too.
    let documents = logs::metrics();
    let validator = validator_for(&schema()).unwrap();
    for document in &documents {
        assert!(validator.is_valid(document), "{document}");
        for directive in document["_aws"]["CloudWatchMetrics"].as_array().unwrap() {
            for dimension in directive["Dimensions"].as_array().unwrap().iter().flat_map(|set| set.as_array().unwrap())
            {
                let dimension = dimension.as_str().unwrap();
                let value = document[dimension].as_str().unwrap_or_default();
                assert!(closed(dimension, value), "{dimension}: {document}");
            }
            for metric in directive["Metrics"].as_array().unwrap() {
                let row = METRICS.iter().find(|row| metric["Name"] == row.name).unwrap();
                assert!(document[row.name].is_u64() && metric["Unit"] == row.unit, "{document}");
                assert_eq!(directive["Dimensions"], json!([row.dimensions]), "{document}");
            }
        }
    }
    let has = |wanted: &[(&str, Value)]| {
        documents.iter().any(|document| wanted.iter().all(|(name, value)| document[*name] == *value))
    };
    assert!(has(&[("route", json!("/v1/messages")), ("method", json!("POST")), ("Requests", json!(1))]));
    assert!(has(&[("route", json!("unmatched")), ("ClientErrors", json!(1)), ("ServerErrors", json!(0))]));
    assert!(has(&[
        ("provider", json!("fcm")),
        ("class", json!("accepted")),
        ("Calls", json!(1)),
        ("Devices", json!(1))
    ]));
}
