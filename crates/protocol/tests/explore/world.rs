//! A world in miniature: one chunk, its delivery item, the copies in the queue, consumers that run the deliver
//! machine, and a provider that remembers what it really accepted.

use super::graves::Grave;
use crate::common::{accepted, ambiguous, lost, not_now, permanent, token};
use protocol::{
    claim::ChunkFacts,
    content::Policy,
    delivery::Delivery,
    expect::{Expect, Seen},
    hold::HeldDevices,
    machine::{
        Machine, Step,
        deliver::{Deliver, Effect, Outcome, Purpose, Receive, Verdict},
    },
    timing::Timing,
};

pub(crate) const TIMING: Timing = Timing::SHORT;
/// The deadline: room for several leases, so that retries are reached.
pub(crate) const DELIVER_BY: u64 = 100_000;
/// From here on nothing reads as open.
pub(crate) const CLOCK_RULE: u64 = DELIVER_BY + TIMING.lease + TIMING.skew + 1;

/// One copy in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Copy {
    pub(crate) visible_at: u64,
    pub(crate) read_first: bool,
}

/// An effect that a machine asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Waiting {
    /// Not performed yet.
    Todo(Effect),
    /// Performed; the machine has not heard of it.
    Done(Outcome),
}

/// A consumer with a copy in hand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Run {
    pub(crate) token: u8,
    machine: Deliver,
    pub(crate) ends: u64,
    /// When its copy comes back, should the consumer keep it or die.
    back_at: u64,
    pub(crate) waiting: Vec<Waiting>,
    /// The devices it called, and whether what came of it is stored.
    called: Vec<bool>,
    recorded: bool,
    /// It slept through the end of its lease.
    pub(crate) stalled: bool,
}

/// What is true of one device, whatever is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Truth {
    pub(crate) calls: u8,
    /// Calls that the provider accepted.
    pub(crate) accepted: u8,
    /// Calls after which nobody can rule out that the provider accepted, accepted ones included.
    pub(crate) maybe: u8,
    /// A call was lost, ambiguous, unrecorded or made after a stall: a second one may follow.
    pub(crate) excused: bool,
}

/// How an effect goes. All but `Well` are faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum How {
    Well,
    /// Applied; the answer is lost.
    AnswerLost,
    /// Applied; the answer is lost and the client's repeat meets its own write.
    MeetsItself,
    /// The first device's provider is held (or, for one device, every device's).
    Held,
    /// Not applied, and nobody can tell.
    NotApplied,
    /// Not applied yet: still in the network when the client gives up.
    InTheNetwork,
    Permanent,
    NotNow,
    AmbiguousAccepted,
    AmbiguousNot,
    LostAccepted,
    LostNot,
}

/// One step of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// A consumer receives this copy.
    Receive(usize),
    /// A consumer's effect reaches the world.
    Perform(usize, usize, How),
    /// A consumer hears of it.
    Hear(usize, usize),
    /// A consumer hears of it, and the acknowledgement that follows is lost.
    HearAndLoseAck(usize, usize),
    /// A consumer dies.
    Crash(usize),
    /// A write arrives that its client gave up.
    Arrive(usize),
    /// SQS delivers a copy twice.
    Duplicate(usize),
    /// SQS gives up on a copy.
    Bury(usize),
    /// The dead-letter handler receives one, reads and decides.
    Exhume(usize),
    /// What it decided reaches the world.
    Rebury(How),
    /// Time passes.
    Advance(u64),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) now: u64,
    pub(crate) policy: Policy,
    pub(crate) item: Option<Delivery>,
    pub(crate) queue: Vec<Copy>,
    pub(crate) dead: Vec<Copy>,
    /// The dead letter in hand; its handler is one.
    pub(crate) grave: Option<Grave>,
    pub(crate) running: Vec<Run>,
    pub(crate) network: Vec<(Delivery, Expect)>,
    pub(crate) truth: Vec<Truth>,
    /// Consumers at once.
    pub(crate) consumers: usize,
    /// A claim may have been left unrecorded: a consumer died or slept, or a write's outcome was unknown.
    pub(crate) unrecorded: bool,
    /// Faults that may still happen.
    pub(crate) budget: u8,
}

impl World {
    pub(crate) fn new(policy: Policy, devices: usize, copies: usize, budget: u8) -> Self {
        Self {
            now: 0,
            policy,
            item: None,
            queue: vec![Copy { visible_at: 0, read_first: false }; copies],
            dead: Vec::new(),
            grave: None,
            running: Vec::new(),
            network: Vec::new(),
            truth: vec![Truth::default(); devices],
            consumers: 2,
            unrecorded: false,
            budget,
        }
    }

    pub(crate) fn facts(&self) -> ChunkFacts {
        ChunkFacts { deliver_by_ms: DELIVER_BY, policy: self.policy, devices: self.truth.len(), expires_s: 9_999 }
    }

    /// Whether a write under this condition would happen now.
    pub(crate) fn holds(&self, expect: Expect) -> bool {
        let seen = self.item.as_ref().map(|item| Seen {
            version: Some(item.version),
            expires_s: Some(item.expires_s),
            ..Seen::default()
        });
        expect.holds(seen.as_ref())
    }

    /// The world after `action`; a sentence where that breaks a rule about calls.
    pub(crate) fn apply(&self, action: Action) -> Result<Self, String> {
        let mut next = self.clone();
        match action {
            Action::Receive(copy) => next.receive(copy),
            Action::Perform(run, effect, how) => {
                next.pay(how != How::Well);
                next.perform(run, effect, how)?;
            }
            Action::Hear(run, effect) => next.hear(run, effect, false)?,
            Action::HearAndLoseAck(run, effect) => {
                next.pay(true);
                next.hear(run, effect, true)?;
            }
            Action::Crash(run) => {
                next.pay(true);
                let dead = next.running.remove(run);
                next.unrecorded = true;
                if !dead.recorded {
                    next.excuse(&dead.called);
                }
                next.queue.push(Copy { visible_at: dead.back_at, read_first: true });
            }
            Action::Arrive(write) => {
                let (item, expect) = next.network.remove(write);
                if next.holds(expect) {
                    next.item = Some(item);
                }
            }
            Action::Duplicate(copy) => {
                next.pay(true);
                let twin = next.queue[copy].clone();
                next.queue.push(twin);
            }
            Action::Bury(copy) => {
                next.pay(true);
                let dead = next.queue.remove(copy);
                next.dead.push(dead);
            }
            Action::Exhume(letter) => next.exhume(letter),
            Action::Rebury(how) => {
                next.pay(how != How::Well);
                next.rebury(how);
            }
            Action::Advance(to) => {
                next.pay(!next.running.is_empty() || next.grave.is_some());
                next.now = to;
                if next.running.iter().any(|run| to > run.ends) {
                    for run in &mut next.running {
                        run.stalled |= to > run.ends;
                    }
                    next.unrecorded = true;
                    next.excuse(&vec![true; next.truth.len()]);
                }
            }
        }
        next.queue.sort();
        next.dead.sort();
        Ok(next)
    }

    fn pay(&mut self, fault: bool) {
        self.budget -= u8::from(fault);
    }

    fn excuse(&mut self, devices: &[bool]) {
        for (truth, excused) in self.truth.iter_mut().zip(devices) {
            truth.excused |= excused;
        }
    }

    fn receive(&mut self, copy: usize) {
        let copy = self.queue.remove(copy);
        let owner = self.item.as_ref().and_then(|item| item.owner);
        let used = |number: u8| {
            owner == Some(token(number))
                || self.running.iter().any(|run| run.token == number)
                || self.network.iter().any(|(item, _)| item.owner == Some(token(number)))
        };
        // Fresh means: nobody in this world knows it.
        let number = (1..).find(|number| !used(*number)).unwrap();
        let ends = self.now + TIMING.function;
        let receive = Receive {
            facts: self.facts(),
            token: token(number),
            jitter_permille: 0,
            invocation_ends_ms: ends,
            read_first: copy.read_first,
        };
        let mut run = Run {
            token: number,
            machine: Deliver::new(receive.clone(), TIMING),
            ends,
            back_at: self.now + TIMING.visibility,
            waiting: Vec::new(),
            called: vec![false; self.truth.len()],
            recorded: false,
            stalled: false,
        };
        match Deliver::new(receive, TIMING).step(Outcome::Start, self.now) {
            Step::Go(machine, effects) => {
                run.machine = machine;
                run.waiting = effects.into_iter().map(Waiting::Todo).collect();
            }
            Step::Done(verdict) => panic!("a receive ended at once: {verdict:?}"),
        }
        self.running.push(run);
    }

    fn perform(&mut self, run: usize, effect: usize, how: How) -> Result<(), String> {
        let Waiting::Todo(todo) = self.running[run].waiting[effect].clone() else { panic!("performed twice") };
        let bad = how != How::Well;
        let (outcome, at_once) = match todo {
            Effect::Prepare => match how {
                How::Well => (Outcome::Prepared, true),
                How::Held => (Outcome::Held(HeldDevices::new([0], self.now + TIMING.hold_cache)), true),
                _ => (Outcome::NotPrepared, true),
            },
            Effect::Read => (if bad { Outcome::ReadFailed } else { Outcome::Read(self.item.clone()) }, true),
            Effect::Release { delay_ms } => {
                if !bad {
                    self.running[run].back_at = self.now + delay_ms;
                }
                (Outcome::Released, true)
            }
            Effect::Successor { delay_ms } => {
                if how != How::NotApplied {
                    self.queue.push(Copy { visible_at: self.now + delay_ms, read_first: true });
                }
                (if bad { Outcome::SuccessorUnconfirmed } else { Outcome::SuccessorConfirmed }, false)
            }
            Effect::Write { purpose, item, expect } => (self.write(run, purpose, item, expect, how), false),
            Effect::Call { device } => (self.call(run, device, how)?, false),
        };
        self.running[run].waiting[effect] = Waiting::Done(outcome);
        // Nobody but this consumer sees these, so hearing of them later would be the same.
        if at_once { self.hear(run, effect, false) } else { Ok(()) }
    }

    fn write(&mut self, run: usize, purpose: Purpose, item: Delivery, expect: Expect, how: How) -> Outcome {
        let applied = matches!(how, How::Well | How::AnswerLost | How::MeetsItself) && self.holds(expect);
        let outcome = match how {
            How::Well if applied => Outcome::Written,
            How::MeetsItself => Outcome::Conflict(Some(item.clone())),
            How::Well => Outcome::Conflict(self.item.clone()),
            How::InTheNetwork => {
                self.network.push((item.clone(), expect));
                Outcome::WriteUnknown
            }
            _ => Outcome::WriteUnknown,
        };
        let called = self.running[run].called.clone();
        self.unrecorded |= outcome == Outcome::WriteUnknown;
        if applied {
            self.item = Some(item);
            self.running[run].recorded |= purpose == Purpose::Record;
        } else if purpose == Purpose::Record && outcome == Outcome::WriteUnknown {
            // As good as a crash between call and record.
            self.excuse(&called);
        }
        outcome
    }

    fn call(&mut self, run: usize, device: usize, how: How) -> Result<Outcome, String> {
        let stored = self.item.as_ref().map(|item| item.devices[device].letter);
        let stalled = self.running[run].stalled;
        let truth = &mut self.truth[device];
        let second = truth.maybe > 0;
        if second && (self.policy == Policy::AtMostOnce || !truth.excused) {
            return Err(format!("device {device} is called again though an earlier call may have been accepted"));
        }
        if stored.is_none_or(|letter| letter.is_final()) && !truth.excused {
            return Err(format!("device {device} is called though it is stored as {stored:?}"));
        }
        truth.calls += 1;
        truth.accepted += u8::from(matches!(how, How::Well | How::AmbiguousAccepted | How::LostAccepted));
        truth.maybe += u8::from(!matches!(how, How::Permanent | How::NotNow));
        truth.excused |=
            stalled || matches!(how, How::AmbiguousAccepted | How::AmbiguousNot | How::LostAccepted | How::LostNot);
        self.running[run].called[device] = true;
        let answer = match how {
            How::Well => accepted(),
            How::Permanent => permanent(),
            How::NotNow => not_now(None),
            How::AmbiguousAccepted | How::AmbiguousNot => ambiguous(),
            _ => lost(),
        };
        Ok(Outcome::Called { device, answer })
    }

    fn hear(&mut self, run: usize, effect: usize, lose_ack: bool) -> Result<(), String> {
        let now = self.now;
        let consumer = &mut self.running[run];
        let Waiting::Done(outcome) = consumer.waiting.remove(effect) else { panic!("heard before it was performed") };
        match consumer.machine.clone().step(outcome, now) {
            Step::Go(machine, effects) => {
                let calls = effects.iter().any(|effect| matches!(effect, Effect::Call { .. }));
                if calls && now >= DELIVER_BY {
                    return Err("a call is asked for after the deadline".to_owned());
                }
                if calls && now + TIMING.call + TIMING.record + TIMING.margin >= consumer.ends {
                    return Err("a call is asked for that cannot end in time".to_owned());
                }
                consumer.machine = machine;
                consumer.waiting.extend(effects.into_iter().map(Waiting::Todo));
                if consumer.waiting.is_empty() {
                    return Err("a machine waits for nothing".to_owned());
                }
            }
            Step::Done(verdict) => {
                let gone = self.running.remove(run);
                if !gone.waiting.is_empty() {
                    return Err("a machine ended while an effect was running".to_owned());
                }
                if lose_ack || verdict == Verdict::Keep {
                    self.queue.push(Copy { visible_at: gone.back_at, read_first: true });
                }
            }
        }
        Ok(())
    }
}
