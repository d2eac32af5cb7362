//! Random values and short spellings that several test modules share.

use proptest::{collection, option, prelude::*};
use protocol::{
    answer::{Answer, Reason},
    claim::{ChunkFacts, Claim, claim},
    content::{Content, Device, Notification, Platform, Policy, Priority, SendRequest, Token},
    delivery::{Delivery, State},
    ids::OwnerToken,
    letter::{Evidence, LETTERS, Letter},
};

pub(crate) const POLICIES: [Policy; 2] = [Policy::AtLeastOnce, Policy::AtMostOnce];
pub(crate) const STATES: [State; 3] = [State::InFlight, State::Retry, State::Done];

/// Every column of the letter table: `Lost` once for each letter that a claim can have held.
pub(crate) fn every_evidence() -> Vec<Evidence> {
    let mut all = vec![
        Evidence::Accepted,
        Evidence::Permanent,
        Evidence::NotNow,
        Evidence::Ambiguous,
        Evidence::Deadline,
        Evidence::DeadlineUnrecorded,
    ];
    all.extend(LETTERS.into_iter().map(|held| Evidence::Lost { held }));
    all
}

pub(crate) fn reason(code: &str) -> Reason {
    Reason { code: code.to_owned(), detail: format!("the provider said {code}") }
}

pub(crate) fn accepted() -> Answer {
    Answer::Accepted { provider_id: "projects/p/messages/0:1".to_owned() }
}

pub(crate) fn permanent() -> Answer {
    Answer::Permanent(reason("UNREGISTERED"))
}

pub(crate) fn not_now(after_ms: Option<u64>) -> Answer {
    Answer::NotNow { reason: reason("QUOTA_EXCEEDED"), after_ms }
}

pub(crate) fn ambiguous() -> Answer {
    Answer::Ambiguous { reason: reason("INTERNAL"), after_ms: None }
}

pub(crate) fn lost() -> Answer {
    Answer::Lost(reason("timeout"))
}

pub(crate) fn not_sent() -> Answer {
    Answer::NotSent(reason("refused_stream"))
}

pub(crate) fn facts(policy: Policy, devices: usize) -> ChunkFacts {
    ChunkFacts { deliver_by_ms: 1_000_000, policy, devices, expires_s: 9_999 }
}

pub(crate) fn token(number: u8) -> OwnerToken {
    OwnerToken([number; 16])
}

/// The item that a claim by `owner` writes.
pub(crate) fn claimed(old: Option<&Delivery>, facts: &ChunkFacts, owner: u8, now_ms: u64, lease: u64) -> Delivery {
    match claim(old, facts, token(owner), now_ms, lease) {
        Claim::Run(item, _) => item,
        other => panic!("no claim: {other:?}"),
    }
}

pub(crate) fn letters(item: &Delivery) -> Vec<Letter> {
    item.devices.iter().map(|device| device.letter).collect()
}

/// Text with every kind of character that JSON treats specially.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec![
        '"',
        '\\',
        '/',
        '\u{0}',
        '\u{1}',
        '\u{8}',
        '\t',
        '\n',
        '\u{c}',
        '\r',
        '\u{1f}',
        '\u{7f}',
        '\u{80}',
        'ö',
        '€',
        '\u{2028}',
        '\u{d7ff}',
        '\u{e000}',
        '\u{fb33}',
        '\u{ffff}',
        '😀',
        '\u{10ffff}',
    ]);
    collection::vec(prop_oneof![special, any::<char>(), prop::char::range('a', 'z')], 0..12)
        .prop_map(|chars| chars.into_iter().collect())
}

pub(crate) fn device() -> impl Strategy<Value = Device> {
    (prop::sample::select(vec![Platform::Ios, Platform::Android, Platform::Web]), text())
        .prop_map(|(platform, token)| Device { platform, token: Token(token) })
}

fn content() -> impl Strategy<Value = Content> {
    let notification =
        (text(), text(), option::of(text())).prop_map(|(title, body, image)| Notification { title, body, image });
    let priority = prop::sample::select(vec![Priority::High, Priority::Normal]);
    (
        option::of(notification),
        collection::btree_map(text(), text(), 0..5),
        option::of(text()),
        option::of(text()),
        priority,
    )
        .prop_map(|(notification, data, collapse_key, app, priority)| Content {
            notification,
            data,
            collapse_key,
            app,
            priority,
        })
}

pub(crate) fn send_request() -> impl Strategy<Value = SendRequest> {
    let policy = prop::sample::select(POLICIES.to_vec());
    (collection::vec(device(), 0..5), content(), any::<u32>(), policy)
        .prop_map(|(to, content, ttl_seconds, policy)| SendRequest { to, content, ttl_seconds, policy })
}

/// A small request with nothing special in it.
pub(crate) fn plain_request() -> SendRequest {
    SendRequest {
        to: vec![Device { platform: Platform::Ios, token: Token("c0ffee".repeat(10)) }],
        content: Content {
            notification: Some(Notification { title: "Shipped".into(), body: "It is on its way".into(), image: None }),
            data: std::collections::BTreeMap::new(),
            collapse_key: None,
            app: None,
            priority: Priority::High,
        },
        ttl_seconds: 86_400,
        policy: Policy::AtLeastOnce,
    }
}
