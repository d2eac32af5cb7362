//! What is decided about a message, and in which order, without any I/O.
//!
//! Called by every function and by the model checker. Pure: no clock, no randomness, no async, no allocation beyond
//! `alloc`; time, ids, tokens and jitter are arguments. It guarantees that one decision is written down once. It does
//! not know DynamoDB, SQS, HTTP or a provider, and does not need them to be correct: a caller that performs the
//! effects in any order a network allows still ends in a state that these functions can explain.

#![no_std]
#![forbid(unsafe_code)]
// Numbers come out of stored items and queue messages: none may panic or wrap.
#![warn(clippy::arithmetic_side_effects)]

extern crate alloc;

pub mod accept;
pub mod answer;
pub mod audit;
pub mod canonical;
pub mod claim;
pub mod content;
pub mod dead_letter;
pub mod dead_token;
pub mod delivery;
pub mod expect;
pub mod fingerprint;
pub mod hold;
pub mod ids;
pub mod letter;
pub mod machine;
pub mod message;
pub mod record;
pub mod refund;
pub mod status;
pub mod timing;

/// Devices of one chunk at most: one delivery item, one queue message (design: a record of 20 accepted FCM devices
/// still fits one write unit).
pub const DEVICES_PER_CHUNK: usize = 20;
/// Devices of one message at most, so at most 25 chunks.
pub const DEVICES_PER_MESSAGE: usize = 500;
