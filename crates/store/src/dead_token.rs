//! The tokens that a project's providers called dead: written by the deliver function, listed by the api function.
//!
//! An item stays after its token has left the list (`protocol::dead_token` says why), but only the listed ones are in
//! the index that the list is read from. Nothing is logged of an item: its token is whole.

use crate::{
    Store, StoreError,
    attr::{Item, get_n, get_s, n, s},
    names::{
        ACCEPTED, EXPIRES, LAST, LISTED, LISTED_INDEX, PK, REASON_CODE, SINCE, SK, TOKEN, VERSION, dead_token_sk,
        dead_tokens_pk, key_of_dead_token_sk,
    },
    write::Wrote,
};
use aws_sdk_dynamodb::types::KeysAndAttributes;
use protocol::{
    content::{Device, Token},
    dead_token::{Death, Entry, KEPT_MS, SHARDS, TokenKey},
    expect::Expect,
};
use std::{cmp::Ordering, collections::HashMap};

/// What came of writing a dead token's item.
#[derive(Debug)]
pub enum DeadTokenWrite {
    /// It is stored now.
    Written {
        /// Write units it took, the index's too, where the table said so.
        units: Option<f64>,
    },
    /// Another was there first: this one, or none.
    Conflict(Option<Entry>),
    /// Nobody knows.
    Unknown(StoreError),
}

/// A row of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadToken {
    /// The device.
    pub device: Device,
    /// Why it is on the list.
    pub death: Death,
}

/// A place in the list: of the row that was read last. Its text is the index's sort key, so that all parts of a list
/// have one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    listed_ms: u64,
    key: TokenKey,
}

/// As their texts are ordered.
impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = |place: &Self| (place.listed_ms, place.key.platform.as_str(), place.key.hash);
        order(self).cmp(&order(other))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Place {
    fn of(row: &DeadToken) -> Self {
        Self { listed_ms: row.death.listed_ms, key: TokenKey::of(&row.device) }
    }

    /// As text: it sorts as the list does, backwards.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{}#{}", listed(self.listed_ms), dead_token_sk(&self.key))
    }

    /// The place of a text, if it is one exactly.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (listed, sk) = text.split_once('#')?;
        let place = Self { listed_ms: listed.parse().ok()?, key: key_of_dead_token_sk(sk)? };
        (place.to_text() == text).then_some(place)
    }
}

/// A time that sorts as text; 15 digits are enough for 30,000 years.
fn listed(at_ms: u64) -> String {
    format!("{at_ms:015}")
}

fn encode(project: &str, device: &Device, entry: &Entry) -> Item {
    let key = TokenKey::of(device);
    let mut item = Item::from([
        (PK.to_owned(), s(dead_tokens_pk(project, key.shard()))),
        (SK.to_owned(), s(dead_token_sk(&key))),
        (ACCEPTED.to_owned(), n(entry.accepted_ms)),
        (EXPIRES.to_owned(), n(entry.ends_ms().div_ceil(1_000))),
        (VERSION.to_owned(), n(entry.version)),
    ]);
    if let Some(death) = &entry.death {
        item.extend([
            (TOKEN.to_owned(), s(&device.token.0)),
            (REASON_CODE.to_owned(), s(&death.reason)),
            (SINCE.to_owned(), n(death.since_ms)),
            (LAST.to_owned(), n(death.last_ms)),
            (LISTED.to_owned(), s(Place { listed_ms: death.listed_ms, key }.to_text())),
        ]);
    }
    item
}

fn death(item: &Item) -> Result<Option<Death>, StoreError> {
    if !item.contains_key(LISTED) {
        return Ok(None);
    }
    let place = Place::parse(get_s(item, LISTED)?).ok_or_else(|| StoreError::corrupt("attribute li is no place"))?;
    Ok(Some(Death {
        reason: get_s(item, REASON_CODE)?.to_owned(),
        since_ms: get_n(item, SINCE)?,
        last_ms: get_n(item, LAST)?,
        listed_ms: place.listed_ms,
    }))
}

fn decode(item: &Item) -> Result<Entry, StoreError> {
    Ok(Entry { death: death(item)?, accepted_ms: get_n(item, ACCEPTED)?, version: get_n(item, VERSION)? })
}

fn key(item: &Item) -> Result<TokenKey, StoreError> {
    key_of_dead_token_sk(get_s(item, SK)?).ok_or_else(|| StoreError::corrupt("a sort key is no dead token's"))
}

fn row(item: &Item) -> Result<DeadToken, StoreError> {
    let device = Device { platform: key(item)?.platform, token: Token(get_s(item, TOKEN)?.to_owned()) };
    let death = death(item)?.ok_or_else(|| StoreError::corrupt("a listed token has no place"))?;
    Ok(DeadToken { device, death })
}

impl Store {
    /// Writes what is known of a device's token if `expect` holds.
    pub async fn write_dead_token(
        &self,
        project: &str,
        device: &Device,
        entry: &Entry,
        expect: Expect,
    ) -> DeadTokenWrite {
        match self.put(encode(project, device, entry), expect).await {
            Wrote::Written { units } => DeadTokenWrite::Written { units },
            // The SDK repeats a write whose answer was lost, and the repeat meets the first; heard again, it says
            // nothing new.
            Wrote::Lost(old) => match old.as_ref().map(decode).transpose() {
                Ok(stored) => DeadTokenWrite::Conflict(stored),
                Err(error) => DeadTokenWrite::Unknown(error),
            },
            Wrote::Unknown(error) => DeadTokenWrite::Unknown(error),
        }
    }

    /// What is known of these tokens, of those of which anything is. Read consistently; at most 100 keys.
    ///
    /// # Errors
    /// When the table does not answer, or not for all of them, or an item cannot be read.
    pub async fn dead_tokens(
        &self,
        project: &str,
        keys: impl IntoIterator<Item = TokenKey>,
    ) -> Result<Vec<(TokenKey, Entry)>, StoreError> {
        let keys = keys.into_iter().map(|key| {
            let pk = s(dead_tokens_pk(project, key.shard()));
            HashMap::from([(PK.to_owned(), pk), (SK.to_owned(), s(dead_token_sk(&key)))])
        });
        let keys = KeysAndAttributes::builder().set_keys(Some(keys.collect())).consistent_read(true).build();
        let keys = keys.map_err(|error| StoreError::corrupt(error.to_string()))?;
        let answer = self.client.batch_get_item().request_items(&self.table, keys).send().await;
        let answer = answer.map_err(|error| StoreError::sdk("BatchGetItem", &error))?;
        if answer.unprocessed_keys().is_some_and(|left| !left.is_empty()) {
            let detail = "it is throttled".to_owned();
            return Err(StoreError::Unavailable { operation: "BatchGetItem", detail });
        }
        let items = answer.responses().and_then(|tables| tables.get(&self.table)).into_iter().flatten();
        items.map(|item| Ok((key(item)?, decode(item)?))).collect()
    }

    /// Every place of a part of a project's dead tokens that has an item, listed or not; `None` if they are more than
    /// `most`. Eventually consistent: for a memory that is older than that anyway.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn dead_token_keys(
        &self,
        project: &str,
        shard: u8,
        most: u16,
    ) -> Result<Option<Vec<TokenKey>>, StoreError> {
        let page = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("#pk = :pk")
            .projection_expression("#sk")
            .expression_attribute_names("#pk", PK)
            .expression_attribute_names("#sk", SK)
            .expression_attribute_values(":pk", s(dead_tokens_pk(project, shard)))
            .limit(i32::from(most).saturating_add(1))
            .send()
            .await
            .map_err(|error| StoreError::sdk("Query", &error))?;
        let more = page.last_evaluated_key().is_some() || page.items().len() > usize::from(most);
        // A key that cannot be read is nobody's.
        Ok((!more).then(|| page.items().iter().filter_map(|item| key(item).ok()).collect()))
    }

    /// A project's dead tokens, the latest listed first, behind `after`: at most `limit`, and the place to go on from if
    /// there are more. Read consistently. An item that cannot be read is logged and passed: it must not hide the others.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn dead_token_page(
        &self,
        project: &str,
        after: Option<&Place>,
        limit: u16,
        now_ms: u64,
    ) -> Result<(Vec<DeadToken>, Option<Place>), StoreError> {
        let mut rows = Vec::new();
        for shard in 0..SHARDS {
            rows.extend(self.dead_tokens_of(project, shard, after, limit, now_ms).await?);
        }
        rows.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
        let more = rows.len() > usize::from(limit);
        rows.truncate(usize::from(limit));
        let next = rows.last().filter(|_| more).map(|(place, _)| *place);
        Ok((rows.into_iter().map(|(_, row)| row).collect(), next))
    }

    /// A part's rows behind `after`: one more than `limit` if there are so many.
    async fn dead_tokens_of(
        &self,
        project: &str,
        shard: u8,
        after: Option<&Place>,
        limit: u16,
        now_ms: u64,
    ) -> Result<Vec<(Place, DeadToken)>, StoreError> {
        // What is older has ended, whether it is deleted yet or not.
        let first = listed(now_ms.saturating_sub(KEPT_MS).saturating_add(1));
        // Behind every digit: the end of the list that begins now.
        let last = after.map_or_else(|| ":".to_owned(), Place::to_text);
        if last < first {
            // A place so old that everything behind it has ended. DynamoDB refuses such a range.
            return Ok(Vec::new());
        }
        let mut rows = Vec::new();
        let mut pages = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(LISTED_INDEX)
            .key_condition_expression("#pk = :pk AND #li BETWEEN :first AND :last")
            .set_expression_attribute_names(Some(HashMap::from(
                [("#pk", PK), ("#li", LISTED)].map(|(placeholder, name)| (placeholder.to_owned(), name.to_owned())),
            )))
            .expression_attribute_values(":pk", s(dead_tokens_pk(project, shard)))
            .expression_attribute_values(":first", s(first))
            .expression_attribute_values(":last", s(last))
            .consistent_read(true)
            .scan_index_forward(false)
            // One more than is shown, and the row of `after` itself.
            .limit(i32::from(limit).saturating_add(2))
            .into_paginator()
            .send();
        while let Some(page) = pages.next().await {
            for item in page.map_err(|error| StoreError::sdk("Query", &error))?.items() {
                match row(item) {
                    Ok(row) if after.is_none_or(|after| Place::of(&row) < *after) => rows.push((Place::of(&row), row)),
                    Ok(_) => {}
                    Err(error) => tracing::error!(project, error = %error, "a dead token cannot be read"),
                }
            }
            if rows.len() > usize::from(limit) {
                break;
            }
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::content::Platform;

    fn device() -> Device {
        Device { platform: Platform::Ios, token: Token("c0ffee".repeat(10)) }
    }

    fn listed_entry() -> Entry {
        let death = Death { reason: "Unregistered".into(), since_ms: 7, last_ms: 8, listed_ms: 1_790_000_000_000 };
        Entry { death: Some(death), accepted_ms: 0, version: 3 }
    }

    #[test]
    fn an_entry_is_stored_and_read_back_and_its_token_only_while_it_is_listed() {
        let entry = listed_entry();
        let item = encode("acme", &device(), &entry);
        let key = TokenKey::of(&device());
        assert_eq!(item[PK], s(format!("T#acme#{}", key.shard())));
        assert!(get_s(&item, SK).unwrap().starts_with("ios#") && get_s(&item, SK).unwrap().len() == 68);
        assert_eq!(decode(&item).unwrap(), entry);
        assert_eq!(row(&item).unwrap(), DeadToken { device: device(), death: entry.death.clone().unwrap() });
        let left = Entry { death: None, accepted_ms: 9, version: 4 };
        let item = encode("acme", &device(), &left);
        assert_eq!(decode(&item).unwrap(), left);
        assert!(!item.contains_key(TOKEN) && !item.contains_key(LISTED), "no longer in the index");
        assert!(decode(&Item::new()).is_err() && row(&item).is_err());
    }

    #[test]
    fn a_place_reads_back_and_nothing_else_does() {
        let place = Place { listed_ms: 1_790_000_000_000, key: TokenKey::of(&device()) };
        let text = place.to_text();
        assert_eq!(Place::parse(&text), Some(place));
        let other = text.replace("ios", "tvos");
        for wrong in
            ["", "1", &text[1..], &text[..text.len() - 1], &text.to_uppercase(), &other, &format!("+{}", &text[1..])]
        {
            assert_eq!(Place::parse(wrong), None, "{wrong}");
        }
    }
}
