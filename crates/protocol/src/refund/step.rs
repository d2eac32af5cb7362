//! What is to be done for a payout copy: the consumer's next step, and the rules of its two helpers, the relay and the
//! dead-letter function.
//!
//! The payout id is the provider's Idempotency-Key for all calls of a payout. The provider remembers it for a while
//! after the first call, so that time is stamped before it, and past the window nobody calls again: a listing may show
//! the payout, else a person has to look.

use super::{
    Refund,
    id::PayoutId,
    line_of,
    payout::{Finding, Payout, State, hear},
    terms::Terms,
    trail::{By, What},
};
use crate::{answer::Reason, expect::Expect, timing::Timing};
use alloc::{boxed::Box, format, string::String};

/// Proof that a payout copy is not needed: made only from a refund whose current payout is another, or is neither due
/// nor submitted. The only thing for which a payout copy may be acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settled(());

impl Settled {
    /// The proof, if there is one.
    #[must_use]
    pub fn of(stored: &Refund, copy: PayoutId) -> Option<Self> {
        let open = stored.payout.as_ref().is_some_and(|payout| payout.state.is_open());
        (stored.payout_id() != Some(copy) || !open).then_some(Self(()))
    }
}

/// Why the provider's listing is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Look {
    /// Before a successor's first call: an earlier payout may have been taken after all.
    Before,
    /// The provider has it and has not decided, or the window is over: what became of it?
    Settle,
    /// A call was refused. Another one of this payout may have been taken all the same: one whose answer was lost, or
    /// that another consumer is just making; and a refusal is not always made under the key.
    Refused(Reason),
}

/// The next step for a copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// Nothing is left to do: acknowledge.
    Ack(Settled),
    /// Write this, then call: nobody has called before.
    Stamp(Box<Refund>, Expect),
    /// Call under the payout's key: somebody may have called before.
    Call,
    /// Ask for a listing; never call blindly.
    Look(Look),
}

/// Decides from the stored refund.
#[must_use]
pub fn next(stored: &Refund, copy: PayoutId, now_ms: u64, timing: &Timing) -> Next {
    let Some(payout) = stored.payout.as_ref() else { return Next::Ack(Settled(())) };
    if let Some(settled) = Settled::of(stored, copy) {
        return Next::Ack(settled);
    }
    match payout.first_call_ms {
        _ if payout.state == State::Submitted => Next::Look(Look::Settle),
        None if payout.number > 1 => Next::Look(Look::Before),
        None => stamp(stored, payout, copy, now_ms),
        Some(first) if timing.payout_window_open(first, now_ms) => Next::Call,
        Some(_) => Next::Look(Look::Settle),
    }
}

/// The first call is about to be made.
fn stamp(stored: &Refund, payout: &Payout, copy: PayoutId, now_ms: u64) -> Next {
    let stamped = Payout { first_call_ms: Some(now_ms), ..payout.clone() };
    let next = stored.changed(stamped, What::FirstCall, By::Payout, now_ms);
    Next::Stamp(Box::new(next), stored.expect(copy))
}

/// One payout of this refund that the provider lists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Listed {
    /// Which, by our metadata.
    pub payout: PayoutId,
    /// What the listing says of it.
    pub finding: Finding,
    /// What its object pays.
    pub terms: Terms,
}

/// What follows from a listing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Found {
    /// Record this.
    Record(Finding),
    /// It changes nothing yet: look again later.
    Wait,
    /// No payout of this refund was taken: stamp, then call.
    Stamp(Box<Refund>, Expect),
}

/// How much an object says that money was given back. Of two objects of one payout, which is an alarm anyway, the one
/// that paid must count: a payout that is called failed invites another payment.
fn says(listed: &&Listed) -> u8 {
    match listed.finding {
        Finding::Succeeded { .. } => 2,
        Finding::Pending { .. } => 1,
        Finding::Failed { .. } | Finding::Refused(_) | Finding::Unclear { .. } => 0,
    }
}

/// Decides from a listing of the payment's refunds. "Not found" never leads to a call of a payout that may have been
/// called for: a listing may lag.
#[must_use]
pub fn listed(stored: &Refund, copy: PayoutId, look: &Look, list: &[Listed], now_ms: u64, timing: &Timing) -> Found {
    let Some(payout) = stored.payout.as_ref() else { return Found::Wait };
    if let Some(current) = list.iter().filter(|listed| listed.payout == copy).max_by_key(says) {
        return Found::Record(current.terms.judge(&current.finding, payout.amount, &stored.request.currency));
    }
    if list.iter().any(|other| other.payout.refund == copy.refund && other.finding.is_alive()) {
        return Found::Record(Finding::unclear(
            "earlier_payout_found",
            "the provider has an earlier payout of this refund, which did not fail",
        ));
    }
    match look {
        Look::Refused(reason) => Found::Record(Finding::Refused(reason.clone())),
        Look::Before => match stamp(stored, payout, copy, now_ms) {
            Next::Stamp(item, expect) => Found::Stamp(item, expect),
            Next::Ack(_) | Next::Call | Next::Look(_) => Found::Wait,
        },
        Look::Settle => match payout.first_call_ms {
            // Whoever found the window open may still be about to call.
            Some(first) if !timing.payout_window_settled(first, now_ms) => Found::Wait,
            _ => {
                let detail = "the provider lists no such payout, and its key may be forgotten";
                Found::Record(Finding::unclear("not_found", detail))
            }
        },
    }
}

/// What a listing that the provider refuses for good says: nothing, and asking again will not change that. It is not
/// an empty one: the payout may have been made.
#[must_use]
pub fn listing_refused(reason: &Reason) -> Finding {
    let detail = format!("the payment's refunds cannot be listed: {}: {}", reason.code, reason.detail);
    Finding::Unclear { reference: None, reason: Reason { code: String::from("listing_refused"), detail } }
}

/// The refund that a finding makes of `stored`, with the condition of its write; `None` if it says so already or the
/// payout is not current.
#[must_use]
pub fn record(stored: &Refund, copy: PayoutId, finding: &Finding, now_ms: u64) -> Option<(Box<Refund>, Expect)> {
    let payout = stored.payout.as_ref().filter(|_| stored.payout_id() == Some(copy))?;
    let heard = hear(payout, finding, now_ms)?;
    let what = line_of(heard.state);
    Some((Box::new(stored.changed(heard, what, By::Payout, now_ms)), stored.expect(copy)))
}

/// Whether a change of a refund, as the stream shows it, may need a copy: its payout is due, and it is another than
/// before.
#[must_use]
pub fn needs_relay(new: &Refund, old: Option<&Refund>) -> Option<PayoutId> {
    let payout = new.payout_id().filter(|id| old.and_then(Refund::payout_id) != Some(*id))?;
    wants_copy(Some(new), payout).then_some(payout)
}

/// Whether the relay enqueues a copy of this payout, by the item as it is now. Once a first call is stamped a consumer
/// has had a copy, and it keeps it until the payout is settled.
#[must_use]
pub fn wants_copy(stored: Option<&Refund>, payout: PayoutId) -> bool {
    stored.is_some_and(|stored| {
        stored.payout_id() == Some(payout)
            && stored.payout.as_ref().is_some_and(|p| p.state == State::Due && p.first_call_ms.is_none())
    })
}

/// What becomes of a payout copy that SQS gave up on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dead {
    /// Send it again, then delete it: a receive is not an attempt.
    Redrive,
    /// Delete it.
    Delete(Settled),
}

/// Decides from the stored refund.
#[must_use]
pub fn dead(stored: &Refund, copy: PayoutId) -> Dead {
    Settled::of(stored, copy).map_or(Dead::Redrive, Dead::Delete)
}
