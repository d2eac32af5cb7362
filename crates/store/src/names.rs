//! Every attribute name and key shape, once.
//!
//! Short names are bytes saved on each item; the words are design section 4.

use protocol::{
    content::Platform,
    dead_token::TokenKey,
    ids::{KeyHash, MessageId, Nonce},
    refund::{Status, id::RefundId},
};

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

pub(crate) const STATUS: &str = "st";
pub(crate) const AMOUNT: &str = "am";
pub(crate) const CURRENCY: &str = "cu";
pub(crate) const ORDER: &str = "or";
pub(crate) const PAYMENT: &str = "py";
pub(crate) const WHY: &str = "rs";
pub(crate) const NOTE: &str = "no";
pub(crate) const CREATED_BY: &str = "cb";
pub(crate) const DECIDED_BY: &str = "dby";
pub(crate) const DECIDED_AT: &str = "dat";
pub(crate) const DECISION: &str = "dn";
pub(crate) const PAYOUT_NUMBER: &str = "pn";
pub(crate) const PAYOUT_ID: &str = "po";
pub(crate) const PAYOUT_AMOUNT: &str = "pam";
pub(crate) const PAYOUT_STATE: &str = "pst";
pub(crate) const DUE: &str = "pdu";
pub(crate) const FIRST_CALL: &str = "fca";
pub(crate) const PAYOUT_CALLS: &str = "pca";
pub(crate) const CALLER: &str = "pcl";
pub(crate) const WRITER: &str = "pwr";
pub(crate) const FAILED_AT: &str = "fat";
pub(crate) const REFERENCE: &str = "pref";
pub(crate) const EVENT_TIME: &str = "pet";
pub(crate) const EVENT_RANK: &str = "per";
pub(crate) const EVENTS: &str = "ev";
pub(crate) const TRAIL: &str = "tr";

/// The index by which refunds are listed, and its keys: `project#status`, and the creation's time before the id.
pub(crate) const REFUNDS_INDEX: &str = "refunds";
pub(crate) const INDEX_PK: &str = "ipk";
pub(crate) const INDEX_SK: &str = "isk";

pub(crate) const NAME: &str = "name";
pub(crate) const SCOPES: &str = "scopes";
pub(crate) const REVOKED: &str = "revoked_at";
pub(crate) const SUCCESSOR: &str = "successor";
pub(crate) const CREATED: &str = "created_at";

pub(crate) const APPS: &str = "apps";

pub(crate) const JWT: &str = "jwt";
pub(crate) const ISSUED: &str = "iat";

pub(crate) const HELD: &str = "held";
pub(crate) const REASON_CODE: &str = "rc";
pub(crate) const REASON_DETAIL: &str = "rd";
pub(crate) const SINCE: &str = "since";
pub(crate) const PROBE_AT: &str = "pa";
pub(crate) const PROBES: &str = "pn";
pub(crate) const TRIED: &str = "tr";
pub(crate) const SECRET_VERSION: &str = "sv";
pub(crate) const TOKEN: &str = "token";
pub(crate) const LAST: &str = "last";
pub(crate) const LISTED: &str = "li";
pub(crate) const STARTED: &str = "started";
pub(crate) const SAVED: &str = "saved";
pub(crate) const POSITION: &str = "position";
pub(crate) const FINISHED: &str = "finished";

/// Sort key of a message.
pub(crate) const MESSAGE_SK: &str = "M";
/// Sort key of a refund.
pub(crate) const REFUND_SK: &str = "R";
/// Sort key of an API key.
pub(crate) const API_KEY_SK: &str = "A";
/// Sort key of a project's settings.
pub(crate) const PROJECT_SK: &str = "P";
/// Sort key of a provider token.
pub(crate) const PROVIDER_TOKEN_SK: &str = "J";
/// Sort key of a hold.
pub(crate) const HOLD_SK: &str = "H";

/// The local index of a partition's dead tokens by the time at which they were listed. No other item has its sort key,
/// so none is in it.
pub(crate) const LISTED_INDEX: &str = "listed";

/// Both keys of the audit's pass; there is one.
pub(crate) const PASS_PK: &str = "U#audit";
pub(crate) const PASS_SK: &str = "U";

/// Partition key of everything under an idempotency key.
pub(crate) fn key_pk(key: KeyHash) -> String {
    format!("K#{}", key.to_base32())
}

/// Partition key of a refund.
pub(crate) fn refund_pk(key: KeyHash) -> String {
    format!("R#{}", key.to_base32())
}

/// Partition key of a project's refunds of one status in the index. A status holds no `#`, so no project's name can
/// forge another's key.
pub(crate) fn refunds_pk(project: &str, status: Status) -> String {
    format!("{project}#{}", status.as_str())
}

/// Sort key of a refund in the index: by creation in ms, then by id. As many digits as the largest time has.
pub(crate) fn refunds_sk(at_ms: u64, id: RefundId) -> String {
    format!("{at_ms:020}#{id}")
}

/// The time and the id of such a sort key, exactly as [`refunds_sk`] writes it.
pub(crate) fn parts_of_refunds_sk(sk: &str) -> Option<(u64, RefundId)> {
    let (digits, id) = sk.split_once('#')?;
    let (at_ms, id) = (digits.parse().ok()?, RefundId::parse(id)?);
    (refunds_sk(at_ms, id) == sk).then_some((at_ms, id))
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

/// Partition key of the list of projects.
pub(crate) const PROJECT_LIST_PK: &str = "L#projects";

/// Sort key of a project in the list of projects. What begins it keeps a project's name from being another item's sort
/// key: the stream's filter knows messages by theirs.
pub(crate) fn listed_project_sk(project: &str) -> String {
    format!("P#{project}")
}

/// The project of a sort key of the list.
pub(crate) fn project_of_listed_sk(sk: &str) -> Option<&str> {
    sk.strip_prefix("P#")
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

/// Partition key of a hold. A provider's name holds no `#`, so no project's name can forge another's key.
pub(crate) fn hold_pk(project: &str, provider: &str) -> String {
    format!("H#{project}#{provider}")
}

/// Partition key of a part of a project's dead tokens.
pub(crate) fn dead_tokens_pk(project: &str, shard: u8) -> String {
    format!("T#{project}#{shard}")
}

/// Sort key of a dead token.
pub(crate) fn dead_token_sk(key: &TokenKey) -> String {
    format!("{}#{}", key.platform.as_str(), data_encoding::HEXLOWER.encode(&key.hash))
}

/// The place of a dead token's sort key.
pub(crate) fn key_of_dead_token_sk(sk: &str) -> Option<TokenKey> {
    let (platform, hash) = sk.split_once('#')?;
    let hash = data_encoding::HEXLOWER.decode(hash.as_bytes()).ok()?.try_into().ok()?;
    Some(TokenKey { platform: Platform::parse(platform)?, hash })
}
