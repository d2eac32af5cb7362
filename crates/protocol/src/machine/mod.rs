//! The order of steps of every handler, as machines without I/O.
//!
//! A machine is told what came of its last effect and says what is to be done next. `platform::drive` performs the
//! effects in production; a model checker can perform them in every way that a network and a crash allow, on the same
//! code. A machine holds no clock and no randomness: both arrive as arguments.

pub mod accept;
pub mod audit;
pub mod change_payout;
pub mod create_refund;
pub mod dead_letter;
pub mod decide_refund;
pub mod deliver;
pub mod payout;
pub mod payout_dead_letter;
pub mod relay;

use alloc::vec::Vec;

/// What a machine says after each outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step<M, E, V> {
    /// Go on: perform these effects (all at once, in any order) besides those still running.
    Go(M, Vec<E>),
    /// The end. Nothing may still be running.
    Done(V),
}

/// An effect with a name. The name is what crash points ("after_claim") and fault rules refer to.
pub trait Named {
    /// Lower case, one word.
    fn name(&self) -> &'static str;
}

/// A handler's order of steps.
pub trait Machine: Sized {
    /// What it asks the world to do.
    type Effect: Named;
    /// What the world answers.
    type Outcome;
    /// How it ends.
    type Verdict;

    /// One step: `outcome` is what came of one effect (or the start), `now_ms` the time at which it is handled.
    fn step(self, outcome: Self::Outcome, now_ms: u64) -> Step<Self, Self::Effect, Self::Verdict>;

    /// The verdict that keeps everything as it is, should the machine ever wait for nothing.
    fn stuck(self) -> Self::Verdict;
}
