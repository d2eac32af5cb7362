//! The client against the sandbox: what each fault is called, keys, listings of many pages, credentials, webhooks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod calls;
mod webhooks;
mod world;
