//! Approve or reject: one decision, whoever clicks, however often.
//!
//! The write is blind: it is conditional on [`crate::expect::Expect::RefundPending`] and nothing was read before, so a
//! decision costs one request. [`decided`] says what the write makes of a pending refund; the store renders the same as
//! an update expression (the amount is copied from the item itself).

use super::{
    Refund,
    id::{PayoutId, RefundId},
    payout::Payout,
    trail::{About, By, Line, What},
};
use crate::ids::Nonce;
use alloc::string::String;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// Pay.
    Approve,
    /// Do not pay.
    Reject,
}

/// A decision, as it is stored with the refund.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// Which way.
    pub verdict: Verdict,
    /// The name of the API key that decided.
    pub by: String,
    /// When, in ms.
    pub at_ms: u64,
    /// Fresh for each request: "was it me?". Neither the name nor the time can say that, since two clicks may share
    /// both.
    pub nonce: Nonce,
}

/// What a pending refund becomes. Approving creates the first payout in the same item, with the amount frozen.
#[must_use]
pub fn decided(pending: &Refund, decision: &Decision) -> Refund {
    let (payout, what) = match decision.verdict {
        Verdict::Approve => (Some(Payout::due(1, pending.request.amount, decision.at_ms)), What::Approved),
        Verdict::Reject => (None, What::Rejected),
    };
    let about = payout.as_ref().map(|payout| About::payout(payout, what)).unwrap_or_default();
    let mut next = Refund { decision: Some(decision.clone()), payout, ..pending.clone() };
    next.version = next.version.saturating_add(1);
    next.trail.push(Line { at_ms: decision.at_ms, what, by: By::Actor(decision.by.clone()), about });
    next
}

/// What the loser of the write is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Conflict {
    /// The stored decision is this very request's own write.
    Mine,
    /// Decided the same way before: by this.
    Already(Decision),
    /// Decided the other way: by this.
    Other(Decision),
    /// There is no such refund of this project.
    NotFound,
    /// The refund is pending, so the condition cannot have failed: nothing is known.
    Undecidable,
}

/// Decides from the stored item. `project` and `id` are the caller's: an id of another project's refund, or one whose
/// nonce is not the stored one, names nothing.
#[must_use]
pub fn on_conflict(stored: Option<&Refund>, project: &str, id: RefundId, mine: &Decision) -> Conflict {
    let Some(stored) = stored.filter(|stored| stored.id == id && stored.project == project) else {
        return Conflict::NotFound;
    };
    match &stored.decision {
        None => Conflict::Undecidable,
        Some(decision) if decision.nonce == mine.nonce => Conflict::Mine,
        Some(decision) if decision.verdict == mine.verdict => Conflict::Already(decision.clone()),
        Some(decision) => Conflict::Other(decision.clone()),
    }
}

/// The payout that an approval is answered with, at first and ever after: the first one. A retry has an answer of its
/// own.
#[must_use]
pub fn payout_of(id: RefundId, verdict: Verdict) -> Option<PayoutId> {
    match verdict {
        Verdict::Approve => Some(PayoutId::first(id)),
        Verdict::Reject => None,
    }
}
