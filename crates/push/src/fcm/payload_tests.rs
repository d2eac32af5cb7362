//! What is sent to FCM, and what of it counts against the limit.

use super::*;
use protocol::content::Notification;
use std::collections::BTreeMap;

const ID: &str = "msg_k3v5q7z2n4b6c8d0f2g4h6j8k0l2m4n6p8r0s2t4";

fn device(platform: Platform) -> Device {
    Device { platform, token: Token("the-token".to_owned()) }
}

fn content() -> Content {
    Content {
        notification: Some(Notification { title: "Shipped".to_owned(), body: "On its way".to_owned(), image: None }),
        data: BTreeMap::from([("order".to_owned(), "1042".to_owned())]),
        collapse_key: None,
        app: None,
        priority: Priority::High,
    }
}

fn built(platform: Platform, content: &Content) -> Value {
    build(&device(platform), &Outgoing::new(ID, content, 91_999), 1_000)
}

#[test]
fn an_android_message() {
    let expected = json!({"message": {
        "token": "the-token",
        "notification": {"title": "Shipped", "body": "On its way"},
        "data": {"order": "1042", "message_id": ID},
        "android": {"ttl": "90s", "priority": "HIGH", "notification": {"tag": ID}},
    }});
    assert_eq!(built(Platform::Android, &content()), expected);
}

#[test]
fn a_browser_message() {
    let mut content = content();
    content.priority = Priority::Normal;
    let expected = json!({"message": {
        "token": "the-token",
        "notification": {"title": "Shipped", "body": "On its way"},
        "data": {"order": "1042", "message_id": ID},
        "webpush": {"headers": {"TTL": "90", "Urgency": "normal"}, "notification": {"tag": ID}},
    }});
    assert_eq!(built(Platform::Web, &content), expected);
}

#[test]
fn the_callers_collapse_key_is_key_tag_and_topic() {
    let mut content = content();
    content.collapse_key = Some("order-1042".to_owned());
    let android = built(Platform::Android, &content);
    assert_eq!(android["message"]["android"]["collapse_key"], "order-1042");
    assert_eq!(android["message"]["android"]["notification"]["tag"], "order-1042");
    let web = built(Platform::Web, &content);
    assert_eq!(web["message"]["webpush"]["headers"]["Topic"], "order-1042");
    assert_eq!(web["message"]["webpush"]["notification"]["tag"], "order-1042");
    for no_topic in ["order 1042", "größe", "a.b", &"x".repeat(33)] {
        content.collapse_key = Some(no_topic.to_owned());
        let web = built(Platform::Web, &content);
        assert_eq!(web["message"]["webpush"]["headers"].get("Topic"), None, "{no_topic}");
        assert_eq!(web["message"]["webpush"]["notification"]["tag"], no_topic);
    }
}

#[test]
fn a_silent_push_has_no_notification_and_normal_priority() {
    let mut content = content();
    content.notification = None;
    let android = built(Platform::Android, &content);
    assert_eq!(android["message"].get("notification"), None);
    assert_eq!(android["message"]["android"], json!({"ttl": "90s", "priority": "NORMAL"}));
    let web = built(Platform::Web, &content);
    assert_eq!(web["message"]["webpush"], json!({"headers": {"TTL": "90", "Urgency": "normal"}}));
}

#[test]
fn time_to_live_is_what_is_left_of_it() {
    let content = content();
    let ttl = |expires_ms, now_ms| {
        let outgoing = Outgoing::new(ID, &content, expires_ms);
        build(&device(Platform::Android), &outgoing, now_ms)["message"]["android"]["ttl"].clone()
    };
    assert_eq!(ttl(5_000, 5_000), "0s");
    assert_eq!(ttl(5_000, 9_000), "0s");
    assert_eq!(ttl(5_999, 5_000), "0s");
    assert_eq!(ttl(6_000, 5_000), "1s");
    assert_eq!(ttl(u64::MAX, 0), "2419200s");
}

#[test]
fn the_size_counts_names_and_values_in_bytes() {
    let mut content = content();
    let shown = "titleShippedbodyOn its way".len();
    let data = "order1042message_id".len() + ID.len();
    let tag = "tag".len() + ID.len();
    assert_eq!(payload_size(Platform::Android, ID, &content), shown + data + tag);
    assert_eq!(payload_size(Platform::Web, ID, &content), shown + data + tag);
    content.data.insert("é".to_owned(), "ü€".to_owned());
    assert_eq!(payload_size(Platform::Android, ID, &content), shown + data + tag + 7);
    content.notification = None;
    content.collapse_key = Some("not counted in a silent push".to_owned());
    assert_eq!(payload_size(Platform::Android, ID, &content), data + 7);
}
