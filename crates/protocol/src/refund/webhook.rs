//! An event of the payment provider, applied to the payout that it names.
//!
//! Events arrive late, twice, and in any order, and their times have only seconds. Three things keep one from moving a
//! payout back: its id is kept, its time and rank must be higher than those of the last one applied about its object, and
//! [`super::payout::hear`] knows no way back, nor lets one object's failure undo what another one paid. The event is taken
//! by the same conditional write that applies it.

use super::{
    EVENTS_KEPT, Refund,
    id::PayoutId,
    line_of,
    objects::{DOUBLED, FAILED, OTHER_FAILED, besides, doubles, heard, is_another},
    payout::{EARLIER_FOUND, Finding, Payout, State, earlier_failed, earlier_found},
    terms::Terms,
    trail::{About, By, Line, What},
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
            Finding::Refused(_) | Finding::Unclear { .. } | Finding::Earlier { .. } => 0,
        };
        Order { created_s: self.created_s, rank }
    }
}

/// Why an event has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ignored {
    /// It was applied before.
    Repeated,
    /// It was applied before, and is an alarm ([`Apply::GivenUp`]): whoever applied it may not have come to say so.
    RepeatedGivenUp,
    /// Likewise, of [`Apply::Doubled`].
    RepeatedDoubled,
    /// One that comes after it was applied before.
    OutOfOrder,
    /// The refund has no such payout now. If it says that the provider paid one all the same, that is an alarm.
    NotCurrent,
}

/// The decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Apply {
    /// Write this: the payout is what the event says.
    Write(Box<Refund>, Expect),
    /// Write this: a payout that was given up was paid, or may be. It is an alarm.
    GivenUp(Box<Refund>, Expect),
    /// Write this: the payout was paid by another object too, or the object that failed may be the one that a person meant.
    /// It is an alarm.
    Doubled(Box<Refund>, Expect),
    /// Answer 200, and nothing else.
    Ignore(Ignored),
}

/// Decides from the stored refund.
///
/// An event is about the current payout if it names it, or if it is about the very object that is stored as the one that
/// pays: a person may have ended a review with the object of an earlier payout, and the provider may take that back too.
///
/// One that says that an earlier payout was paid, or may be, is kept in the trail whatever the current one is. If that is
/// still due, nobody calls for it any more, and if it failed, nobody retries it: either would be a second payment, so a
/// person looks first. That an object of an earlier payout failed is kept too, once, and an event from before that comes
/// late.
#[must_use]
pub fn apply(stored: &Refund, event: &Event, now_ms: u64) -> Apply {
    if stored.events.contains(&event.id) {
        return Apply::Ignore(repeated(stored, event));
    }
    let (Some(payout), Some(current)) = (stored.payout.as_ref(), stored.payout_id()) else {
        return Apply::Ignore(Ignored::NotCurrent);
    };
    let its_object = payout.reference.is_some() && payout.reference.as_deref() == event.finding.reference();
    if event.payout != current && !(event.payout.refund == stored.id && its_object) {
        let earlier = event.payout.refund == stored.id && (1..payout.number).contains(&event.payout.number);
        return if earlier { of_earlier(stored, payout, event, now_ms) } else { Apply::Ignore(Ignored::NotCurrent) };
    }
    // Events have an order among those about one object, and failed is the end of each, also where a person's word has
    // put the object aside.
    let (order, another) = (event.order(), is_another(payout, &event.finding));
    let ended = known(event, |object| stored.trail.tells_that_failed(object));
    let ordered = !another && payout.applied.is_some_and(|last| order <= last);
    if ordered || (ended && event.finding.is_alive()) {
        return Apply::Ignore(Ignored::OutOfOrder);
    }
    let doubled = doubles(payout, &event.finding) && !known(event, |object| stored.trail.tells_that_doubled(object));
    let failed = matches!(event.finding, Finding::Failed { .. });
    let unnamed = another
        && failed
        && !ended
        && payout.state == State::Paid
        && stored.trail.tells_that_person_paid(payout.number);
    let finding = event.terms.judge(&event.finding, payout.amount, &stored.request.currency);
    let by = By::Event(event.id.clone());
    let mut next = match heard(&stored.trail, payout, &finding, now_ms) {
        Some(heard) => {
            let before = match (doubled, besides(&stored.trail, &heard, &finding).is_empty()) {
                (true, _) => told(stored, event, DOUBLED, by.clone(), now_ms),
                (false, false) => told(stored, event, FAILED, by.clone(), now_ms),
                (false, true) => stored.clone(),
            };
            let what = line_of(heard.state);
            let mut next = before.changed(Payout { applied: Some(order), ..heard }, what, by, now_ms);
            if let Some(line) = next.trail.0.last_mut() {
                line.about.created_s = Some(event.created_s);
            }
            // One write, whatever its lines.
            Refund { version: stored.version.saturating_add(1), ..next }
        }
        None => {
            let code = match (doubled, unnamed) {
                (true, _) => DOUBLED,
                (false, true) => OTHER_FAILED,
                (false, false) => word(&event.finding),
            };
            let mut next = told(stored, event, code, by, now_ms);
            if let Some(payout) = next.payout.as_mut().filter(|_| !another) {
                payout.applied = Some(order);
            }
            next
        }
    };
    keep(&mut next, event);
    let (next, expect) = (Box::new(next), stored.expect(current));
    if doubled || unnamed { Apply::Doubled(next, expect) } else { Apply::Write(next, expect) }
}

/// Decides about an event of an earlier payout, whose object's last word is in the trail. Where nobody knows which came
/// first, since a listing told of the failure, what is said to be paid is believed.
fn of_earlier(stored: &Refund, payout: &Payout, event: &Event, now_ms: u64) -> Apply {
    let expect = stored.expect(PayoutId { refund: stored.id, number: payout.number });
    let last = event.finding.reference().and_then(|object| stored.trail.last_word(object));
    let made_s = last.and_then(|line| line.about.created_s);
    let failed = last.is_some_and(Line::tells_of_failure);
    match event.finding {
        _ if !failed && made_s > Some(event.created_s) => Apply::Ignore(Ignored::OutOfOrder),
        // Within one second, failed comes last.
        Finding::Pending { .. } | Finding::Succeeded { .. } if failed && made_s >= Some(event.created_s) => {
            Apply::Ignore(Ignored::OutOfOrder)
        }
        Finding::Pending { .. } | Finding::Succeeded { .. } => {
            Apply::GivenUp(Box::new(given_up(stored, payout, event, now_ms)), expect)
        }
        // And when, where only a listing told of it.
        Finding::Failed { .. } if !failed || made_s.is_none() => {
            let mut next = told(stored, event, FAILED, By::Event(event.id.clone()), now_ms);
            keep(&mut next, event);
            // Whoever looks at the review is not sent to an object that is none any more.
            if payout.state == State::Review && payout.reason.as_ref().is_some_and(|why| why.code == EARLIER_FOUND) {
                let failed = event.finding.reference().unwrap_or_default();
                let alive = next.trail.earlier_alive(payout.number, None);
                let reason = alive.map_or_else(|| earlier_failed(failed), earlier_found);
                next.payout = next.payout.map(|payout| Payout { reason: Some(reason), ..payout });
            }
            Apply::Write(Box::new(next), expect)
        }
        Finding::Failed { .. } | Finding::Refused(_) | Finding::Unclear { .. } | Finding::Earlier { .. } => {
            Apply::Ignore(Ignored::NotCurrent)
        }
    }
}

/// What a repeat of an applied event is, by the line that it left.
fn repeated(stored: &Refund, event: &Event) -> Ignored {
    let mut lines = stored.trail.0.iter().filter(|line| line.alarms());
    let line = lines.find(|line| matches!(&line.by, By::Event(id) if *id == event.id));
    match line.and_then(|line| line.about.code.as_deref()) {
        None => Ignored::Repeated,
        Some(EARLIER_FOUND) => Ignored::RepeatedGivenUp,
        Some(_) => Ignored::RepeatedDoubled,
    }
}

fn known(event: &Event, what: impl FnOnce(&str) -> bool) -> bool {
    event.finding.reference().is_some_and(what)
}

/// What an event says, in one word.
fn word(finding: &Finding) -> &'static str {
    match finding {
        Finding::Pending { .. } => "pending",
        Finding::Succeeded { .. } => "succeeded",
        Finding::Failed { .. } | Finding::Refused(_) => FAILED,
        Finding::Unclear { .. } | Finding::Earlier { .. } => "unclear",
    }
}

/// The refund with a line about an event that changes no state.
fn told(stored: &Refund, event: &Event, code: &str, by: By, now_ms: u64) -> Refund {
    let about = About {
        payout: Some(event.payout.number),
        reference: event.finding.reference().map(String::from),
        code: Some(String::from(code)),
        created_s: Some(event.created_s),
    };
    let mut next = stored.clone();
    next.version = next.version.saturating_add(1);
    next.trail.push(Line { at_ms: now_ms, what: What::Event, by, about });
    next
}

/// Keeps the event's id, so that a repeat is known.
fn keep(next: &mut Refund, event: &Event) {
    next.events.push(event.id.clone());
    while next.events.len() > EVENTS_KEPT {
        next.events.remove(0);
    }
}

/// The refund with a line about an earlier payout that the provider has after all, and its current one in review if
/// somebody might still call for it or retry it.
fn given_up(stored: &Refund, payout: &Payout, event: &Event, now_ms: u64) -> Refund {
    let by = By::Event(event.id.clone());
    let mut next = told(stored, event, EARLIER_FOUND, by.clone(), now_ms);
    keep(&mut next, event);
    if !matches!(payout.state, State::Due | State::Failed) {
        return next;
    }
    let review = payout.clone().in_review(earlier_found(event.finding.reference().unwrap_or_default()));
    // One write, two lines.
    Refund { version: next.version, ..next.changed(review, What::Review, by, now_ms) }
}
