//! The protocol held to its design: properties over random and exhaustive inputs, and the machines step by step.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod audit;
mod canonical;
mod common;
mod dead_tokens;
mod explore;
mod fingerprint;
mod keys;
mod letters;
mod machine;
mod owners;
mod record;
mod refund;
mod status;
mod timing;
