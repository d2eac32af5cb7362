//! Stream records as the relay reads them.

use super::refund_support::{decision, pending};
use super::support::{delivery, id, message, request};
use crate::{
    DuePayout, StreamRecord, attr::Item, delivery as delivery_item, message as message_item, read_stream_record,
    refund::item as refund_item,
};
use aws_sdk_dynamodb::types::AttributeValue;
use proptest::prelude::*;
use protocol::{
    message::Message,
    refund::{
        Refund,
        decide::{Verdict, decided},
        id::PayoutId,
    },
};
use serde_json::{Value, json};

/// An item in DynamoDB's JSON, as Lambda hands it over.
fn image(item: &Item) -> Value {
    fn attribute(value: &AttributeValue) -> Value {
        match value {
            AttributeValue::S(text) => json!({ "S": text }),
            AttributeValue::N(number) => json!({ "N": number }),
            AttributeValue::B(blob) => json!({ "B": data_encoding::BASE64.encode(blob.as_ref()) }),
            AttributeValue::L(list) => json!({ "L": list.iter().map(attribute).collect::<Vec<_>>() }),
            AttributeValue::M(map) => json!({ "M": image(map) }),
            AttributeValue::Null(_) => json!({ "NULL": true }),
            other => panic!("{other:?}"),
        }
    }
    Value::Object(item.iter().map(|(name, value)| (name.clone(), attribute(value))).collect())
}

fn message_image(message: &Message) -> Value {
    image(&message_item::encode(message).unwrap())
}

fn record(event: &str, new: Option<Value>, old: Option<Value>) -> Value {
    let keys = new.as_ref().or(old.as_ref()).map(|image| json!({ "pk": image["pk"], "sk": image["sk"] }));
    let mut change = json!({ "Keys": keys, "SequenceNumber": "1", "StreamViewType": "NEW_AND_OLD_IMAGES" });
    for (name, image) in [("NewImage", new), ("OldImage", old)] {
        if let Some(image) = image {
            change[name] = image;
        }
    }
    json!({ "eventID": "1", "eventName": event, "eventSource": "aws:dynamodb", "dynamodb": change })
}

fn fresh(nonce: u8) -> Message {
    let mut message = message(id("k", nonce), "k", &request(21, "Größe \u{1f600} \u{ffff} \u{0}"));
    message.content.data.insert("a".into(), "b".into());
    message
}

fn is_other(record: &Value) -> bool {
    matches!(read_stream_record(record), StreamRecord::Other)
}

fn unreadable(record: &Value) -> String {
    match read_stream_record(record) {
        StreamRecord::Unreadable(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_fresh_message_is_read_whole() {
    let StreamRecord::Message(read) = read_stream_record(&record("INSERT", Some(message_image(&fresh(1))), None))
    else {
        panic!("no message")
    };
    assert_eq!(*read, fresh(1));
}

fn refund_image(refund: &Refund) -> Value {
    image(&refund_item::encode(refund))
}

fn due(record: &Value) -> Option<DuePayout> {
    match read_stream_record(record) {
        StreamRecord::Payout(due) => Some(due),
        StreamRecord::Other => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_payout_is_due_when_it_has_another_id_than_before() {
    let waiting = pending("k", 1);
    let approved = decided(&waiting, &decision(Verdict::Approve, 1));
    let expected = DuePayout {
        payout: PayoutId::first(waiting.id),
        project: "acme".into(),
        due_ms: approved.payout.as_ref().unwrap().due_ms,
    };
    let modify = |new: &Refund, old: &Refund| record("MODIFY", Some(refund_image(new)), Some(refund_image(old)));
    assert_eq!(due(&modify(&approved, &waiting)), Some(expected.clone()));
    // Without an old image, or with one that cannot be read, it is due all the same: a copy too many does no harm.
    assert_eq!(due(&record("INSERT", Some(refund_image(&approved)), None)), Some(expected.clone()));
    let mut damaged = refund_image(&waiting);
    damaged["st"] = json!({ "S": "?" });
    assert_eq!(due(&record("MODIFY", Some(refund_image(&approved)), Some(damaged))), Some(expected));
    // What is nothing new: the creation, a rejection, a stamp, a result.
    assert_eq!(due(&record("INSERT", Some(refund_image(&waiting)), None)), None);
    let rejected = decided(&waiting, &decision(Verdict::Reject, 1));
    assert_eq!(due(&modify(&rejected, &waiting)), None);
    let mut stamped = approved.clone();
    stamped.payout.as_mut().unwrap().first_call_ms = Some(1);
    assert_eq!(due(&modify(&stamped, &approved)), None);
    // A successor is new.
    let mut retried = approved.clone();
    retried.payout.as_mut().unwrap().number = 2;
    assert_eq!(due(&modify(&retried, &approved)).map(|due| due.payout.number), Some(2));
    let mut broken = refund_image(&approved);
    broken["pst"] = json!({ "S": "?" });
    assert!(unreadable(&record("MODIFY", Some(broken), None)).contains("pst"));
}

#[test]
fn a_reused_key_is_a_fresh_message() {
    let change = record("MODIFY", Some(message_image(&fresh(2))), Some(message_image(&fresh(1))));
    let StreamRecord::Message(read) = read_stream_record(&change) else { panic!("no message") };
    assert_eq!(read.id, id("k", 2));
}

#[test]
fn the_same_message_again_is_nothing_new() {
    assert!(is_other(&record("MODIFY", Some(message_image(&fresh(1))), Some(message_image(&fresh(1))))));
}

#[test]
fn a_removed_message_is_nothing_new() {
    assert!(is_other(&record("REMOVE", None, Some(message_image(&fresh(1))))));
    let mut null = record("REMOVE", None, Some(message_image(&fresh(1))));
    null["dynamodb"]["NewImage"] = Value::Null;
    assert!(is_other(&null));
}

#[test]
fn rows_that_are_neither_messages_nor_refunds_are_passed() {
    let (item, _) = delivery_item::encode(id("k", 1), 0, &delivery(3));
    assert!(is_other(&record("INSERT", Some(image(&item)), None)));
    for sort_key in ["A", "P", "J", "D#abc#0000", "", "m", "MM", "r", "RR"] {
        let row = json!({ "pk": { "S": "R#x" }, "sk": { "S": sort_key }, "st": { "S": "pending" } });
        assert!(is_other(&record("INSERT", Some(row.clone()), None)), "{sort_key}");
        assert!(is_other(&record("MODIFY", Some(row.clone()), Some(row))), "{sort_key}");
    }
    // The same as a refund is one that cannot be read, not one to pass.
    let refund = json!({ "pk": { "S": "R#x" }, "sk": { "S": "R" }, "st": { "S": "pending" } });
    assert!(unreadable(&record("INSERT", Some(refund), None)).contains("id"));
}

/// What cannot be read is said to be so, with the attribute's name: never skipped, and never a panic.
#[test]
fn a_message_that_cannot_be_read_says_why() {
    let good = message_image(&fresh(1));
    for name in ["id", "h", "hv", "pj", "ik", "at", "db", "xp", "exp", "pol", "nd", "pl", "tk"] {
        let mut missing = good.clone();
        missing.as_object_mut().unwrap().remove(name);
        let why = unreadable(&record("INSERT", Some(missing), None));
        assert!(why.contains(name), "{name}: {why}");
        let mut other_kind = good.clone();
        other_kind[name] = json!({ "BOOL": true });
        unreadable(&record("INSERT", Some(other_kind), None));
    }
    let wrong = [
        ("id", json!({ "S": "msg_nonsense" })),
        ("h", json!({ "B": "AAAA" })),
        ("h", json!({ "B": "not base64!" })),
        ("hv", json!({ "N": "256" })),
        ("at", json!({ "N": "-1" })),
        ("pol", json!({ "S": "X" })),
        ("nd", json!({ "N": "20" })),
        ("pl", json!({ "S": "{" })),
        ("pl", json!({ "S": "7" })),
        ("tk", json!({ "L": [{ "S": "xabc" }] })),
        ("tk", json!({ "L": [{ "S": "" }] })),
        ("tk", json!({ "L": [{ "N": "1" }] })),
        ("extra", json!({ "??": 1 })),
        ("extra", json!("no attribute")),
    ];
    for (name, value) in wrong {
        let mut image = good.clone();
        image[name] = value.clone();
        let outcome = read_stream_record(&record("INSERT", Some(image), None));
        assert!(matches!(outcome, StreamRecord::Unreadable(_)), "{name} as {value}");
    }
}

#[test]
fn a_record_without_a_readable_shape_is_unreadable_not_skipped() {
    let good = record("INSERT", Some(message_image(&fresh(1))), None);
    let mut no_keys = good.clone();
    no_keys["dynamodb"].as_object_mut().unwrap().remove("Keys");
    unreadable(&no_keys);
    let mut number_key = good.clone();
    number_key["dynamodb"]["Keys"]["sk"] = json!({ "N": "1" });
    unreadable(&number_key);
    for new in [json!("text"), json!(7), json!([])] {
        let mut odd = good.clone();
        odd["dynamodb"]["NewImage"] = new;
        unreadable(&odd);
    }
    for nothing in [json!({}), json!(null), json!({ "dynamodb": null }), json!({ "dynamodb": "text" }), json!([1])] {
        unreadable(&nothing);
    }
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[A-Z#a-z0-9]{0,6}".prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "dynamodb", "Keys", "NewImage", "OldImage", "pk", "sk", "id", "tk", "nd", "pl", "S", "N", "B", "L", "M", "x",
    ]);
    leaf.prop_recursive(5, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..6).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_read_without_a_panic_and_nothing_is_made_up(record in tree()) {
        prop_assert!(!matches!(read_stream_record(&record), StreamRecord::Message(_)));
    }

    #[test]
    fn a_message_with_a_damaged_attribute_is_unreadable_or_still_a_message(place in any::<prop::sample::Index>(), value in tree()) {
        let mut image = message_image(&fresh(1));
        let names: Vec<String> = image.as_object().unwrap().keys().cloned().collect();
        let name = &names[place.index(names.len())];
        image[name.as_str()] = value;
        let keys = message_image(&fresh(1));
        let mut damaged = record("INSERT", Some(image), None);
        damaged["dynamodb"]["Keys"] = json!({"pk": keys["pk"], "sk": keys["sk"]});
        let read = read_stream_record(&damaged);
        prop_assert!(matches!(read, StreamRecord::Unreadable(_) | StreamRecord::Message(_)), "{read:?}");
    }
}
