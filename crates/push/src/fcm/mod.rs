//! Firebase Cloud Messaging, HTTP v1: Android devices and browsers.
//!
//! `client` makes the call, `check` asks whether the credentials work, `error` is the table that says what an answer means, `key` reads the service-account key
//! file, `token` turns it into an access token, and `payload` builds what is sent (and measures it for the API).

mod check;
pub(crate) mod client;
mod error;
pub(crate) mod key;
pub mod payload;
mod token;

pub use error::ANSWERS;
pub use payload::{PAYLOAD_MAX_BYTES, payload_size};
