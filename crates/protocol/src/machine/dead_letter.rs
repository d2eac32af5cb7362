//! One dead letter of the deliveries queue: read, then re-drive, settle, delete or leave.
//!
//! Re-driving sends first and deletes after SQS confirmed, so a crash in between leaves two copies, never none.

use crate::{
    claim::ChunkFacts,
    dead_letter::{DeadLetter as Decision, decide},
    delivery::{Delivery, Finished},
    expect::Expect,
    machine::{Machine, Named, Step},
};
use alloc::{vec, vec::Vec};

/// Lost writes in a row before the letter is left for its next receive.
const LOST_WRITES_MAX: u8 = 8;

/// The order of steps for one dead letter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeadLetter {
    facts: ChunkFacts,
    lost_writes: u8,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    New,
    Reading,
    Redriving,
    Settling(Delivery),
}

/// What the machine asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Read the delivery item, consistently.
    Read,
    /// Send the copy to the deliveries queue, and have it confirmed.
    Redrive,
    /// Write the delivery item if it is as expected.
    Settle {
        /// The whole item.
        item: Delivery,
        /// The condition.
        expect: Expect,
    },
}

/// The names of all effects: crash points are "after_" and one of these.
pub const EFFECTS: [&str; 3] = ["read", "redrive", "settle"];

impl Named for Effect {
    fn name(&self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Redrive => "redrive",
            Self::Settle { .. } => "settle",
        }
    }
}

/// What the world answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Begin.
    Start,
    /// The item, or none.
    Read(Option<Delivery>),
    /// The store did not answer a read.
    ReadFailed,
    /// SQS confirmed the re-driven copy.
    Redriven,
    /// It did not.
    NotRedriven,
    /// The write happened.
    Written,
    /// It did not: this is the stored item.
    Conflict(Option<Delivery>),
    /// Nobody knows whether the write happened.
    WriteUnknown,
}

/// How it ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Everything is done: delete the letter.
    Delete(Finished),
    /// Its copy is in the deliveries queue again: delete the letter.
    Redriven,
    /// Leave it.
    Leave,
}

type Next = Step<DeadLetter, Effect, Verdict>;

impl DeadLetter {
    /// A received dead letter.
    #[must_use]
    pub fn new(facts: ChunkFacts) -> Self {
        Self { facts, lost_writes: 0, phase: Phase::New }
    }

    fn go(self, phase: Phase, effect: Effect) -> Next {
        Step::Go(Self { phase, ..self }, vec![effect])
    }

    fn decide(self, stored: Option<&Delivery>, now_ms: u64) -> Next {
        match decide(stored, &self.facts, now_ms) {
            Decision::Leave(_) => Step::Done(Verdict::Leave),
            Decision::Delete(finished) => Step::Done(Verdict::Delete(finished)),
            Decision::Redrive => self.go(Phase::Redriving, Effect::Redrive),
            Decision::Settle(item, expect) => self.go(Phase::Settling(item.clone()), Effect::Settle { item, expect }),
        }
    }
}

impl Machine for DeadLetter {
    type Effect = Effect;
    type Outcome = Outcome;
    type Verdict = Verdict;

    fn step(mut self, outcome: Outcome, now_ms: u64) -> Next {
        let phase = core::mem::replace(&mut self.phase, Phase::New);
        match (phase, outcome) {
            (Phase::New, Outcome::Start) => self.go(Phase::Reading, Effect::Read),
            (Phase::Reading, Outcome::Read(stored)) => self.decide(stored.as_ref(), now_ms),
            (Phase::Redriving, Outcome::Redriven) => Step::Done(Verdict::Redriven),
            (Phase::Settling(item), Outcome::Written) => {
                Step::Done(Finished::of(&item).map_or(Verdict::Leave, Verdict::Delete))
            }
            (Phase::Settling(_), Outcome::Conflict(stored)) => {
                self.lost_writes = self.lost_writes.saturating_add(1);
                if self.lost_writes < LOST_WRITES_MAX {
                    self.decide(stored.as_ref(), now_ms)
                } else {
                    Step::Done(Verdict::Leave)
                }
            }
            (_, Outcome::ReadFailed | Outcome::NotRedriven | Outcome::WriteUnknown) => Step::Done(Verdict::Leave),
            // An outcome that answers no effect of ours is ignored.
            (phase, _) => Step::Go(Self { phase, ..self }, Vec::new()),
        }
    }

    fn stuck(self) -> Verdict {
        Verdict::Leave
    }
}
