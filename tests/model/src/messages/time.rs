//! What time does: leases end, deadlines pass, keys lose their validity.
//!
//! Each is an event that may come at any moment which the inequalities of `Timing` allow; that covers every clock.

use super::{
    Messages,
    mutation::Mutation,
    world::{Phase, Run, World, leased},
};
use protocol::ids::OwnerToken;

impl Messages {
    /// Whether a lease may end by itself: nobody who runs holds it. Of a running owner that is a stall, which is a fault.
    pub(super) fn lease_may_end(&self, world: &World, message: u8, chunk: u8) -> bool {
        world.chunk(message, chunk).item.as_ref().is_some_and(|item| {
            let owner = |token: u8| item.owner == Some(OwnerToken([token; 16]));
            leased(item) && !world.runs.iter().any(|run| owner(run.token))
        })
    }

    /// Whether a message's deadline, or after it the clock rule, may come now. Once all is done, nothing depends on it.
    pub(super) fn phase_may_end(&self, world: &World, message: u8) -> bool {
        let life = world.life(message);
        let worth = life.accepted && (self.config.keys_expire || !world.all_done(message));
        // Whoever began before the deadline is ended before the clock rule, asleep or not: a function's life is shorter
        // than a lease.
        let outlives = |run: &Run| run.late && self.has(Mutation::InvocationOutlives);
        let slow =
            |message: u8| world.runs.iter().any(|run| run.copy.message == message && run.early && !outlives(run));
        worth
            && match life.phase {
                Phase::Open => true,
                Phase::Closed => !slow(message),
                Phase::Over => false,
            }
    }

    pub(super) fn end_phase(&self, world: &mut World, message: u8) {
        let life = &mut world.lives[usize::from(message)];
        life.phase = if life.phase == Phase::Open { Phase::Closed } else { Phase::Over };
        let live = life.phase == Phase::Closed;
        self.carry_leases(world, message, live);
    }

    /// Whether a key's validity may end: a day after its message's deadline at the earliest, when nobody who worked on
    /// that still runs.
    pub(super) fn key_may_end(&self, world: &World, slot: usize) -> bool {
        self.config.keys_expire
            && world.keys[slot].is_some_and(|item| {
                let busy = world.runs.iter().any(|run| run.copy.message == item.by);
                !item.over && !busy && world.life(item.by).phase == Phase::Over
            })
    }

    pub(super) fn end_key(world: &mut World, slot: usize) {
        if let Some(item) = &mut world.keys[slot] {
            item.over = true;
        }
    }
}
