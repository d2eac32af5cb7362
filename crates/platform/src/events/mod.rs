//! The contract of logs: every line that a person may search for, query or alarm on, as a type.
//!
//! Each function makes its events and calls `emit`, which writes one JSON line to the log and, where the event counts
//! as a metric, one line in CloudWatch's embedded metric format ([`crate::metrics`]). docs/OBSERVABILITY.md holds the
//! same tables, and a test compares the two. No event has a field that could hold a device token, an idempotency key,
//! a part of a message's content or a credential; what a provider said is kept on the device, where only its project
//! reads it, because providers quote what they were sent.
//!
//! A new kind of line is one more `event!` here, one more entry of [`EVENTS`], and its table in the
//! documentation.

#[macro_use]
mod define;
mod payouts;
mod words;

pub use payouts::{PayoutCall, PayoutDoubled, PayoutState, PayoutWaiting, Webhook};
pub use words::{
    CLASSES, Class, LETTER_OUTCOMES, LetterOutcome, PAYOUT_CLASSES, PayoutClass, WEBHOOK_OUTCOMES, WebhookOutcome, Word,
};

use crate::metrics::{Metric, publish};
use tracing::Level;

/// The target of all events, for `RUST_LOG`.
pub const TARGET: &str = "sendonce";

/// One field of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldRow {
    /// Its name in the line.
    pub name: &'static str,
    /// "text", "number" or "boolean".
    pub kind: &'static str,
    /// "always", or when it is there.
    pub there: &'static str,
    /// What it means.
    pub means: &'static str,
}

/// What the documentation says of an event.
#[derive(Clone, Copy, Debug)]
pub struct EventTable {
    /// The value of the field `event`.
    pub word: &'static str,
    /// When the line is written.
    pub means: &'static str,
    /// Its fields, besides those that every line has.
    pub fields: &'static [FieldRow],
}

/// All events.
pub const EVENTS: [EventTable; 13] = [
    Request::TABLE,
    Device::TABLE,
    Settled::TABLE,
    Hold::TABLE,
    Waiting::TABLE,
    RelayBatch::TABLE,
    DeadLetter::TABLE,
    Audit::TABLE,
    PayoutCall::TABLE,
    PayoutState::TABLE,
    PayoutWaiting::TABLE,
    PayoutDoubled::TABLE,
    Webhook::TABLE,
];

event! {
    /// An HTTP request, answered.
    Request<'a> = "request", "One HTTP request was answered (api, refunds).";
    route: &'a str, "text", "always", "The route's template, for example `/v1/messages/{id}`; `unmatched` where there is none. Never the path itself.";
    method: &'a str, "text", "always", "The method, or `other` for one that HTTP does not define.";
    status: u16, "number", "always", "The status of the answer.";
    code: Option<&'a str>, "text", "if refused", "The problem's `code`; `panic` if the handler panicked.";
    project: Option<&'a str>, "text", "if authenticated", "The project of the API key.";
    actor: Option<&'a str>, "text", "if authenticated", "The name of the API key, never the key.";
    message_id: Option<&'a str>, "text", "if accepted or found", "The message that the answer is about.";
    refund_id: Option<&'a str>, "text", "if created or found", "The refund that the answer is about.";
    replayed: bool, "boolean", "always", "The answer repeats an earlier one: the key had been used for the same request.";
    latency_ms: u64, "number", "always", "From the request's arrival in the function to the answer's head.";
    request_id: Option<&'a str>, "text", "in an invocation", "The Lambda request id, which the platform's own lines carry too.";
}

impl Request<'_> {
    fn level(&self) -> Level {
        if self.status >= 500 { Level::ERROR } else { Level::INFO }
    }

    /// Writes the line and the metrics, as of `now_ms`.
    pub fn emit(&self, now_ms: u64) {
        self.log();
        let is = |range: std::ops::RangeInclusive<u16>| u64::from(range.contains(&self.status));
        publish(
            now_ms,
            &[("route", self.route), ("method", self.method)],
            &[
                (Metric::Requests, 1),
                (Metric::ClientErrors, is(400..=499)),
                (Metric::ServerErrors, is(500..=599)),
                (Metric::RequestLatency, self.latency_ms),
            ],
        );
    }
}

event! {
    /// What came of one provider call for one device.
    Device<'a> = "device", "A provider was called for one device, and this came of it (deliver).";
    project: &'a str, "text", "always", "The message's project.";
    message_id: &'a str, "text", "always", "The message.";
    chunk: u16, "number", "always", "The chunk of the message.";
    device: u64, "number", "always", "The device's index within the chunk.";
    attempt: u64, "number", "always", "Which claim of the chunk this call belongs to, from 1.";
    provider: &'a str, "text", "always", "`apns` or `fcm`.";
    class: &'static str, "text", "always", "What the answer means: see the classes below.";
    code: Option<&'a str>, "text", "unless accepted", "The provider's reason (`UNREGISTERED`), `HTTP_` and its status where it gave none, or ours (`timeout`).";
    latency_ms: u64, "number", "always", "From handing the call over to having the answer, waiting for a connection included.";
}

impl Device<'_> {
    fn level(&self) -> Level {
        if self.class == Class::Accepted.as_str() {
            Level::INFO
        } else if self.class == Class::OurBug.as_str() {
            Level::ERROR
        } else {
            Level::WARN
        }
    }

    /// Writes the line and the metrics, as of `now_ms`.
    pub fn emit(&self, now_ms: u64) {
        self.log();
        publish(
            now_ms,
            &[("provider", self.provider), ("class", self.class)],
            &[
                (Metric::Calls, 1),
                (Metric::CallErrors, u64::from(self.class != Class::Accepted.as_str())),
                (Metric::CallLatency, self.latency_ms),
                (Metric::Devices, 1),
            ],
        );
    }
}

event! {
    /// A chunk whose last devices ended without a call.
    Settled<'a> = "settled", "The devices of a chunk that were still open ended without a call: too late, after the last attempt, or because a call that may have been made is not repeated (deliver, dead-letter).";
    project: &'a str, "text", "always", "The message's project.";
    message_id: &'a str, "text", "always", "The message.";
    chunk: u16, "number", "always", "The chunk of the message.";
    attempt: u64, "number", "always", "Claims of the chunk before that; 0 if nobody ever called.";
    expired: u64, "number", "always", "Its devices that ended `expired`.";
    unknown: u64, "number", "always", "Its devices that ended `unknown`, now or by an earlier answer.";
}

impl Settled<'_> {
    fn level(&self) -> Level {
        Level::WARN
    }

    /// Writes the line and the metrics, as of `now_ms`.
    pub fn emit(&self, now_ms: u64) {
        self.log();
        publish(now_ms, &[], &[(Metric::DevicesExpired, self.expired), (Metric::DevicesUnknown, self.unknown)]);
    }
}

event! {
    /// A hold that began or ended.
    Hold<'a> = "hold", "A provider refuses a project's credentials, or takes them again (deliver). One line when a hold begins and one when it ends, whatever waits for it; a hold of which nobody knows whether it was stored is said to begin, and may be once more.";
    project: &'a str, "text", "always", "The project.";
    provider: &'a str, "text", "always", "`apns` or `fcm`.";
    change: &'static str, "text", "always", "`began` or `ended`.";
    code: &'a str, "text", "always", "Why: the provider's reason (`InvalidProviderToken`), or `credentials_missing`, `credentials_invalid`, `credentials_refused`.";
    detail: Option<&'a str>, "text", "if it began before a call", "The same as a sentence: names of secrets and members, never their values.";
    held_ms: Option<u64>, "number", "if ended", "How long the project was held.";
}

impl Hold<'_> {
    fn level(&self) -> Level {
        if self.held_ms.is_none() { Level::ERROR } else { Level::WARN }
    }

    /// Writes the line and the metric, as of `now_ms`.
    pub fn emit(&self, now_ms: u64) {
        self.log();
        publish(now_ms, &[("provider", self.provider)], &[(Metric::HoldsBegun, u64::from(self.held_ms.is_none()))]);
    }
}

event! {
    /// A copy for whose project no call can be made now.
    Waiting<'a> = "waiting", "No call can be made for a project now, so a copy waits, or its devices of one provider: the credentials cannot be read, or no access token can be had, which may pass by itself; or they do not list the message's app (deliver).";
    project: &'a str, "text", "always", "The message's project.";
    message_id: &'a str, "text", "always", "The message.";
    chunk: u16, "number", "always", "The chunk of the message.";
    code: &'a str, "text", "always", "Why, in one word: `credentials_unavailable`, `token_unavailable`, `token_timeout` or `app_not_in_credentials`.";
    detail: &'a str, "text", "always", "The same as a sentence: names of secrets and members, never their values.";
}

impl Waiting<'_> {
    fn level(&self) -> Level {
        Level::ERROR
    }

    /// Writes the line and the metric, as of `now_ms`.
    pub fn emit(&self, now_ms: u64) {
        self.log();
        publish(now_ms, &[("code", self.code)], &[(Metric::WaitingCopies, 1)]);
    }
}

event! {
    /// A batch of the table's stream that was not empty of work.
    RelayBatch = "relay", "A batch of the table's stream held something to enqueue, to park or to repeat (relay).";
    records: u64, "number", "always", "Records in the batch.";
    enqueued: u64, "number", "always", "Chunks that were enqueued, accepted and without a delivery item; and payouts, due and not called for.";
    parked: u64, "number", "always", "Records put into the parking queue because nobody can process them.";
    failed_from: Option<u64>, "number", "if repeated", "The index of the first record that the stream hands out again.";
}

impl RelayBatch {
    fn level(&self) -> Level {
        if self.parked > 0 || self.failed_from.is_some() { Level::WARN } else { Level::INFO }
    }

    /// Writes the line and the metrics, as of `now_ms`.
    pub fn emit(&self, now_ms: u64) {
        self.log();
        publish(now_ms, &[], &[(Metric::RelayEnqueued, self.enqueued), (Metric::RelayParked, self.parked)]);
    }
}

event! {
    /// A dead letter that was handled.
    DeadLetter<'a> = "dead_letter", "A letter of a dead-letter queue, the deliveries' or the payouts', was handled (dead-letter).";
    outcome: &'static str, "text", "always", "What became of it: see the outcomes below.";
    project: Option<&'a str>, "text", "if readable", "The message's project.";
    message_id: Option<&'a str>, "text", "if a chunk's", "The message.";
    chunk: Option<u16>, "number", "if a chunk's", "The chunk of the message.";
    payout_id: Option<&'a str>, "text", "if a payout's", "The payout.";
    copy_id: Option<&'a str>, "text", "always", "SQS's id of the letter.";
}

impl DeadLetter<'_> {
    fn level(&self) -> Level {
        let loud = [LetterOutcome::Parked.as_str(), LetterOutcome::NotParked.as_str(), LetterOutcome::Newer.as_str()];
        if loud.contains(&self.outcome) { Level::ERROR } else { Level::WARN }
    }

    /// Writes the line and the metric, as of `now_ms`.
    pub fn emit(&self, now_ms: u64) {
        self.log();
        publish(now_ms, &[("outcome", self.outcome)], &[(Metric::DeadLetters, 1)]);
    }
}

event! {
    /// What an invocation of the audit came to.
    Audit = "audit", "An invocation of the audit ended (audit).";
    scanned: u64, "number", "always", "Items read.";
    messages: u64, "number", "always", "Messages among them that were in the audit's range.";
    no_delivery_item: u64, "number", "always", "Chunks enqueued again that nobody had ever claimed.";
    stuck_in_flight: u64, "number", "always", "Chunks enqueued again whose lease had long been over.";
    stuck_retry: u64, "number", "always", "Chunks enqueued again whose retry had long been due.";
    payouts_due: u64, "number", "always", "Payouts enqueued again that had long been due.";
    payouts_submitted: u64, "number", "always", "Payouts enqueued again that the provider has not decided on for long: it may take days, so these are no fault.";
    payouts_in_review: u64, "number", "always", "Payouts in review that were met: they wait for a person. No fault of the audit's, and nothing that it could repair.";
    not_repaired: u64, "number", "always", "Items that cannot be read, and copies that SQS refuses: a person must look.";
    finished: bool, "boolean", "always", "The pass came to its end.";
    ended: &'static str, "text", "always", "How: `finished`, `not_due`, `elsewhere` (another invocation has the pass), `out_of_time` (a later one goes on) or `failed`.";
}

impl Audit {
    fn found(&self) -> u64 {
        let chunks = self.no_delivery_item.saturating_add(self.stuck_in_flight).saturating_add(self.stuck_retry);
        chunks.saturating_add(self.payouts_due)
    }

    fn failed(&self) -> bool {
        self.ended == "failed"
    }

    fn level(&self) -> Level {
        let quiet = self.found() == 0 && self.not_repaired == 0 && !self.failed();
        if quiet { Level::INFO } else { Level::ERROR }
    }

    fn metrics(&self) -> [(Metric, u64); 4] {
        [
            (Metric::AuditFound, self.found()),
            (Metric::AuditNotRepaired, self.not_repaired),
            (Metric::AuditFailed, u64::from(self.failed())),
            (Metric::PayoutsInReview, self.payouts_in_review),
        ]
    }

    /// Writes the line and the metrics, as of `now_ms`.
    pub fn emit(&self, now_ms: u64) {
        self.log();
        publish(now_ms, &[], &self.metrics());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audit_that_stopped_is_counted_and_loud_though_it_found_nothing() {
        let quiet = Audit {
            scanned: 9,
            messages: 3,
            no_delivery_item: 0,
            stuck_in_flight: 0,
            stuck_retry: 0,
            payouts_due: 0,
            payouts_submitted: 0,
            payouts_in_review: 2,
            not_repaired: 0,
            finished: true,
            ended: "finished",
        };
        let counted = |audit: &Audit| audit.metrics().map(|(_, value)| value);
        assert_eq!((counted(&quiet), quiet.level()), ([0, 0, 0, 2], Level::INFO));
        for ended in ["not_due", "elsewhere", "out_of_time"] {
            let other = Audit { finished: false, ended, ..quiet };
            assert_eq!((counted(&other), other.level()), ([0, 0, 0, 2], Level::INFO), "{ended}");
        }
        let failed = Audit { finished: false, ended: "failed", ..quiet };
        assert_eq!((counted(&failed), failed.level()), ([0, 0, 1, 2], Level::ERROR));
        let found = Audit { stuck_retry: 2, payouts_due: 1, payouts_submitted: 5, not_repaired: 4, ..quiet };
        assert_eq!(counted(&found), [3, 4, 0, 2]);
    }
}
