//! API keys: stored under their hash, never in the clear, and listed under their project.
//!
//! The key's own item is what decides whether it opens anything, and the only place that says what it may do. The entry
//! in its project's list only points to it, and is written first: whatever breaks off in between, a key that works is
//! in the list, and an entry without a key opens nothing.

use crate::{
    Store, StoreError,
    attr::{Item, get_s, n, opt_n, s},
    condition::{valid_beyond, without_end},
    names::{
        API_KEY_SK, CREATED, NAME, PK, PROJECT, REVOKED, SCOPES, SK, SUCCESSOR, api_key_pk, hash_of_api_key_pk,
        project_pk,
    },
    write::Wrote,
};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::expect::Expect;
use std::collections::HashMap;

/// What an API key stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// The project whose messages it can see and send.
    pub project: String,
    /// Who acts with it; shown where a decision names a person.
    pub name: String,
    /// What it may do, for example `messages:send`.
    pub scopes: Vec<String>,
    /// From when on it opens nothing, in ms; it may lie ahead.
    pub revoked_at_ms: Option<u64>,
}

/// A key in its project's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedApiKey {
    /// The SHA-256 that it is stored under.
    pub hash: [u8; 32],
    /// When it was made, in ms, if that was noted.
    pub created_at_ms: Option<u64>,
    /// The key; none if making it broke off after it was listed.
    pub key: Option<ApiKey>,
}

/// What came of storing what a deployment starts with: an API key, a project.
#[derive(Debug)]
pub enum SeedOutcome {
    /// It is stored now.
    Stored,
    /// It was there already and was left as it is.
    AlreadyThere,
    /// Nobody knows.
    Unknown(StoreError),
}

/// What came of revoking an API key.
#[derive(Debug)]
pub enum RevokeOutcome {
    /// It opens nothing from the time that was asked for on.
    Revoked,
    /// It was revoked for this time already, which is no later.
    AlreadyRevoked {
        /// From when on, in ms.
        at_ms: u64,
    },
    /// There is no such key.
    NoSuchKey,
    /// Nobody knows.
    Unknown(StoreError),
}

/// What came of giving an API key a successor.
#[derive(Debug)]
pub enum ReplaceOutcome {
    /// It opens nothing from the time that was asked for on, and this is its successor.
    Replaced,
    /// It has an end already, so it has a successor, or should have none. Nothing was changed.
    EndsAlready {
        /// From when on it opens nothing, in ms.
        at_ms: u64,
    },
    /// There is no such key.
    NoSuchKey,
    /// Nobody knows.
    Unknown(StoreError),
}

/// An API key from its item, with the hash that the item is stored under.
fn decode(item: &Item) -> Result<(ApiKey, [u8; 32]), StoreError> {
    let scopes = match item.get(SCOPES) {
        Some(AttributeValue::L(list)) => list.iter().filter_map(|value| value.as_s().ok().cloned()).collect(),
        Some(AttributeValue::Ss(set)) => set.clone(),
        _ => return Err(StoreError::corrupt("attribute scopes is no list")),
    };
    let stored = hash_of_api_key_pk(get_s(item, PK)?)
        .ok_or_else(|| StoreError::corrupt("attribute pk holds no hash of an API key"))?;
    let key = ApiKey {
        project: get_s(item, PROJECT)?.to_owned(),
        name: get_s(item, NAME)?.to_owned(),
        scopes,
        revoked_at_ms: opt_n(item, REVOKED),
    };
    Ok((key, stored))
}

impl Store {
    /// Stores an API key under `hash`, the SHA-256 of the key, unless one is there, and lists it under its project.
    pub async fn add_api_key(&self, hash: &[u8; 32], key: &ApiKey) -> SeedOutcome {
        self.create_api_key(hash, key, None).await
    }

    /// The same, noting when it was made, in ms.
    pub async fn create_api_key(&self, hash: &[u8; 32], key: &ApiKey, created_at_ms: Option<u64>) -> SeedOutcome {
        let mut listed =
            Item::from([(PK.to_owned(), s(project_pk(&key.project))), (SK.to_owned(), s(api_key_pk(hash)))]);
        listed.extend(created_at_ms.map(|at| (CREATED.to_owned(), n(at))));
        if let Wrote::Unknown(error) = self.put(listed, Expect::Absent).await {
            return SeedOutcome::Unknown(error);
        }
        let item = Item::from([
            (PK.to_owned(), s(api_key_pk(hash))),
            (SK.to_owned(), s(API_KEY_SK)),
            (NAME.to_owned(), s(&key.name)),
            (PROJECT.to_owned(), s(&key.project)),
            (SCOPES.to_owned(), AttributeValue::L(key.scopes.iter().map(s).collect())),
        ]);
        match self.put(item, Expect::Absent).await {
            Wrote::Written { .. } => SeedOutcome::Stored,
            Wrote::Lost(_) => SeedOutcome::AlreadyThere,
            Wrote::Unknown(error) => SeedOutcome::Unknown(error),
        }
    }

    /// The API key under `hash`, if there is one, with the hash that its item is stored under. Eventually consistent: a revoked key may be seen as valid for the
    /// time that the caller caches it anyway.
    ///
    /// # Errors
    /// When the table does not answer or the item cannot be read.
    pub async fn api_key(&self, hash: &[u8; 32]) -> Result<Option<(ApiKey, [u8; 32])>, StoreError> {
        self.read_api_key(hash, false).await
    }

    async fn read_api_key(&self, hash: &[u8; 32], consistent: bool) -> Result<Option<(ApiKey, [u8; 32])>, StoreError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(PK, s(api_key_pk(hash)))
            .key(SK, s(API_KEY_SK))
            .consistent_read(consistent)
            .send()
            .await
            .map_err(|error| StoreError::sdk("GetItem", &error))?;
        answer.item.as_ref().map(decode).transpose()
    }

    /// The API keys of a project whose hash, in lower-case hexadecimal, begins with `hash_prefix`, in the order of their
    /// hashes. Consistent, and one read for each key: for people.
    ///
    /// # Errors
    /// When the table does not answer or an item cannot be read.
    pub async fn api_keys(&self, project: &str, hash_prefix: &str) -> Result<Vec<ListedApiKey>, StoreError> {
        let mut keys = Vec::new();
        let mut pages = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("#pk = :pk AND begins_with(#sk, :sk)")
            .set_expression_attribute_names(Some(HashMap::from(
                [("#pk", PK), ("#sk", SK)].map(|(placeholder, name)| (placeholder.to_owned(), name.to_owned())),
            )))
            .expression_attribute_values(":pk", s(project_pk(project)))
            .expression_attribute_values(":sk", s(format!("A#{hash_prefix}")))
            .consistent_read(true)
            .into_paginator()
            .send();
        while let Some(page) = pages.next().await {
            for entry in page.map_err(|error| StoreError::sdk("Query", &error))?.items() {
                let hash = hash_of_api_key_pk(get_s(entry, SK)?)
                    .ok_or_else(|| StoreError::corrupt("a list of API keys holds what is no hash"))?;
                let key = self.read_api_key(&hash, true).await?.map(|(key, _)| key);
                keys.push(ListedApiKey { hash, created_at_ms: opt_n(entry, CREATED), key });
            }
        }
        Ok(keys)
    }

    /// Makes the API key under `hash` open nothing from `at_ms` on. A time that is set only ever comes nearer.
    pub async fn revoke_api_key(&self, hash: &[u8; 32], at_ms: u64) -> RevokeOutcome {
        let item = Item::from([
            (PK.to_owned(), s(api_key_pk(hash))),
            (SK.to_owned(), s(API_KEY_SK)),
            (REVOKED.to_owned(), n(at_ms)),
        ]);
        match self.update_if(item, &[], valid_beyond(at_ms)).await {
            Wrote::Written { .. } => RevokeOutcome::Revoked,
            Wrote::Lost(None) => RevokeOutcome::NoSuchKey,
            Wrote::Lost(Some(old)) => match opt_n(&old, REVOKED) {
                // The SDK repeats a write whose answer was lost, and the repeat meets the first.
                Some(at) if at == at_ms => RevokeOutcome::Revoked,
                Some(at) => RevokeOutcome::AlreadyRevoked { at_ms: at },
                None => RevokeOutcome::Unknown(StoreError::corrupt("attribute revoked_at is no number")),
            },
            Wrote::Unknown(error) => RevokeOutcome::Unknown(error),
        }
    }

    /// Makes the API key under `hash` open nothing from `at_ms` on, because the one under `successor` takes its place. One of
    /// all who try at the same time gets to do it, and only while the key has no end.
    pub async fn replace_api_key(&self, hash: &[u8; 32], at_ms: u64, successor: &[u8; 32]) -> ReplaceOutcome {
        let successor = api_key_pk(successor);
        let item = Item::from([
            (PK.to_owned(), s(api_key_pk(hash))),
            (SK.to_owned(), s(API_KEY_SK)),
            (REVOKED.to_owned(), n(at_ms)),
            (SUCCESSOR.to_owned(), s(&successor)),
        ]);
        match self.update_if(item, &[], without_end()).await {
            Wrote::Written { .. } => ReplaceOutcome::Replaced,
            Wrote::Lost(None) => ReplaceOutcome::NoSuchKey,
            // The SDK repeats a write whose answer was lost, and the repeat meets the first: two who try within the same
            // millisecond differ in their successors alone.
            Wrote::Lost(Some(old)) if get_s(&old, SUCCESSOR).is_ok_and(|stored| stored == successor) => {
                ReplaceOutcome::Replaced
            }
            Wrote::Lost(Some(old)) => match opt_n(&old, REVOKED) {
                Some(at_ms) => ReplaceOutcome::EndsAlready { at_ms },
                None => ReplaceOutcome::Unknown(StoreError::corrupt("attribute revoked_at is no number")),
            },
            Wrote::Unknown(error) => ReplaceOutcome::Unknown(error),
        }
    }
}
