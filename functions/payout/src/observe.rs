//! What is logged and counted of one received payout copy: each call, each state that was recorded, a payout that was made
//! twice, a refund that was paid by two, and that it waits.
//!
//! Called by [`crate::receive`] where an answer comes back. A call that ends with its invocation has no answer and no line;
//! the copy comes back, and the next call has the same key.

use payments::{Class, NotPrepared, PROVIDER};
use platform::{Clock, Stopwatch, events};
use protocol::refund::{
    Refund,
    id::PayoutId,
    payout::State,
    step::{Listed, tells_of_double},
};
use queue::PayoutV1;

/// One copy in hand.
#[derive(Debug)]
pub(crate) struct Observed<'a> {
    project: &'a str,
    payout: PayoutId,
    refund_id: String,
    payout_id: String,
    clock: &'a Clock,
}

impl<'a> Observed<'a> {
    pub(crate) fn new(copy: &'a PayoutV1, clock: &'a Clock) -> Self {
        let (refund_id, payout_id) = (copy.payout.refund.to_string(), copy.payout.to_string());
        Self { project: &copy.project, payout: copy.payout, refund_id, payout_id, clock }
    }

    /// A call came to an end.
    pub(crate) fn called(&self, call: &'static str, class: Class, code: Option<&str>, watch: Stopwatch) {
        events::PayoutCall {
            project: self.project,
            refund_id: &self.refund_id,
            payout_id: &self.payout_id,
            provider: PROVIDER,
            call,
            class: class.as_str(),
            code,
            latency_ms: watch.ms(),
        }
        .emit(self.clock.now_ms());
    }

    /// What was found is stored. A payout that is due as before has no new state: the call's own line tells of a refusal.
    pub(crate) fn recorded(&self, refund: &Refund) {
        let Some(payout) = refund.payout.as_ref().filter(|payout| payout.state != State::Due) else { return };
        events::PayoutState {
            project: self.project,
            refund_id: &self.refund_id,
            payout_id: &self.payout_id,
            state: payout.state.as_str(),
            code: payout.reason.as_ref().map(|reason| reason.code.as_str()),
            by: "payout",
        }
        .emit(self.clock.now_ms());
    }

    /// A listing was read: each payout that more than one refund of the provider's names is told, and that two payouts of
    /// this refund are paid, or may be.
    pub(crate) fn doubled(&self, list: &[Listed]) {
        for (at, listed) in list.iter().enumerate() {
            let same = |other: &&Listed| other.payout == listed.payout;
            let refunds = list.iter().filter(same).count();
            if refunds > 1 && !list.iter().take(at).any(|earlier| same(&earlier)) {
                self.tell_doubled(&listed.payout.to_string(), refunds);
            }
        }
        let alive = |listed: &&Listed| listed.payout.refund == self.payout.refund && listed.finding.is_alive();
        let alive: Vec<PayoutId> = list.iter().filter(alive).map(|listed| listed.payout).collect();
        if alive.iter().any(|payout| Some(payout) != alive.first()) {
            self.tell_doubled(&self.payout_id, alive.len());
        }
    }

    /// A write says that a second object pays a payout. Told once more by the write that follows it, which is better than
    /// never.
    pub(crate) fn doubled_by(&self, written: &Refund) {
        if let Some(payout) = tells_of_double(written) {
            self.tell_doubled(&payout.to_string(), 2);
        }
    }

    fn tell_doubled(&self, payout_id: &str, refunds: usize) {
        let refunds = u64::try_from(refunds).unwrap_or(u64::MAX);
        events::PayoutDoubled { project: self.project, refund_id: &self.refund_id, payout_id, refunds }
            .emit(self.clock.now_ms());
    }

    /// No call can be made now.
    pub(crate) fn waiting(&self, error: &NotPrepared) {
        events::PayoutWaiting {
            project: self.project,
            refund_id: &self.refund_id,
            payout_id: &self.payout_id,
            code: error.code(),
            detail: &error.to_string(),
        }
        .emit(self.clock.now_ms());
    }
}
