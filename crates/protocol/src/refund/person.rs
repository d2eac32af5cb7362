//! A person's ways out: a failed payout gets a successor (retry), one in review gets its end (resolve).
//!
//! Both are repeatable: a repeat finds what the first one made and says the same.

use super::{
    Refund,
    id::PayoutId,
    line_of,
    objects::looked_at,
    payout::{Payout, State},
    trail::{By, Line, What},
};
use crate::{answer::Reason, expect::Expect, timing::Timing};
use alloc::{boxed::Box, string::String};

/// The decision on a retry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Retry {
    /// Write this; the successor is then due.
    Write(Box<Refund>, Expect, PayoutId),
    /// It was retried before: this is the successor.
    Repeated(PayoutId),
    /// Callers of the failed payout may still be at it: not before this time, in ms.
    Busy(u64),
    /// The named payout is the current one, and has not failed.
    NotFailed(State),
    /// The refund has no such payout.
    Unknown,
}

/// Decides whether the failed payout `named` gets a successor.
///
/// Waiting ([`Timing::payout_busy_until`]) is what makes a second payout safe: a consumer that read the payout before
/// it failed may be about to call, and a refusal is not always remembered under the key, so its call could still pay.
#[must_use]
pub fn retry(stored: &Refund, named: PayoutId, actor: &str, now_ms: u64, timing: &Timing) -> Retry {
    let Some(payout) = stored.payout.as_ref().filter(|_| named.refund == stored.id && named.number > 0) else {
        return Retry::Unknown;
    };
    let Some(successor) = named.successor().filter(|_| named.number <= payout.number) else {
        return Retry::Unknown;
    };
    if named.number < payout.number {
        return Retry::Repeated(successor);
    }
    if payout.state != State::Failed {
        return Retry::NotFailed(payout.state);
    }
    let until = timing.payout_busy_until(payout.failed_ms.unwrap_or(now_ms));
    if now_ms < until {
        return Retry::Busy(until);
    }
    let due = Payout::due(successor.number, payout.amount, now_ms);
    let next = stored.changed(due, What::Retried, By::Actor(String::from(actor)), now_ms);
    Retry::Write(Box::new(next), stored.expect(named), successor)
}

/// The code of a payout that a person said was not paid.
pub const NOT_PAID: &str = "resolved_not_paid";

/// What a person saw at the provider.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Seen {
    /// It was paid, under this reference of the provider's.
    Paid {
        /// The provider's id of it.
        reference: String,
    },
    /// It was not paid, and will not be.
    NotPaid {
        /// The provider's id of the object that the person looked at, if named.
        reference: Option<String>,
    },
}

/// The decision on a resolve.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Resolve {
    /// Write this.
    Write(Box<Refund>, Expect),
    /// It says so already.
    Repeated,
    /// The payout is not in review, and says otherwise.
    NotInReview(State),
    /// It is paid, but under another reference of the provider's than the one that the person saw.
    OtherReference,
    /// The object that was named as paid has failed since, by the provider's own word, which is its end.
    ObjectFailed,
    /// Nobody is taken to say "not paid" of this object, which the provider shows, without naming it: another one was named,
    /// or none, though a person has spoken of this payout before, and this may be a late repeat of that word.
    NotNamed(String),
    /// The payout that was named is not the current one, which is this; or none was named, and it is a successor.
    NotCurrent(PayoutId),
    /// The refund has no payout.
    Unknown,
}

/// Decides what a person's word makes of the current payout. A person who says which payout was looked at is not taken
/// to speak of its successor; and one who names none speaks of the first: a late repeat of that word must not end the
/// review of its successor, whom it cannot have meant. Nor must it end a second review of the same payout, which the
/// provider's word began after the person's.
///
/// A payout that is paid by a person's word is open to another word once the provider says that an object failed which the
/// person had not named: the name may have been wrong.
#[must_use]
pub fn resolve(stored: &Refund, named: Option<PayoutId>, seen: &Seen, actor: &str, now_ms: u64) -> Resolve {
    let (Some(payout), Some(id)) = (stored.payout.as_ref(), stored.payout_id()) else { return Resolve::Unknown };
    if named.map_or(payout.number > 1, |named| named != id) {
        return Resolve::NotCurrent(id);
    }
    let shown = looked_at(stored);
    match (payout.state, seen) {
        (State::Paid, Seen::Paid { reference }) if payout.reference.as_ref() == Some(reference) => {
            return Resolve::Repeated;
        }
        (State::Failed, Seen::NotPaid { .. }) => return Resolve::Repeated,
        (State::Review, _) => {}
        // One of which nobody doubts the name shows none.
        (State::Paid, _) if shown.is_some() => {}
        (State::Paid, Seen::Paid { .. }) => return Resolve::OtherReference,
        (other, _) => return Resolve::NotInReview(other),
    }
    match (seen, shown) {
        (Seen::Paid { reference }, _) if stored.trail.last_word(reference).is_some_and(Line::tells_of_failure) => {
            return Resolve::ObjectFailed;
        }
        (Seen::NotPaid { reference: Some(named) }, Some(shown)) if named != shown => {
            return Resolve::NotNamed(String::from(shown));
        }
        (Seen::NotPaid { reference: None }, Some(shown)) if stored.trail.tells_of_person(payout.number) => {
            return Resolve::NotNamed(String::from(shown));
        }
        _ => {}
    }
    let state = match seen {
        Seen::Paid { .. } => State::Paid,
        Seen::NotPaid { .. } => State::Failed,
    };
    let mut next = Payout { state, ..payout.clone() };
    match seen {
        Seen::Paid { reference } => {
            // Events were about another object.
            next.applied = next.applied.filter(|_| next.reference.as_ref() == Some(reference));
            next.reference = Some(reference.clone());
            next.reason = None;
        }
        // Without a reference, so that the provider's own word, should it come after all, is stronger.
        Seen::NotPaid { .. } => {
            next.applied = None;
            next.reference = None;
            next.failed_ms = Some(now_ms);
            next.reason = Some(Reason { code: String::from(NOT_PAID), detail: String::from("by a person") });
        }
    }
    let next = stored.changed(next, line_of(state), By::Actor(String::from(actor)), now_ms);
    Resolve::Write(Box::new(next), stored.expect(id))
}
