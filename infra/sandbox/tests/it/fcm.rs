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
    let cases: [(&str, Value, &str); 13] = [
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
        {"status": 403, "reason": "SOMETHING_NEW"}
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
    assert_eq!(new.json()["error"]["status"], "SOMETHING_NEW");
    assert_eq!(world.send(&message("device")).await.unwrap().status, 200);
    let statuses: Vec<Value> = world.ledger("").await.iter().map(|entry| entry["status"].clone()).collect();
    assert_eq!(statuses, [404, 503, 429, 403, 200].map(Value::from));
}
