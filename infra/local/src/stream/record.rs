//! Stream records in the form in which Lambda hands them to functions.
//!
//! Called by the stream poller. It guarantees the shape that `aws_lambda_events::dynamodb::Event` reads, attribute
//! values in DynamoDB's JSON; it judges nothing.

use aws_sdk_dynamodbstreams::types::{AttributeValue, Record};
use data_encoding::BASE64;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

type Item = HashMap<String, AttributeValue>;

/// One entry of an event's `Records`.
#[must_use]
pub fn record(record: &Record, stream_arn: &str, region: &str) -> Value {
    let mut out = json!({
        "eventID": record.event_id,
        "eventName": record.event_name.as_ref().map(|name| name.as_str()),
        "eventVersion": record.event_version,
        "eventSource": "aws:dynamodb",
        "eventSourceARN": stream_arn,
        "awsRegion": region,
        "dynamodb": change(record),
    });
    if let Some(identity) = &record.user_identity {
        out["userIdentity"] = json!({"type": identity.r#type, "principalId": identity.principal_id});
    }
    out
}

fn change(record: &Record) -> Value {
    let mut out = Map::new();
    let Some(change) = &record.dynamodb else { return out.into() };
    if let Some(at) = &change.approximate_creation_date_time {
        // Whole seconds: that is all that AWS gives.
        out.insert("ApproximateCreationDateTime".into(), at.secs().into());
    }
    for (name, image) in [("Keys", &change.keys), ("NewImage", &change.new_image), ("OldImage", &change.old_image)] {
        if let Some(image) = image {
            out.insert(name.into(), item(image));
        }
    }
    out.insert("SequenceNumber".into(), change.sequence_number.as_deref().into());
    out.insert("SizeBytes".into(), change.size_bytes.unwrap_or_default().into());
    if let Some(view) = &change.stream_view_type {
        out.insert("StreamViewType".into(), view.as_str().into());
    }
    out.into()
}

fn item(item: &Item) -> Value {
    item.iter().map(|(name, attribute)| (name.clone(), value(attribute))).collect::<Map<_, _>>().into()
}

fn value(attribute: &AttributeValue) -> Value {
    match attribute {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(number) => json!({ "N": number }),
        AttributeValue::B(bytes) => json!({"B": BASE64.encode(bytes.as_ref())}),
        AttributeValue::Bool(truth) => json!({ "BOOL": truth }),
        AttributeValue::Null(is_null) => json!({ "NULL": is_null }),
        AttributeValue::L(list) => json!({"L": list.iter().map(value).collect::<Vec<_>>()}),
        AttributeValue::M(map) => json!({"M": item(map)}),
        AttributeValue::Ss(texts) => json!({ "SS": texts }),
        AttributeValue::Ns(numbers) => json!({ "NS": numbers }),
        AttributeValue::Bs(list) => {
            json!({"BS": list.iter().map(|bytes| BASE64.encode(bytes.as_ref())).collect::<Vec<_>>()})
        }
        // The SDK's enum may grow; a function that meets this fails the record, as it would in AWS.
        _ => {
            tracing::error!("an attribute type that this system does not know");
            Value::Null
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lambda_events::dynamodb::Event;
    use aws_sdk_dynamodbstreams::{
        primitives::{Blob, DateTime},
        types::{Identity, OperationType, StreamRecord, StreamViewType},
    };

    #[test]
    fn is_what_the_event_crate_reads() {
        let every_type = AttributeValue::M(HashMap::from([
            ("s".into(), AttributeValue::S("x".into())),
            ("n".into(), AttributeValue::N("1.5".into())),
            ("b".into(), AttributeValue::B(Blob::new([255, 0]))),
            ("t".into(), AttributeValue::Bool(true)),
            ("z".into(), AttributeValue::Null(true)),
            ("l".into(), AttributeValue::L(vec![AttributeValue::N("1".into())])),
            ("ss".into(), AttributeValue::Ss(vec!["a".into()])),
            ("ns".into(), AttributeValue::Ns(vec!["2".into()])),
            ("bs".into(), AttributeValue::Bs(vec![Blob::new([1])])),
        ]));
        let change = StreamRecord::builder()
            .approximate_creation_date_time(DateTime::from_secs(1_764_400_000))
            .keys("pk", AttributeValue::S("K#1".into()))
            .new_image("pk", AttributeValue::S("K#1".into()))
            .new_image("all", every_type)
            .sequence_number("100000000000000000001")
            .size_bytes(42)
            .stream_view_type(StreamViewType::NewAndOldImages)
            .build();
        let sdk = Record::builder()
            .event_id("e1")
            .event_name(OperationType::Insert)
            .event_version("1.1")
            .dynamodb(change)
            .user_identity(Identity::builder().r#type("Service").principal_id("dynamodb.amazonaws.com").build())
            .build();
        let json = record(&sdk, "arn:stream", "local");
        assert_eq!(
            json["dynamodb"]["NewImage"]["all"]["M"],
            json!({"s": {"S": "x"}, "n": {"N": "1.5"}, "b": {"B": "/wA="}, "t": {"BOOL": true}, "z": {"NULL": true},
                "l": {"L": [{"N": "1"}]}, "ss": {"SS": ["a"]}, "ns": {"NS": ["2"]}, "bs": {"BS": ["AQ=="]}})
        );
        assert!(json["dynamodb"].get("OldImage").is_none());
        let event: Event = serde_json::from_value(json!({"Records": [json]})).unwrap();
        let read = &event.records[0];
        assert_eq!((read.event_id.as_str(), read.event_name.as_str()), ("e1", "INSERT"));
        assert_eq!(read.event_source_arn.as_deref(), Some("arn:stream"));
        assert_eq!(read.change.approximate_creation_date_time.timestamp(), 1_764_400_000);
        assert_eq!(read.change.sequence_number.as_deref(), Some("100000000000000000001"));
        assert_eq!((read.change.size_bytes, read.change.keys.len(), read.change.old_image.len()), (42, 1, 0));
        assert_eq!(read.user_identity.as_ref().unwrap().principal_id, "dynamodb.amazonaws.com");
    }
}
