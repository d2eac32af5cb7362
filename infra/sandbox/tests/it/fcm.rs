//! What FCM refuses is refused, in Google's shape, and what it accepts is in the ledger.

use crate::client::{SEND, message, world};
use serde_json::{Value, json};

#[tokio::test]
async fn an_accepted_message_gets_a_name_of_its_own() {
    let world = world().await;
    let first = world.send(&message("device")).await.unwrap();
    let second = world.send(&message("device")).await.unwrap();
    let name = first.json()["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("projects/acme-sandbox/messages/0:") && name.contains('%'), "{name}");
    assert_ne!(name, second.json()["name"]);
    let ledger = world.ledger("").await;
    assert_eq!(ledger[0]["id"], name);
    assert_eq!(ledger[0]["collapse_id"], "msg_1");
    assert_eq!(ledger[0]["payload"], message("device"));
    assert_eq!(ledger[0]["headers"]["authorization"], "(not shown)");
    assert_eq!(
        (&ledger[0]["accepted"], &ledger[0]["answered"], &ledger[0]["status"]),
        (&json!(true), &json!(true), &json!(200))
    );
}

#[tokio::test]
async fn without_a_good_access_token_nothing_is_accepted() {
    let world = world().await;
    for headers in [&[][..], &[("authorization", "Bearer ya29.made-up")], &[("authorization", "Basic YTpi")]] {
        let answer = world.call("POST", SEND, headers, &message("device").to_string()).await.unwrap();
        assert_eq!((answer.status, answer.json()["error"]["status"].as_str()), (401, Some("UNAUTHENTICATED")));
    }
    let bearer = format!("Bearer {}", world.access_token().await);
    let other = SEND.replace("acme", "globex");
    let answer =
        world.call("POST", &other, &[("authorization", &bearer)], &message("device").to_string()).await.unwrap();
    assert_eq!((answer.status, answer.json()["error"]["status"].as_str()), (403, Some("PERMISSION_DENIED")));
    let ledger = world.ledger("?token=device").await;
    assert_eq!(ledger.len(), 4);
    assert!(ledger.iter().all(|entry| entry["accepted"] == json!(false) && entry["answered"] == json!(true)));
}

#[tokio::test]
async fn a_bad_message_names_its_field() {
    let world = world().await;
    let cases: [(&str, Value, &str); 58] = [
        ("/message/token", json!(""), "message.token"),
        ("/message/token", json!(7), "message.token"),
        ("/message/colour", json!("red"), "message"),
        ("/colour", json!("red"), ""),
        ("/message", json!("hello"), "message"),
        ("/message/notification/sound", json!("x"), "message.notification"),
        ("/message/notification/title", json!(7), "message.notification"),
        ("/message/data/n", json!(7), "message.data"),
        ("/message/data/from", json!("x"), "message.data"),
        ("/message/data/google.x", json!("x"), "message.data"),
        ("/message/android/ttl", json!("-1s"), "message.android.ttl"),
        ("/message/android/ttl", json!(60), "message.android.ttl"),
        ("/message/android/priority", json!("high"), "message.android.priority"),
        ("/message/android/ttl", json!("2419201s"), "message.android.ttl"),
        ("/message/android/colour", json!("red"), "message.android"),
        ("/message/android/collapse_key", json!(7), "message.android"),
        ("/message/android/notification", json!("x"), "message.android.notification"),
        ("/message/android", json!("x"), "message.android"),
        ("/message/data", json!("x"), "message.data"),
        ("/message/data/message_type", json!("x"), "message.data"),
        ("/message/data/gcm.notification.x", json!("x"), "message.data"),
        ("/message/notification", json!([]), "message.notification"),
        ("/message/webpush", json!({"colour": "red"}), "message.webpush"),
        ("/message/webpush", json!({"headers": {"TTL": 60}}), "message.webpush.headers"),
        ("/message/webpush", json!({"notification": "x"}), "message.webpush.notification"),
        ("/message/webpush", json!({"data": {"k": 7}}), "message.webpush.data"),
        ("/message/webpush", json!({"fcm_options": {"link": 7}}), "message.webpush.fcm_options"),
        ("/message/name", json!(7), "message"),
        ("/message/fcm_options", json!("x"), "message.fcm_options"),
        ("/message/fcm_options", json!({"image": "x"}), "message.fcm_options"),
        ("/message/fcm_options", json!({"analytics_label": 7}), "message.fcm_options"),
        ("/message/fcm_options", json!({"analytics_label": "two words"}), "message.fcm_options.analytics_label"),
        ("/message/android/fcm_options", json!({"link": "x"}), "message.android.fcm_options"),
        ("/message/android/data", json!({"k": 7}), "message.android.data"),
        ("/message/android/data", json!({"from": "x"}), "message.android.data"),
        ("/message/android/direct_boot_ok", json!("yes"), "message.android"),
        ("/message/android/restricted_package_name", json!(7), "message.android"),
        ("/message/android/notification/tag", json!(7), "message.android.notification"),
        ("/message/android/notification/colour", json!("x"), "message.android.notification"),
        ("/message/android/notification/body_loc_args", json!("x"), "message.android.notification.body_loc_args"),
        (
            "/message/android/notification/title_loc_args",
            json!(["x", 7]),
            "message.android.notification.title_loc_args",
        ),
        ("/message/android/notification/sticky", json!("x"), "message.android.notification"),
        ("/message/android/notification/notification_count", json!(1.5), "message.android.notification"),
        ("/message/android/notification/visibility", json!("public"), "message.android.notification.visibility"),
        ("/message/android/notification/vibrate_timings", json!([1]), "message.android.notification.vibrate_timings"),
        (
            "/message/android/notification/light_settings",
            json!({"color": {"red": "x"}}),
            "message.android.notification.light_settings.color",
        ),
        ("/message/apns", json!("x"), "message.apns"),
        ("/message/apns", json!({"colour": "red"}), "message.apns"),
        ("/message/apns", json!({"headers": {"apns-priority": 10}}), "message.apns.headers"),
        ("/message/apns", json!({"payload": "x"}), "message.apns.payload"),
        // Both spellings of one member at once.
        ("/message/android", json!({"collapse_key": "a", "collapseKey": "a"}), "message.android"),
        ("/message/android", json!({"collapseKey": 7}), "message.android"),
        ("/validateOnly", json!("yes"), "validate_only"),
        // One recipient, and one only.
        ("/message/fid", json!("x"), "message"),
        ("/message/topic", json!("news"), "message"),
        ("/message/condition", json!("'news' in topics"), "message"),
        ("/validate_only", json!("yes"), "validate_only"),
        ("/message", json!({"data": {"k": "v"}}), "message"),
    ];
    for (pointer, value, field) in cases {
        let mut body = message("device");
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        body.pointer_mut(parent).unwrap()[name] = value;
        let answer = world.send(&body).await.unwrap();
        let error = &answer.json()["error"];
        assert_eq!((answer.status, error["status"].as_str()), (400, Some("INVALID_ARGUMENT")), "{pointer}");
        let details = error["details"].as_array().unwrap();
        assert_eq!(details.last().unwrap()["fieldViolations"][0]["field"], field, "{pointer}");
    }
    let bearer = format!("Bearer {}", world.access_token().await);
    let no_json = world.call("POST", SEND, &[("authorization", &bearer)], "{").await.unwrap();
    assert_eq!(no_json.status, 400);
    let last = world.ledger("").await.pop().unwrap();
    assert_eq!((&last["payload"], &last["token"], &last["accepted"]), (&json!("{"), &Value::Null, &json!(false)));
}

#[tokio::test]
async fn an_installation_id_is_a_recipient_too() {
    let world = world().await;
    let mut body = message("unused");
    body["message"].as_object_mut().unwrap().remove("token");
    body["message"]["fid"] = json!("fid-of-pixel");
    assert_eq!(world.send(&body).await.unwrap().status, 200);
    assert_eq!(world.ledger("?token=fid-of-pixel").await.len(), 1);
}

#[tokio::test]
async fn a_payload_is_measured() {
    let world = world().await;
    let counted = "titleTbodyBmessage_idmsg_1tagmsg_1k".len();
    for (length, status) in [(4_096 - counted, 200), (4_097 - counted, 400)] {
        let mut body = message("device");
        body["message"]["data"]["k"] = json!("x".repeat(length));
        let answer = world.send(&body).await.unwrap();
        assert_eq!(answer.status, status);
        if status == 400 {
            assert_eq!(answer.json()["error"]["details"][0]["errorCode"], "INVALID_ARGUMENT");
        }
    }
}

/// 4,096 bytes for everything that one app is handed, whichever part of the message it stands in.
#[tokio::test]
async fn every_part_that_an_app_is_handed_is_measured() {
    let world = world().await;
    let shared = "titleTbodyBmessage_idmsg_1".len();
    let parts = [
        ("/message/android/data", "tagmsg_1k"),
        ("/message/android/notification", "tagmsg_1k"),
        ("/message/webpush/data", "k"),
        ("/message/webpush/notification", "k"),
        ("/message/apns/payload", "k"),
    ];
    for (pointer, counted) in parts {
        let room = 4_096 - shared - counted.len();
        for (length, status) in [(room, 200), (room + 1, 400)] {
            let mut body = message("device");
            for platform in ["webpush", "apns"] {
                body["message"][platform] = json!({});
            }
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            let member = if pointer == "/message/android/notification" { "body" } else { "k" };
            let length = length + 1 - member.len();
            body.pointer_mut(parent).unwrap()[name][member] = json!("x".repeat(length));
            assert_eq!(world.send(&body).await.unwrap().status, status, "{pointer} {length}");
        }
    }
    // What stands in lists and objects counts too, and a topic's message has half the room.
    let mut body = message("device");
    body["message"]["android"]["notification"]["body_loc_args"] = json!(["x".repeat(2_048), "x".repeat(2_048)]);
    assert_eq!(world.send(&body).await.unwrap().status, 400);
    for (length, status) in [(2_047, 200), (2_048, 400)] {
        let data = json!({"k": "x".repeat(length)});
        let body = json!({"validate_only": true, "message": {"topic": "news", "data": data}});
        assert_eq!(world.send(&body).await.unwrap().status, status);
    }
}

#[tokio::test]
async fn a_full_message_in_either_spelling_is_accepted() {
    let world = world().await;
    let mut body = message("device");
    body["validateOnly"] = json!(false);
    body["message"]["name"] = json!("");
    body["message"]["fcmOptions"] = json!({"analyticsLabel": "spring-sale"});
    body["message"]["android"] = json!({"collapseKey": "order", "restrictedPackageName": "com.example",
        "directBootOk": true, "ttl": "3.5s", "data": {"k": "v"}, "priority": "NORMAL", "fcm_options": {},
        "notification": {"icon": "i", "bodyLocKey": "k", "bodyLocArgs": ["a"], "sticky": true, "visibility": "PUBLIC",
            "notification_priority": "PRIORITY_MAX", "notificationCount": 3, "vibrateTimings": ["0.5s", "1s"],
            "eventTime": "2026-01-01T00:00:00Z", "proxy": "ALLOW", "lightSettings": {
                "color": {"red": 1, "green": 0.5, "blue": 0, "alpha": 1}, "lightOnDuration": "1s",
                "lightOffDuration": "1s"}}});
    body["message"]["apns"] = json!({"headers": {"apns-priority": "10"}, "payload": {"aps": {"badge": 1}},
        "fcmOptions": {"image": "https://example.com/i.png"}});
    body["message"]["webpush"] = json!({"headers": {"TTL": "60"}, "notification": {"requireInteraction": true},
        "fcmOptions": {"link": "https://example.com"}});
    let answer = world.send(&body).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text);
    let ledger = world.ledger("").await;
    assert_eq!((&ledger[0]["accepted"], &ledger[0]["collapse_id"]), (&json!(true), &json!("order")));
    // A message that is only validated may say so in either spelling.
    let mut only = message("device");
    only["validateOnly"] = json!(true);
    assert_eq!(world.send(&only).await.unwrap().status, 200);
    assert_eq!(world.ledger("").await[1]["accepted"], json!(false));
}

#[tokio::test]
async fn validate_only_reaches_nobody() {
    let world = world().await;
    world.script("device", &json!(["hang"])).await;
    let mut body = message("device");
    body["validate_only"] = json!(true);
    assert_eq!(world.send(&body).await.unwrap().status, 200);
    assert_eq!(world.ledger("").await[0]["accepted"], json!(false));
    // It did not use up the script either.
    assert!(world.send(&message("device")).await.is_none());
}

#[tokio::test]
async fn scripted_errors_have_googles_shape() {
    let world = world().await;
    let script = json!([
        {"status": 404, "reason": "UNREGISTERED"}, {"status": 503, "retry_after": 2}, {"status": 429, "reason": "QUOTA_EXCEEDED"},
        {"status": 404, "reason": "SOMETHING_NEW"}, {"status": 403, "reason": "FAILED_PRECONDITION"}
    ]);
    assert_eq!(world.script("device", &script).await.status, 204);
    let unregistered = world.send(&message("device")).await.unwrap();
    let fcm = "type.googleapis.com/google.firebase.fcm.v1.FcmError";
    let expected = json!({"error": {"code": 404, "message": "Requested entity was not found.", "status": "NOT_FOUND",
        "details": [{"@type": fcm, "errorCode": "UNREGISTERED"}]}});
    assert_eq!((unregistered.status, unregistered.json()), (404, expected));
    let unavailable = world.send(&message("device")).await.unwrap();
    assert_eq!((unavailable.status, &unavailable.headers["retry-after"]), (503, &http::HeaderValue::from(2)));
    assert_eq!(unavailable.json()["error"]["status"], "UNAVAILABLE");
    let quota = world.send(&message("device")).await.unwrap();
    assert_eq!(quota.json()["error"]["status"], "RESOURCE_EXHAUSTED");
    let new = world.send(&message("device")).await.unwrap();
    let details = json!([{"@type": fcm, "errorCode": "SOMETHING_NEW"}]);
    assert_eq!((&new.json()["error"]["status"], &new.json()["error"]["details"]), (&json!("NOT_FOUND"), &details));
    let of_the_front_end = world.send(&message("device")).await.unwrap().json();
    assert_eq!(
        (&of_the_front_end["error"]["status"], of_the_front_end["error"].get("details")),
        (&json!("FAILED_PRECONDITION"), None)
    );
    assert_eq!(world.send(&message("device")).await.unwrap().status, 200);
    let statuses: Vec<Value> = world.ledger("").await.iter().map(|entry| entry["status"].clone()).collect();
    assert_eq!(statuses, [404, 503, 429, 404, 403, 200].map(Value::from));
}

#[tokio::test]
async fn what_is_only_validated_is_checked_and_reaches_nobody() {
    let world = world().await;
    let to_topic = |validate_only: bool| json!({"validate_only": validate_only, "message": {"topic": "news"}});
    let mut to_device = message("device");
    to_device["validate_only"] = json!(true);
    for body in [to_device, to_topic(true)] {
        let answer = world.send(&body).await.unwrap();
        assert_eq!(answer.status, 200, "{body}");
    }
    // A topic that is named wrongly, and one that would have to be sent to.
    let mut misnamed = to_topic(true);
    misnamed["message"]["topic"] = json!("two words");
    for body in [misnamed, to_topic(false)] {
        let answer = world.send(&body).await.unwrap();
        assert_eq!(answer.status, 400, "{body}");
    }
    let ledger = world.ledger("").await;
    assert_eq!(ledger.len(), 4);
    assert!(ledger.iter().all(|entry| entry["accepted"] == json!(false) && entry["id"] == Value::Null), "{ledger:?}");
}
