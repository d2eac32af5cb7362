//! Each machine as a pure sequence of steps: which effects, in which order, after which outcomes.

mod accept;
mod audit;
mod dead_letter;
mod deliver;
mod deliver_faults;
mod deliver_held;
mod relay;

use protocol::machine::{Machine, Step};

/// The machine and what it asks for; panics where it ends.
pub(crate) fn go<M>(step: Step<M, M::Effect, M::Verdict>) -> (M, Vec<M::Effect>)
where
    M: Machine,
    M::Verdict: std::fmt::Debug,
{
    match step {
        Step::Go(machine, effects) => (machine, effects),
        Step::Done(verdict) => panic!("ended: {verdict:?}"),
    }
}

/// The verdict; panics where it goes on.
pub(crate) fn done<M>(step: Step<M, M::Effect, M::Verdict>) -> M::Verdict
where
    M: Machine,
    M::Effect: std::fmt::Debug,
{
    match step {
        Step::Done(verdict) => verdict,
        Step::Go(_, effects) => panic!("went on: {effects:?}"),
    }
}
