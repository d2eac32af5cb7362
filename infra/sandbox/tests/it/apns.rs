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
        (at(&format!("/4/device/{TOKEN}")), 404, "BadPath"),
        (at(&format!("/3.0/device/{TOKEN}")), 404, "BadPath"),
        (at("/3/device/"), 400, "MissingDeviceToken"),
        (at("/3/device/xyz1"), 400, "BadDeviceToken"),
        (at("/3/device/abc"), 400, "BadDeviceToken"),
        (with("apns-id", "123E4567-e89b-12d3-a456-4266554400a0"), 400, "BadMessageId"),
        (good.clone().without("apns-topic"), 400, "MissingTopic"),
        (with("apns-topic", "com.example.other"), 400, "TopicDisallowed"),
        (with("apns-topic", "com.example.acme.beta"), 200, ""),
        (with("apns-priority", "7"), 400, "BadPriority"),
        (with("apns-expiration", "soon"), 400, "BadExpirationDate"),
        (with("apns-expiration", "+5"), 400, "BadExpirationDate"),
        (with("apns-expiration", "-5"), 400, "BadExpirationDate"),
        (with("apns-expiration", ""), 400, "BadExpirationDate"),
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

/// Apple, "Sending notification requests to APNs": the topic goes with the push type.
#[tokio::test]
async fn every_push_type_has_its_topic() {
    let world = world().await;
    let good = good(&world).await;
    let send = async |push_type: &str, topic: &str, payload: &str| {
        let priority = if push_type == "background" { "5" } else { "10" };
        let mut request = good.clone().without("apns-topic").without("apns-push-type").without("apns-priority");
        if !push_type.is_empty() {
            request = request.with("apns-push-type", push_type);
        }
        request = request.with("apns-topic", topic).with("apns-priority", priority);
        let (status, reason) = refused(&world, Request { body: payload.to_owned(), ..request }).await;
        if status == 200 { "taken".to_owned() } else { format!("{status} {reason}") }
    };
    let shown = r#"{"aps":{"alert":"x"}}"#;
    let silent = r#"{"aps":{"content-available":1}}"#;
    let types = [
        ("alert", "", shown),
        ("background", "", silent),
        ("complication", ".complication", silent),
        ("controls", ".push-type.controls", shown),
        ("fileprovider", ".pushkit.fileprovider", silent),
        ("liveactivity", ".push-type.liveactivity", shown),
        ("location", ".location-query", silent),
        ("pushtotalk", ".voip-ptt", shown),
        ("voip", ".voip", shown),
        ("widgets", ".push-type.widgets", silent),
    ];
    for (push_type, suffix, payload) in types {
        for app in ["com.example.acme", "com.example.acme.beta"] {
            assert_eq!(send(push_type, &format!("{app}{suffix}"), payload).await, "taken", "{push_type}");
        }
        // Another type's topic, the bare bundle id, an unknown end, and somebody else's app.
        let others = if push_type == "voip" { "com.example.acme.voip-ptt" } else { "com.example.acme.voip" };
        assert_eq!(send(push_type, others, payload).await, "400 InvalidPushType", "{push_type}");
        if !suffix.is_empty() {
            let bare = send(push_type, "com.example.acme", payload).await;
            assert_eq!(bare, "400 DeviceTokenNotForTopic", "{push_type}");
        }
        for topic in ["com.example.acme.nothing".to_owned(), format!("com.example.other{suffix}")] {
            assert_eq!(send(push_type, &topic, payload).await, "400 TopicDisallowed", "{push_type} {topic}");
        }
    }
    // Without a type, as before there were types.
    assert_eq!(send("", "com.example.acme.voip", shown).await, "taken");
    assert_eq!(send("mdm", "com.example.acme", shown).await, "400 DeviceTokenNotForTopic");
    assert_eq!(send("mdm", "com.apple.mgmt.External.00000000", shown).await, "400 TopicDisallowed");
    // A VoIP payload may be longer.
    let long =
        |bytes: usize| format!(r#"{{"aps":{{"alert":"{}"}}}}"#, "x".repeat(bytes - r#"{"aps":{"alert":""}}"#.len()));
    assert_eq!(send("voip", "com.example.acme.voip", &long(5_120)).await, "taken");
    assert_eq!(send("voip", "com.example.acme.voip", &long(5_121)).await, "413 PayloadTooLarge");
    assert_eq!(
        send("liveactivity", "com.example.acme.push-type.liveactivity", &long(4_097)).await,
        "413 PayloadTooLarge"
    );
}

#[tokio::test]
async fn an_alert_must_show_something() {
    let world = world().await;
    let good = good(&world).await;
    for (payload, reason) in [
        (r#"{"aps":{"alert":{"title":"t","body":"b"}}}"#, ""),
        (r#"{"aps":{"badge":0}}"#, ""),
        (r#"{"aps":{"sound":"default"}}"#, ""),
        // What APNs makes of an empty text is not known.
        (r#"{"aps":{"alert":""}}"#, ""),
        (r#"{"aps":{"alert":null}}"#, "InvalidPushType"),
        (r#"{"aps":{"alert":null,"badge":null,"sound":null}}"#, "InvalidPushType"),
        (r#"{"aps":{}}"#, "InvalidPushType"),
        (r#"{"aps":null}"#, "PayloadEmpty"),
        (r#"{"aps":"x"}"#, "PayloadEmpty"),
        (r#"{"message_id":"msg_1"}"#, "PayloadEmpty"),
        ("no json", "PayloadEmpty"),
    ] {
        let request = Request { body: payload.to_owned(), ..good.clone() };
        assert_eq!(refused(&world, request).await.1, reason, "{payload}");
    }
    let background = good.clone().without("apns-push-type").without("apns-priority");
    let background = background.with("apns-push-type", "background").with("apns-priority", "5");
    for (payload, reason) in [
        (r#"{"aps":{"content-available":1,"alert":null}}"#, ""),
        (r#"{"aps":{"content-available":0}}"#, "InvalidPushType"),
        (r#"{"aps":{"content-available":1,"badge":1}}"#, "InvalidPushType"),
        (r#"{"aps":{}}"#, "InvalidPushType"),
    ] {
        let request = Request { body: payload.to_owned(), ..background.clone() };
        assert_eq!(refused(&world, request).await.1, reason, "{payload}");
    }
}

#[tokio::test]
async fn no_header_may_come_twice() {
    let world = world().await;
    let good = good(&world).await;
    for (name, value) in &good.headers {
        let twice = good.clone().with(name, value);
        assert_eq!(refused(&world, twice).await, (400, "DuplicateHeaders".to_owned()), "{name}");
    }
}

#[tokio::test]
async fn a_key_speaks_for_its_own_team_only() {
    let world = world().await;
    world.sandbox.seed_project("globex").unwrap();
    assert_ne!(world.secret("sendonce/acme/apns").await["key"], world.secret("sendonce/globex/apns").await["key"]);
    let good = good(&world).await;
    world.mix_up("acme", "globex", "apns", "key").await;
    let forged = format!("bearer {}", world.provider_token("acme", 0).await);
    let forged = good.clone().without("authorization").with("authorization", &forged);
    assert_eq!(refused(&world, forged).await, (403, "InvalidProviderToken".to_owned()));
    // Another team's token is good for another team's apps only.
    let others = format!("bearer {}", world.provider_token("globex", 0).await);
    let others = good.clone().without("authorization").with("authorization", &others);
    assert_eq!(refused(&world, others).await, (400, "TopicDisallowed".to_owned()));
    // Seeding again restores the key that Apple knows.
    world.sandbox.seed_project("acme").unwrap();
    assert_eq!(refused(&world, good).await, (200, String::new()));
}

#[tokio::test]
async fn a_connection_belongs_to_one_key() {
    let world = world().await;
    let first = good(&world).await;
    world.sandbox.add_signing_key("acme").unwrap();
    let second = format!("bearer {}", world.provider_token("acme", 0).await);
    let second = first.clone().without("authorization").with("authorization", &second);
    let mut connection = Connection::open(&world.base_url).await;
    assert_eq!(connection.send(first.clone()).await.unwrap().status, 200);
    let unrelated = connection.send(second.clone()).await.unwrap();
    assert_eq!((unrelated.status, &unrelated.body[..]), (403, &br#"{"reason":"UnrelatedKeyIdInToken"}"#[..]));
    // On a connection of its own it is as good as the first.
    assert_eq!(refused(&world, second).await.0, 200);
    assert_eq!(refused(&world, first).await.0, 200);
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
    world.sandbox.seed_project("globex").unwrap();
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
