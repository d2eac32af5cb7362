//! What is logged and counted of one received copy: each device's outcome, and that a copy must wait.
//!
//! Called by [`crate::receive`] where an answer comes back. A call that ends with its invocation has no answer and no
//! line; whoever steals the lease counts it as lost.

use platform::{Clock, Stopwatch, events};
use protocol::content::Platform;
use push::{Heard, NotPrepared, Provider};
use queue::DeliverV1;
use std::sync::atomic::{AtomicU64, Ordering};

/// One copy in hand.
#[derive(Debug)]
pub(crate) struct Observed<'a> {
    copy: &'a DeliverV1,
    message_id: String,
    clock: &'a Clock,
    attempt: AtomicU64,
}

impl<'a> Observed<'a> {
    pub(crate) fn new(copy: &'a DeliverV1, message_id: &str, clock: &'a Clock) -> Self {
        Self { copy, message_id: message_id.to_owned(), clock, attempt: AtomicU64::new(0) }
    }

    /// The calls that follow belong to this attempt.
    pub(crate) fn claiming(&self, attempt: impl Into<u64>) {
        self.attempt.store(attempt.into(), Ordering::Relaxed);
    }

    /// A call came to an end.
    pub(crate) fn answered(&self, device: usize, platform: Platform, heard: &Heard, watch: Stopwatch) {
        events::Device {
            project: &self.copy.project,
            message_id: &self.message_id,
            chunk: self.copy.chunk,
            device: u64::try_from(device).unwrap_or(u64::MAX),
            attempt: self.attempt.load(Ordering::Relaxed),
            provider: Provider::of(platform).as_str(),
            class: heard.class.as_str(),
            code: heard.answer.reason().map(|reason| reason.code.as_str()),
            latency_ms: watch.ms(),
        }
        .emit(self.clock.now_ms());
    }

    /// No call can be made now.
    pub(crate) fn waiting(&self, error: &NotPrepared) {
        events::Waiting {
            project: &self.copy.project,
            message_id: &self.message_id,
            chunk: self.copy.chunk,
            code: error.code(),
            detail: &error.to_string(),
        }
        .emit(self.clock.now_ms());
    }
}
