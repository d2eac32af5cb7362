//! "Drains": from any state, a fair run without faults brings every approved refund to paid, failed or review.
//!
//! People are as good as dead, nobody retries, held requests never arrive, events are never delivered and windows do not
//! end (but one that is over settles): nothing may be needed of them.

use super::{
    Action, Refunds,
    provider::Stands,
    world::{Broken, Desk, Met, Window, World, state},
};
use crate::{
    faults::Budget,
    shared::hash_of,
    trace::{Do, Tell, TraceStep},
};
use protocol::refund::Status;

/// Steps of a fair run at most.
const STEPS_MAX: usize = 200;

/// Whether an approved refund's payout is at an end, as far as the queue is concerned.
fn ended(world: &World) -> bool {
    world.item.status() != Status::Approved || state(&world.item).is_some_and(|state| !state.is_open())
}

impl Refunds {
    pub(super) fn drains(&self, world: &World) -> bool {
        let mut here = Self::fault_free(world);
        let mut seen = Vec::new();
        for _ in 0..STEPS_MAX {
            let now = hash_of(&here);
            if self.drained.knows(now) {
                self.drained.learn(&seen);
                return true;
            }
            seen.push(now);
            let Some(action) = Self::fair(&here) else {
                if ended(&here) {
                    self.drained.learn(&seen);
                }
                return ended(&here);
            };
            let Some(next) = self.apply(&here, action) else { return false };
            here = Self::unjudged(next);
        }
        false
    }

    /// The fair run from here, told, and where it ends.
    pub(super) fn fair_run(&self, world: &World) -> (Vec<TraceStep>, World) {
        let mut here = Self::fault_free(world);
        let mut steps = Vec::new();
        while let Some(action) = Self::fair(&here).filter(|_| steps.len() < STEPS_MAX) {
            steps.push(self.tell(&here, &action));
            let Some(next) = self.apply(&here, action) else { break };
            here = next;
        }
        (steps, here)
    }

    fn fault_free(world: &World) -> World {
        let mut world = Self::unjudged(world.clone());
        world.budget = Budget::default();
        world.desks.fill(Desk::Gone);
        world.network.clear();
        world.provider.events.clear();
        world.retries = 0;
        world
    }

    fn unjudged(mut world: World) -> World {
        world.broken = Broken::default();
        world.met = Met::default();
        world.unheard = false;
        world.provider.events.clear();
        world
    }

    fn fair(world: &World) -> Option<Action> {
        if !world.runs.is_empty() {
            return Some(Action::Run(0, Do::Apply));
        }
        if !world.stream.is_empty() {
            return Some(Action::Relay(Do::Apply));
        }
        if let Some(at) = world.provider.objects.iter().position(|object| object.stands == Stands::Pending) {
            return Some(Action::Provider(u8::try_from(at).unwrap_or(u8::MAX), Stands::Succeeded));
        }
        if world.window == Window::Over {
            return Some(Action::Settle);
        }
        if world.refused_and_busy() {
            return Some(Action::Wait);
        }
        if !world.dead.is_empty() {
            return Some(Action::Exhume(0, Do::Apply));
        }
        (!world.queue.is_empty()).then_some(Action::Receive(0))
    }
}
