//! The relay's machine in the model's world: one batch of everything that its checkpoint has not passed.
//!
//! Receiving the batch and looking up its delivery items is one step: only the send that follows is seen by others.

use super::{
    Messages,
    config::{AT, TIMING},
    mutation::Mutation,
    world::{RelayRun, World},
};
use crate::{faults::Fault, shared::Shared, trace::Do};
use protocol::machine::{
    Machine, Step,
    relay::{Effect, Entry, Outcome, Record, Relay, Sent, Verdict},
};

type Next = Step<Relay, Effect, Verdict>;

impl Messages {
    /// What can happen to the relay now: it starts, or its send goes one way or another.
    pub(super) fn relay_moves(&self, world: &World, can: impl Fn(Fault) -> bool) -> Vec<Do> {
        let mut moves = Vec::new();
        if let Some(run) = &world.relay {
            moves.push(Do::Apply);
            if can(Fault::Lost) {
                moves.extend([Do::ApplyDropResponse, Do::DropRequest]);
                if run.sending.len() > 1 {
                    moves.push(Do::ApplyInPart);
                }
            }
            if can(Fault::Crash) {
                moves.extend([Do::CrashBefore, Do::CrashAfter]);
            }
            if can(Fault::Duplicate) {
                moves.push(Do::Duplicate);
            }
        } else if !world.stream.is_empty() {
            moves.push(Do::Start);
            let there = |message: &u8| (0..self.config.chunks).any(|chunk| self.item(world, *message, chunk).is_some());
            if can(Fault::Duplicate) && world.stream.iter().any(there) {
                moves.push(Do::ReadStale);
            }
            if can(Fault::Lost) {
                moves.push(Do::Error);
            }
        }
        moves
    }

    pub(super) fn relay(&self, world: &mut World, what: Do) {
        match what {
            Do::Start | Do::ReadStale | Do::Error => {
                let batch = world.stream.clone();
                let chunks = u16::from(self.config.chunks);
                let records = batch.iter().map(|_| Record::Message { at_ms: AT, chunks }).collect();
                let step = Relay::new(records, TIMING.grace).step(Outcome::Start, AT);
                self.relay_looks(world, batch, step, what);
            }
            Do::CrashBefore => world.relay = None,
            _ => self.relay_sends(world, what),
        }
    }

    /// Answers every look-up at once.
    fn relay_looks(&self, world: &mut World, batch: Vec<u8>, mut step: Next, what: Do) {
        let mut looking = Vec::new();
        loop {
            let machine = match step {
                Step::Done(verdict) => return self.checkpoint(world, &batch, verdict),
                Step::Go(machine, effects) => {
                    for effect in effects {
                        match effect {
                            Effect::Look(record) => looking.push(record),
                            Effect::Send(sending) => {
                                world.relay = Some(RelayRun { machine: Shared::new(machine), batch, sending });
                                return;
                            }
                            // Nothing here is unreadable.
                            Effect::Park(_) => world.broken.machine = true,
                        }
                    }
                    machine
                }
            };
            let Some(record) = looking.pop() else {
                world.broken.machine = true;
                return;
            };
            let outcome = if what == Do::Error {
                Outcome::LookFailed { record }
            } else {
                Outcome::Looked { record, present: self.present(world, batch[record], what == Do::ReadStale) }
            };
            step = machine.step(outcome, AT);
        }
    }

    /// The chunks that have a delivery item, as an eventually consistent query says.
    fn present(&self, world: &World, message: u8, stale: bool) -> Vec<u16> {
        let all = 0..self.config.chunks;
        if self.has(Mutation::InlineCountsAsSent) && world.life(message).inline_tried {
            return all.map(u16::from).collect();
        }
        let there: Vec<u16> =
            all.clone().filter(|chunk| !stale && self.item(world, message, *chunk).is_some()).map(u16::from).collect();
        if self.has(Mutation::RelayAnyChunk) && !there.is_empty() { all.map(u16::from).collect() } else { there }
    }

    fn relay_sends(&self, world: &mut World, what: Do) {
        let Some(run) = world.relay.take() else { return };
        let sent = match what {
            Do::DropRequest => 0,
            Do::ApplyInPart => 1,
            _ => run.sending.len(),
        };
        for Entry { record, chunk, .. } in run.sending.iter().take(sent) {
            if !self.has(Mutation::NoRelay) {
                let chunk = u8::try_from(*chunk).unwrap_or(u8::MAX);
                world.enqueue(run.batch[*record], chunk, true, self.has(Mutation::RelayCopyAcked));
            }
        }
        if what == Do::CrashAfter {
            return;
        }
        let confirmed = if matches!(what, Do::ApplyDropResponse | Do::DropRequest) { 0 } else { sent };
        let outcomes = (0..run.sending.len())
            .map(|entry| if entry < confirmed { Sent::Confirmed } else { Sent::Unconfirmed })
            .collect();
        match run.machine.take().step(Outcome::Sent(outcomes), AT) {
            Step::Done(verdict) if what != Do::Duplicate => self.checkpoint(world, &run.batch, verdict),
            // The batch is delivered once more.
            Step::Done(_) => {}
            Step::Go(machine, mut effects) => match effects.pop() {
                Some(Effect::Send(sending)) => {
                    world.relay = Some(RelayRun { machine: Shared::new(machine), batch: run.batch, sending });
                }
                _ => world.broken.machine = true,
            },
        }
    }

    /// The stream goes on behind what the verdict calls done.
    fn checkpoint(&self, world: &mut World, batch: &[u8], verdict: Verdict) {
        let failed_from = verdict.failed_from.filter(|_| !self.has(Mutation::RelayNeverRepeats));
        world.stream.drain(..failed_from.unwrap_or(batch.len()));
    }
}
