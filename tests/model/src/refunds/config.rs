//! The sizes and faults of one search, and the few values that its refund holds.

use super::mutation::Mutation;
use crate::faults::{Budget, Fault};
use protocol::{
    ids::Nonce,
    refund::{
        Refund,
        decide::{Decision, Verdict},
        id::PayoutId,
        request::{RefundRequest, Why},
        trail::Trail,
    },
    timing::Timing,
};

pub(super) const TIMING: Timing = Timing::PRODUCTION;
/// The clock before any window is over; every stamp is stored as this.
pub(super) const NOW: u64 = 1_000_000;
/// What the refund asks for.
pub(super) const AMOUNT: u64 = 4_200;

/// One search.
#[derive(Clone, Debug)]
pub struct Config {
    /// Faults that may happen.
    pub faults: Budget,
    /// Who approves.
    pub approvers: u8,
    /// Who rejects.
    pub rejecters: u8,
    /// Consumers.
    pub consumers: usize,
    /// How often a failed payout is retried.
    pub retries: u8,
    /// The provider decides later: its first answer is `pending`.
    pub later: bool,
    /// The provider sends events, in any order, all of one second.
    pub events: bool,
    /// Calls are counted, for the outcome that is about their number alone.
    pub counts: bool,
    /// The mistake, if any.
    pub mutation: Option<Mutation>,
    /// A mistake that is always made here: what guards against its harm is looked at alone.
    pub also: Option<Mutation>,
}

impl Config {
    /// Two approvers, one rejecter, two consumers, one retry.
    #[must_use]
    pub fn new(faults: &[Fault]) -> Self {
        Self {
            faults: Budget::of(faults),
            approvers: 2,
            rejecters: 1,
            consumers: 2,
            retries: 1,
            later: false,
            events: false,
            counts: false,
            mutation: None,
            also: None,
        }
    }

    /// One approver; the provider decides later: its first answer is `pending`. Nobody retries.
    #[must_use]
    pub fn later(faults: &[Fault]) -> Self {
        Self { later: true, retries: 0, counts: false, ..Self::approved(faults) }
    }

    /// One approver; the provider sends events.
    #[must_use]
    pub fn events(faults: &[Fault]) -> Self {
        Self { events: true, counts: false, ..Self::approved(faults) }
    }

    /// One approver, nobody else: for what happens after the decision.
    #[must_use]
    pub fn approved(faults: &[Fault]) -> Self {
        Self { approvers: 1, rejecters: 0, counts: true, ..Self::new(faults) }
    }
}

/// The refund before any decision. Its words are empty: nothing here depends on them.
pub(super) fn pending() -> Refund {
    let request = RefundRequest {
        order: String::new(),
        payment: String::new(),
        amount: AMOUNT,
        currency: String::new(),
        reason: Why::Other,
        note: None,
    };
    Refund { trail: Trail::default(), ..Refund::new("", "", "", Nonce([0; 5]), request, NOW) }
}

/// The decision of one person.
pub(super) fn decision(who: usize, verdict: Verdict) -> Decision {
    let nonce = Nonce([u8::try_from(who).unwrap_or(u8::MAX); 5]);
    Decision { verdict, by: String::new(), at_ms: NOW, nonce }
}

pub(super) fn payout(of: &Refund, number: u8) -> PayoutId {
    PayoutId { refund: of.id, number: u16::from(number) }
}
