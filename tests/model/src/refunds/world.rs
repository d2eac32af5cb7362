//! The world: the refund, the stream, the queues, who is running, the provider, and what is true whatever is stored.
//!
//! Time is abstract: the window of the current payout's key is open or over, and a failed payout's waiting time has
//! passed or not. Stored times are made equal, so that equal worlds are equal whenever they happen.

use super::{
    Refunds,
    config::{NOW, TIMING},
    provider::Provider,
};
use crate::{faults::Budget, shared::Shared};
use protocol::{
    expect::{Expect, Seen},
    ids::OwnerToken,
    machine::{
        decide_refund::{self, DecideRefund},
        payout::{Effect, Payout, Purpose},
    },
    refund::{
        Refund,
        payout::{Payout as Stored, State},
        person::NOT_PAID,
        step::needs_relay,
        trail::{About, By, Line, Trail, What},
    },
};

/// The version of a refund that nobody has read.
const VERSION: u32 = 1;
/// Calls of a payout that were more than one.
const MANY: u32 = 2;

/// Where the window of a payout's key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Window {
    /// A call is safe, or nobody has called.
    Open,
    /// Nobody starts a call.
    Over,
    /// Nobody is still making one.
    Settled,
}

/// One person's decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Desk {
    /// At this effect.
    Asking(Shared<DecideRefund>, Shared<decide_refund::Effect>),
    /// Answered.
    Answered(Shared<decide_refund::Verdict>),
    /// Dead, or its write held in the network.
    Gone,
}

/// A consumer with a copy in hand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// Whose calls it announces.
    pub token: OwnerToken,
    /// The payout of its copy.
    pub number: u8,
    /// Its machine.
    pub machine: Shared<Payout>,
    /// What it asked for.
    pub pending: Shared<Effect>,
    /// It began before the window was over.
    pub early: bool,
    /// A listing told it that the provider does not have its payout: by mistake, or before it had.
    pub cleared: bool,
}

/// What the network holds after its client gave up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Held {
    /// A call of this payout.
    Call(u8),
    /// A decision's write.
    Decide(Shared<decide_refund::Effect>),
    /// A consumer's write.
    Write(HeldWrite),
}

/// A consumer's write, under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeldWrite {
    /// Why.
    pub purpose: Purpose,
    /// The refund.
    pub item: Shared<Refund>,
    /// Its condition.
    pub expect: Expect,
    /// As of its sender's run.
    pub cleared: bool,
}

impl HeldWrite {
    /// Whoever announced a call by it has given up, so that nobody asks who that was, nor how many more than one.
    pub(super) fn new(purpose: Purpose, item: &Refund, expect: Expect, cleared: bool) -> Self {
        let mut item = timeless(item.clone());
        if let Some(payout) = item.payout.as_mut() {
            (payout.caller, payout.calls) = (None, payout.calls.min(MANY));
        }
        Self { purpose, item: Shared::new(item), expect, cleared }
    }
}

/// Rules that were broken on the way here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Broken {
    /// A decision changed.
    pub decision: bool,
    /// A payout went back.
    pub went_back: bool,
    /// A payout was recorded as failed while the provider had it.
    pub lied: bool,
    /// A machine waited for nothing, or a write did not make the next version.
    pub machine: bool,
}

/// What was met on the way here, for "sometimes" alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Met {
    /// Calls of one payout, counted to 3.
    pub calls: u8,
    /// A failed payout turned out to be paid, and no person had said that it was not: what a person saw may be followed by
    /// the event of a success that was taken back, until that of its end comes.
    pub corrected: bool,
    /// A success was taken back.
    pub taken_back: bool,
}

/// A state of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// Faults that may still happen.
    pub budget: Budget,
    /// Who decides.
    pub desks: Vec<Desk>,
    /// The refund.
    pub item: Shared<Refund>,
    /// Payouts that became due and that the relay's checkpoint has not passed.
    pub stream: Vec<u8>,
    /// The payouts queue: numbers, sorted.
    pub queue: Vec<u8>,
    /// Its dead letters.
    pub dead: Vec<u8>,
    /// Consumers.
    pub runs: Vec<Run>,
    /// What the network holds.
    pub network: Vec<Held>,
    /// The provider.
    pub provider: Provider,
    /// Where the window of the current payout's key is.
    pub window: Window,
    /// The waiting time of the current, failed payout has passed.
    pub waited: bool,
    /// Retries that may still be asked for.
    pub retries: u8,
    /// The provider has an object that no answer told of.
    pub unheard: bool,
    /// Broken rules.
    pub broken: Broken,
    /// What was met.
    pub met: Met,
}

/// What a condition sees of the refund.
pub(super) fn seen(item: &Refund) -> Seen {
    Seen { version: Some(item.version), status: Some(item.status()), payout: item.payout_id(), ..Seen::default() }
}

/// The number of an item's current payout; 0 without one.
pub(super) fn number(item: &Refund) -> u8 {
    item.payout.as_ref().map_or(0, |payout| u8::try_from(payout.number).unwrap_or(u8::MAX))
}

pub(super) fn state(item: &Refund) -> Option<State> {
    item.payout.as_ref().map(|payout| payout.state)
}

/// When a payout was refused, as it is stored: its callers may be at it, whatever the window's clock says.
const REFUSED: u64 = NOW + 3 * TIMING.payout_window;
/// The same, and they are gone.
const CALLERS_GONE: u64 = 0;

/// The lines of a trail on which a decision rests, by object, each where it was written last: which objects paid and whether
/// a person said so, which failed, and what was found of an earlier payout's. A payout has one object here, so nothing that
/// is checked rests on the order of lines about two, nor on how often one came.
fn what_steers(trail: &Trail) -> Trail {
    let mut kept: Vec<Line> = Vec::new();
    for line in &trail.0 {
        let (paid, event) = (line.what == What::Paid, line.what == What::Event);
        let steers = paid || line.what == What::Failed || (event && !line.is_idle());
        if !steers || line.about.reference.is_none() {
            continue;
        }
        let by = match line.by {
            By::Actor(_) if paid => By::Actor(String::new()),
            By::Actor(_) | By::Payout | By::Event(_) => By::Payout,
        };
        let about = About {
            code: line.about.code.clone().filter(|_| event),
            created_s: line.about.created_s.filter(|_| !paid),
            ..line.about.clone()
        };
        let line = Line { at_ms: NOW, what: line.what, by, about };
        kept.retain(|other| *other != line);
        kept.push(line);
    }
    kept.sort_by(|one, other| one.about.reference.cmp(&other.about.reference));
    Trail(kept)
}

/// The same refund with its times made equal, and its trail without what nothing rests on.
fn timeless(item: Refund) -> Refund {
    let mut item = Refund { trail: what_steers(&item.trail), writer: None, ..item };
    // Only whether an id is there is ever asked.
    item.events.sort_unstable();
    if let Some(payout) = &mut item.payout {
        payout.due_ms = NOW;
        payout.first_call_ms = payout.first_call_ms.map(|_| NOW);
        payout.failed_ms = payout.failed_ms.map(|_| if payout.refused().is_some() { REFUSED } else { NOW });
    }
    item
}

/// Whether a payout may go from one state to another, whoever says so.
fn may_follow(before: State, after: &Stored) -> bool {
    let state = after.state;
    match before {
        State::Due => true,
        State::Submitted => state != State::Due,
        // A success that was taken back; in review while an earlier payout may have been paid.
        State::Paid => {
            matches!(state, State::Paid | State::Failed) || (state == State::Review && after.failed_ms.is_some())
        }
        State::Review => !state.is_open(),
        // Paid or review: the provider has it after all.
        State::Failed => !state.is_open(),
    }
}

impl World {
    /// Makes worlds one that nobody in them can tell apart: the number of a version that nobody holds, the ids of events
    /// that will not come again, the calls, the window and the keys of a payout that is at an end, and what
    /// [`World::forget_callers`] forgets.
    pub(super) fn forget(&mut self) {
        self.forget_callers();
        let free = self.runs.is_empty() && !self.network.iter().any(|held| matches!(held, Held::Write(_)));
        let version = if free { VERSION } else { self.item.version };
        let comes = |id: &String| self.provider.events.iter().any(|event| event.id() == *id);
        if version != self.item.version || !self.item.events.iter().all(comes) {
            let mut item = self.item.take();
            item.version = version;
            item.events.retain(comes);
            self.item = Shared::new(item);
        }
        if !state(&self.item).is_some_and(State::is_open) {
            self.met.calls = 0;
            // Whoever reads it now asks for nothing, and a successor has a window and a key of its own.
            if self.item.payout.is_some() && self.runs.is_empty() && self.network.is_empty() {
                (self.window, self.provider.keys) = (Window::Open, [None; 2]);
            }
        }
    }

    /// ry15.
    pub(super) fn forget_failures(&mut self) {
        let mut item = self.item.take();
        item.trail.0.retain(|line| matches!(line.what, What::Paid) || line.alarms());
        self.item = Shared::new(item);
    }

    pub(super) fn enqueue(&mut self, number: u8) {
        self.queue.push(number);
        self.queue.sort_unstable();
    }

    /// A token that no run has, and that the stored call was not announced by.
    pub(super) fn fresh_token(&self) -> OwnerToken {
        let caller = self.item.payout.as_ref().and_then(|payout| payout.caller);
        let used = |token: &OwnerToken| caller == Some(*token) || self.runs.iter().any(|run| run.token == *token);
        (0..u8::MAX)
            .map(|number| OwnerToken([number; 16]))
            .find(|token| !used(token))
            .unwrap_or(OwnerToken([u8::MAX; 16]))
    }

    /// Forgets what nobody asks but whoever is about to announce a call: who announced one, unless that run is over, and
    /// how many more than one were announced.
    fn forget_callers(&mut self) {
        let Some(payout) = self.item.payout.as_ref() else { return };
        let stamps = |run: &Run| matches!(&*run.pending, Effect::Write { purpose: Purpose::Stamp, .. });
        let announced = self.runs.iter().any(stamps);
        let running = |token: &OwnerToken| announced && self.runs.iter().any(|run| run.token == *token);
        let caller = payout.caller.filter(running);
        let calls = if announced { payout.calls } else { payout.calls.min(MANY) };
        if (caller, calls) != (payout.caller, payout.calls) {
            let mut item = self.item.take();
            if let Some(payout) = item.payout.as_mut() {
                (payout.caller, payout.calls) = (caller, calls);
            }
            self.item = Shared::new(item);
        }
    }

    /// Nobody calls any more for a payout that was refused or failed.
    pub(super) fn callers_gone(&mut self) {
        if !self.refused_and_busy() {
            self.waited = true;
            return;
        }
        let mut item = self.item.take();
        if let Some(payout) = item.payout.as_mut() {
            payout.failed_ms = Some(CALLERS_GONE);
        }
        self.item = Shared::new(item);
    }

    /// The callers of a payout that was refused may still be at it.
    pub(super) fn refused_and_busy(&self) -> bool {
        let Some(payout) = self.item.payout.as_ref() else { return false };
        payout.refused().is_some_and(|(at, _)| at != CALLERS_GONE)
    }

    /// The clock that a consumer is told.
    pub(super) fn now(&self) -> u64 {
        match self.window {
            Window::Open => NOW,
            Window::Over => NOW + TIMING.payout_window,
            Window::Settled => TIMING.payout_busy_until(NOW + TIMING.payout_window),
        }
    }

    /// The clock that a person's retry is told.
    pub(super) fn later(&self) -> u64 {
        if self.waited { TIMING.payout_busy_until(NOW) } else { NOW }
    }

    /// Writes the refund if the condition holds; the stored item if it does not.
    pub(super) fn write(&mut self, item: &Refund, expect: Option<Expect>) -> bool {
        if expect.is_some_and(|expect| !expect.holds(Some(&seen(&self.item)))) {
            return false;
        }
        let before = self.item.clone();
        let next = timeless(item.clone());
        self.broken.decision |= before.decision.is_some() && before.decision != next.decision;
        self.broken.machine |= expect.is_some() && next.version != before.version + 1;
        let (was, is) = (number(&before), number(&next));
        if was == is {
            let called = |item: &Refund| item.payout.as_ref().is_some_and(|payout| payout.first_call_ms.is_some());
            if called(&before) && !called(&next) {
                // The only call did nothing and is taken back: the next one is the first, and begins the window.
                self.window = Window::Open;
            }
            if let (Some(was), Some(after)) = (state(&before), next.payout.as_ref()) {
                let is = after.state;
                self.broken.went_back |= !may_follow(was, after);
                let by_person = before.payout.as_ref().and_then(|payout| payout.reason.as_ref());
                let by_person = by_person.is_some_and(|reason| reason.code == NOT_PAID);
                self.met.corrected |= was == State::Failed && is == State::Paid && !by_person;
            }
        } else {
            self.broken.went_back |= is < was;
            (self.window, self.waited) = (Window::Open, false);
            self.met.calls = 0;
        }
        // The stream's filter is protocol's own rule.
        self.stream.extend(needs_relay(&next, Some(&before)).map(|_| is));
        if state(&next) != Some(State::Failed) {
            self.waited = false;
        }
        self.item = Shared::new(next);
        true
    }
}

impl Refunds {
    pub(super) fn start(&self) -> World {
        let item = super::config::pending();
        let people = self.config.approvers + self.config.rejecters;
        World {
            budget: self.config.faults,
            desks: (0..usize::from(people)).map(|who| self.sits_down(&item, who)).collect(),
            item: Shared::new(item),
            stream: Vec::new(),
            queue: Vec::new(),
            dead: Vec::new(),
            runs: Vec::new(),
            network: Vec::new(),
            provider: Provider::default(),
            window: Window::Open,
            waited: false,
            retries: self.config.retries,
            unheard: false,
            broken: Broken::default(),
            met: Met::default(),
        }
    }
}
