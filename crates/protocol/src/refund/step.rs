//! What is to be done for a payout copy: the consumer's next step, and the rules of its two helpers, the relay and the
//! dead-letter function.
//!
//! The payout id is the provider's Idempotency-Key for all calls of a payout. The provider remembers it for a while
//! after the first call, so that time is stamped before it, and past the window nobody calls again: a listing may show
//! the payout, else a person has to look. Every call is announced and counted by a conditional write before it, since a
//! refusal is believed only of a payout that was called for once.

use super::{
    Refund,
    id::PayoutId,
    line_of,
    objects::{DOUBLED, besides, doubled, heard},
    payout::{Finding, Payout, State},
    terms::Terms,
    trail::{By, Line, What},
};
use crate::{answer::Reason, expect::Expect, ids::OwnerToken, timing::Timing};
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
    /// Before a successor's first call: an earlier payout may have been taken after all. And before each call of one that
    /// is due for longer than the window: whatever the table says, the provider may have it.
    Before,
    /// The provider has it and has not decided, or the window is over: what became of it?
    Settle,
    /// A call was refused. Another one of this payout may have been taken all the same: one whose answer was lost, or
    /// that another consumer is just making; and a refusal is not always made under the key. Nobody calls again.
    Refused(Reason),
}

/// The next step for a copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// Nothing is left to do: acknowledge.
    Ack(Settled),
    /// Write this, which announces a call, then call under the payout's key.
    Stamp(Box<Refund>, Expect),
    /// Ask for a listing; never call blindly.
    Look(Look),
}

/// Decides from the stored refund. `mine` is fresh for this receive.
#[must_use]
pub fn next(stored: &Refund, copy: PayoutId, mine: OwnerToken, now_ms: u64, timing: &Timing) -> Next {
    let Some(payout) = stored.payout.as_ref() else { return Next::Ack(Settled(())) };
    if let Some(settled) = Settled::of(stored, copy) {
        return Next::Ack(settled);
    }
    if let Some((_, reason)) = payout.refused() {
        return Next::Look(Look::Refused(reason.clone()));
    }
    match payout.first_call_ms {
        _ if payout.state == State::Submitted => Next::Look(Look::Settle),
        Some(first) if !timing.payout_window_open(first, now_ms) => Next::Look(Look::Settle),
        None if payout.number > 1 => Next::Look(Look::Before),
        // One that is due for longer than keys are remembered may have been paid before the table was restored.
        None | Some(_) if !timing.payout_window_open(payout.due_ms, now_ms) => Next::Look(Look::Before),
        None | Some(_) => stamp(stored, payout, copy, mine, now_ms),
    }
}

/// A call is about to be made. The trail tells of the first one: a line for each would push out what matters.
fn stamp(stored: &Refund, payout: &Payout, copy: PayoutId, mine: OwnerToken, now_ms: u64) -> Next {
    let calls = payout.calls.saturating_add(1);
    let first_call_ms = payout.first_call_ms.or(Some(now_ms));
    let stamped = Payout { calls, caller: Some(mine), first_call_ms, reason: None, ..payout.clone() };
    let next = match stored.trail.tells_of_call(payout.number) {
        false => stored.changed(stamped, What::FirstCall, By::Payout, now_ms),
        true => stored.quietly(stamped),
    };
    Next::Stamp(Box::new(next), stored.expect(copy))
}

/// The refund as it was before the call that `mine` announced, of which it is certain that it did nothing (it was not
/// sent, or refused before it was looked at), with the reason, and the condition of its write. `None` if another call was
/// announced too: then nobody knows what the provider has.
///
/// Taking it back keeps for calls that may have been taken what only they need: the window, and a refusal's doubts.
fn withdraw(stored: &Refund, copy: PayoutId, mine: OwnerToken, why: &Reason) -> Option<(Box<Refund>, Expect)> {
    let payout = stored.payout.as_ref().filter(|_| stored.payout_id() == Some(copy))?;
    let only = payout.calls == 1 && payout.caller == Some(mine) && payout.state == State::Due;
    let fresh = Payout { calls: 0, caller: None, first_call_ms: None, reason: Some(why.clone()), ..payout.clone() };
    (only && payout.refused().is_none()).then(|| (Box::new(stored.quietly(fresh)), stored.expect(copy)))
}

/// Whether the stored refund says that this call was announced by whoever wrote `mine`, and that it may be made: its
/// write happened, and only its answer was lost.
#[must_use]
pub fn announced(stored: &Refund, mine: &Refund) -> bool {
    let announced = |payout: &Payout| (payout.number, payout.calls, payout.caller);
    let callable = |payout: &&Payout| payout.state == State::Due && payout.refused().is_none();
    let payout = stored.payout.as_ref().filter(callable);
    payout.is_some_and(|payout| payout.caller.is_some()) && payout.map(announced) == mine.payout.as_ref().map(announced)
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
    /// Keep that a call was refused, for this reason, and look again later.
    Mark(Reason),
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
        Finding::Failed { .. } | Finding::Refused(_) | Finding::Unclear { .. } | Finding::Earlier { .. } => 0,
    }
}

/// Decides from a listing of the payment's refunds. "Not found" never leads to a call of a payout that may have been
/// called for: a listing may lag. `mine` is this receive's, as in [`next`].
#[must_use]
pub fn listed(
    stored: &Refund,
    copy: PayoutId,
    mine: OwnerToken,
    look: &Look,
    list: &[Listed],
    now_ms: u64,
    timing: &Timing,
) -> Found {
    let Some(payout) = stored.payout.as_ref() else { return Found::Wait };
    // Of those that say the same, the one that is stored.
    let best = |listed: &&Listed| (says(listed), listed.finding.reference() == payout.reference.as_deref());
    let earlier =
        |other: &&Listed| other.payout.refund == copy.refund && other.payout != copy && other.finding.is_alive();
    let current = list.iter().filter(|listed| listed.payout == copy).max_by_key(best);
    match (current, list.iter().find(earlier)) {
        // One that failed may be retried, and the payer has the money by the other.
        (Some(Listed { finding: Finding::Failed { .. }, .. }) | None, Some(earlier)) => {
            let object = earlier.finding.reference().map(String::from).unwrap_or_default();
            let failed = current.and_then(|own| own.finding.reference()).map(String::from);
            return Found::Record(Finding::Earlier { payout: earlier.payout.number, object, failed });
        }
        (Some(current), _) => {
            return Found::Record(current.terms.judge(&current.finding, payout.amount, &stored.request.currency));
        }
        (None, None) => {}
    }
    match look {
        Look::Refused(reason) => {
            let detail = format!(
                "a call was refused ({}), but it was not the only one, and another may have been taken; the provider \
                 lists no such payout",
                said(reason)
            );
            after_refusal(payout, reason, unclear("refused_after_other_call", detail), now_ms, timing)
        }
        Look::Before => match stamp(stored, payout, copy, mine, now_ms) {
            Next::Stamp(item, expect) => Found::Stamp(item, expect),
            Next::Ack(_) | Next::Look(_) => Found::Wait,
        },
        Look::Settle if is_busy(payout, now_ms, timing) => Found::Wait,
        Look::Settle => {
            let detail = "the provider lists no such payout, and its key may be forgotten";
            Found::Record(Finding::unclear("not_found", detail))
        }
    }
}

/// Whether somebody who found the window open may still be about to call. What is then found is too early for a person,
/// who would look at the provider too early as well.
fn is_busy(payout: &Payout, now_ms: u64, timing: &Timing) -> bool {
    payout.first_call_ms.is_some_and(|first| !timing.payout_window_settled(first, now_ms))
}

/// A refusal in one line.
fn said(reason: &Reason) -> String {
    format!("{}: {}", reason.code, reason.detail)
}

fn unclear(code: &str, detail: String) -> Finding {
    Finding::Unclear { reference: None, reason: Reason { code: String::from(code), detail } }
}

/// What follows when a call was refused and no listing shows the payout. It is believed if there was no other call
/// ([`super::payout::hear`] judges that again from the item that is written over). Else a person has to look (`otherwise`), once
/// everybody is gone who announced a call before the mark was written: by then whatever they made is there to be seen.
fn after_refusal(payout: &Payout, reason: &Reason, otherwise: Finding, now_ms: u64, timing: &Timing) -> Found {
    match payout.refused() {
        Some((at, _)) if payout.calls > 1 && now_ms < timing.payout_busy_until(at) => Found::Wait,
        Some(_) if payout.calls > 1 => Found::Record(otherwise),
        Some(_) | None => Found::Record(Finding::Refused(reason.clone())),
    }
}

/// Decides from a listing that the provider refuses for good: it says nothing, and asking again will not change that. It
/// is not an empty one: the payout may have been made, unless the only call of it was refused.
#[must_use]
pub fn listing_refused(stored: &Refund, look: &Look, why: &Reason, now_ms: u64, timing: &Timing) -> Found {
    let Some(payout) = stored.payout.as_ref() else { return Found::Wait };
    let detail = format!("the payment's refunds cannot be listed: {}", said(why));
    match look {
        Look::Refused(reason) => {
            let detail = format!("{detail}; a call was refused: {}", said(reason));
            after_refusal(payout, reason, unclear("listing_refused", detail), now_ms, timing)
        }
        Look::Settle if payout.state == State::Due && is_busy(payout, now_ms, timing) => Found::Wait,
        Look::Settle | Look::Before => Found::Record(unclear("listing_refused", detail)),
    }
}

/// Decides from a listing that was not got: it is asked for again, but not for ever. A payout that was submitted waits
/// longer, for the provider's word, which comes by event too.
#[must_use]
pub fn listing_failed(stored: &Refund, look: &Look, now_ms: u64, timing: &Timing) -> Found {
    let Some(payout) = stored.payout.as_ref() else { return Found::Wait };
    let given_up = payout.first_call_ms.is_some_and(|first| timing.payout_listing_given_up(first, now_ms));
    match look {
        Look::Refused(reason) if given_up => {
            let detail =
                format!("the payment's refunds could not be listed for long; a call was refused: {}", said(reason));
            Found::Record(unclear("listing_failed", detail))
        }
        Look::Settle if given_up && payout.state == State::Due => {
            Found::Record(Finding::unclear("listing_failed", "the payment's refunds could not be listed for long"))
        }
        // Without events nobody would ever hear of it.
        Look::Settle
            if payout.state == State::Submitted
                && payout.first_call_ms.is_some_and(|first| timing.payout_uncalled_given_up(first, now_ms)) =>
        {
            let detail =
                "the provider has it and had not decided, and the payment's refunds could not be listed for a week";
            Found::Record(Finding::unclear("listing_failed", detail))
        }
        Look::Refused(reason) if payout.refused().is_none() => Found::Mark(reason.clone()),
        Look::Before if payout.calls == 0 && timing.payout_uncalled_given_up(payout.due_ms, now_ms) => {
            Found::Record(never_called("the payment's refunds could not be listed, and no call was made"))
        }
        Look::Refused(_) | Look::Settle | Look::Before => Found::Wait,
    }
}

/// Decides when the provider cannot be asked at all, since the project's credentials are not to be had: waiting has the same
/// ends as where it does not answer, so that a person hears of it, whatever the last call came to.
#[must_use]
pub fn unprepared(stored: &Refund, copy: PayoutId, mine: OwnerToken, now_ms: u64, timing: &Timing) -> Option<Finding> {
    let due = stored.payout.as_ref().map_or(now_ms, |payout| payout.due_ms);
    match next(stored, copy, mine, now_ms, timing) {
        Next::Look(look) => match listing_failed(stored, &look, now_ms, timing) {
            Found::Record(finding) => Some(finding),
            Found::Mark(_) | Found::Wait | Found::Stamp(..) => None,
        },
        Next::Stamp(..)
            if stored.payout.as_ref().is_some_and(|payout| payout.calls == 0)
                && timing.payout_uncalled_given_up(due, now_ms) =>
        {
            Some(never_called("the project's credentials could not be had for a week, and no call was made"))
        }
        Next::Stamp(..) | Next::Ack(_) => None,
    }
}

/// Nothing could be asked of the provider for longer than anybody should wait: a closed account, an API key that may not
/// refund. No call that may have done anything was made.
fn never_called(detail: &str) -> Finding {
    Finding::unclear("never_called", detail)
}

/// What becomes of an only call that did nothing: it is taken back, or, when that has gone on for too long, a person has
/// to look.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Nothing {
    /// Write this, and ask again later.
    Withdraw(Box<Refund>, Expect),
    /// Record this.
    GiveUp(Finding),
    /// Nothing to write: another call was announced.
    Wait,
}

/// Decides after a call that did nothing.
#[must_use]
pub fn nothing_done(
    stored: &Refund,
    copy: PayoutId,
    mine: OwnerToken,
    why: &Reason,
    now_ms: u64,
    timing: &Timing,
) -> Nothing {
    let Some((item, expect)) = withdraw(stored, copy, mine, why) else { return Nothing::Wait };
    let due = stored.payout.as_ref().map_or(now_ms, |payout| payout.due_ms);
    if timing.payout_uncalled_given_up(due, now_ms) {
        return Nothing::GiveUp(never_called(&format!("no call did anything for a week: {}", said(why))));
    }
    Nothing::Withdraw(item, expect)
}

/// The refund with the mark that a call of it was refused, whatever its count says, and the condition of its write:
/// nobody calls again, and a listing is asked for later. `None` if it has that mark, or the payout is not current or not
/// due.
#[must_use]
pub fn mark(stored: &Refund, copy: PayoutId, reason: &Reason, now_ms: u64) -> Option<(Box<Refund>, Expect)> {
    let payout = stored.payout.as_ref().filter(|_| stored.payout_id() == Some(copy))?;
    let marked = payout.marked(reason, now_ms)?;
    Some((Box::new(stored.changed(marked, What::Refused, By::Payout, now_ms)), stored.expect(copy)))
}

/// The refund that a finding makes of `stored`, with the condition of its write; `None` if it says so already or the
/// payout is not current.
#[must_use]
pub fn record(stored: &Refund, copy: PayoutId, finding: &Finding, now_ms: u64) -> Option<(Box<Refund>, Expect)> {
    let payout = stored.payout.as_ref().filter(|_| stored.payout_id() == Some(copy))?;
    let mut before = stored.clone();
    let line = |about| Line { at_ms: now_ms, what: What::Event, by: By::Payout, about };
    // That it was paid twice is kept whether or not it changes anything.
    let twice = doubled(&stored.trail, payout, finding).map(line);
    let is_twice = twice.is_some();
    twice.into_iter().for_each(|line| before.trail.push(line));
    let next = match heard(&stored.trail, payout, finding, now_ms) {
        Some(heard) => {
            besides(&stored.trail, &heard, finding).into_iter().map(line).for_each(|line| before.trail.push(line));
            let what = line_of(heard.state);
            before.changed(heard, what, By::Payout, now_ms)
        }
        None if is_twice => before.quietly(payout.clone()),
        None => return None,
    };
    Some((Box::new(next), stored.expect(copy)))
}

/// The payout of which a consumer's write says that it was paid twice, by its last lines.
#[must_use]
pub fn tells_of_double(written: &Refund) -> Option<PayoutId> {
    let told = |line: &&Line| line.by == By::Payout && line.about.code.as_deref() == Some(DOUBLED);
    let number = written.trail.0.iter().rev().take(2).find(told)?.about.payout?;
    Some(PayoutId { refund: written.id, number })
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
