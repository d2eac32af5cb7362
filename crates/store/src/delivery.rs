//! Delivery items: one write for claim, record and settle, and one read.
//!
//! The item of 20 devices that FCM accepted fits one write unit (1 KB): the provider's ids share their prefix
//! ("projects/…/messages/"), which is stored once. A test shows it.

use crate::{
    Store, StoreError,
    attr::{Item, b, get_bytes, get_n, get_s, n, opt_n, s},
    names::{
        ATTEMPT, CALLS, ERRORS, EXPIRES, LEASE, LETTERS, NOT_BEFORE, OWNER, PK, PROVIDER_IDS, SK, STATE, UPDATED,
        VERSION, delivery_sk, key_pk,
    },
    write::Wrote,
};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::{
    answer::Reason,
    delivery::{Delivery, DeviceState, State},
    expect::Expect,
    ids::{MessageId, OwnerToken},
    letter::Letter,
};
use std::collections::HashMap;

/// What came of writing a delivery item.
#[derive(Debug)]
pub enum DeliveryWrite {
    /// It happened.
    Written {
        /// Write units it took, where the table said so.
        units: Option<f64>,
    },
    /// It did not: this is the stored item, or there is none.
    Conflict(Option<Delivery>),
    /// Nobody knows whether it happened.
    Unknown(StoreError),
}

fn state_letter(state: State) -> &'static str {
    match state {
        State::InFlight => "I",
        State::Retry => "R",
        State::Done => "D",
    }
}

/// Where a delivery item stands.
pub(crate) fn state_of(item: &Item) -> Result<State, StoreError> {
    match get_s(item, STATE)? {
        "I" => Ok(State::InFlight),
        "R" => Ok(State::Retry),
        "D" => Ok(State::Done),
        _ => Err(StoreError::corrupt("attribute s is none of I, R, D")),
    }
}

/// The provider ids, behind the prefix that most of them share ("projects/…/messages/" of FCM); `None` when no device
/// has one. An id with the prefix is stored without it, another one whole in a list of its own, and no id as NULL, since
/// an id may be anything.
fn provider_ids(devices: &[DeviceState]) -> Option<AttributeValue> {
    let mut ids = devices.iter().filter_map(|device| device.provider_id.as_deref()).peekable();
    ids.peek()?;
    let prefix = ids.find_map(|id| id.rfind('/').map(|slash| &id[..=slash])).unwrap_or("");
    let rest = devices.iter().map(|device| match device.provider_id.as_deref() {
        Some(id) => id.strip_prefix(prefix).map_or_else(|| AttributeValue::L(vec![s(id)]), s),
        None => AttributeValue::Null(true),
    });
    Some(AttributeValue::L(std::iter::once(s(prefix)).chain(rest).collect()))
}

fn provider_id(prefix: &str, stored: &AttributeValue) -> Option<String> {
    match stored {
        AttributeValue::S(rest) => Some(format!("{prefix}{rest}")),
        AttributeValue::L(whole) => whole.first()?.as_s().ok().cloned(),
        _ => None,
    }
}

/// The last errors, by device index; `None` when there is none.
fn errors(devices: &[DeviceState]) -> Option<AttributeValue> {
    let map: HashMap<String, AttributeValue> = devices
        .iter()
        .enumerate()
        .filter_map(|(index, device)| {
            let reason = device.error.as_ref()?;
            Some((index.to_string(), AttributeValue::L(vec![s(&reason.code), s(&reason.detail)])))
        })
        .collect();
    (!map.is_empty()).then_some(AttributeValue::M(map))
}

/// The item, and the attributes it does not have.
pub(crate) fn encode(id: MessageId, chunk: u16, delivery: &Delivery) -> (Item, Vec<&'static str>) {
    let letters: String = delivery.devices.iter().map(|device| device.letter.as_char()).collect();
    let calls: String = delivery.devices.iter().map(|device| char::from(b'0' + device.calls.min(9))).collect();
    let mut item = Item::from([
        (PK.to_owned(), s(key_pk(id.key))),
        (SK.to_owned(), s(delivery_sk(id, chunk))),
        (STATE.to_owned(), s(state_letter(delivery.state))),
        (ATTEMPT.to_owned(), n(delivery.attempt)),
        (LEASE.to_owned(), n(delivery.lease_ms)),
        (NOT_BEFORE.to_owned(), n(delivery.not_before_ms)),
        (VERSION.to_owned(), n(delivery.version)),
        (LETTERS.to_owned(), s(letters)),
        (CALLS.to_owned(), s(calls)),
        (UPDATED.to_owned(), n(delivery.updated_ms)),
        (EXPIRES.to_owned(), n(delivery.expires_s)),
    ]);
    let optional = [
        (OWNER, delivery.owner.map(|owner| b(&owner.0))),
        (PROVIDER_IDS, provider_ids(&delivery.devices)),
        (ERRORS, errors(&delivery.devices)),
    ];
    let mut absent = Vec::new();
    for (name, value) in optional {
        match value {
            Some(value) => {
                item.insert(name.to_owned(), value);
            }
            None => absent.push(name),
        }
    }
    (item, absent)
}

/// Reads a delivery item.
pub(crate) fn decode(item: &Item) -> Result<Delivery, StoreError> {
    let state = state_of(item)?;
    let calls = get_s(item, CALLS)?.as_bytes();
    let ids = match item.get(PROVIDER_IDS) {
        Some(AttributeValue::L(list)) => list.as_slice(),
        _ => &[],
    };
    let prefix = ids.first().and_then(|value| value.as_s().ok()).map_or("", String::as_str);
    let errors = item.get(ERRORS).and_then(|value| value.as_m().ok());
    let mut devices = Vec::new();
    for (index, letter) in get_s(item, LETTERS)?.chars().enumerate() {
        let letter = Letter::parse(letter)
            .ok_or_else(|| StoreError::corrupt("attribute r holds a letter this code does not know"))?;
        let provider_id = ids.get(index + 1).and_then(|stored| provider_id(prefix, stored));
        let error = errors.and_then(|map| map.get(&index.to_string())).and_then(|value| {
            let pair = value.as_l().ok()?;
            Some(Reason { code: pair.first()?.as_s().ok()?.clone(), detail: pair.get(1)?.as_s().ok()?.clone() })
        });
        let counted = calls.get(index).map_or(0, |digit| digit.wrapping_sub(b'0').min(9));
        devices.push(DeviceState { letter, calls: counted, provider_id, error });
    }
    let owner = match item.get(OWNER) {
        Some(_) => Some(OwnerToken(get_bytes(item, OWNER)?)),
        None => None,
    };
    Ok(Delivery {
        state,
        attempt: get_n(item, ATTEMPT)?,
        owner,
        lease_ms: get_n(item, LEASE)?,
        not_before_ms: opt_n(item, NOT_BEFORE).unwrap_or(0),
        version: get_n(item, VERSION)?,
        devices,
        updated_ms: get_n(item, UPDATED)?,
        expires_s: get_n(item, EXPIRES)?,
    })
}

impl Store {
    /// Writes a chunk's delivery item if `expect` holds.
    pub async fn write_delivery(
        &self,
        id: MessageId,
        chunk: u16,
        delivery: &Delivery,
        expect: Expect,
    ) -> DeliveryWrite {
        let (item, absent) = encode(id, chunk, delivery);
        match self.update(item, &absent, expect).await {
            Wrote::Written { units } => DeliveryWrite::Written { units },
            Wrote::Lost(old) => match old.as_ref().map(decode).transpose() {
                Ok(stored) => DeliveryWrite::Conflict(stored),
                Err(error) => DeliveryWrite::Unknown(error),
            },
            Wrote::Unknown(error) => DeliveryWrite::Unknown(error),
        }
    }

    /// Reads a chunk's delivery item, consistently.
    ///
    /// # Errors
    /// When the table does not answer or the item cannot be read.
    pub async fn delivery(&self, id: MessageId, chunk: u16) -> Result<Option<Delivery>, StoreError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(PK, s(key_pk(id.key)))
            .key(SK, s(delivery_sk(id, chunk)))
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| StoreError::sdk("GetItem", &error))?;
        answer.item.as_ref().map(decode).transpose()
    }
}
