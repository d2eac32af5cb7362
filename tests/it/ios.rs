//! iOS devices, through the API to APNs: called once each (G4, G5), and told the truth about (G6).

use crate::support::{Table, TestApp, push};
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};

fn token(number: usize) -> String {
    format!("c0ffee{number:058x}")
}

fn to(key: &str, devices: Vec<Value>) -> Value {
    let mut body = push(key, "unused");
    body["to"] = json!(devices);
    body
}

fn ios(number: usize) -> Value {
    // As an app may spell it.
    json!({"platform": "ios", "token": token(number).to_uppercase()})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_device_of_a_cold_start_is_called_once() {
    let app = TestApp::start().await;
    app.system.sandbox().delay_settings(std::time::Duration::from_millis(50));
    let body = to("cold", (0..45).map(ios).collect());
    let id = app.queued(&body).await;
    let message = app.reaches(&id, "sent").await;
    app.drained().await;
    for (number, delivery) in message["deliveries"].as_array().unwrap().iter().enumerate() {
        let calls = app.calls(&token(number));
        assert_eq!(calls.len(), 1, "{number}");
        assert_eq!((calls[0].provider, calls[0].accepted), ("apns", true));
        assert_eq!(calls[0].collapse_id.as_deref(), Some(id.as_str()));
        assert_eq!(delivery["provider_id"].as_str(), calls[0].id.as_deref());
        assert_eq!((&delivery["platform"], &delivery["attempts"]), (&json!("ios"), &json!(1)));
    }
    app.duplicate(&body, &id).await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_apns_answers_decides() {
    let app = TestApp::start().await;
    // The script, the device's status, the calls that it takes, and the code that is shown.
    let cases = [
        (json!([{"status": 410, "reason": "Unregistered"}]), "failed", 1, json!("Unregistered")),
        (json!([{"status": 400, "reason": "BadDeviceToken"}]), "failed", 1, json!("BadDeviceToken")),
        (json!([{"status": 503}, {"status": 429, "retry_after": 1}]), "sent", 3, Value::Null),
        (json!([{"status": 500}]), "sent", 2, Value::Null),
        (json!([{"status": 403, "reason": "ExpiredProviderToken"}]), "sent", 2, Value::Null),
        (json!(["goaway"]), "sent", 2, Value::Null),
        (json!(["refused_stream"]), "sent", 2, Value::Null),
        (json!(["drop_after_accept"]), "sent", 2, Value::Null),
        (json!(["goaway_after_accept"]), "sent", 2, Value::Null),
        (json!(["reset", "reset", "reset"]), "unknown", 3, json!("connection_lost")),
    ];
    for (number, (script, status, calls, code)) in cases.into_iter().enumerate() {
        app.script(&token(number), &script).await;
        let id = app.queued(&to(&format!("case-{number}"), vec![ios(number)])).await;
        let message = app.reaches(&id, status).await;
        let ledger = app.calls(&token(number));
        assert_eq!(ledger.len(), calls, "{script}");
        assert!(ledger.iter().all(|call| call.collapse_id.as_deref() == Some(id.as_str()) && call.id == ledger[0].id));
        assert_eq!(message["deliveries"][0]["last_error"]["code"], code, "{script}");
    }
    app.drained().await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_most_once_repeats_what_was_not_processed_and_nothing_else() {
    let app = TestApp::start().await;
    let cases = [
        (json!(["goaway"]), "sent", 2),
        (json!(["refused_stream", {"status": 429}]), "sent", 3),
        (json!(["reset"]), "unknown", 1),
        (json!(["goaway_after_accept"]), "unknown", 1),
        (json!([{"status": 500}]), "unknown", 1),
    ];
    for (number, (script, status, calls)) in cases.into_iter().enumerate() {
        app.script(&token(number), &script).await;
        let mut body = to(&format!("once-{number}"), vec![ios(number)]);
        body["delivery"] = json!("at_most_once");
        let id = app.queued(&body).await;
        app.reaches(&id, status).await;
        assert_eq!(app.calls(&token(number)).len(), calls, "{script}");
    }
    app.drained().await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_message_reaches_all_platforms() {
    let app = TestApp::start().await;
    let device = |platform: &str, token: &str| json!({"platform": platform, "token": token});
    let devices = vec![ios(1), device("android", "device-of-mixed-1"), device("web", "device-of-mixed-2")];
    let id = app.queued(&to("mixed", devices)).await;
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!(app.calls(&token(1))[0].provider, "apns");
    for token in ["device-of-mixed-1", "device-of-mixed-2"] {
        assert_eq!((app.calls(token).len(), app.calls(token)[0].provider), (1, "fcm"));
    }
    // An APNs payload counts JSON's punctuation, so this fits FCM only.
    let data: serde_json::Map<String, Value> = (0..400).map(|n| (format!("k{n:03}"), json!("v"))).collect();
    let mut large = to("large", vec![device("android", "device-of-mixed-1"), ios(1)]);
    large["data"] = json!(data);
    let answer = app.send(&large, 400).await;
    answer.problem(400, "payload_too_large_for_provider");
    assert!(answer.body["detail"].as_str().unwrap().contains("apns"), "{}", answer.text);
    large["to"].as_array_mut().unwrap().pop();
    app.queued(&large).await;
    app.stop().await;
}

/// A token is one device in either case, for the API, for a script and for the ledger.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_for_a_token_in_capitals_is_played() {
    let app = TestApp::start().await;
    let capitals = token(7).to_uppercase();
    app.script(&capitals, &json!(["drop_after_accept"])).await;
    let mut body = to("capitals", vec![ios(7)]);
    body["delivery"] = json!("at_most_once");
    let id = app.queued(&body).await;
    app.reaches(&id, "unknown").await;
    assert_eq!((app.calls(&capitals).len(), app.calls(&token(7)).len()), (1, 1));
    app.stop().await;
}

/// One stored provider token that nobody can read stops no pushes: it is replaced when it is needed next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_token_that_cannot_be_read_is_replaced() {
    let app = TestApp::start().await;
    let table = Table::of(&app).await;
    let sent = async |number: usize| {
        let id = app.queued(&to(&format!("token-{number}"), vec![ios(number)])).await;
        app.reaches(&id, "sent").await;
        app.calls(&token(number)).len()
    };
    assert_eq!(sent(0).await, 1);
    let number = |number: u64| Some(AttributeValue::N(number.to_string()));
    let text = Some(AttributeValue::S("1".to_owned()));
    let changes = [
        ("v", None, "1"),
        ("v", number(4_294_967_296), "1"),
        ("v", text.clone(), "1"),
        ("jwt", None, "2"),
        ("iat", None, "3"),
        ("iat", text, "4"),
    ];
    for (done, (name, value, version)) in (1..).zip(changes) {
        table.change_provider_token(name, value.clone()).await;
        // Until the token in memory is too old.
        app.advance(3_000);
        assert_eq!(sent(done).await, 1, "{name} {value:?}");
        assert_eq!(table.provider_token().await["v"], AttributeValue::N(version.to_owned()), "{name} {value:?}");
        assert_eq!(app.system.sandbox().provider_tokens_seen(), u64::try_from(done).unwrap() + 1, "{name} {value:?}");
    }
    app.stop().await;
}

/// APNs goes by the token's own claim, so what stands beside it cannot make an old one young.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_provider_tokens_own_claim_says_how_old_it_is() {
    let app = TestApp::start().await;
    let table = Table::of(&app).await;
    let id = app.queued(&to("young", vec![ios(1)])).await;
    app.reaches(&id, "sent").await;
    app.advance(3_700);
    let now_s = app.system.clock().now_ms() / 1_000;
    table.change_provider_token("iat", Some(AttributeValue::N(now_s.to_string()))).await;
    let id = app.queued(&to("old", vec![ios(2)])).await;
    app.reaches(&id, "sent").await;
    assert_eq!(app.calls(&token(2)).len(), 1, "none was refused");
    assert_eq!(table.provider_token().await["v"], AttributeValue::N("2".to_owned()));
    app.stop().await;
}
