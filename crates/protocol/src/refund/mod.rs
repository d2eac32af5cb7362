//! A refund: one item that holds the request, the decision and the current payout.
//!
//! Written by create, and changed only by conditional writes: the decision (once, while pending), and everything about
//! its payout (by compare-and-set on its version, see [`crate::expect::Expect::Payout`]). Decision and payout are one
//! item, so that approved without a payout, or a payout without approval, cannot be stored.

pub mod actor;
pub mod create;
pub mod decide;
pub mod id;
pub mod objects;
pub mod payout;
pub mod person;
pub mod request;
pub mod step;
pub mod terms;
pub mod trail;
pub mod webhook;

use crate::{expect::Expect, fingerprint::Fingerprint, ids::OwnerToken};
use alloc::{string::String, vec::Vec};
use decide::{Decision, Verdict};
use id::{PayoutId, RefundId};
use payout::{Payout, State};
use request::RefundRequest;
use trail::{About, By, Line, Trail, What};

/// Ids of provider events kept to tell a repeated one. A provider repeats an event within days, and an older one is
/// stopped by its time (see [`webhook`]).
pub const EVENTS_KEPT: usize = 20;

/// Where a refund stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// It waits for its decision.
    Pending,
    /// It was approved; its payout says the rest.
    Approved,
    /// It was rejected. Nothing is ever paid.
    Rejected,
}

impl Status {
    /// The word in answers, queries and the stored item.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
        }
    }

    /// The status of a word, exactly as [`Status::as_str`] writes it.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Pending, Self::Approved, Self::Rejected].into_iter().find(|status| status.as_str() == word)
    }
}

/// A refund.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refund {
    /// Its id.
    pub id: RefundId,
    /// What counts as the same request.
    pub fingerprint: Fingerprint,
    /// Whose it is.
    pub project: String,
    /// The idempotency key, as the caller wrote it. It never expires.
    pub key: String,
    /// When it was created, in ms.
    pub at_ms: u64,
    /// The name of the API key that created it.
    pub created_by: String,
    /// What it asks for. Never changed.
    pub request: RefundRequest,
    /// The decision, once there is one. Never changed.
    pub decision: Option<Decision>,
    /// The current payout: there exactly when the decision is to approve.
    pub payout: Option<Payout>,
    /// Ids of the last provider events that were applied.
    pub events: Vec<String>,
    /// What happened so far.
    pub trail: Trail,
    /// Who wrote this version, if a person or an event changed the payout by it: "was it me?". Two of them in one ms may
    /// make the same item of the same one, and fresh randomness tells them apart.
    pub writer: Option<OwnerToken>,
    /// Counts writes, from 1. Every write after the decision is conditional on it.
    pub version: u32,
}

impl Refund {
    /// Where it stands.
    #[must_use]
    pub fn status(&self) -> Status {
        match self.decision.as_ref().map(|decision| decision.verdict) {
            None => Status::Pending,
            Some(Verdict::Approve) => Status::Approved,
            Some(Verdict::Reject) => Status::Rejected,
        }
    }

    /// The current payout's id, if there is a payout.
    #[must_use]
    pub fn payout_id(&self) -> Option<PayoutId> {
        self.payout.as_ref().map(|payout| PayoutId { refund: self.id, number: payout.number })
    }

    /// The condition of any write that was decided from this item.
    pub(crate) fn expect(&self, payout: PayoutId) -> Expect {
        Expect::Payout { payout, version: self.version }
    }

    /// This refund with its payout changed, and no line about it.
    pub(crate) fn quietly(&self, payout: Payout) -> Self {
        Self { payout: Some(payout), writer: None, version: self.version.saturating_add(1), ..self.clone() }
    }

    /// This refund with its payout changed, and a line about it.
    pub(crate) fn changed(&self, payout: Payout, what: What, by: By, now_ms: u64) -> Self {
        let about = About::payout(&payout, what);
        let mut next = self.quietly(payout);
        next.trail.push(Line { at_ms: now_ms, what, by, about });
        next
    }
}

/// The line that tells of a payout's state.
pub(crate) fn line_of(state: State) -> What {
    match state {
        // What is heard of a payout that stays due is a refusal.
        State::Due => What::Refused,
        State::Submitted => What::Submitted,
        State::Paid => What::Paid,
        State::Failed => What::Failed,
        State::Review => What::Review,
    }
}
