//! Message items: accepting a send, and reading one with its delivery items.

use crate::{
    Store, StoreError,
    attr::{Item, b, get_bytes, get_list, get_n, get_s, n, s},
    delivery,
    names::{
        ACCEPTED, DELIVER_BY, DEVICE_COUNT, EXPIRES, EXPIRES_AT, HASH, HASH_VERSION, ID, KEY, MESSAGE_SK, PAYLOAD, PK,
        POLICY, PROJECT, SK, TOKENS, chunk_of_sk, delivery_sk_prefix, key_pk,
    },
    write::Wrote,
};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::{
    accept::Prior,
    content::{Content, Device, Platform, Policy, Token},
    delivery::Delivery,
    expect::Expect,
    fingerprint::Fingerprint,
    ids::{KeyHash, MessageId},
    message::Message,
};

/// What came of accepting a message.
#[derive(Debug)]
pub enum AcceptWrite {
    /// The key is claimed.
    Accepted {
        /// Write units it took, where the table said so.
        units: Option<f64>,
    },
    /// The key is taken: what the loser may know of the winner.
    Taken(Prior),
    /// Nobody knows whether it happened.
    Unknown(StoreError),
}

/// A message with what is stored of its delivery.
#[derive(Clone, Debug)]
pub struct StoredMessage {
    /// The message.
    pub message: Message,
    /// One per chunk, in order; `None` where no delivery has begun.
    pub deliveries: Vec<Option<Delivery>>,
}

fn policy_letter(policy: Policy) -> &'static str {
    match policy {
        Policy::AtLeastOnce => "L",
        Policy::AtMostOnce => "O",
    }
}

fn platform_letter(platform: Platform) -> char {
    match platform {
        Platform::Ios => 'i',
        Platform::Android => 'a',
        Platform::Web => 'w',
    }
}

fn device(text: &str) -> Option<Device> {
    let (letter, token) = text.split_at_checked(1)?;
    let platform = match letter {
        "i" => Platform::Ios,
        "a" => Platform::Android,
        "w" => Platform::Web,
        _ => return None,
    };
    Some(Device { platform, token: Token(token.to_owned()) })
}

pub(crate) fn encode(message: &Message) -> Result<Item, StoreError> {
    let payload = serde_json::to_string(&message.content)
        .map_err(|error| StoreError::corrupt(format!("the payload cannot be written: {error}")))?;
    let tokens = message
        .devices
        .iter()
        .map(|device| s(format!("{}{}", platform_letter(device.platform), device.token.0)))
        .collect();
    Ok(Item::from([
        (PK.to_owned(), s(key_pk(message.id.key))),
        (SK.to_owned(), s(MESSAGE_SK)),
        (ID.to_owned(), s(message.id.to_string())),
        (HASH.to_owned(), b(&message.fingerprint.hash)),
        (HASH_VERSION.to_owned(), n(message.fingerprint.version)),
        (PROJECT.to_owned(), s(&message.project)),
        (KEY.to_owned(), s(&message.key)),
        (ACCEPTED.to_owned(), n(message.at_ms)),
        (DELIVER_BY.to_owned(), n(message.deliver_by_ms)),
        (EXPIRES_AT.to_owned(), n(message.expires_ms)),
        (EXPIRES.to_owned(), n(message.valid_until_s)),
        (POLICY.to_owned(), s(policy_letter(message.policy))),
        (DEVICE_COUNT.to_owned(), n(message.devices.len())),
        (PAYLOAD.to_owned(), s(payload)),
        (TOKENS.to_owned(), AttributeValue::L(tokens)),
    ]))
}

fn fingerprint(item: &Item) -> Result<Fingerprint, StoreError> {
    Ok(Fingerprint { version: get_n(item, HASH_VERSION)?, hash: get_bytes(item, HASH)? })
}

fn id(item: &Item) -> Result<MessageId, StoreError> {
    MessageId::parse(get_s(item, ID)?).ok_or_else(|| StoreError::corrupt("attribute id is no message id"))
}

/// Reads a message item, from the table or from a stream image.
pub(crate) fn decode(item: &Item) -> Result<Message, StoreError> {
    let devices = get_list(item, TOKENS)?
        .iter()
        .map(|value| value.as_s().ok().and_then(|text| device(text)))
        .collect::<Option<Vec<Device>>>()
        .ok_or_else(|| StoreError::corrupt("attribute tk holds no devices"))?;
    if devices.len() != get_n::<usize>(item, DEVICE_COUNT)? {
        return Err(StoreError::corrupt("attributes nd and tk differ"));
    }
    let content: Content = serde_json::from_str(get_s(item, PAYLOAD)?)
        .map_err(|error| StoreError::corrupt(format!("attribute pl: {error}")))?;
    let policy = match get_s(item, POLICY)? {
        "L" => Policy::AtLeastOnce,
        "O" => Policy::AtMostOnce,
        _ => return Err(StoreError::corrupt("attribute pol is neither L nor O")),
    };
    Ok(Message {
        id: id(item)?,
        fingerprint: fingerprint(item)?,
        project: get_s(item, PROJECT)?.to_owned(),
        key: get_s(item, KEY)?.to_owned(),
        at_ms: get_n(item, ACCEPTED)?,
        deliver_by_ms: get_n(item, DELIVER_BY)?,
        expires_ms: get_n(item, EXPIRES_AT)?,
        valid_until_s: get_n(item, EXPIRES)?,
        policy,
        devices,
        content,
    })
}

impl Store {
    /// Claims the message's key and stores the message, in one write: if the key is free or its validity is over.
    pub async fn accept(&self, message: &Message, now_ms: u64) -> AcceptWrite {
        let item = match encode(message) {
            Ok(item) => item,
            Err(error) => return AcceptWrite::Unknown(error),
        };
        match self.put(item, Expect::AbsentOrExpired { now_s: now_ms / 1_000 }).await {
            Wrote::Written { units } => AcceptWrite::Accepted { units },
            Wrote::Lost(Some(old)) => match (id(&old), fingerprint(&old)) {
                (Ok(id), Ok(fingerprint)) => AcceptWrite::Taken(Prior { id, fingerprint }),
                (Err(error), _) | (_, Err(error)) => AcceptWrite::Unknown(error),
            },
            Wrote::Lost(None) => AcceptWrite::Unknown(StoreError::corrupt("the winner of a key came back empty")),
            Wrote::Unknown(error) => AcceptWrite::Unknown(error),
        }
    }

    /// The message under a key hash, with its delivery items, read consistently.
    ///
    /// # Errors
    /// When the table does not answer or an item cannot be read.
    pub async fn message(&self, key: KeyHash) -> Result<Option<StoredMessage>, StoreError> {
        let mut items = Vec::new();
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
            items.extend(page.map_err(|error| StoreError::sdk("Query", &error))?.items.unwrap_or_default());
        }
        let Some(stored) = items.iter().find(|item| get_s(item, SK).is_ok_and(|sk| sk == MESSAGE_SK)) else {
            return Ok(None);
        };
        let message = decode(stored)?;
        // Items of an earlier message under the same key have another nonce.
        let prefix = delivery_sk_prefix(message.id.nonce);
        let mut deliveries = vec![None; usize::from(message.chunks())];
        for item in &items {
            let sk = get_s(item, SK)?;
            let chunk = sk.starts_with(&prefix).then(|| chunk_of_sk(sk)).flatten();
            if let Some(slot) = chunk.and_then(|chunk| deliveries.get_mut(usize::from(chunk))) {
                *slot = Some(delivery::decode(item)?);
            }
        }
        Ok(Some(StoredMessage { message, deliveries }))
    }

    /// The chunks of a message that have a delivery item. Eventually consistent: for the relay, to which a late answer
    /// costs only a repeated copy.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn chunks_present(&self, id: MessageId) -> Result<Vec<u16>, StoreError> {
        let mut chunks = Vec::new();
        let mut pages = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("#pk = :pk AND begins_with(#sk, :sk)")
            .projection_expression("#sk")
            .expression_attribute_names("#pk", PK)
            .expression_attribute_names("#sk", SK)
            .expression_attribute_values(":pk", s(key_pk(id.key)))
            .expression_attribute_values(":sk", s(delivery_sk_prefix(id.nonce)))
            .into_paginator()
            .send();
        while let Some(page) = pages.next().await {
            for item in page.map_err(|error| StoreError::sdk("Query", &error))?.items() {
                chunks.extend(get_s(item, SK).ok().and_then(chunk_of_sk));
            }
        }
        Ok(chunks)
    }
}
