//! One change of a stored payout that does not come from the queue: a retry, a resolve, or an event of the provider.
//!
//! Read, decide, one conditional write; a lost one is decided again from the item that came back, unless that is this very
//! write, which its token says. A retry sends a copy of the successor after its write, which only saves time: the relay
//! sees the new payout id.

use crate::{
    expect::Expect,
    ids::OwnerToken,
    machine::{Machine, Named, Step},
    refund::{
        Refund,
        id::PayoutId,
        person::{Resolve, Retry, Seen, resolve, retry},
        webhook::{Apply, Event, apply},
    },
    timing::Timing,
};
use alloc::{boxed::Box, string::String, vec, vec::Vec};

/// Lost writes in a row before the caller is asked to come again.
const LOST_WRITES_MAX: u8 = 8;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ask {
    /// Give this failed payout a successor.
    Retry {
        /// The failed payout.
        named: PayoutId,
        /// The name of the API key that asks.
        actor: String,
    },
    /// End the review of the current payout.
    Resolve {
        /// The payout that the person looked at, if named.
        named: Option<PayoutId>,
        /// What the person saw.
        seen: Seen,
        /// The name of the API key that asks.
        actor: String,
    },
    /// Apply this event.
    Event(Event),
}

/// What came of it: one of the asked kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Of a retry. `Retry::Write` says that it was done now.
    Retry(Retry),
    /// Of a resolve. `Resolve::Write` says that it was done now.
    Resolve(Resolve),
    /// Of an event. `Apply::Write`, `Apply::GivenUp` and `Apply::Doubled` say that it was applied now.
    Event(Apply),
}

impl Answer {
    /// Says in the item whose write it is.
    fn sign(&mut self, mine: OwnerToken) {
        if let Self::Retry(Retry::Write(item, ..))
        | Self::Resolve(Resolve::Write(item, _))
        | Self::Event(Apply::Write(item, _) | Apply::GivenUp(item, _) | Apply::Doubled(item, _)) = self
        {
            item.writer = Some(mine);
        }
    }

    /// The write that this answer stands for, and the payout to send a copy of after it.
    fn write(&self) -> Option<(&Refund, Expect, Option<PayoutId>)> {
        match self {
            Self::Retry(Retry::Write(item, expect, successor)) => Some((item, *expect, Some(*successor))),
            Self::Resolve(Resolve::Write(item, expect))
            | Self::Event(Apply::Write(item, expect) | Apply::GivenUp(item, expect) | Apply::Doubled(item, expect)) => {
                Some((item, *expect, None))
            }
            Self::Retry(_) | Self::Resolve(_) | Self::Event(_) => None,
        }
    }
}

/// The order of steps of one change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChangePayout {
    ask: Ask,
    mine: OwnerToken,
    timing: Timing,
    lost_writes: u8,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    New,
    Reading,
    Writing(Answer),
    Sending(Answer),
}

/// What the machine asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Read the refund, consistently; one of another project, or with another id, counts as none.
    Read,
    /// Write the refund if it is as expected.
    Write {
        /// The whole item.
        item: Box<Refund>,
        /// The condition.
        expect: Expect,
    },
    /// Send a copy of the payout, once.
    Send(PayoutId),
}

/// The names of all effects: crash points are "after_" and one of these.
pub const EFFECTS: [&str; 3] = ["read", "write", "send"];

impl Named for Effect {
    fn name(&self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write { .. } => "write",
            Self::Send(_) => "send",
        }
    }
}

/// What the world answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Begin.
    Start,
    /// The refund, or none.
    Read(Option<Box<Refund>>),
    /// The write happened.
    Written,
    /// It did not: this is the stored refund, or none.
    Conflict(Option<Box<Refund>>),
    /// The read failed, or nobody knows whether the write happened.
    Unknown,
    /// The send ended, one way or the other.
    Sent,
}

/// How it ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// What came of it.
    Answer(Answer),
    /// There is no such refund.
    NotFound,
    /// The store cannot say: whoever asks asks again (a provider repeats an event that is not answered with 2xx).
    Unavailable,
}

type Next = Step<ChangePayout, Effect, Verdict>;

impl ChangePayout {
    /// A change asked for now. `mine` is fresh for this request.
    #[must_use]
    pub fn new(ask: Ask, mine: OwnerToken, timing: Timing) -> Self {
        Self { ask, mine, timing, lost_writes: 0, phase: Phase::New }
    }

    fn go(self, phase: Phase, effect: Effect) -> Next {
        Step::Go(Self { phase, ..self }, vec![effect])
    }

    /// The change is stored, by this request.
    fn written(self, answer: Answer) -> Next {
        match answer.write() {
            Some((_, _, Some(payout))) => self.go(Phase::Sending(answer), Effect::Send(payout)),
            _ => Step::Done(Verdict::Answer(answer)),
        }
    }

    fn decide(self, stored: Option<&Refund>, now_ms: u64) -> Next {
        let Some(stored) = stored else { return Step::Done(Verdict::NotFound) };
        let mut answer = match &self.ask {
            Ask::Retry { named, actor } => Answer::Retry(retry(stored, *named, actor, now_ms, &self.timing)),
            Ask::Resolve { named, seen, actor } => Answer::Resolve(resolve(stored, *named, seen, actor, now_ms)),
            Ask::Event(event) => Answer::Event(apply(stored, event, now_ms)),
        };
        answer.sign(self.mine);
        match answer.write() {
            Some((item, expect, _)) => {
                let effect = Effect::Write { item: Box::new(item.clone()), expect };
                self.go(Phase::Writing(answer), effect)
            }
            None => Step::Done(Verdict::Answer(answer)),
        }
    }
}

impl Machine for ChangePayout {
    type Effect = Effect;
    type Outcome = Outcome;
    type Verdict = Verdict;

    fn step(mut self, outcome: Outcome, now_ms: u64) -> Next {
        let phase = core::mem::replace(&mut self.phase, Phase::New);
        match (phase, outcome) {
            (Phase::New, Outcome::Start) => self.go(Phase::Reading, Effect::Read),
            (Phase::Reading, Outcome::Read(stored)) => self.decide(stored.as_deref(), now_ms),
            (Phase::Writing(answer), Outcome::Written) => self.written(answer),
            // This very write came first, its answer was lost, and the SDK repeated it.
            (Phase::Writing(answer), Outcome::Conflict(Some(stored)))
                if answer.write().is_some_and(|(item, ..)| *item == *stored) =>
            {
                self.written(answer)
            }
            // Another one came first.
            (Phase::Writing(_), Outcome::Conflict(stored)) => {
                self.lost_writes = self.lost_writes.saturating_add(1);
                if self.lost_writes < LOST_WRITES_MAX {
                    self.decide(stored.as_deref(), now_ms)
                } else {
                    Step::Done(Verdict::Unavailable)
                }
            }
            (Phase::Reading | Phase::Writing(_), Outcome::Unknown) => Step::Done(Verdict::Unavailable),
            (Phase::Sending(answer), Outcome::Sent) => Step::Done(Verdict::Answer(answer)),
            // An outcome that answers no effect of ours is ignored.
            (phase, _) => Step::Go(Self { phase, ..self }, Vec::new()),
        }
    }

    fn stuck(self) -> Verdict {
        match self.phase {
            Phase::Sending(answer) => Verdict::Answer(answer),
            Phase::New | Phase::Reading | Phase::Writing(_) => Verdict::Unavailable,
        }
    }
}
