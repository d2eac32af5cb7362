//! Apple Push Notification service: iOS devices.
//!
//! `client` makes the call, `check` asks whether the credentials work, `error` is the table that says what an answer means, `key` reads the signing key and what
//! goes with it, `token` is the provider token that all instances share, and `payload` builds what is sent (and
//! measures it for the API).

mod check;
pub(crate) mod client;
mod error;
pub(crate) mod key;
pub mod payload;
mod token;

pub use error::ANSWERS;
pub use payload::{PAYLOAD_MAX_BYTES, payload_size};
