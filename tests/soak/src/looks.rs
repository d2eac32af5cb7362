//! One look at a device before the oracle: what GET may have said at that moment, by the ledger and the writes as they
//! stood then. Pure.
//!
//! The API reads consistently, so what was stored before a look was asked for is in it. Its processes' clocks are off
//! from the system's by the permitted skew.

use crate::{
    case::Case,
    evidence::{Call, Look},
    oracle::Promise,
};
use protocol::timing::Timing;

const TIMING: Timing = Timing::PRODUCTION;

impl Case<'_> {
    /// What is wrong about a look that was not the last one.
    pub(crate) fn wrong(&self, look: &Look) -> Option<(Promise, &'static str)> {
        let contradicted = |why| Some((Promise::Contradicted, why));
        let Look { asked_ms, told_ms, ref word } = *look;
        // The latest time that a process's clock can have shown, and the earliest.
        let (latest_ms, earliest_ms) = (told_ms.saturating_add(TIMING.skew), asked_ms.saturating_sub(TIMING.skew));
        let given_up_ms = self.message.deliver_by_ms.saturating_add(TIMING.lease).saturating_add(TIMING.skew);
        let called = |of: &dyn Fn(&Call) -> bool| self.calls.iter().any(|call| call.at_ms <= told_ms && of(call));
        if word != "sent" && self.calls.iter().any(|call| call.accepted && self.is_stored(call, asked_ms)) {
            return contradicted("after an acceptance was stored");
        }
        match word.as_str() {
            "sent" if !called(&|call| call.accepted) => contradicted("before any provider accepted"),
            "failed" if !called(&|call| call.permanent) => contradicted("before any provider refused"),
            "expired" if latest_ms < self.message.deliver_by_ms => contradicted("before it was too late"),
            "pending" if self.chunk.claims.iter().any(|claim| claim.at_ms <= asked_ms) => {
                contradicted("after a claim was stored")
            }
            "pending" | "sending" if earliest_ms > given_up_ms => contradicted("after nobody can be at it any more"),
            "unknown" if !(self.may_be_unknown(latest_ms) || (latest_ms > given_up_ms && self.in_flight(look))) => {
                Some((Promise::UnknownUnexplained, "before anything was lost"))
            }
            _ => None,
        }
    }

    /// Whether a provider's acceptance of this call had reached the table before.
    fn is_stored(&self, call: &Call, before_ms: u64) -> bool {
        let Some(attempt) = self.attempt(call.at_ms).filter(|_| self.is_known(call)) else { return false };
        let own = |at_ms: u64| attempt.holds(at_ms) && call.at_ms <= at_ms;
        let last_ms = self.chunk.records.iter().map(|record| record.at_ms).filter(|at_ms| own(*at_ms)).max();
        last_ms.is_some_and(|at_ms| at_ms <= before_ms)
    }

    /// Whether somebody had claimed the chunk and stored nothing yet: what the clock rule reads as unknown.
    fn in_flight(&self, look: &Look) -> bool {
        let stored =
            |from_ms: u64| self.chunk.records.iter().any(|record| (from_ms..=look.asked_ms).contains(&record.at_ms));
        self.attempts.iter().any(|attempt| attempt.from_ms <= look.told_ms && !stored(attempt.from_ms))
    }
}
