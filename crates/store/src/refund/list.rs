//! Refunds of one status, newest first.
//!
//! The index holds keys only, so that a decision costs two small writes on it, and a page of it is followed by one
//! read of the items. The index lags behind them: what a page shows is each item as it is now, and a refund that left
//! the status meanwhile is left out, so a page may be shorter than asked for. One that cannot be read is left out too: it
//! must not hide the others.

use super::{item, key};
use crate::{
    Store, StoreError,
    attr::{Item, get_s, s},
    names::{INDEX_PK, INDEX_SK, REFUNDS_INDEX, parts_of_refunds_sk, refunds_pk, refunds_sk},
};
use aws_sdk_dynamodb::types::KeysAndAttributes;
use protocol::refund::{Refund, Status, id::RefundId};
use std::collections::HashMap;

/// Times that DynamoDB is asked for what it left out of a batch (it may, when it is busy).
const BATCH_TRIES: u8 = 4;

/// Where the next page begins: behind this refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefundCursor {
    at_ms: u64,
    id: RefundId,
}

impl RefundCursor {
    /// Reads a place exactly as [`std::fmt::Display`] writes it; anything else is none of ours.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (at_ms, id) = parts_of_refunds_sk(text)?;
        Some(Self { at_ms, id })
    }

    fn key(self, project: &str, status: Status) -> Item {
        let mut start = key(self.id);
        start.insert(INDEX_PK.to_owned(), s(refunds_pk(project, status)));
        start.insert(INDEX_SK.to_owned(), s(refunds_sk(self.at_ms, self.id)));
        start
    }
}

impl std::fmt::Display for RefundCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&refunds_sk(self.at_ms, self.id))
    }
}

/// A page of refunds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefundPage {
    /// Newest first.
    pub refunds: Vec<Refund>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<RefundCursor>,
}

impl Store {
    /// At most `limit` (1 to 100) refunds of this project and status, newest first by creation, then by id, behind
    /// `after`.
    ///
    /// # Errors
    /// When the table does not answer or an entry of the index cannot be read.
    pub async fn refunds(
        &self,
        project: &str,
        status: Status,
        limit: u16,
        after: Option<RefundCursor>,
    ) -> Result<RefundPage, StoreError> {
        let limit = usize::from(limit.clamp(1, 100));
        let answer = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(REFUNDS_INDEX)
            .key_condition_expression("#pk = :pk")
            .expression_attribute_names("#pk", INDEX_PK)
            .expression_attribute_values(":pk", s(refunds_pk(project, status)))
            .scan_index_forward(false)
            // One more than asked for tells whether there is a next page.
            .limit(i32::try_from(limit.saturating_add(1)).unwrap_or(i32::MAX))
            .set_exclusive_start_key(after.map(|cursor| cursor.key(project, status)))
            .send()
            .await
            .map_err(|error| StoreError::sdk("Query", &error))?;
        let mut places = Vec::new();
        for entry in answer.items() {
            let place = parts_of_refunds_sk(get_s(entry, INDEX_SK)?);
            places.push(place.ok_or_else(|| StoreError::corrupt("an entry of the index is no refund's"))?);
        }
        let more = places.len() > limit;
        places.truncate(limit);
        let next = places.last().filter(|_| more).map(|&(at_ms, id)| RefundCursor { at_ms, id });
        let mut items = self.batch(places.iter().map(|(_, id)| *id)).await?;
        let refunds = places.iter().filter_map(|(_, id)| items.remove(id));
        let refunds = refunds.filter(|refund| refund.project == project && refund.status() == status).collect();
        Ok(RefundPage { refunds, next })
    }

    /// These refunds, read consistently: at most 100, no id twice; those that can be read.
    async fn batch(&self, ids: impl Iterator<Item = RefundId>) -> Result<HashMap<RefundId, Refund>, StoreError> {
        let mut found = HashMap::new();
        let mut keys: Vec<Item> = ids.map(key).collect();
        for _ in 0..BATCH_TRIES {
            if keys.is_empty() {
                return Ok(found);
            }
            let asked = KeysAndAttributes::builder().set_keys(Some(std::mem::take(&mut keys))).consistent_read(true);
            let asked = asked.build().map_err(|error| StoreError::corrupt(error.to_string()))?;
            let answer = self.client.batch_get_item().request_items(&self.table, asked).send().await;
            let mut answer = answer.map_err(|error| StoreError::sdk("BatchGetItem", &error))?;
            for stored in answer.responses.iter().flat_map(HashMap::values).flatten() {
                match item::decode(stored) {
                    Ok(refund) => {
                        found.insert(refund.id, refund);
                    }
                    Err(error) => {
                        let id = item::id(stored).map(|id| id.to_string()).unwrap_or_default();
                        tracing::error!(id, error = %error, "a refund cannot be read; its list goes on without it");
                    }
                }
            }
            let left = answer.unprocessed_keys.as_mut().and_then(|left| left.remove(&self.table));
            keys = left.map(|left| left.keys).unwrap_or_default();
        }
        if keys.is_empty() {
            return Ok(found);
        }
        Err(StoreError::Unavailable { operation: "BatchGetItem", detail: "it leaves keys unprocessed".to_owned() })
    }
}
