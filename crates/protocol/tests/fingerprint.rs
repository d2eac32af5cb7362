//! The fingerprint: version 1 is pinned, and every difference in meaning is a different hash.

use crate::common::{plain_request, send_request, text};
use proptest::prelude::*;
use protocol::{
    content::{Device, Notification, Platform, Policy, Priority, SendRequest, Token},
    fingerprint::{CURRENT_VERSION, Fingerprint, send_value},
};

fn hash(project: &str, key: &str, request: &SendRequest) -> String {
    Fingerprint::of_send(project, key, request).to_string()
}

/// Every member set, with characters that each need care.
fn full_request() -> SendRequest {
    let mut request = plain_request();
    request.to.push(Device { platform: Platform::Android, token: Token("fcm:A_b-1".into()) });
    request.to.push(Device { platform: Platform::Web, token: Token("fcm:A_b-1".into()) });
    request.content.notification = Some(Notification {
        title: "Größe \u{1f600}".into(),
        body: "line\nbreak \"quoted\" \\ \u{ffff}".into(),
        image: Some("https://example.com/a.png".into()),
    });
    request.content.data.insert("\u{fb33}".into(), "later".into());
    request.content.data.insert("\u{1f600}".into(), "sooner".into());
    request.content.collapse_key = Some("order-1042".into());
    request.content.priority = Priority::Normal;
    request.ttl_seconds = 0;
    request.policy = Policy::AtMostOnce;
    request
}

/// These hashes are stored beside every message accepted so far: if one of them changes, honest retries become 422.
#[test]
fn version_1_never_changes() {
    assert_eq!(CURRENT_VERSION, 1);
    let silent = {
        let mut request = plain_request();
        request.content.notification = None;
        request.content.data.insert("sync".into(), "1".into());
        request
    };
    let golden = [
        (
            "acme",
            "order-1042-shipped",
            plain_request(),
            "v1:2b6549d65075965e47f9d7ad09906b1a874598d0d59045190fadeeea900c045c",
        ),
        (
            "acme",
            "order-1042-shipped",
            full_request(),
            "v1:0dc72d657c41853815a974600d01ea66cf4b23862fd7eea1a78f674f32403837",
        ),
        ("globex", "\u{fc}ber#\u{0}", silent, "v1:49d55cb3a37d44e307483cde4987052509ea9a172c23ad1ca0e3fc4036bd42af"),
    ];
    for (project, key, request, expected) in golden {
        assert_eq!(hash(project, key, &request), expected, "{}", send_value(&request).to_canonical());
    }
}

#[test]
fn version_1_hashes_this_text() {
    let expected = r#"{"delivery":"at_least_once","notification":{"body":"It is on its way","title":"Shipped"},"priority":"high","to":[{"platform":"ios","token":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ffee"}],"ttl_seconds":86400}"#;
    assert_eq!(send_value(&plain_request()).to_canonical(), expected);
}

/// An app that is not the project's first is one more member of version 1; absent it adds nothing, so no stored hash
/// moves.
#[test]
fn a_named_app_is_a_member_of_its_own() {
    let mut request = plain_request();
    request.content.app = Some("com.example.other".into());
    let text = send_value(&request).to_canonical();
    assert_eq!(
        text.replace(r#""app":"com.example.other","#, ""),
        send_value(&plain_request()).to_canonical(),
        "{text}"
    );
    assert_ne!(hash("acme", "k", &request), hash("acme", "k", &plain_request()));
}

#[test]
fn project_and_key_are_fields_of_their_own() {
    let request = plain_request();
    let pairs = [("a", "bc"), ("ab", "c"), ("abc", ""), ("", "abc"), ("a\0", "bc"), ("a", "\0bc")];
    for (i, a) in pairs.iter().enumerate() {
        for b in &pairs[i + 1..] {
            assert_ne!(hash(a.0, a.1, &request), hash(b.0, b.1, &request), "{a:?} {b:?}");
        }
    }
}

#[test]
fn every_single_change_of_meaning_changes_the_hash() {
    type Change = fn(&mut SendRequest);
    let changes: [Change; 15] = [
        |r| r.to.swap(0, 1),
        |r| r.to.truncate(2),
        |r| r.to[1].platform = Platform::Ios,
        |r| r.to[0].token.0.push('0'),
        |r| r.content.notification = None,
        |r| r.content.notification.as_mut().unwrap().image = None,
        |r| {
            let shown = r.content.notification.as_mut().unwrap();
            std::mem::swap(&mut shown.title, &mut shown.body);
        },
        |r| r.content.data.clear(),
        |r| drop(r.content.data.insert("\u{fb33}".into(), "Later".into())),
        |r| r.content.collapse_key = None,
        |r| r.content.collapse_key = Some("order-1043".into()),
        |r| r.content.app = Some("com.example.other".into()),
        |r| r.content.priority = Priority::High,
        |r| r.ttl_seconds = 1,
        |r| r.policy = Policy::AtLeastOnce,
    ];
    let mut hashes = vec![hash("acme", "k", &full_request())];
    for change in changes {
        let mut request = full_request();
        change(&mut request);
        hashes.push(hash("acme", "k", &request));
    }
    let all = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), all);
}

#[test]
fn a_hash_by_a_later_rule_is_undecidable_not_different() {
    let request = plain_request();
    let mine = Fingerprint::of_send("acme", "k", &request);
    for version in [0, 2, 255] {
        let stored = Fingerprint { version, ..mine };
        assert_eq!(Fingerprint::matches(&stored, "acme", "k", &request), None);
    }
}

proptest! {
    #[test]
    fn two_sends_hash_alike_exactly_when_they_are_equal(
        a in (text(), text(), send_request()),
        b in (text(), text(), send_request()),
        copy in any::<bool>(),
    ) {
        let b = if copy { a.clone() } else { b };
        let stored = Fingerprint::of_send(&a.0, &a.1, &a.2);
        prop_assert_eq!(Fingerprint::matches(&stored, &b.0, &b.1, &b.2), Some(a == b));
    }
}
