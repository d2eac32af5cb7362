//! Dead letters of the little world: a copy that SQS gave up on, and the handler that drives it again or settles it.

use super::world::{Copy, How, TIMING, World};
use protocol::machine::{
    Machine, Step,
    dead_letter::{DeadLetter, Effect, Outcome, Verdict},
};

/// A dead letter in hand: read and decided, its effect not performed yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Grave {
    machine: DeadLetter,
    pub(crate) effect: Effect,
}

impl World {
    /// The handler receives a dead letter, reads the item and decides.
    pub(crate) fn exhume(&mut self, letter: usize) {
        self.dead.remove(letter);
        let Step::Go(machine, _) = DeadLetter::new(self.facts()).step(Outcome::Start, self.now) else {
            panic!("a dead letter is read first")
        };
        let step = machine.step(Outcome::Read(self.item.clone()), self.now);
        self.bury_or_go_on(step);
    }

    /// What the handler decided reaches the world, and it hears of it.
    pub(crate) fn rebury(&mut self, how: How) {
        let Some(Grave { machine, effect }) = self.grave.take() else { panic!("no dead letter in hand") };
        let outcome = match effect {
            Effect::Read => panic!("read twice"),
            Effect::Redrive => {
                if how != How::NotApplied {
                    self.queue.push(Copy { visible_at: self.now, read_first: true });
                }
                if how == How::Well { Outcome::Redriven } else { Outcome::NotRedriven }
            }
            Effect::Settle { item, expect } => {
                let applies = matches!(how, How::Well | How::AnswerLost | How::MeetsItself) && self.holds(expect);
                let outcome = match how {
                    How::Well if applies => Outcome::Written,
                    How::Well => Outcome::Conflict(self.item.clone()),
                    How::MeetsItself => Outcome::Conflict(Some(item.clone())),
                    _ => Outcome::WriteUnknown,
                };
                if applies {
                    self.item = Some(item);
                } else if how == How::InTheNetwork {
                    self.network.push((item, expect));
                }
                outcome
            }
        };
        let step = machine.step(outcome, self.now);
        self.bury_or_go_on(step);
    }

    fn bury_or_go_on(&mut self, step: Step<DeadLetter, Effect, Verdict>) {
        match step {
            Step::Go(machine, mut effects) => {
                let effect = effects.pop().expect("it asks for one effect at a time");
                self.grave = Some(Grave { machine, effect });
            }
            Step::Done(Verdict::Leave) => {
                self.dead.push(Copy { visible_at: self.now + TIMING.visibility, read_first: true });
            }
            Step::Done(Verdict::Delete(_) | Verdict::Redriven) => {}
        }
    }

    /// How the effect in hand can fail.
    pub(crate) fn grave_faults(&self, effect: &Effect) -> &'static [How] {
        match effect {
            Effect::Settle { expect, .. } if self.holds(*expect) => {
                &[How::AnswerLost, How::MeetsItself, How::NotApplied, How::InTheNetwork]
            }
            Effect::Settle { .. } => &[How::NotApplied, How::InTheNetwork],
            Effect::Read | Effect::Redrive => &[How::AnswerLost, How::NotApplied],
        }
    }
}
