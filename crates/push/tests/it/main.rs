//! Preparing and sending against the provider sandbox: real sockets, the real AWS SDK, the real signatures.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod answers;
mod apns;
mod check;
mod connection;
mod fcm;
mod shared_token;
mod world;
