//! The provider token that all instances share, one item per signing key.
//!
//! Called by `push` when the token that it knows has grown old. Apple allows a new token every 20 minutes, so the
//! instances must not sign one each: whoever writes first wins, and the others get the winner's token back with their
//! lost condition. An item that cannot be read is an outcome of its own and is written over like any other: only as it
//! was read. Correctness of deliveries does not need it; the provider's patience does.

use crate::{
    Store, StoreError,
    attr::{Item, get_n, get_s, n, s},
    condition::{render, unreadable},
    names::{ISSUED, JWT, PK, PROVIDER_TOKEN_SK, SK, VERSION, provider_token_pk},
    write::Wrote,
};
use aws_sdk_dynamodb::types::AttributeValue;
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

/// What is stored for a key.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredProviderToken {
    /// Nothing.
    Absent,
    /// A token.
    Token(ProviderToken),
    /// An item that is no token of ours. It may be replaced: nothing in it is of use.
    Unreadable(UnreadableProviderToken),
}

/// An item that cannot be read as a token: enough of it to write over it and over nothing else.
#[derive(Clone, PartialEq)]
pub struct UnreadableProviderToken {
    why: String,
    version: Option<AttributeValue>,
}

impl fmt::Debug for UnreadableProviderToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What stands in the place of the version may be anything, so it is not shown.
        f.debug_struct("UnreadableProviderToken").field("why", &self.why).finish_non_exhaustive()
    }
}

impl fmt::Display for UnreadableProviderToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl StoredProviderToken {
    /// The version of the token that is written over it: another than the stored one.
    #[must_use]
    pub fn next_version(&self) -> u32 {
        match self {
            Self::Absent => 1,
            Self::Token(token) => token.version.wrapping_add(1),
            Self::Unreadable(item) => {
                let version = item.version.as_ref().and_then(|version| version.as_n().ok()?.parse::<u32>().ok());
                version.map_or(1, |version| version.wrapping_add(1))
            }
        }
    }

    fn of(item: Option<&Item>) -> Self {
        let Some(item) = item else { return Self::Absent };
        match decode(item) {
            Ok(token) => Self::Token(token),
            Err(error) => {
                let version = item.get(VERSION).cloned();
                Self::Unreadable(UnreadableProviderToken { why: error.to_string(), version })
            }
        }
    }
}

/// What came of writing a provider token.
#[derive(Debug)]
pub enum ProviderTokenWrite {
    /// It is stored now.
    Written,
    /// What is stored is not what the caller read, but this.
    Conflict(StoredProviderToken),
    /// Nobody knows.
    Unknown(StoreError),
}

pub(crate) fn encode(id: ProviderTokenId<'_>, token: &ProviderToken) -> Item {
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
    /// Reads what is stored for a key, consistently.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn provider_token(&self, id: ProviderTokenId<'_>) -> Result<StoredProviderToken, StoreError> {
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
        Ok(StoredProviderToken::of(answer.item.as_ref()))
    }

    /// Stores a key's token over what the caller read, and over nothing else. An item that cannot be read is known by
    /// what stood in the place of its version.
    pub async fn write_provider_token(
        &self,
        id: ProviderTokenId<'_>,
        token: &ProviderToken,
        over: &StoredProviderToken,
    ) -> ProviderTokenWrite {
        let condition = match over {
            StoredProviderToken::Absent => render(Expect::Absent),
            StoredProviderToken::Token(token) => render(Expect::Version(token.version)),
            StoredProviderToken::Unreadable(item) => unreadable(item.version.clone()),
        };
        match self.put_if(encode(id, token), condition).await {
            Wrote::Written { .. } => ProviderTokenWrite::Written,
            Wrote::Lost(old) => ProviderTokenWrite::Conflict(StoredProviderToken::of(old.as_ref())),
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
        let secret = Item::from([(VERSION.to_owned(), super::s("a.b.c"))]);
        let shown = format!("{:?}", StoredProviderToken::of(Some(&secret)));
        assert!(shown.contains("jwt is missing") && !shown.contains("a.b.c"), "{shown}");
    }
}
