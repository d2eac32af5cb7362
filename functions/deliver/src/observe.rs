//! What is logged and counted of one received copy: each device's outcome, that a copy must wait, and that devices ended
//! without a call.
//!
//! Called by [`crate::receive`] where an answer comes back. A call that ends with its invocation has no answer and no
//! line; whoever steals the lease counts it as lost.

use crate::said::Doubt;
use platform::{Clock, Stopwatch, events};
use protocol::{answer::Reason, content::Platform, delivery::Delivery, letter::Letter};
use push::{Heard, Provider};
use queue::DeliverV1;
use std::sync::atomic::{AtomicU64, Ordering};

/// One copy in hand.
#[derive(Debug)]
pub(crate) struct Observed<'a> {
    copy: &'a DeliverV1,
    message_id: &'a str,
    clock: &'a Clock,
    attempt: AtomicU64,
}

impl<'a> Observed<'a> {
    pub(crate) fn new(copy: &'a DeliverV1, message_id: &'a str, clock: &'a Clock) -> Self {
        Self { copy, message_id, clock, attempt: AtomicU64::new(0) }
    }

    /// The calls that follow belong to this attempt.
    pub(crate) fn claiming(&self, attempt: impl Into<u64>) {
        self.attempt.store(attempt.into(), Ordering::Relaxed);
    }

    /// A call came to an end.
    pub(crate) fn answered(&self, device: usize, platform: Platform, heard: &Heard, watch: Stopwatch) {
        events::Device {
            project: &self.copy.project,
            message_id: self.message_id,
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

    /// No call can be made now, for all devices or for some.
    pub(crate) fn waiting(&self, reason: &Reason) {
        events::Waiting {
            project: &self.copy.project,
            message_id: self.message_id,
            chunk: self.copy.chunk,
            code: &reason.code,
            detail: &reason.detail,
        }
        .emit(self.clock.now_ms());
    }

    /// Devices ended without a call.
    pub(crate) fn settled(&self, item: &Delivery) {
        events::Settled {
            project: &self.copy.project,
            message_id: self.message_id,
            chunk: self.copy.chunk,
            attempt: u64::from(item.attempt),
            expired: item.devices_at(Letter::Expired),
            unknown: item.devices_at(Letter::Unknown),
        }
        .emit(self.clock.now_ms());
    }

    /// Most of the chunk's tokens were called bad, which is not believed.
    pub(crate) fn doubted(&self, doubt: Doubt) {
        let Doubt { called, refused } = doubt;
        let (project, message_id, chunk) = (&self.copy.project, self.message_id, self.copy.chunk);
        tracing::error!(
            project,
            message_id,
            chunk,
            called,
            refused,
            "APNs calls most tokens of a chunk bad: is the secret's environment right? none of them is listed as dead"
        );
    }
}
