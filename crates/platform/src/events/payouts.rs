//! The events of payouts: calls of the payment provider, states that were recorded, copies that wait, payouts that were
//! made twice, and webhooks.

use super::{EventTable, FieldRow, PayoutClass, TARGET};
use crate::metrics::{Metric, publish};
use tracing::Level;

event! {
    /// What came of one call of the payment provider.
    PayoutCall<'a> = "payout_call", "The payment provider was called for a payout, and this came of it (payout).";
    project: &'a str, "text", "always", "The refund's project.";
    refund_id: &'a str, "text", "always", "The refund.";
    payout_id: &'a str, "text", "always", "The payout, which is the provider's Idempotency-Key.";
    provider: &'a str, "text", "always", "`stripe`.";
    call: &'static str, "text", "always", "`create` asks for the payment, `list` for what became of it.";
    class: &'static str, "text", "always", "What the answer means: see the classes of payouts below.";
    code: Option<&'a str>, "text", "unless paid, pending or listed", "The provider's code (`charge_disputed`), `HTTP_` and its status where it gave none, or ours (`timeout`).";
    latency_ms: u64, "number", "always", "From handing the call over to having the answer, waiting for a connection included.";
}

impl PayoutCall<'_> {
    fn good(&self) -> bool {
        let good = [PayoutClass::Succeeded, PayoutClass::Pending, PayoutClass::Listed];
        good.iter().any(|class| class.as_str() == self.class)
    }

    /// Whether the payout is left to be asked for again.
    fn waits(&self) -> bool {
        let undecided = [
            PayoutClass::InProgress,
            PayoutClass::NotNow,
            PayoutClass::RateLimited,
            PayoutClass::Credentials,
            PayoutClass::NotSent,
            PayoutClass::Ambiguous,
            PayoutClass::Lost,
        ];
        undecided.iter().any(|class| class.as_str() == self.class)
    }

    fn level(&self) -> Level {
        let alarms = [PayoutClass::Mismatch, PayoutClass::Credentials];
        if alarms.iter().any(|class| class.as_str() == self.class) {
            Level::ERROR
        } else if self.good() {
            Level::INFO
        } else {
            Level::WARN
        }
    }

    /// Writes the line and the metrics, as of `now_ms`.
    pub fn emit(&self, now_ms: u64) {
        self.log();
        publish(
            now_ms,
            &[("provider", self.provider), ("call", self.call), ("class", self.class)],
            &[
                (Metric::Calls, 1),
                (Metric::CallErrors, u64::from(!self.good())),
                (Metric::CallLatency, self.latency_ms),
                (Metric::PayoutCalls, 1),
                (Metric::PayoutsWaiting, u64::from(self.waits())),
            ],
        );
    }
}

event! {
    /// A payout's state that was stored.
    PayoutState<'a> = "payout_state", "A payout has a new state: by an answer, by a webhook or by a person (payout, refunds).";
    project: &'a str, "text", "always", "The refund's project.";
    refund_id: &'a str, "text", "always", "The refund.";
    payout_id: &'a str, "text", "always", "The payout.";
    state: &'static str, "text", "always", "`due`, `submitted`, `paid`, `failed` or `review`.";
    code: Option<&'a str>, "text", "if failed or in review", "Why.";
    by: &'static str, "text", "always", "`payout`, `webhook` or `person`.";
}

impl PayoutState<'_> {
    fn level(&self) -> Level {
        match self.state {
            "review" => Level::ERROR,
            "failed" => Level::WARN,
            _ => Level::INFO,
        }
    }

    /// Writes the line and the metric, as of `now_ms`.
    pub fn emit(&self, now_ms: u64) {
        self.log();
        publish(now_ms, &[("state", self.state)], &[(Metric::PayoutStates, 1)]);
    }
}

event! {
    /// A payout for whose project no call can be made now.
    PayoutWaiting<'a> = "payout_waiting", "The payment provider cannot be called for a project now, so a payout waits (payout).";
    project: &'a str, "text", "always", "The refund's project.";
    refund_id: &'a str, "text", "always", "The refund.";
    payout_id: &'a str, "text", "always", "The payout.";
    code: &'a str, "text", "always", "Why, in one word: `credentials_missing`, `credentials_invalid`, `credentials_unavailable` or `token_timeout`.";
    detail: &'a str, "text", "always", "The same as a sentence: names of secrets and members, never their values.";
}

impl PayoutWaiting<'_> {
    fn level(&self) -> Level {
        Level::ERROR
    }

    /// Writes the line and the metric, as of `now_ms`.
    pub fn emit(&self, now_ms: u64) {
        self.log();
        publish(now_ms, &[("code", self.code)], &[(Metric::WaitingCopies, 1), (Metric::PayoutsWaiting, 1)]);
    }
}

event! {
    /// A payout of which the provider has more than one refund.
    PayoutDoubled<'a> = "payout_doubled", "The payment provider has more than one refund of one payout, or lists two payouts of one refund that are paid or may be, so it may have been paid more than once; or one failed that a person did not name: a person must look (payout, refunds).";
    project: &'a str, "text", "always", "The refund's project.";
    refund_id: &'a str, "text", "always", "The refund.";
    payout_id: &'a str, "text", "always", "The payout that both name; of two payouts, the current one.";
    refunds: u64, "number", "always", "How many refunds of the provider's are known to name it; of two payouts, how many are paid or may be.";
}

impl PayoutDoubled<'_> {
    fn level(&self) -> Level {
        Level::ERROR
    }

    /// Writes the line and the metric, as of `now_ms`.
    pub fn emit(&self, now_ms: u64) {
        self.log();
        publish(now_ms, &[], &[(Metric::PayoutsDoubled, 1)]);
    }
}

event! {
    /// A webhook of the payment provider, judged.
    Webhook<'a> = "webhook", "The payment provider sent a webhook (refunds).";
    project: Option<&'a str>, "text", "if signed", "The project of the address.";
    refund_id: Option<&'a str>, "text", "if about a payout of ours", "The refund.";
    payout_id: Option<&'a str>, "text", "if about a payout of ours", "The payout.";
    event_id: Option<&'a str>, "text", "if about a payout of ours", "The provider's id of the event.";
    outcome: &'static str, "text", "always", "What became of it: see the outcomes of webhooks below.";
}

impl Webhook<'_> {
    fn level(&self) -> Level {
        match self.outcome {
            "given_up" | "unavailable" => Level::ERROR,
            "refused" => Level::WARN,
            _ => Level::INFO,
        }
    }

    /// Writes the line and the metric, as of `now_ms`.
    pub fn emit(&self, now_ms: u64) {
        self.log();
        publish(now_ms, &[("outcome", self.outcome)], &[(Metric::Webhooks, 1)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::PAYOUT_CLASSES;

    #[test]
    fn a_payout_waits_after_an_answer_that_decides_nothing() {
        let decided = ["succeeded", "pending", "failed", "refused", "mismatch", "listed"];
        for class in PAYOUT_CLASSES.map(|word| word.word) {
            let call = PayoutCall {
                project: "acme",
                refund_id: "rf_1",
                payout_id: "payout_rf_1_1",
                provider: "stripe",
                call: "create",
                class,
                code: None,
                latency_ms: 1,
            };
            assert_eq!(call.waits(), !decided.contains(&class), "{class}");
        }
    }
}
