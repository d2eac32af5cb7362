//! The audit's reads: a page of messages, how far a message's chunks are, and one whole message.
//!
//! The scan reads every item of the table, whatever it returns, and is charged for what it reads: by one page at a time
//! and without consistency, which halves the price, it stays behind the traffic. It names only the messages in range. A
//! message's delivery items lie beside it but may fall into the page before, so they are asked for by a query of their
//! own.

use crate::{
    Store, StoreError,
    attr::{Item, get_n, get_s, n, opt_n, s},
    delivery::state_of,
    message,
    names::{
        ACCEPTED, DELIVER_BY, DEVICE_COUNT, DUE, FIRST_CALL, ID, LEASE, MESSAGE_SK, NOT_BEFORE, PAYOUT_ID,
        PAYOUT_STATE, PK, REFUND_SK, SK, STATE, chunk_of_sk, delivery_sk_prefix, key_pk, refund_pk,
    },
};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::{
    DEVICES_PER_MESSAGE,
    audit::{Candidate, OpenPayout, Position, Progress, Range},
    ids::MessageId,
    message::{Message, chunks_of},
    refund::{id::PayoutId, payout::State as PayoutState},
};
use std::collections::HashMap;

/// The chunks of a message that have a delivery item, and how far each is; `None` where an item cannot be read.
pub type Progresses = Vec<(u16, Option<Progress>)>;

/// One page of the scan.
#[derive(Clone, Debug)]
pub struct MessagePage {
    /// Items that were read for it, of any kind.
    pub items: u64,
    /// The messages in range.
    pub candidates: Vec<Candidate>,
    /// The payouts that are due or submitted.
    pub payouts: Vec<OpenPayout>,
    /// How many payouts wait for a person.
    pub in_review: u64,
    /// Messages and refunds that cannot be read, each with the reason.
    pub unreadable: Vec<String>,
    /// Where the next page begins; `None` at the end of the table.
    pub next: Option<Position>,
}

/// A position is the JSON array of both keys.
fn position(key: &Item) -> Result<Position, StoreError> {
    let keys = [get_s(key, PK)?, get_s(key, SK)?];
    serde_json::to_string(&keys).map(Position).map_err(|error| StoreError::corrupt(error.to_string()))
}

fn key_at(position: &Position) -> Result<Item, StoreError> {
    let keys: [String; 2] = serde_json::from_str(&position.0)
        .map_err(|error| StoreError::corrupt(format!("a position of the scan: {error}")))?;
    let [pk, sk] = keys;
    Ok(Item::from([(PK.to_owned(), s(pk)), (SK.to_owned(), s(sk))]))
}

fn candidate(item: &Item) -> Result<Candidate, StoreError> {
    let id = MessageId::parse(get_s(item, ID)?)
        .filter(|id| get_s(item, PK).is_ok_and(|pk| pk == key_pk(id.key)))
        .ok_or_else(|| StoreError::corrupt("attribute id is no message id of its key"))?;
    let devices: usize = get_n(item, DEVICE_COUNT)?;
    if !(1..=DEVICES_PER_MESSAGE).contains(&devices) {
        return Err(StoreError::corrupt("attribute nd is no number of devices"));
    }
    Ok(Candidate {
        id,
        at_ms: get_n(item, ACCEPTED)?,
        deliver_by_ms: get_n(item, DELIVER_BY)?,
        chunks: chunks_of(devices),
    })
}

fn open_payout(item: &Item) -> Result<OpenPayout, StoreError> {
    let payout = PayoutId::parse(get_s(item, PAYOUT_ID)?)
        .filter(|payout| get_s(item, PK).is_ok_and(|pk| pk == refund_pk(payout.refund.key)))
        .ok_or_else(|| StoreError::corrupt("attribute po is no payout id of its key"))?;
    let state = PayoutState::parse(get_s(item, PAYOUT_STATE)?)
        .ok_or_else(|| StoreError::corrupt("attribute pst is no state"))?;
    let since_ms = if item.contains_key(FIRST_CALL) { get_n(item, FIRST_CALL)? } else { get_n(item, DUE)? };
    Ok(OpenPayout { payout, state, since_ms })
}

fn progress(item: &Item) -> Result<Progress, StoreError> {
    Ok(Progress {
        state: state_of(item)?,
        lease_ms: get_n(item, LEASE)?,
        not_before_ms: opt_n(item, NOT_BEFORE).unwrap_or(0),
    })
}

impl Store {
    /// The page of messages in `range` and of open payouts, and how many are in review, behind `after`, for which at most `items` items are read.
    ///
    /// # Errors
    /// When the table does not answer, or `after` is no position of this store.
    pub async fn message_page(
        &self,
        after: Option<&Position>,
        range: Range,
        items: u32,
    ) -> Result<MessagePage, StoreError> {
        let start = after.map(key_at).transpose()?;
        let page = self
            .client
            .scan()
            .table_name(&self.table)
            // Said with NOT, so that a message whose times are missing or no numbers is named too, and found unreadable.
            .filter_expression(
                "(#sk = :m AND NOT (#at >= :at) AND NOT (#db <= :db)) OR (#sk = :r AND #pst IN (:due, :sub, :rev))",
            )
            .projection_expression("#pk, #sk, #id, #at, #db, #nd, #po, #pst, #pdu, #fca")
            .set_expression_attribute_names(Some(HashMap::from(
                [
                    ("#pk", PK),
                    ("#sk", SK),
                    ("#id", ID),
                    ("#at", ACCEPTED),
                    ("#db", DELIVER_BY),
                    ("#nd", DEVICE_COUNT),
                    ("#po", PAYOUT_ID),
                    ("#pst", PAYOUT_STATE),
                    ("#pdu", DUE),
                    ("#fca", FIRST_CALL),
                ]
                .map(|(placeholder, name)| (placeholder.to_owned(), name.to_owned())),
            )))
            .expression_attribute_values(":m", s(MESSAGE_SK))
            .expression_attribute_values(":r", s(REFUND_SK))
            .expression_attribute_values(":due", s(PayoutState::Due.as_str()))
            .expression_attribute_values(":sub", s(PayoutState::Submitted.as_str()))
            .expression_attribute_values(":rev", s(PayoutState::Review.as_str()))
            .expression_attribute_values(":at", n(range.accepted_before_ms))
            .expression_attribute_values(":db", n(range.deliver_by_after_ms))
            .limit(i32::try_from(items).unwrap_or(i32::MAX))
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(|error| StoreError::sdk("Scan", &error))?;
        let (mut candidates, mut payouts, mut unreadable, mut in_review) = (Vec::new(), Vec::new(), Vec::new(), 0_u64);
        for item in page.items() {
            if get_s(item, PAYOUT_STATE).is_ok_and(|state| state == PayoutState::Review.as_str()) {
                in_review = in_review.saturating_add(1);
                continue;
            }
            let read = if get_s(item, SK).is_ok_and(|sk| sk == REFUND_SK) {
                open_payout(item).map(|open| payouts.push(open))
            } else {
                candidate(item).map(|candidate| candidates.push(candidate))
            };
            if let Err(error) = read {
                let pk = item.get(PK).and_then(|pk: &AttributeValue| pk.as_s().ok()).map_or("", String::as_str);
                unreadable.push(format!("{pk}: {error}"));
            }
        }
        let next = page.last_evaluated_key().map(position).transpose()?;
        let items = u64::try_from(page.scanned_count()).unwrap_or(0);
        Ok(MessagePage { items, candidates, payouts, in_review, unreadable, next })
    }

    /// How far a message's chunks are, read consistently.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn progress(&self, id: MessageId) -> Result<Progresses, StoreError> {
        let mut found = Vec::new();
        let mut pages = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("#pk = :pk AND begins_with(#sk, :sk)")
            .projection_expression("#sk, #s, #lx, #nx")
            .set_expression_attribute_names(Some(HashMap::from(
                [("#pk", PK), ("#sk", SK), ("#s", STATE), ("#lx", LEASE), ("#nx", NOT_BEFORE)]
                    .map(|(placeholder, name)| (placeholder.to_owned(), name.to_owned())),
            )))
            .expression_attribute_values(":pk", s(key_pk(id.key)))
            .expression_attribute_values(":sk", s(delivery_sk_prefix(id.nonce)))
            .consistent_read(true)
            .into_paginator()
            .send();
        while let Some(page) = pages.next().await {
            for item in page.map_err(|error| StoreError::sdk("Query", &error))?.items() {
                if let Some(chunk) = get_s(item, SK).ok().and_then(chunk_of_sk) {
                    found.push((chunk, progress(item).ok()));
                }
            }
        }
        Ok(found)
    }

    /// The message of an id alone, read consistently; `None` also where its key belongs to another message by now.
    ///
    /// # Errors
    /// When the table does not answer or the item cannot be read.
    pub async fn message_alone(&self, id: MessageId) -> Result<Option<Message>, StoreError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(PK, s(key_pk(id.key)))
            .key(SK, s(MESSAGE_SK))
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| StoreError::sdk("GetItem", &error))?;
        let message = answer.item.as_ref().map(message::decode).transpose()?;
        Ok(message.filter(|message| message.id == id))
    }
}
