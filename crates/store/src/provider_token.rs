//! The provider token that all instances share, one item per signing key.
//!
//! Called by `push` when the token that it knows has grown old. Apple allows a new token every 20 minutes, so the
//! instances must not sign one each: whoever writes first wins, and the others get the winner's token back with their
//! lost condition. Correctness of deliveries does not need it; the provider's patience does.

use crate::{
    Store, StoreError,
    attr::{Item, get_n, get_s, n, s},
    names::{ISSUED, JWT, PK, PROVIDER_TOKEN_SK, SK, VERSION, provider_token_pk},
    write::Wrote,
};
use protocol::expect::Expect;
use std::{fmt, sync::Arc};

/// Whose token it is. No part may hold a `#`; the caller's credentials are checked for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderTokenId<'a> {
    /// "sandbox" or "production".
    pub environment: &'a str,
    /// The team.
    pub team: &'a str,
    /// The signing key's id.
    pub key_id: &'a str,
    /// Of the public key: two keys that claim one id never meet in one item.
    pub fingerprint: &'a str,
}

/// A signed token as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderToken {
    /// The token itself, a secret.
    pub jwt: Arc<str>,
    /// When it was issued (`iat`), in whole seconds since the Unix epoch.
    pub issued_s: u64,
    /// Counts up with each write.
    pub version: u32,
}

impl fmt::Debug for ProviderToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderToken")
            .field("issued_s", &self.issued_s)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// What came of writing a provider token.
#[derive(Debug)]
pub enum ProviderTokenWrite {
    /// It is stored now.
    Written,
    /// Another was there first: this one, or none.
    Conflict(Option<ProviderToken>),
    /// Nobody knows.
    Unknown(StoreError),
}

fn encode(id: ProviderTokenId<'_>, token: &ProviderToken) -> Item {
    Item::from([
        (PK.to_owned(), s(provider_token_pk(id.environment, id.team, id.key_id, id.fingerprint))),
        (SK.to_owned(), s(PROVIDER_TOKEN_SK)),
        (JWT.to_owned(), s(&*token.jwt)),
        (ISSUED.to_owned(), n(token.issued_s)),
        (VERSION.to_owned(), n(token.version)),
    ])
}

fn decode(item: &Item) -> Result<ProviderToken, StoreError> {
    Ok(ProviderToken { jwt: get_s(item, JWT)?.into(), issued_s: get_n(item, ISSUED)?, version: get_n(item, VERSION)? })
}

impl Store {
    /// Reads a key's token, consistently.
    ///
    /// # Errors
    /// When the table does not answer or the item cannot be read.
    pub async fn provider_token(&self, id: ProviderTokenId<'_>) -> Result<Option<ProviderToken>, StoreError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(PK, s(provider_token_pk(id.environment, id.team, id.key_id, id.fingerprint)))
            .key(SK, s(PROVIDER_TOKEN_SK))
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| StoreError::sdk("GetItem", &error))?;
        answer.item.as_ref().map(decode).transpose()
    }

    /// Stores a key's token if there is none, or over the version that the caller read.
    pub async fn write_provider_token(
        &self,
        id: ProviderTokenId<'_>,
        token: &ProviderToken,
        over: Option<u32>,
    ) -> ProviderTokenWrite {
        let expect = over.map_or(Expect::Absent, Expect::Version);
        match self.put(encode(id, token), expect).await {
            Wrote::Written { .. } => ProviderTokenWrite::Written,
            Wrote::Lost(old) => match old.as_ref().map(decode).transpose() {
                Ok(stored) => ProviderTokenWrite::Conflict(stored),
                Err(error) => ProviderTokenWrite::Unknown(error),
            },
            Wrote::Unknown(error) => ProviderTokenWrite::Unknown(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_stored_and_read_back_and_not_shown() {
        let id = ProviderTokenId { environment: "sandbox", team: "TEAM", key_id: "KEY", fingerprint: "f00d" };
        let token = ProviderToken { jwt: "a.b.c".into(), issued_s: 1_700_000_000, version: 7 };
        let item = encode(id, &token);
        assert_eq!(item[PK], s("J#sandbox#TEAM#KEY#f00d"));
        assert_eq!(item[SK], s("J"));
        assert_eq!(decode(&item).unwrap(), token);
        assert_eq!(format!("{token:?}"), "ProviderToken { issued_s: 1700000000, version: 7, .. }");
        assert!(decode(&Item::new()).is_err());
    }
}
