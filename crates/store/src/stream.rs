//! Records of the table's stream, as the relay sees them.
//!
//! Read one by one from JSON, so that a record nobody can read is parked alone instead of failing its whole batch.

use crate::{
    attr::Item,
    names::{ID, MESSAGE_SK, REFUND_SK, SK},
    refund,
};
use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use protocol::{
    message::Message,
    refund::{id::PayoutId, step::needs_relay},
};
use serde_json::Value;

/// What a stream record is to the relay.
#[derive(Clone, Debug)]
pub enum StreamRecord {
    /// A message that was accepted just now.
    Message(Box<Message>),
    /// A payout that became due just now.
    Payout(DuePayout),
    /// Something else, or nothing new.
    Other,
    /// A message or a refund that cannot be read; the text says why.
    Unreadable(String),
}

/// A payout that is due, as the stream shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuePayout {
    /// Which.
    pub payout: PayoutId,
    /// Whose it is.
    pub project: String,
    /// When it became due, in ms.
    pub due_ms: u64,
}

/// Reads one record of a DynamoDB stream event.
#[must_use]
pub fn read_stream_record(record: &Value) -> StreamRecord {
    let change = &record["dynamodb"];
    let Some(sk) = change["Keys"][SK]["S"].as_str() else {
        return StreamRecord::Unreadable("the record has no sort key".to_owned());
    };
    if change["NewImage"].is_null() {
        return StreamRecord::Other;
    }
    match sk {
        MESSAGE_SK => message(change),
        REFUND_SK => due_payout(change),
        _ => StreamRecord::Other,
    }
}

fn due_payout(change: &Value) -> StreamRecord {
    let new = match image(&change["NewImage"]).as_ref().map(refund::item::decode) {
        Some(Ok(new)) => new,
        Some(Err(error)) => return StreamRecord::Unreadable(error.to_string()),
        None => return StreamRecord::Unreadable("the new image is no item".to_owned()),
    };
    // An old image that cannot be read is none: a copy too many costs one read.
    let old = image(&change["OldImage"]).and_then(|item| refund::item::decode(&item).ok());
    let due_ms = new.payout.as_ref().map(|payout| payout.due_ms).unwrap_or_default();
    match needs_relay(&new, old.as_ref()) {
        Some(payout) => StreamRecord::Payout(DuePayout { payout, project: new.project, due_ms }),
        None => StreamRecord::Other,
    }
}

fn message(change: &Value) -> StreamRecord {
    // A message item is never changed: the same id in both images is nothing new, another id is a reused key.
    let id_of = |image: &Value| image[ID]["S"].as_str().map(str::to_owned);
    if id_of(&change["OldImage"]).is_some() && id_of(&change["OldImage"]) == id_of(&change["NewImage"]) {
        return StreamRecord::Other;
    }
    let Some(item) = image(&change["NewImage"]) else {
        return StreamRecord::Unreadable("the new image is no item".to_owned());
    };
    match crate::message::decode(&item) {
        Ok(message) => StreamRecord::Message(Box::new(message)),
        Err(error) => StreamRecord::Unreadable(error.to_string()),
    }
}

fn image(value: &Value) -> Option<Item> {
    value.as_object()?.iter().map(|(name, value)| Some((name.clone(), attribute(value)?))).collect()
}

/// One attribute in DynamoDB's JSON, for example `{"N":"5"}`; the kinds that our items use.
fn attribute(value: &Value) -> Option<AttributeValue> {
    let (kind, value) = value.as_object()?.iter().next()?;
    Some(match kind.as_str() {
        "S" => AttributeValue::S(value.as_str()?.to_owned()),
        "N" => AttributeValue::N(value.as_str()?.to_owned()),
        "B" => AttributeValue::B(Blob::new(base64(value.as_str()?)?)),
        "BOOL" => AttributeValue::Bool(value.as_bool()?),
        "NULL" => AttributeValue::Null(true),
        "L" => AttributeValue::L(value.as_array()?.iter().map(attribute).collect::<Option<_>>()?),
        "M" => AttributeValue::M(image(value)?),
        _ => return None,
    })
}

fn base64(text: &str) -> Option<Vec<u8>> {
    data_encoding::BASE64.decode(text.as_bytes()).ok()
}
