//! The audit's pass: one item that says how far the scan came.
//!
//! Called by the audit alone. Its writes are conditional on its version, so two invocations never both move it on.
//! Losing the item costs nothing but a pass from the beginning.

use crate::{
    Store, StoreError,
    attr::{Item, b, get_bytes, get_n, get_s, n, s},
    names::{FINISHED, OWNER, PASS_PK, PASS_SK, PK, POSITION, SAVED, SK, STARTED, VERSION},
    write::Wrote,
};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::{
    audit::{Pass, Position},
    expect::Expect,
    ids::OwnerToken,
};

/// What came of writing the pass.
#[derive(Debug)]
pub enum PassWrite {
    /// It happened.
    Written,
    /// It did not: this is the stored pass, or there is none.
    Conflict(Option<Pass>),
    /// Nobody knows whether it happened.
    Unknown(StoreError),
}

fn encode(pass: &Pass) -> Item {
    let mut item = Item::from([
        (PK.to_owned(), s(PASS_PK)),
        (SK.to_owned(), s(PASS_SK)),
        (STARTED.to_owned(), n(pass.started_ms)),
        (SAVED.to_owned(), n(pass.saved_ms)),
        (FINISHED.to_owned(), AttributeValue::Bool(pass.finished)),
        (OWNER.to_owned(), b(&pass.owner.0)),
        (VERSION.to_owned(), n(pass.version)),
    ]);
    if let Some(Position(position)) = &pass.position {
        item.insert(POSITION.to_owned(), s(position));
    }
    item
}

fn decode(item: &Item) -> Result<Pass, StoreError> {
    let finished = item.get(FINISHED).and_then(|value| value.as_bool().ok()).copied();
    let position = item.contains_key(POSITION).then(|| get_s(item, POSITION)).transpose()?;
    Ok(Pass {
        started_ms: get_n(item, STARTED)?,
        saved_ms: get_n(item, SAVED)?,
        position: position.map(|position| Position(position.to_owned())),
        finished: finished.ok_or_else(|| StoreError::corrupt("attribute finished is missing or no boolean"))?,
        owner: OwnerToken(get_bytes(item, OWNER)?),
        version: get_n(item, VERSION)?,
    })
}

impl Store {
    /// Reads the pass, consistently.
    ///
    /// # Errors
    /// When the table does not answer or the item cannot be read.
    pub async fn pass(&self) -> Result<Option<Pass>, StoreError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(PK, s(PASS_PK))
            .key(SK, s(PASS_SK))
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| StoreError::sdk("GetItem", &error))?;
        answer.item.as_ref().map(decode).transpose()
    }

    /// Writes the pass if `expect` holds.
    pub async fn write_pass(&self, pass: &Pass, expect: Expect) -> PassWrite {
        match self.put(encode(pass), expect).await {
            Wrote::Written { .. } => PassWrite::Written,
            Wrote::Lost(old) => match old.as_ref().map(decode).transpose() {
                Ok(stored) => PassWrite::Conflict(stored),
                Err(error) => PassWrite::Unknown(error),
            },
            Wrote::Unknown(error) => PassWrite::Unknown(error),
        }
    }
}
