//! Hold items: one per project and provider whose credentials are, or were, refused.
//!
//! Read by the deliver function before its claim (and remembered for `Timing::hold_cache`) and by the api function for
//! GET; written by compare-and-set, so that of many instances one begins a hold, one probes and one lifts it. The items
//! stay when a hold is lifted: there are at most two per project.

use crate::{
    Store, StoreError,
    attr::{Item, b, get_bytes, get_n, get_s, n, s},
    names::{
        HELD, HOLD_SK, OWNER, PK, PROBE_AT, PROBES, REASON_CODE, REASON_DETAIL, SECRET_VERSION, SINCE, SK, TRIED,
        VERSION, hold_pk,
    },
    write::Wrote,
};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::{
    answer::Reason,
    expect::Expect,
    hold::{Hold, Prober, Provider},
    ids::OwnerToken,
};

/// What came of writing a hold item.
#[derive(Debug)]
pub enum HoldWrite {
    /// It is stored now.
    Written,
    /// Another was there first: this one, or none.
    Conflict(Option<Hold>),
    /// Nobody knows.
    Unknown(StoreError),
}

fn encode(project: &str, provider: Provider, hold: &Hold) -> Item {
    let mut item = Item::from([
        (PK.to_owned(), s(hold_pk(project, provider.as_str()))),
        (SK.to_owned(), s(HOLD_SK)),
        (HELD.to_owned(), AttributeValue::Bool(hold.held)),
        (REASON_CODE.to_owned(), s(&hold.reason.code)),
        (REASON_DETAIL.to_owned(), s(&hold.reason.detail)),
        (SINCE.to_owned(), n(hold.since_ms)),
        (PROBE_AT.to_owned(), n(hold.probe_at_ms)),
        (PROBES.to_owned(), n(hold.probes)),
        (SECRET_VERSION.to_owned(), s(&hold.credentials)),
        (OWNER.to_owned(), b(&hold.by.0)),
        (VERSION.to_owned(), n(hold.version)),
    ]);
    if !hold.tried.is_empty() {
        let tried: Vec<u8> = hold.tried.iter().flat_map(|chunk| chunk.to_bytes()).collect();
        item.insert(TRIED.to_owned(), b(&tried));
    }
    item
}

/// Chunks one after the other; none in an item of an earlier version.
fn tried(item: &Item) -> Vec<Prober> {
    let stored = item.get(TRIED).and_then(|value| value.as_b().ok()).map(|blob| blob.as_ref()).unwrap_or_default();
    stored.as_chunks().0.iter().copied().map(Prober::of_bytes).collect()
}

fn decode(item: &Item) -> Result<Hold, StoreError> {
    let held = item.get(HELD).and_then(|value| value.as_bool().ok()).copied();
    Ok(Hold {
        held: held.ok_or_else(|| StoreError::corrupt("attribute held is missing or no boolean"))?,
        reason: Reason { code: get_s(item, REASON_CODE)?.to_owned(), detail: get_s(item, REASON_DETAIL)?.to_owned() },
        since_ms: get_n(item, SINCE)?,
        probe_at_ms: get_n(item, PROBE_AT)?,
        probes: get_n(item, PROBES)?,
        credentials: get_s(item, SECRET_VERSION)?.to_owned(),
        tried: tried(item),
        by: OwnerToken(get_bytes(item, OWNER)?),
        version: get_n(item, VERSION)?,
    })
}

impl Store {
    /// Reads a hold item, consistently: a lifted hold is not read as standing any more.
    ///
    /// # Errors
    /// When the table does not answer or the item cannot be read.
    pub async fn hold(&self, project: &str, provider: Provider) -> Result<Option<Hold>, StoreError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(PK, s(hold_pk(project, provider.as_str())))
            .key(SK, s(HOLD_SK))
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| StoreError::sdk("GetItem", &error))?;
        answer.item.as_ref().map(decode).transpose()
    }

    /// Writes a hold item if `expect` holds.
    pub async fn write_hold(&self, project: &str, provider: Provider, hold: &Hold, expect: Expect) -> HoldWrite {
        match self.put(encode(project, provider, hold), expect).await {
            Wrote::Written { .. } => HoldWrite::Written,
            Wrote::Lost(old) => match old.as_ref().map(decode).transpose() {
                // The SDK repeats a write whose answer was lost, and the repeat meets the first.
                Ok(Some(stored)) if stored == *hold => HoldWrite::Written,
                Ok(stored) => HoldWrite::Conflict(stored),
                Err(error) => HoldWrite::Unknown(error),
            },
            Wrote::Unknown(error) => HoldWrite::Unknown(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::ids::Nonce;

    #[test]
    fn a_hold_is_stored_and_read_back() {
        let hold = Hold {
            held: true,
            reason: Reason { code: "InvalidProviderToken".to_owned(), detail: String::new() },
            since_ms: 1_700_000_000_000,
            probe_at_ms: 1_700_000_060_000,
            probes: 3,
            credentials: String::new(),
            tried: vec![
                Prober { nonce: Nonce([1, 2, 3, 4, 5]), chunk: 6 },
                Prober { nonce: Nonce([9; 5]), chunk: 513 },
            ],
            by: OwnerToken([7; 16]),
            version: 7,
        };
        let item = encode("acme", Provider::Apns, &hold);
        assert_eq!((&item[PK], &item[SK]), (&s("H#acme#apns"), &s("H")));
        assert_eq!(decode(&item).unwrap(), hold);
        let lifted = Hold { held: false, ..hold };
        assert_eq!(decode(&encode("acme", Provider::Fcm, &lifted)).unwrap(), lifted);
        assert!(decode(&Item::new()).is_err());
    }
}
