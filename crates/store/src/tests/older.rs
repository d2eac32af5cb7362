//! Items as they were stored by an earlier version, written down here once and never changed: whatever the code becomes, it
//! reads them, under the keys that they have. A new form of an item is one more text beside these.

use super::support::database;
use crate::{Store, attr::Item};
use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use protocol::{
    answer::Reason,
    content::{Content, Device, Notification, Platform, Policy, Priority, Token},
    delivery::{Delivery, DeviceState, State},
    fingerprint::Fingerprint,
    ids::{KeyHash, MessageId, Nonce, Operation, OwnerToken},
    letter::Letter,
    message::Message,
    refund::{
        Refund, Status,
        decide::{Decision, Verdict},
        id::RefundId,
        payout::{Payout, State as PayoutState},
        request::{RefundRequest, Why},
        trail::{About, By, Line, Trail, What},
        webhook::Order,
    },
};
use serde_json::Value;

const MESSAGE: &str = r#"{
  "pk": {"S": "K#weqv5675gi23gfmyq2gerfucid3czvjn"}, "sk": {"S": "M"},
  "id": {"S": "msg_weqv5675gi23gfmyq2gerfucid3czvjnaebagbaf"},
  "h": {"B": "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="}, "hv": {"N": "1"},
  "pj": {"S": "acme"}, "ik": {"S": "order-1042-shipped"},
  "at": {"N": "1795978800123"}, "db": {"N": "1796065200123"}, "xp": {"N": "1796065200124"}, "exp": {"N": "1798570801"},
  "pol": {"S": "L"}, "nd": {"N": "3"},
  "pl": {"S": "{\"notification\":{\"title\":\"Shipped\",\"body\":\"On its way.\",\"image\":\"https://a.example/i.png\"},\"data\":{\"order\":\"1042\"},\"collapse_key\":\"order\",\"app\":\"com.example.acme\",\"priority\":\"normal\"}"},
  "tk": {"L": [{"S": "ic0ffee"}, {"S": "apixel-of-ada"}, {"S": "wbrowser-of-ada"}]}
}"#;

/// The least that a message can be.
const SILENT: &str = r#"{
  "pk": {"S": "K#weqv5675gi23gfmyq2gerfucid3czvjn"}, "sk": {"S": "M"},
  "id": {"S": "msg_weqv5675gi23gfmyq2gerfucid3czvjnaebagbaf"},
  "h": {"B": "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="}, "hv": {"N": "1"},
  "pj": {"S": "acme"}, "ik": {"S": "order-1042-shipped"},
  "at": {"N": "1795978800123"}, "db": {"N": "1796065200123"}, "xp": {"N": "1796065200124"}, "exp": {"N": "1798570801"},
  "pol": {"S": "O"}, "nd": {"N": "1"}, "pl": {"S": "{\"data\":{\"order\":\"1042\"},\"priority\":\"high\"}"},
  "tk": {"L": [{"S": "apixel-of-ada"}]}
}"#;

const CLAIMED: &str = r#"{
  "pk": {"S": "K#weqv5675gi23gfmyq2gerfucid3czvjn"}, "sk": {"S": "D#aebagbaf#0000"},
  "s": {"S": "I"}, "a": {"N": "1"}, "o": {"B": "CQkJCQkJCQkJCQkJCQkJCQ=="}, "lx": {"N": "1795978875123"},
  "nx": {"N": "0"}, "v": {"N": "1"}, "r": {"S": "PPP"}, "n": {"S": "000"}, "ua": {"N": "1795978800200"},
  "exp": {"N": "1799866801"}
}"#;

const DONE: &str = r#"{
  "pk": {"S": "K#weqv5675gi23gfmyq2gerfucid3czvjn"}, "sk": {"S": "D#aebagbaf#0000"},
  "s": {"S": "D"}, "a": {"N": "2"}, "o": {"B": "CQkJCQkJCQkJCQkJCQkJCQ=="}, "lx": {"N": "1795978875123"},
  "nx": {"N": "1795978810000"}, "v": {"N": "4"}, "r": {"S": "SFS"}, "n": {"S": "129"},
  "pr": {"L": [{"S": "projects/acme-push/messages/"}, {"L": [{"S": "A1B2C3D4-E5F6-7890-ABCD-EF0123456789"}]},
    {"NULL": true}, {"S": "0:1500415314455276"}]},
  "er": {"M": {"1": {"L": [{"S": "UNREGISTERED"}, {"S": "Requested entity was not found."}]}}},
  "ua": {"N": "1795978812000"}, "exp": {"N": "1799866801"}
}"#;

/// What lost answers left behind, and what time took.
const RETRY: &str = r#"{
  "pk": {"S": "K#weqv5675gi23gfmyq2gerfucid3czvjn"}, "sk": {"S": "D#aebagbaf#0000"},
  "s": {"S": "R"}, "a": {"N": "3"}, "o": {"B": "CQkJCQkJCQkJCQkJCQkJCQ=="}, "lx": {"N": "1795978875123"},
  "nx": {"N": "1795978900000"}, "v": {"N": "6"}, "r": {"S": "%"}, "n": {"S": "123"},
  "er": {"M": {"0": {"L": [{"S": "timeout"}, {"S": ""}]}}}, "ua": {"N": "1795978812000"}, "exp": {"N": "1799866801"}
}"#;

const PENDING: &str = r#"{
  "pk": {"S": "R#a26zcvhrgoegecf66w67emv5p4c3buf2"}, "sk": {"S": "R"},
  "ipk": {"S": "acme#pending"},
  "isk": {"S": "00000001795978800123#rf_a26zcvhrgoegecf66w67emv5p4c3buf2aydqqcik"},
  "id": {"S": "rf_a26zcvhrgoegecf66w67emv5p4c3buf2aydqqcik"},
  "h": {"B": "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="}, "hv": {"N": "1"},
  "pj": {"S": "acme"}, "ik": {"S": "order-1042-refund"}, "at": {"N": "1795978800123"}, "st": {"S": "pending"},
  "cb": {"S": "backend"}, "am": {"N": "4200"}, "cu": {"S": "usd"}, "or": {"S": "order-1042"},
  "py": {"S": "pi_of_order_1042"}, "rs": {"S": "requested_by_customer"}, "v": {"N": "1"},
  "tr": {"L": [{"S": "1795978800123 created abackend"}]}
}"#;

/// A payout whose calls are counted, and of which one was refused.
const COUNTED: &str = r#"{
  "pk": {"S": "R#a26zcvhrgoegecf66w67emv5p4c3buf2"}, "sk": {"S": "R"},
  "ipk": {"S": "acme#approved"},
  "isk": {"S": "00000001795978800123#rf_a26zcvhrgoegecf66w67emv5p4c3buf2aydqqcik"},
  "id": {"S": "rf_a26zcvhrgoegecf66w67emv5p4c3buf2aydqqcik"},
  "h": {"B": "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="}, "hv": {"N": "1"},
  "pj": {"S": "acme"}, "ik": {"S": "order-1042-refund"}, "at": {"N": "1795978800123"}, "st": {"S": "approved"},
  "cb": {"S": "backend"}, "am": {"N": "4200"}, "cu": {"S": "usd"}, "or": {"S": "order-1042"},
  "py": {"S": "pi_of_order_1042"}, "rs": {"S": "requested_by_customer"}, "no": {"S": "Came broken."}, "v": {"N": "5"},
  "dby": {"S": "ada@acme.example"}, "dat": {"N": "1795978860000"}, "dn": {"B": "AQEBAQE="},
  "pn": {"N": "1"}, "po": {"S": "payout_rf_a26zcvhrgoegecf66w67emv5p4c3buf2aydqqcik_1"}, "pam": {"N": "4200"},
  "pst": {"S": "due"}, "pdu": {"N": "1795978860000"}, "fca": {"N": "1795978901000"}, "pca": {"N": "3"},
  "pcl": {"B": "CQkJCQkJCQkJCQkJCQkJCQ=="}, "fat": {"N": "1795979000000"},
  "rc": {"S": "charge_disputed"}, "rd": {"S": "The charge is disputed."},
  "tr": {"L": [{"S": "1795978860000 approved aada@acme.example"},
    {"M": {"l": {"S": "1795978901000 payout_called p"}, "n": {"N": "1"}}},
    {"M": {"l": {"S": "1795979000000 payout_refused p"}, "n": {"N": "1"}, "c": {"S": "charge_disputed"}}}]}
}"#;

/// Everything that a refund could have before calls were counted.
const FAILED: &str = r#"{
  "pk": {"S": "R#a26zcvhrgoegecf66w67emv5p4c3buf2"}, "sk": {"S": "R"},
  "ipk": {"S": "acme#approved"},
  "isk": {"S": "00000001795978800123#rf_a26zcvhrgoegecf66w67emv5p4c3buf2aydqqcik"},
  "id": {"S": "rf_a26zcvhrgoegecf66w67emv5p4c3buf2aydqqcik"},
  "h": {"B": "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="}, "hv": {"N": "1"},
  "pj": {"S": "acme"}, "ik": {"S": "order-1042-refund"}, "at": {"N": "1795978800123"}, "st": {"S": "approved"},
  "cb": {"S": "backend"}, "am": {"N": "4200"}, "cu": {"S": "usd"}, "or": {"S": "order-1042"},
  "py": {"S": "pi_of_order_1042"}, "rs": {"S": "requested_by_customer"}, "no": {"S": "Came broken."}, "v": {"N": "6"},
  "dby": {"S": "ada@acme.example"}, "dat": {"N": "1795978860000"}, "dn": {"B": "AQEBAQE="},
  "pn": {"N": "2"}, "po": {"S": "payout_rf_a26zcvhrgoegecf66w67emv5p4c3buf2aydqqcik_2"}, "pam": {"N": "4200"},
  "pst": {"S": "failed"}, "pdu": {"N": "1795978900000"}, "fca": {"N": "1795978901000"}, "fat": {"N": "1795979000000"},
  "pref": {"S": "re_3Q"}, "rc": {"S": "expired_or_canceled_card"}, "rd": {"S": "The card is gone."},
  "pet": {"N": "1795979000"}, "per": {"N": "2"}, "ev": {"L": [{"S": "evt_1"}]},
  "tr": {"L": [{"S": "1795978860000 approved aada@acme.example"}, {"S": "1795978901000 payout_called p"},
    {"S": "1795979000000 payout_failed eevt_1"}]}
}"#;

/// What a rejection makes of the pending one.
const REJECTED: [(&str, &str); 3] = [
    (r#""st": {"S": "pending"}"#, r#""st": {"S": "rejected"}"#),
    (r#""ipk": {"S": "acme#pending"}"#, r#""ipk": {"S": "acme#rejected"}"#),
    (
        r#""v": {"N": "1"}"#,
        r#""v": {"N": "2"}, "dby": {"S": "ada@acme.example"}, "dat": {"N": "1795978860000"}, "dn": {"B": "AQEBAQE="}"#,
    ),
];

fn value(json: &Value) -> AttributeValue {
    let (kind, value) = json.as_object().unwrap().iter().next().unwrap();
    let text = || value.as_str().unwrap().to_owned();
    match kind.as_str() {
        "S" => AttributeValue::S(text()),
        "N" => AttributeValue::N(text()),
        "B" => AttributeValue::B(Blob::new(data_encoding::BASE64.decode(text().as_bytes()).unwrap())),
        "NULL" => AttributeValue::Null(true),
        "BOOL" => AttributeValue::Bool(value.as_bool().unwrap()),
        "L" => AttributeValue::L(value.as_array().unwrap().iter().map(self::value).collect()),
        "M" => AttributeValue::M(item(value)),
        _ => panic!("{kind} is no kind of attribute"),
    }
}

fn item(json: &Value) -> Item {
    json.as_object().unwrap().iter().map(|(name, json)| (name.clone(), value(json))).collect()
}

/// Puts an item into the table as it is.
#[expect(clippy::disallowed_methods, reason = "what an earlier version wrote")]
pub(super) async fn put(store: &Store, text: &str) {
    let item = item(&serde_json::from_str(text).unwrap());
    store.client.put_item().table_name(&store.table).set_item(Some(item)).send().await.unwrap();
}

fn message() -> Message {
    let device = |platform, token: &str| Device { platform, token: Token(token.to_owned()) };
    let key = KeyHash::of(Operation::Message, "acme", "order-1042-shipped");
    Message {
        id: MessageId { key, nonce: Nonce([1, 2, 3, 4, 5]) },
        fingerprint: Fingerprint { version: 1, hash: [7; 32] },
        project: "acme".to_owned(),
        key: "order-1042-shipped".to_owned(),
        at_ms: 1_795_978_800_123,
        deliver_by_ms: 1_796_065_200_123,
        expires_ms: 1_796_065_200_124,
        valid_until_s: 1_798_570_801,
        policy: Policy::AtLeastOnce,
        devices: vec![
            device(Platform::Ios, "c0ffee"),
            device(Platform::Android, "pixel-of-ada"),
            device(Platform::Web, "browser-of-ada"),
        ],
        content: Content {
            notification: Some(Notification {
                title: "Shipped".to_owned(),
                body: "On its way.".to_owned(),
                image: Some("https://a.example/i.png".to_owned()),
            }),
            data: [("order".to_owned(), "1042".to_owned())].into(),
            collapse_key: Some("order".to_owned()),
            app: Some("com.example.acme".to_owned()),
            priority: Priority::Normal,
        },
    }
}

#[tokio::test]
async fn a_message_of_an_earlier_version_is_read() {
    let (_, store) = database().await;
    put(&store, MESSAGE).await;
    let stored = store.message(message().id.key).await.unwrap().unwrap();
    assert_eq!((stored.message, stored.deliveries), (message(), vec![None]));
    put(&store, SILENT).await;
    let mut silent = message();
    silent.policy = Policy::AtMostOnce;
    silent.devices = vec![silent.devices[1].clone()];
    let data = silent.content.data;
    silent.content = Content { notification: None, data, collapse_key: None, app: None, priority: Priority::High };
    assert_eq!(store.message(message().id.key).await.unwrap().unwrap().message, silent);
}

#[tokio::test]
async fn a_delivery_item_of_an_earlier_version_is_read() {
    let (_, store) = database().await;
    put(&store, MESSAGE).await;
    put(&store, CLAIMED).await;
    let claimed = Delivery {
        state: State::InFlight,
        attempt: 1,
        owner: Some(OwnerToken([9; 16])),
        lease_ms: 1_795_978_875_123,
        not_before_ms: 0,
        version: 1,
        devices: vec![DeviceState::NEW; 3],
        updated_ms: 1_795_978_800_200,
        expires_s: 1_799_866_801,
    };
    let id = message().id;
    assert_eq!(store.delivery(id, 0).await.unwrap().as_ref(), Some(&claimed));
    assert_eq!(store.chunks_present(id).await.unwrap(), [0]);

    put(&store, DONE).await;
    let sent =
        |calls, id: &str| DeviceState { letter: Letter::Sent, calls, provider_id: Some(id.to_owned()), error: None };
    let reason = Reason { code: "UNREGISTERED".to_owned(), detail: "Requested entity was not found.".to_owned() };
    let failed = DeviceState { letter: Letter::Failed, calls: 2, provider_id: None, error: Some(reason) };
    let done = Delivery {
        state: State::Done,
        attempt: 2,
        not_before_ms: 1_795_978_810_000,
        version: 4,
        devices: vec![
            sent(1, "A1B2C3D4-E5F6-7890-ABCD-EF0123456789"),
            failed,
            sent(9, "projects/acme-push/messages/0:1500415314455276"),
        ],
        updated_ms: 1_795_978_812_000,
        ..claimed
    };
    assert_eq!(store.message(id.key).await.unwrap().unwrap().deliveries, [Some(done)]);
}

#[tokio::test]
async fn each_state_of_a_device_and_a_chunk_of_an_earlier_version_is_read() {
    let (_, store) = database().await;
    put(&store, MESSAGE).await;
    let letters = [
        ('P', Letter::Pending),
        ('A', Letter::Lost1),
        ('B', Letter::Lost2),
        ('U', Letter::Unknown),
        ('S', Letter::Sent),
        ('F', Letter::Failed),
        ('E', Letter::Expired),
    ];
    for (written, letter) in letters {
        put(&store, &RETRY.replace('%', &written.to_string().repeat(3))).await;
        let stored = store.delivery(message().id, 0).await.unwrap().unwrap();
        assert_eq!((stored.state, stored.not_before_ms), (State::Retry, 1_795_978_900_000));
        assert_eq!(stored.devices.iter().map(|device| device.letter).collect::<Vec<_>>(), [letter; 3]);
        assert_eq!(stored.devices[0].error.as_ref().unwrap().code, "timeout");
    }
}

/// Each word that a refund's item can hold, and both forms of a line of its trail.
#[tokio::test]
async fn each_word_of_a_refund_of_an_earlier_version_is_read() {
    let (_, store) = database().await;
    let id =
        RefundId { key: KeyHash::of(Operation::Refund, "acme", "order-1042-refund"), nonce: Nonce([6, 7, 8, 9, 10]) };
    let read = async |text: &str| {
        put(&store, text).await;
        store.refund(id).await.unwrap().unwrap()
    };
    let rejected = REJECTED.iter().fold(PENDING.to_owned(), |text, (from, to)| text.replace(from, to));
    let decision = read(&rejected).await.decision.unwrap();
    assert_eq!((decision.verdict, decision.at_ms), (Verdict::Reject, 1_795_978_860_000));
    for (word, state) in [
        ("due", PayoutState::Due),
        ("submitted", PayoutState::Submitted),
        ("paid", PayoutState::Paid),
        ("review", PayoutState::Review),
    ] {
        let refund = read(&FAILED.replace(r#""pst": {"S": "failed"}"#, &format!(r#""pst": {{"S": "{word}"}}"#))).await;
        assert_eq!(refund.payout.unwrap().state, state, "{word}");
    }
    for (word, why) in [("duplicate", Why::Duplicate), ("fraudulent", Why::Fraudulent), ("other", Why::Other)] {
        assert_eq!(read(&PENDING.replace("requested_by_customer", word)).await.request.reason, why, "{word}");
    }
    let line = r#"{"S": "1795978901000 payout_called p"}"#;
    for (word, what) in [
        ("rejected", What::Rejected),
        ("payout_submitted", What::Submitted),
        ("payout_paid", What::Paid),
        ("payout_review", What::Review),
        ("payout_retried", What::Retried),
        ("event", What::Event),
    ] {
        let text = format!("1795978901000 {word} aada@acme.example");
        let about = format!(
            r#"{{"M": {{"l": {{"S": "{text}"}}, "n": {{"N": "1"}}, "r": {{"S": "re_3P"}}, "c": {{"S": "lost"}}}}}}"#
        );
        let refund = read(&FAILED.replace(line, &about)).await;
        let about = About {
            payout: Some(1),
            reference: Some("re_3P".to_owned()),
            code: Some("lost".to_owned()),
            created_s: None,
        };
        let by = By::Actor("ada@acme.example".to_owned());
        assert_eq!(refund.trail.0[1], Line { at_ms: 1_795_978_901_000, what, by, about }, "{word}");
    }
}

#[tokio::test]
async fn a_refund_of_an_earlier_version_is_read_and_listed() {
    let (_, store) = database().await;
    put(&store, PENDING).await;
    let by = |name: &str| By::Actor(name.to_owned());
    let key = KeyHash::of(Operation::Refund, "acme", "order-1042-refund");
    let pending = Refund {
        id: RefundId { key, nonce: Nonce([6, 7, 8, 9, 10]) },
        fingerprint: Fingerprint { version: 1, hash: [7; 32] },
        project: "acme".to_owned(),
        key: "order-1042-refund".to_owned(),
        at_ms: 1_795_978_800_123,
        created_by: "backend".to_owned(),
        request: RefundRequest {
            order: "order-1042".to_owned(),
            payment: "pi_of_order_1042".to_owned(),
            amount: 4_200,
            currency: "usd".to_owned(),
            reason: Why::RequestedByCustomer,
            note: None,
        },
        decision: None,
        payout: None,
        events: Vec::new(),
        trail: Trail(vec![Line {
            at_ms: 1_795_978_800_123,
            what: What::Created,
            by: by("backend"),
            about: About::default(),
        }]),
        writer: None,
        version: 1,
    };
    assert_eq!(store.refund(pending.id).await.unwrap().as_ref(), Some(&pending));
    let listed = store.refunds("acme", Status::Pending, 20, None).await.unwrap();
    assert_eq!(listed.refunds, std::slice::from_ref(&pending));

    put(&store, FAILED).await;
    let failed = Refund {
        request: RefundRequest { note: Some("Came broken.".to_owned()), ..pending.request.clone() },
        decision: Some(Decision {
            verdict: Verdict::Approve,
            by: "ada@acme.example".to_owned(),
            at_ms: 1_795_978_860_000,
            nonce: Nonce([1; 5]),
        }),
        payout: Some(Payout {
            number: 2,
            amount: 4_200,
            state: PayoutState::Failed,
            due_ms: 1_795_978_900_000,
            first_call_ms: Some(1_795_978_901_000),
            // Nobody knows, so more than one.
            calls: 2,
            caller: None,
            failed_ms: Some(1_795_979_000_000),
            reference: Some("re_3Q".to_owned()),
            reason: Some(Reason {
                code: "expired_or_canceled_card".to_owned(),
                detail: "The card is gone.".to_owned(),
            }),
            applied: Some(Order { created_s: 1_795_979_000, rank: 2 }),
        }),
        events: vec!["evt_1".to_owned()],
        trail: Trail(vec![
            Line {
                at_ms: 1_795_978_860_000,
                what: What::Approved,
                by: by("ada@acme.example"),
                about: About::default(),
            },
            Line { at_ms: 1_795_978_901_000, what: What::FirstCall, by: By::Payout, about: About::default() },
            Line {
                at_ms: 1_795_979_000_000,
                what: What::Failed,
                by: By::Event("evt_1".to_owned()),
                about: About::default(),
            },
        ]),
        version: 6,
        ..pending
    };
    assert_eq!(store.refund(failed.id).await.unwrap().as_ref(), Some(&failed));
    let (_, counting) = database().await;
    put(&counting, COUNTED).await;
    let read = counting.refund(failed.id).await.unwrap().unwrap();
    let payout = read.payout.as_ref().unwrap();
    assert_eq!((payout.calls, payout.caller), (3, Some(OwnerToken([9; 16]))));
    let refusal = Reason { code: "charge_disputed".to_owned(), detail: "The charge is disputed.".to_owned() };
    assert_eq!(payout.refused(), Some((1_795_979_000_000, &refusal)));
    assert_eq!(read.trail.0.last().map(|line| line.what), Some(What::Refused));
    assert_eq!(store.refunds("acme", Status::Approved, 20, None).await.unwrap().refunds, [failed]);
}
