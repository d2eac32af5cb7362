//! An event of the payment provider, applied to the payout that it names.
//!
//! Events arrive late, twice, and in any order, and their times have only seconds. Three things keep one from moving a
//! payout back: its id is kept, its time and rank must be higher than those of the last one applied, and
//! [`super::payout::hear`] knows no way back. The event is taken by the same conditional write that applies it.

use super::{
    EVENTS_KEPT, Refund,
    id::PayoutId,
    line_of,
    payout::{Finding, hear},
    terms::Terms,
    trail::{By, What},
};
use crate::expect::Expect;
use alloc::{boxed::Box, string::String};

/// Where an event stands among others about the same payout: by time, and within one second by rank (pending <
/// succeeded < failed).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Order {
    /// When the provider made the event, in whole seconds.
    pub created_s: u64,
    /// 1 pending, 2 succeeded, 3 failed.
    pub rank: u8,
}

/// A verified event about a payout of ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// The provider's id of the event.
    pub id: String,
    /// When the provider made it, in whole seconds.
    pub created_s: u64,
    /// Which payout it is about, by our metadata.
    pub payout: PayoutId,
    /// What it says.
    pub finding: Finding,
    /// What its object pays.
    pub terms: Terms,
}

impl Event {
    /// Its place among others.
    #[must_use]
    pub fn order(&self) -> Order {
        let rank = match self.finding {
            Finding::Pending { .. } => 1,
            Finding::Succeeded { .. } => 2,
            Finding::Failed { .. } => 3,
            // An event is about an object that exists; adapters make none of these from one.
            Finding::Refused(_) | Finding::Unclear { .. } => 0,
        };
        Order { created_s: self.created_s, rank }
    }
}

/// Why an event has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ignored {
    /// It was applied before.
    Repeated,
    /// One that comes after it was applied before.
    OutOfOrder,
    /// The refund has no such payout now. If it says that the provider paid one that was given up, that is an alarm.
    NotCurrent,
}

/// The decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Apply {
    /// Write this.
    Write(Box<Refund>, Expect),
    /// Answer 200, and nothing else.
    Ignore(Ignored),
}

/// Decides from the stored refund.
///
/// An event is about the current payout if it names it, or if it is about the very object that is stored as the one that
/// pays: a person may have ended a review with the object of an earlier payout, and the provider may take that back too.
#[must_use]
pub fn apply(stored: &Refund, event: &Event, now_ms: u64) -> Apply {
    if stored.events.contains(&event.id) {
        return Apply::Ignore(Ignored::Repeated);
    }
    let (Some(payout), Some(current)) = (stored.payout.as_ref(), stored.payout_id()) else {
        return Apply::Ignore(Ignored::NotCurrent);
    };
    let its_object = payout.reference.is_some() && payout.reference.as_deref() == event.finding.reference();
    if event.payout != current && !(event.payout.refund == stored.id && its_object) {
        return Apply::Ignore(Ignored::NotCurrent);
    }
    let order = event.order();
    if payout.applied.is_some_and(|last| order <= last) {
        return Apply::Ignore(Ignored::OutOfOrder);
    }
    let finding = event.terms.judge(&event.finding, payout.amount, &stored.request.currency);
    let heard = hear(payout, &finding, now_ms);
    let what = heard.as_ref().map_or(What::Event, |heard| line_of(heard.state));
    let mut payout = heard.unwrap_or_else(|| payout.clone());
    payout.applied = Some(order);
    let mut next = stored.changed(payout, what, By::Event(event.id.clone()), now_ms);
    next.events.push(event.id.clone());
    while next.events.len() > EVENTS_KEPT {
        next.events.remove(0);
    }
    Apply::Write(Box::new(next), stored.expect(current))
}
