//! The sandbox through its port, as the service and its tests see it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod apns;
mod client;
mod fcm;
mod frames;
mod ledger;
mod oauth;
mod page;
mod secrets;
mod stripe;
