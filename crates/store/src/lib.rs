//! The only code that knows DynamoDB: items, keys, conditions and what came of a write.
//!
//! Called by the functions and, to make the table and seed it, by the local system. Guarantees that every write is
//! conditional (the reviewed list of exceptions is empty), that a lost condition brings the winner back in the same
//! response, and that no name of an attribute or key leaves this crate. It decides nothing: `protocol` does.

mod api_key;
mod attr;
mod client;
mod condition;
mod delivery;
mod error;
mod message;
mod names;
mod project;
mod provider_token;
mod schema;
mod stream;
#[cfg(test)]
mod tests;
mod write;

pub use api_key::{ApiKey, SeedOutcome};
pub use client::Store;
pub use delivery::DeliveryWrite;
pub use error::StoreError;
pub use message::{AcceptWrite, StoredMessage};
pub use project::Project;
pub use provider_token::{ProviderToken, ProviderTokenId, ProviderTokenWrite};
pub use schema::TABLE_TTL_ATTRIBUTE;
pub use stream::{StreamRecord, read_stream_record};
