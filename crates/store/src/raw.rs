//! Items as they are stored, with what each of their short attribute names means: for people who look something up.
//!
//! Read by the admin command. An item that no code can read any more is shown like any other. Device tokens are masked
//! here as everywhere.

use crate::{
    Store, StoreError,
    attr::{Item, get_s, s},
    names::{
        ACCEPTED, ATTEMPT, CALLS, DELIVER_BY, DEVICE_COUNT, ERRORS, EXPIRES, EXPIRES_AT, HASH, HASH_VERSION, ID, KEY,
        LEASE, LETTERS, MESSAGE_SK, NOT_BEFORE, OWNER, PAYLOAD, PK, POLICY, PROJECT, PROVIDER_IDS, SK, STATE, TOKENS,
        UPDATED, VERSION, key_pk,
    },
};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::{content::Token, ids::KeyHash};
use serde_json::{Value, json};

/// What the attributes of messages and delivery items mean.
const MEANINGS: [(&str, &str); 26] = [
    (PK, "partition key: the hash of operation, project and idempotency key"),
    (SK, "sort key: M is the message, D#… one chunk of at most 20 devices"),
    (ID, "message id"),
    (HASH, "fingerprint of the request"),
    (HASH_VERSION, "version of the fingerprint"),
    (PROJECT, "project"),
    (KEY, "idempotency key"),
    (ACCEPTED, "accepted at, ms since 1970"),
    (DELIVER_BY, "delivered by, ms since 1970"),
    (EXPIRES_AT, "what the provider is told as its end, ms since 1970"),
    (EXPIRES, "deleted after, s since 1970; of a message: the end of its key's validity"),
    (POLICY, "policy: L at_least_once, O at_most_once"),
    (DEVICE_COUNT, "number of devices"),
    (PAYLOAD, "what is sent"),
    (TOKENS, "devices: i ios, a android, w web, then the token, masked here"),
    (STATE, "state: I in flight, R to be retried, D done"),
    (ATTEMPT, "attempts so far"),
    (OWNER, "owner token of the last claim"),
    (LEASE, "end of the lease, ms since 1970"),
    (NOT_BEFORE, "next attempt not before, ms since 1970"),
    (VERSION, "version, counted up by each write"),
    (
        LETTERS,
        "one letter per device: P pending, A and B one and two lost answers, U unknown, S sent, F failed, E expired",
    ),
    (CALLS, "calls per device, one digit each, 9 meaning 9 or more"),
    (PROVIDER_IDS, "provider ids, behind the prefix that they share"),
    (ERRORS, "last error of each device, by its index in the chunk"),
    (UPDATED, "written last at, ms since 1970"),
];

/// An attribute as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct RawAttribute {
    /// Its name in the table.
    pub name: String,
    /// What it means; empty if this code does not know it.
    pub means: &'static str,
    /// Its value: bytes in hexadecimal, everything else as JSON has it.
    pub value: Value,
}

/// An item as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct RawItem {
    /// Its sort key.
    pub sort_key: String,
    /// Its attributes: the known ones in the order of `MEANINGS`, then the others by name.
    pub attributes: Vec<RawAttribute>,
}

fn plain(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!(text),
        AttributeValue::N(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        AttributeValue::B(blob) => json!(data_encoding::HEXLOWER.encode(blob.as_ref())),
        AttributeValue::Bool(value) => json!(value),
        AttributeValue::L(list) => list.iter().map(plain).collect(),
        AttributeValue::M(map) => map.iter().map(|(name, value)| (name.clone(), plain(value))).collect(),
        AttributeValue::Ss(set) | AttributeValue::Ns(set) => json!(set),
        AttributeValue::Bs(set) => set.iter().map(|blob| data_encoding::HEXLOWER.encode(blob.as_ref())).collect(),
        _ => Value::Null,
    }
}

/// A device as it is stored, its token masked.
fn masked(stored: &AttributeValue) -> Value {
    let masked = stored.as_s().ok().and_then(|text| {
        let (platform, token) = text.split_at_checked(1)?;
        Some(format!("{platform} {}", Token(token.to_owned()).masked()))
    });
    json!(masked.unwrap_or_else(|| "unreadable".to_owned()))
}

fn value(name: &str, stored: &AttributeValue) -> Value {
    match (name, stored) {
        (TOKENS, AttributeValue::L(list)) => list.iter().map(masked).collect(),
        // Whatever else stands there may be a token.
        (TOKENS, _) => json!("unreadable"),
        (PAYLOAD, AttributeValue::S(text)) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        _ => plain(stored),
    }
}

fn raw(item: &Item) -> RawItem {
    let known = MEANINGS.iter().filter_map(|(name, means)| Some((*name, *means, item.get(*name)?)));
    let mut others: Vec<_> = item.iter().filter(|(name, _)| MEANINGS.iter().all(|(known, _)| known != name)).collect();
    others.sort_by_key(|(name, _)| *name);
    let others = others.into_iter().map(|(name, stored)| (name.as_str(), "", stored));
    let attribute = |(name, means, stored): (&str, &'static str, &AttributeValue)| RawAttribute {
        name: name.to_owned(),
        means,
        value: value(name, stored),
    };
    RawItem {
        sort_key: get_s(item, SK).unwrap_or_default().to_owned(),
        attributes: known.chain(others).map(attribute).collect(),
    }
}

impl Store {
    /// Every item under a key hash as it is stored, read consistently: the message first, then the delivery items, those
    /// of earlier messages under the same key among them.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn raw_message(&self, key: KeyHash) -> Result<Vec<RawItem>, StoreError> {
        let mut found = Vec::new();
        let mut pages = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("#pk = :pk")
            .expression_attribute_names("#pk", PK)
            .expression_attribute_values(":pk", s(key_pk(key)))
            .consistent_read(true)
            .into_paginator()
            .send();
        while let Some(page) = pages.next().await {
            found.extend(page.map_err(|error| StoreError::sdk("Query", &error))?.items().iter().map(raw));
        }
        found.sort_by_key(|item| item.sort_key != MESSAGE_SK);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        delivery, message,
        tests::support::{delivery as a_delivery, id, message as a_message, request},
    };

    #[test]
    fn every_attribute_that_is_written_is_spelt_and_no_token_is_shown() {
        let id = id("k", 1);
        let stored = message::encode(&a_message(id, "k", &request(2, "body"))).unwrap();
        let mut full = a_delivery(2);
        full.devices[0].provider_id = Some("projects/p/messages/1".to_owned());
        full.devices[1].error =
            Some(protocol::answer::Reason { code: "UNREGISTERED".to_owned(), detail: "gone".to_owned() });
        let (chunk, _) = delivery::encode(id, 0, &full);
        let mut spelt = 0;
        for item in [&stored, &chunk] {
            let raw = raw(item);
            assert_eq!(raw.attributes.len(), item.len());
            for attribute in &raw.attributes {
                assert!(!attribute.means.is_empty(), "{}", attribute.name);
            }
            spelt += item.len();
            let shown = format!("{raw:?}");
            assert!(!shown.contains("000000000000000000001"), "{shown}");
        }
        // pk, sk and exp are in both.
        assert_eq!(spelt, MEANINGS.len() + 3);
    }

    #[test]
    fn what_nobody_can_read_is_shown_all_the_same() {
        let item = Item::from([
            (SK.to_owned(), s("M")),
            (TOKENS.to_owned(), s("i0123456789abcdef")),
            ("zz".to_owned(), AttributeValue::Bool(true)),
            (DEVICE_COUNT.to_owned(), AttributeValue::N("1e400".to_owned())),
        ]);
        let raw = raw(&item);
        let shown: Vec<_> = raw.attributes.iter().map(|a| (a.name.as_str(), a.value.clone())).collect();
        assert_eq!(
            shown,
            [("sk", json!("M")), ("nd", json!("1e400")), ("tk", json!("unreadable")), ("zz", json!(true))]
        );
    }
}
