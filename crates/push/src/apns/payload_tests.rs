//! What is sent to APNs: body and headers.

use super::*;
use protocol::content::Notification;
use std::collections::BTreeMap;

const ID: &str = "msg_k3v5q7z2n4b6c8d0f2g4h6j8k0l2m4n6p8r0s2t4";

fn content() -> Content {
    Content {
        notification: Some(Notification { title: "Shipped".to_owned(), body: "On its way".to_owned(), image: None }),
        data: BTreeMap::from([("order".to_owned(), "1042".to_owned())]),
        collapse_key: None,
        app: None,
        priority: Priority::High,
    }
}

fn built(content: &Content, expires_ms: u64, now_ms: u64) -> Headers {
    headers(&Token("c0ffee".to_owned()), &Outgoing::new(ID, content, expires_ms), now_ms)
}

#[test]
fn a_notification() {
    let content = content();
    let expected = json!({
        "aps": {"alert": {"title": "Shipped", "body": "On its way"}, "sound": "default"},
        "order": "1042", "message_id": ID,
    });
    assert_eq!(build(ID, &content), expected);
    assert_eq!(payload_size(ID, &content), expected.to_string().len());
    let headers = built(&content, 91_999, 1_000);
    assert_eq!((headers.push_type, headers.priority, headers.expiration), ("alert", "10", 91));
    assert_eq!(headers.collapse_id, ID);
}

#[test]
fn a_silent_push_is_background_with_priority_5() {
    let mut content = content();
    content.notification = None;
    let expected = json!({"aps": {"content-available": 1}, "order": "1042", "message_id": ID});
    assert_eq!(build(ID, &content), expected);
    let headers = built(&content, 91_999, 1_000);
    assert_eq!((headers.push_type, headers.priority), ("background", "5"));
}

#[test]
fn normal_priority_is_5() {
    let mut content = content();
    content.priority = Priority::Normal;
    assert_eq!(built(&content, 0, 0).priority, "5");
}

#[test]
fn an_image_is_for_the_apps_extension() {
    let mut content = content();
    content.notification.as_mut().unwrap().image = Some("https://a.example/b.png".to_owned());
    let body = build(ID, &content);
    assert_eq!((&body["image"], &body["aps"]["mutable-content"]), (&json!("https://a.example/b.png"), &json!(1)));
    content.data.insert("image".to_owned(), "mine".to_owned());
    assert_eq!(build(ID, &content)["image"], "mine");
}

#[test]
fn expiration_is_seconds_or_now_or_never() {
    let content = content();
    let expiration = |expires_ms, now_ms| built(&content, expires_ms, now_ms).expiration;
    assert_eq!(expiration(5_000, 5_000), 0);
    assert_eq!(expiration(5_000, 9_000), 0);
    assert_eq!(expiration(5_999, 5_000), 0);
    assert_eq!(expiration(6_000, 5_999), 6);
    assert_eq!(expiration(u64::MAX, 0), 30 * 86_400);
}

#[test]
fn the_id_is_a_uuid_of_version_5_per_message_and_device() {
    let id = |message: &str, token: &str| notification_id(message, &Token(token.to_owned()));
    let first = id(ID, "c0ffee");
    assert_eq!(first, id(ID, "c0ffee"));
    // By another implementation of RFC 9562, so that an id means the same in every release.
    assert_eq!(first, "99a9d595-70f5-5af2-9874-8acf8ce19694");
    assert_ne!(first, id(ID, "c0ffed"));
    assert_ne!(first, id("msg_other", "c0ffee"));
    let parts: Vec<usize> = first.split('-').map(str::len).collect();
    assert_eq!(parts, [8, 4, 4, 4, 12]);
    assert!(first.bytes().all(|b| b == b'-' || b.is_ascii_digit() || (b'a'..=b'f').contains(&b)), "{first}");
    assert!(first.as_bytes()[14] == b'5' && b"89ab".contains(&first.as_bytes()[19]), "{first}");
}

#[test]
fn a_collapse_id_always_fits_a_header() {
    for plain in ["order-1042", "order 1042", "größe", &"x".repeat(64)] {
        assert_eq!(collapse_id(plain).as_bytes(), plain.as_bytes());
    }
    let odd = [" a", "a ", "a\nb", "a\0b", "\u{7f}"].map(collapse_id);
    for (at, hashed) in odd.iter().enumerate() {
        assert_eq!(hashed.len(), 43);
        assert!(odd.iter().skip(at + 1).all(|other| other != hashed));
    }
}
