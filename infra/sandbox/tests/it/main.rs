//! The sandbox through its port, as the service and its tests see it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod client;
mod fcm;
mod ledger;
mod oauth;
mod secrets;
