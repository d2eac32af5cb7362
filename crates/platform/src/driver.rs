//! The loop that runs a machine of `protocol`: it performs the machine's effects, hands each outcome back, and stops
//! when the machine has a verdict.
//!
//! Called by each function. Effects that a machine asks for together run together; the order of everything else is
//! the machine's. Between any two effects stands a boundary: nothing happens there in AWS, and the local system can
//! stop an invocation there as a crash would, so no function carries code for it.

use crate::Clock;
use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use protocol::machine::{Machine, Named, Step};

/// What stands between two effects.
pub trait Boundary: Send + Sync + std::fmt::Debug {
    /// Called after an effect was performed and before the machine hears of it. `effect` is its name ("put",
    /// "claim", …). A crash is a future that never ends; whoever injects it drops the invocation.
    fn after<'a>(&'a self, effect: &'static str) -> BoxFuture<'a, ()>;
}

/// The boundary of production: nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBoundary;

impl Boundary for NoBoundary {
    fn after<'a>(&'a self, _effect: &'static str) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Performs a machine's effects against the real world.
pub trait Execute<M: Machine>: Sync {
    /// Performs one effect and says what came of it. It never retries on its own account and never fails: what went
    /// wrong is an outcome.
    fn execute<'a>(&'a self, effect: M::Effect) -> BoxFuture<'a, M::Outcome>;
}

/// Runs `machine` from its first outcome to its verdict.
pub async fn drive<M: Machine>(
    machine: M,
    first: M::Outcome,
    executor: &impl Execute<M>,
    clock: &Clock,
    boundary: &dyn Boundary,
) -> M::Verdict {
    let mut running = FuturesUnordered::new();
    let mut step = machine.step(first, clock.now_ms());
    loop {
        match step {
            Step::Done(verdict) => return verdict,
            Step::Go(machine, effects) => {
                for effect in effects {
                    let name = effect.name();
                    running.push(async move {
                        let outcome = executor.execute(effect).await;
                        boundary.after(name).await;
                        outcome
                    });
                }
                match running.next().await {
                    Some(outcome) => step = machine.step(outcome, clock.now_ms()),
                    // A machine that neither ends nor asks for anything is a bug that its own tests rule out; ending
                    // the wait with its fallback keeps the copy, which is always safe.
                    None => return machine.stuck(),
                }
            }
        }
    }
}
