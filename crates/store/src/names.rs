//! Every attribute name and key shape, once.
//!
//! Short names are bytes saved on each item; the words are design section 4.

use protocol::ids::{KeyHash, MessageId, Nonce};

pub(crate) const PK: &str = "pk";
pub(crate) const SK: &str = "sk";
pub(crate) const EXPIRES: &str = "exp";

pub(crate) const ID: &str = "id";
pub(crate) const HASH: &str = "h";
pub(crate) const HASH_VERSION: &str = "hv";
pub(crate) const PROJECT: &str = "pj";
pub(crate) const KEY: &str = "ik";
pub(crate) const ACCEPTED: &str = "at";
pub(crate) const DELIVER_BY: &str = "db";
pub(crate) const EXPIRES_AT: &str = "xp";
pub(crate) const POLICY: &str = "pol";
pub(crate) const DEVICE_COUNT: &str = "nd";
pub(crate) const PAYLOAD: &str = "pl";
pub(crate) const TOKENS: &str = "tk";

pub(crate) const STATE: &str = "s";
pub(crate) const ATTEMPT: &str = "a";
pub(crate) const OWNER: &str = "o";
pub(crate) const LEASE: &str = "lx";
pub(crate) const NOT_BEFORE: &str = "nx";
pub(crate) const VERSION: &str = "v";
pub(crate) const LETTERS: &str = "r";
pub(crate) const CALLS: &str = "n";
pub(crate) const PROVIDER_IDS: &str = "pr";
pub(crate) const ERRORS: &str = "er";
pub(crate) const UPDATED: &str = "ua";

pub(crate) const NAME: &str = "name";
pub(crate) const SCOPES: &str = "scopes";
pub(crate) const REVOKED: &str = "revoked_at";

pub(crate) const APPS: &str = "apps";

pub(crate) const JWT: &str = "jwt";
pub(crate) const ISSUED: &str = "iat";

/// Sort key of a message.
pub(crate) const MESSAGE_SK: &str = "M";
/// Sort key of an API key.
pub(crate) const API_KEY_SK: &str = "A";
/// Sort key of a project's settings.
pub(crate) const PROJECT_SK: &str = "P";
/// Sort key of a provider token.
pub(crate) const PROVIDER_TOKEN_SK: &str = "J";

/// Partition key of everything under an idempotency key.
pub(crate) fn key_pk(key: KeyHash) -> String {
    format!("K#{}", key.to_base32())
}

/// What the sort keys of a message's delivery items begin with.
pub(crate) fn delivery_sk_prefix(nonce: Nonce) -> String {
    format!("D#{}#", nonce.to_base32())
}

/// Sort key of a chunk's delivery item: four digits, so that chunks sort.
pub(crate) fn delivery_sk(id: MessageId, chunk: u16) -> String {
    format!("{}{chunk:04}", delivery_sk_prefix(id.nonce))
}

/// The chunk of a delivery item's sort key.
pub(crate) fn chunk_of_sk(sk: &str) -> Option<u16> {
    let digits = sk.rsplit_once('#')?.1;
    (digits.len() == 4).then(|| digits.parse().ok()).flatten()
}

/// Partition key of an API key.
pub(crate) fn api_key_pk(hash: &[u8; 32]) -> String {
    format!("A#{}", data_encoding::HEXLOWER.encode(hash))
}

/// The hash of an API key's partition key.
pub(crate) fn hash_of_api_key_pk(pk: &str) -> Option<[u8; 32]> {
    data_encoding::HEXLOWER.decode(pk.strip_prefix("A#")?.as_bytes()).ok()?.try_into().ok()
}

/// Partition key of a project's settings.
pub(crate) fn project_pk(project: &str) -> String {
    format!("P#{project}")
}

/// Partition key of a shared provider token.
pub(crate) fn provider_token_pk(environment: &str, team: &str, key_id: &str, fingerprint: &str) -> String {
    format!("J#{environment}#{team}#{key_id}#{fingerprint}")
}
