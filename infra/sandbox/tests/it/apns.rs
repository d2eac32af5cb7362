//! What APNs refuses is refused, with Apple's reasons, and what it accepts is in the ledger.

use crate::{
    client::{World, world},
    frames::{Connection, Request},
};
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) const TOKEN: &str = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0";

/// A complete request with a good token.
pub(crate) async fn good(world: &World) -> Request {
    let bearer = format!("bearer {}", world.provider_token("acme", 0).await);
    let headers = [
        ("authorization", bearer.as_str()),
        ("apns-id", "123e4567-e89b-12d3-a456-4266554400a0"),
        ("apns-topic", "com.example.acme"),
        ("apns-push-type", "alert"),
        ("apns-expiration", "0"),
        ("apns-priority", "10"),
        ("apns-collapse-id", "msg_1"),
    ];
    Request::new("POST", &format!("/3/device/{TOKEN}"), &headers, r#"{"aps":{"alert":"hello"},"message_id":"msg_1"}"#)
}

/// The status and the reason.
async fn refused(world: &World, request: Request) -> (u16, String) {
    let mut connection = Connection::open(&world.base_url).await;
    let answer = connection.send(request).await.unwrap();
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    (answer.status, body["reason"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn an_accepted_notification_is_in_the_ledger() {
    let world = world().await;
    let answer = Connection::open(&world.base_url).await.send(good(&world).await).await.unwrap();
    assert_eq!((answer.status, answer.body.len()), (200, 0));
    assert_eq!(answer.headers["apns-id"], "123e4567-e89b-12d3-a456-4266554400a0");
    let ledger = world.ledger(&format!("?token={TOKEN}")).await;
    assert_eq!(ledger.len(), 1);
    let entry = &ledger[0];
    assert_eq!((&entry["provider"], &entry["id"]), (&json!("apns"), &json!("123e4567-e89b-12d3-a456-4266554400a0")));
    assert_eq!(entry["collapse_id"], "msg_1");
    assert_eq!(entry["payload"], json!({"aps": {"alert": "hello"}, "message_id": "msg_1"}));
    assert_eq!(entry["headers"]["authorization"], "(not shown)");
    assert_eq!((&entry["accepted"], &entry["status"]), (&json!(true), &json!(200)));
    let page = world.get("/").await.text;
    assert!(page.contains(TOKEN) && page.contains("msg_1"), "{page}");
}

#[tokio::test]
async fn a_request_without_an_id_gets_one() {
    let world = world().await;
    let answer = Connection::open(&world.base_url).await.send(good(&world).await.without("apns-id")).await.unwrap();
    assert_eq!(answer.headers["apns-id"].len(), 36);
}

#[tokio::test]
async fn every_check_has_apples_reason() {
    let world = world().await;
    let good = good(&world).await;
    let with = |name: &'static str, value: &str| good.clone().without(name).with(name, value);
    let at = |path: &str| Request { path: path.to_owned(), ..good.clone() };
    let body = |text: &str| Request { body: text.to_owned(), ..good.clone() };
    let long = "x".repeat(65);
    let background = |payload: &str| Request {
        body: payload.to_owned(),
        ..with("apns-push-type", "background").without("apns-priority").with("apns-priority", "5")
    };
    let size = |bytes: usize| {
        let frame = r#"{"aps":{"alert":""}}"#.len();
        body(&format!(r#"{{"aps":{{"alert":"{}"}}}}"#, "x".repeat(bytes - frame)))
    };
    let cases = [
        (Request { method: "GET".to_owned(), ..good.clone() }, 405, "MethodNotAllowed"),
        (at("/3/devices/00"), 404, "BadPath"),
        (at("/3/device/"), 400, "MissingDeviceToken"),
        (at("/3/device/xyz1"), 400, "BadDeviceToken"),
        (at("/3/device/abc"), 400, "BadDeviceToken"),
        (with("apns-id", "123E4567-e89b-12d3-a456-4266554400a0"), 400, "BadMessageId"),
        (good.clone().without("apns-topic"), 400, "MissingTopic"),
        (with("apns-topic", "com.example.other"), 400, "TopicDisallowed"),
        (with("apns-topic", "com.example.acme.beta"), 200, ""),
        (with("apns-priority", "7"), 400, "BadPriority"),
        (with("apns-expiration", "soon"), 400, "BadExpirationDate"),
        (with("apns-collapse-id", &long), 400, "BadCollapseId"),
        (with("apns-collapse-id", &long[..64]), 200, ""),
        (good.clone().with("apns-priority", "5"), 400, "DuplicateHeaders"),
        (with("apns-push-type", "loud"), 400, "InvalidPushType"),
        (body(r#"{"aps":{"content-available":1}}"#), 400, "InvalidPushType"),
        (with("apns-push-type", "background"), 400, "BadPriority"),
        (background(r#"{"aps":{"content-available":1}}"#), 200, ""),
        (background(r#"{"aps":{"content-available":1,"alert":"x"}}"#), 400, "InvalidPushType"),
        (body(""), 400, "PayloadEmpty"),
        (body("{}"), 400, "PayloadEmpty"),
        (size(4_096), 200, ""),
        (size(4_097), 413, "PayloadTooLarge"),
    ];
    for (request, status, reason) in cases {
        let shown = format!("{request:?}");
        assert_eq!(refused(&world, request).await, (status, reason.to_owned()), "{shown:.300}");
    }
}

#[tokio::test]
async fn provider_tokens_are_checked() {
    let world = world().await;
    let good = good(&world).await;
    let bearer = |token: &str| good.clone().without("authorization").with("authorization", &format!("bearer {token}"));
    let mut forged = world.provider_token("acme", 0).await;
    forged.replace_range(forged.len() - 4.., "AAAA");
    let cases = [
        (good.clone().without("authorization"), "MissingProviderToken"),
        (good.clone().without("authorization").with("authorization", "basic abc"), "MissingProviderToken"),
        (bearer("a.b.c"), "InvalidProviderToken"),
        (bearer("x"), "InvalidProviderToken"),
        (bearer(&forged), "InvalidProviderToken"),
        (bearer(&world.provider_token("acme", -3_610).await), "ExpiredProviderToken"),
        (bearer(&world.provider_token("acme", 120).await), "InvalidProviderToken"),
        (
            bearer(&world.signed_token("acme", |header| header["kid"] = json!("OTHERKEY12")).await),
            "InvalidProviderToken",
        ),
        (bearer(&world.signed_token("acme", |header| header["alg"] = json!("none")).await), "InvalidProviderToken"),
    ];
    for (request, reason) in cases {
        assert_eq!(refused(&world, request).await, (403, reason.to_owned()));
    }
    assert_eq!(refused(&world, good).await, (200, String::new()));
    assert_eq!(world.sandbox.provider_tokens_seen(), 1);
}

#[tokio::test]
async fn a_new_token_may_come_every_20_minutes() {
    let world = world().await;
    let first = good(&world).await;
    assert_eq!(refused(&world, first.clone()).await.0, 200);
    let second = format!("bearer {}", world.provider_token("acme", -1).await);
    let second = first.clone().without("authorization").with("authorization", &second);
    assert_eq!(refused(&world, second.clone()).await, (429, "TooManyProviderTokenUpdates".to_owned()));
    assert_eq!(refused(&world, first.clone()).await.0, 200);
    world.clock.advance(Duration::from_secs(20 * 60));
    assert_eq!(refused(&world, second).await.0, 200);
    assert_eq!(refused(&world, first).await.0, 200);
}

#[tokio::test]
async fn a_connection_belongs_to_one_team() {
    let world = world().await;
    world.sandbox.seed_project("globex");
    let first = good(&world).await;
    let other = format!("bearer {}", world.provider_token("globex", 0).await);
    let other = first.clone().without("authorization").with("authorization", &other);
    let mut connection = Connection::open(&world.base_url).await;
    assert_eq!(connection.send(first).await.unwrap().status, 200);
    let answer = connection.send(other).await.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (403, &br#"{"reason":"InvalidProviderToken"}"#[..]));
}

#[tokio::test]
async fn scripted_errors_have_apples_shape() {
    let world = world().await;
    let script = json!([
        {"status": 410, "reason": "Unregistered", "timestamp": 1_508_249_865_488_u64}, {"status": 503, "retry_after": 2},
        {"status": 429}, {"status": 500}
    ]);
    assert_eq!(world.script(TOKEN, &script).await.status, 204);
    let good = good(&world).await;
    let mut connection = Connection::open(&world.base_url).await;
    let mut answers = Vec::new();
    for _ in 0..4 {
        let answer = connection.send(good.clone()).await.unwrap();
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        let asked = answer.headers.get("retry-after").map(|value| value.to_str().unwrap().to_owned());
        answers.push((answer.status, body, asked));
    }
    let expected = [
        (410, json!({"reason": "Unregistered", "timestamp": 1_508_249_865_488_u64}), None),
        (503, json!({"reason": "ServiceUnavailable"}), Some("2".to_owned())),
        (429, json!({"reason": "TooManyRequests"}), None),
        (500, json!({"reason": "InternalServerError"}), None),
    ];
    assert_eq!(answers, expected);
    assert!(world.ledger("").await.iter().all(|entry| entry["accepted"] == json!(false)));
}

#[tokio::test]
async fn apns_does_not_speak_http1() {
    let world = world().await;
    assert!(world.call("POST", &format!("/3/device/{TOKEN}"), &[], "{}").await.is_none());
    assert!(world.ledger("").await.is_empty());
}
