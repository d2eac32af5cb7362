//! One dead letter of the payouts queue: read, then re-drive or delete.
//!
//! Re-driving sends first and deletes after SQS confirmed, so a crash in between leaves two copies, never none. There
//! is no last status to write: a payout that is due or submitted stays so until its window is over, or for a week if no
//! call of it did anything, and then a copy takes it to its end. One for which no call can be prepared, since the
//! project's credentials are missing, waits for them however long that takes, and an alarm says so.

use crate::{
    machine::{Machine, Named, Step},
    refund::{
        Refund,
        id::PayoutId,
        step::{Dead, Settled, dead},
    },
};
use alloc::{boxed::Box, vec, vec::Vec};

/// The order of steps for one dead letter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PayoutDeadLetter {
    copy: PayoutId,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    New,
    Reading,
    Redriving,
}

/// What the machine asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Read the refund, consistently.
    Read,
    /// Send the copy to the payouts queue, and have it confirmed.
    Redrive,
}

/// The names of all effects: crash points are "after_" and one of these.
pub const EFFECTS: [&str; 2] = ["read", "redrive"];

impl Named for Effect {
    fn name(&self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Redrive => "redrive",
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
    /// The store did not answer.
    ReadFailed,
    /// SQS confirmed the re-driven copy.
    Redriven,
    /// It did not.
    NotRedriven,
}

/// How it ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Nothing is left to do: delete the letter.
    Delete(Settled),
    /// Its copy is in the payouts queue again: delete the letter.
    Redriven,
    /// Leave it.
    Leave,
}

impl PayoutDeadLetter {
    /// A received dead letter of this payout.
    #[must_use]
    pub fn new(copy: PayoutId) -> Self {
        Self { copy, phase: Phase::New }
    }

    fn go(self, phase: Phase, effect: Effect) -> Step<Self, Effect, Verdict> {
        Step::Go(Self { phase, ..self }, vec![effect])
    }
}

impl Machine for PayoutDeadLetter {
    type Effect = Effect;
    type Outcome = Outcome;
    type Verdict = Verdict;

    fn step(self, outcome: Outcome, _now_ms: u64) -> Step<Self, Effect, Verdict> {
        match (self.phase, outcome) {
            (Phase::New, Outcome::Start) => self.go(Phase::Reading, Effect::Read),
            (Phase::Reading, Outcome::Read(Some(stored))) => match dead(&stored, self.copy) {
                Dead::Delete(settled) => Step::Done(Verdict::Delete(settled)),
                Dead::Redrive => self.go(Phase::Redriving, Effect::Redrive),
            },
            (Phase::Redriving, Outcome::Redriven) => Step::Done(Verdict::Redriven),
            // A refund is never deleted, so a copy without one is left for a person.
            (Phase::Reading, Outcome::Read(None) | Outcome::ReadFailed) | (Phase::Redriving, Outcome::NotRedriven) => {
                Step::Done(Verdict::Leave)
            }
            // An outcome that answers no effect of ours is ignored.
            (Phase::New | Phase::Reading | Phase::Redriving, _) => Step::Go(self, Vec::new()),
        }
    }

    fn stuck(self) -> Verdict {
        Verdict::Leave
    }
}
