//! The only code that knows DynamoDB: items, keys, conditions and what came of a write.
//!
//! Called by the functions and, to make the table and seed it, by the local system. Guarantees that every write is
//! conditional (the reviewed list of exceptions is empty), that a lost condition brings the winner back in the same
//! response, and that no name of an attribute or key leaves this crate. It decides nothing: `protocol` does.

mod api_key;
mod attr;
mod client;
mod condition;
mod dead_token;
mod delivery;
mod error;
mod hold;
mod message;
mod names;
mod pass;
mod project;
mod provider_token;
mod raw;
mod refund;
mod scan;
mod schema;
mod stream;
mod table_check;
#[cfg(test)]
mod tests;
mod write;

pub use api_key::{ApiKey, ListedApiKey, ReplaceOutcome, RevokeOutcome, SeedOutcome};
pub use client::Store;
pub use dead_token::{DeadToken, DeadTokenWrite, Place};
pub use delivery::DeliveryWrite;
pub use error::StoreError;
pub use hold::HoldWrite;
pub use message::{AcceptWrite, StoredMessage};
pub use pass::PassWrite;
pub use project::{ChangeProject, Project};
pub use provider_token::{
    ProviderToken, ProviderTokenId, ProviderTokenWrite, StoredProviderToken, UnreadableProviderToken,
};
pub use raw::{RawAttribute, RawItem};
pub use refund::{RefundCreate, RefundCursor, RefundPage, RefundWrite};
pub use scan::{MessagePage, Progresses};
pub use schema::TABLE_TTL_ATTRIBUTE;
pub use stream::{DuePayout, StreamRecord, read_stream_record};
pub use table_check::{TableCheck, TableFault};
