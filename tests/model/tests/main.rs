//! The model's tests: every state of every configuration, and the seeded mistakes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod design;
mod messages;
mod once;
mod pinned;
mod refunds;
mod shared;
mod teeth;
