//! API keys: stored under their hash, never in the clear.

use crate::{
    Store, StoreError,
    attr::{Item, get_s, opt_n, s},
    names::{API_KEY_SK, NAME, PK, PROJECT, REVOKED, SCOPES, SK, api_key_pk, hash_of_api_key_pk},
    write::Wrote,
};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::expect::Expect;

/// What an API key stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// The project whose messages it can see and send.
    pub project: String,
    /// Who acts with it; shown where a decision names a person.
    pub name: String,
    /// What it may do, for example `messages:send`.
    pub scopes: Vec<String>,
    /// When it was revoked, in ms.
    pub revoked_at_ms: Option<u64>,
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

impl Store {
    /// Stores an API key under `hash`, the SHA-256 of the key, unless one is there.
    pub async fn add_api_key(&self, hash: &[u8; 32], key: &ApiKey) -> SeedOutcome {
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
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(PK, s(api_key_pk(hash)))
            .key(SK, s(API_KEY_SK))
            .send()
            .await
            .map_err(|error| StoreError::sdk("GetItem", &error))?;
        let Some(item) = answer.item else { return Ok(None) };
        let scopes = match item.get(SCOPES) {
            Some(AttributeValue::L(list)) => list.iter().filter_map(|value| value.as_s().ok().cloned()).collect(),
            Some(AttributeValue::Ss(set)) => set.clone(),
            _ => return Err(StoreError::corrupt("attribute scopes is no list")),
        };
        let stored = hash_of_api_key_pk(get_s(&item, PK)?)
            .ok_or_else(|| StoreError::corrupt("attribute pk holds no hash of an API key"))?;
        let key = ApiKey {
            project: get_s(&item, PROJECT)?.to_owned(),
            name: get_s(&item, NAME)?.to_owned(),
            scopes,
            revoked_at_ms: opt_n(&item, REVOKED),
        };
        Ok(Some((key, stored)))
    }
}
