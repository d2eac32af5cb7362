//! G4, "drains": from any state, a fair run without faults brings every accepted chunk to its end.
//!
//! The run is deterministic: who runs goes on, then the dead-letter handler, the relay, the dead letters, leases that
//! nobody holds, the end of a hold, the queue, and the audit where there is one. API requests are as good as dead, held
//! writes never arrive, deadlines do not pass: nothing may be needed of them.

use super::{
    Action, Messages,
    world::{Api, Broken, Truth, World},
};
use crate::{
    faults::Budget,
    shared::hash_of,
    trace::{Do, Tell, TraceStep},
};

/// Steps of a fair run at most; the longest seen takes a tenth of it.
const STEPS_MAX: usize = 300;

impl Messages {
    /// Whether a fair run from here ends with every accepted chunk done.
    pub(super) fn drains(&self, world: &World) -> bool {
        let mut here = self.fault_free(world);
        let mut seen = Vec::new();
        for _ in 0..STEPS_MAX {
            let now = hash_of(&here);
            if self.drained.knows(now) {
                self.drained.learn(&seen);
                return true;
            }
            seen.push(now);
            let Some(action) = self.fair(&here) else {
                let ended = self.accepted(&here).all(|(message, chunk)| self.finished(&here, message, chunk));
                if ended {
                    self.drained.learn(&seen);
                }
                return ended;
            };
            let Some(next) = self.apply(&here, action) else { return false };
            // What is true does not steer a machine; without it runs flow together.
            here = Self::unjudged(next);
        }
        false
    }

    /// The fair run from here, told.
    pub(super) fn fair_steps(&self, world: &World) -> Vec<TraceStep> {
        let mut here = self.fault_free(world);
        let mut steps = Vec::new();
        while let Some(action) = self.fair(&here).filter(|_| steps.len() < STEPS_MAX) {
            steps.push(self.tell(&here, &action));
            let Some(next) = self.apply(&here, action) else { break };
            here = next;
        }
        steps
    }

    fn fault_free(&self, world: &World) -> World {
        let mut world = Self::unjudged(world.clone());
        world.budget = Budget::default();
        world.apis.fill(Api::Over);
        world.network.clear();
        world.audits = self.config.audits;
        world
    }

    fn unjudged(mut world: World) -> World {
        world.broken = Broken::default();
        for chunk in world.lives.iter_mut().flat_map(|life| &mut life.chunks) {
            chunk.truth.fill(Truth::default());
            chunk.windows = 0;
            chunk.unrecorded = false;
        }
        world
    }

    fn fair(&self, world: &World) -> Option<Action> {
        if !world.runs.is_empty() {
            return Some(Action::Run(0, 0, Do::Apply));
        }
        if world.letter.is_some() {
            return Some(Action::Letter(Do::Apply));
        }
        if world.relay.is_some() {
            return Some(Action::Relay(Do::Apply));
        }
        if !world.stream.is_empty() {
            return Some(Action::Relay(Do::Start));
        }
        for message in 0..u8::try_from(world.lives.len()).unwrap_or(u8::MAX) {
            for chunk in 0..self.config.chunks {
                if self.lease_may_end(world, message, chunk) {
                    return Some(Action::Lease(message, chunk));
                }
            }
        }
        if !world.dead.is_empty() {
            return Some(Action::Exhume(0));
        }
        // Somebody repairs the credentials, or all waiting ends at the deadline.
        if world.held {
            return Some(Action::Hold(false));
        }
        if !world.queue.is_empty() {
            return Some(Action::Receive(0, Do::Start));
        }
        // The next day.
        self.audited(world).next().map(|(message, chunk)| Action::Audit(message, chunk))
    }
}
