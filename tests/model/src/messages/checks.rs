//! The guarantees, as properties of every state, and what must be reachable so that none is vacuous.

use super::{
    Action, Messages,
    config::TIMING,
    mutation::Mutation,
    world::{Phase, Truth, World},
};
use protocol::{
    content::Policy,
    delivery::{Delivery, State},
    letter::Letter as Word,
    machine::deliver::Effect,
    status::{DeviceWord, device_words},
};
use stateright::Property;

/// The property about the future.
pub(super) const DRAINS: &str = "G4 whatever was accepted drains";

/// What a search must not violate, and what it should meet.
pub(super) fn properties() -> Vec<Property<Messages>> {
    vec![
        Property::always("G1 one message per key, and every retry hears its id", |_, w: &World| !w.broken.one_message),
        Property::always("G2 another body is never replayed", |_, w: &World| !w.broken.replayed),
        Property::always("G3 a refused request stores nothing", |_, w: &World| !w.broken.stored),
        Property::always("G8 another project's key never answers", |_, w: &World| !w.broken.crossed),
        Property::always("G4 while a chunk is not done, a copy of it is in a queue", Messages::queued),
        Property::always("G5 no second call that may be accepted without a window fault", Messages::called_once),
        Property::always("G5 at most once: never twice", Messages::never_twice),
        Property::always("G6 a status never lies", Messages::truthful),
        Property::always("G6 a status never goes back", |_, w: &World| !w.broken.went_back),
        Property::always("a machine goes on, in time, to the next version", |_, w: &World| !w.broken.machine),
        Property::always(DRAINS, Messages::drains),
        Property::sometimes("sent", |_, w: &World| w.any(|_, item| word(item, Word::Sent))),
        Property::sometimes("failed", |_, w: &World| w.any(|_, item| word(item, Word::Failed))),
        Property::sometimes("unknown", |_, w: &World| w.any(|_, item| word(item, Word::Unknown))),
        Property::sometimes("expired", |_, w: &World| w.any(|_, item| word(item, Word::Expired))),
        Property::sometimes("one answer lost", |_, w: &World| w.any(|_, item| word(item, Word::Lost1))),
        Property::sometimes("two answers lost", |_, w: &World| w.any(|_, item| word(item, Word::Lost2))),
        Property::sometimes("retry", |_, w: &World| w.any(|_, item| item.state == State::Retry)),
        Property::sometimes("accepted twice, in a window", |_, w: &World| w.any_truth(|truth| truth.accepted > 1)),
        Property::sometimes("called by a late run", |_, w: &World| w.runs.iter().any(|r| r.late && r.unrecorded)),
        Property::sometimes("a held write", |_, w: &World| !w.network.is_empty()),
        Property::sometimes("a dead letter in hand", |_, w: &World| w.letter.is_some()),
        Property::sometimes("two consumers with one SQS message", |_, w: &World| {
            w.runs.len() > 1 && w.runs.iter().all(|run| run.copy.twin > 0)
        }),
        Property::sometimes("a copy waits for a hold", |_, w: &World| {
            let succeeds = |run: &super::world::Run| matches!(run.pending[..], [Effect::Successor { .. }]);
            w.held && w.any(|_, item| item.state == State::Retry) && w.runs.iter().any(succeeds)
        }),
        Property::sometimes("after the clock rule, unfinished", |_, w: &World| {
            w.lives.iter().any(|life| life.phase == Phase::Over && life.chunks.iter().any(|chunk| chunk.item.is_none()))
        }),
    ]
}

fn word(item: &Delivery, letter: Word) -> bool {
    item.devices.iter().any(|device| device.letter == letter)
}

impl World {
    fn any(&self, holds: impl Fn(&super::world::Chunk, &Delivery) -> bool) -> bool {
        let mut chunks = self.lives.iter().flat_map(|life| &life.chunks);
        chunks.any(|chunk| chunk.item.as_ref().is_some_and(|item| holds(chunk, item)))
    }

    fn any_truth(&self, holds: impl Fn(&Truth) -> bool) -> bool {
        self.lives.iter().flat_map(|life| &life.chunks).flat_map(|chunk| &chunk.truth).any(holds)
    }
}

fn small(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

impl Messages {
    /// Every chunk of every accepted message.
    pub(super) fn accepted<'a>(&'a self, world: &'a World) -> impl Iterator<Item = (u8, u8)> + 'a {
        let messages = (0..world.lives.len()).filter(|message| world.lives[*message].accepted).map(small);
        messages.flat_map(|message| (0..self.config.chunks).map(move |chunk| (message, chunk)))
    }

    pub(super) fn finished(&self, world: &World, message: u8, chunk: u8) -> bool {
        world.done(self.home(message), chunk)
    }

    /// While a chunk is not done and now <= deliver_by + lease, a copy of it is in the deliveries queue or its
    /// dead-letter queue, or its stream record is still before the relay's checkpoint.
    fn queued(&self, world: &World) -> bool {
        self.accepted(world).all(|(message, chunk)| {
            let of = |copy: &super::world::Copy| (copy.message, copy.chunk) == (message, chunk);
            self.finished(world, message, chunk)
                || world.life(message).phase == Phase::Over
                || world.stream.contains(&message)
                || world.queue.iter().chain(&world.dead).any(of)
                || world.runs.iter().any(|run| !run.gone && of(&run.copy))
                || world.letter.as_ref().is_some_and(|letter| of(&letter.copy))
        })
    }

    /// Of a chunk with w runs that met a window fault no device is called more than 1 + w times by calls that may be accepted, nor
    /// accepted more often; and nothing is called that was not accepted.
    fn called_once(&self, world: &World) -> bool {
        world.lives.iter().all(|life| {
            life.chunks.iter().all(|chunk| {
                let most = 1 + chunk.windows;
                chunk
                    .truth
                    .iter()
                    .all(|truth| truth.maybe <= most && truth.accepted <= most && (life.accepted || !truth.called))
            })
        })
    }

    fn never_twice(&self, world: &World) -> bool {
        self.config.policy == Policy::AtLeastOnce || !world.any_truth(|truth| truth.maybe > 1)
    }

    /// What is stored, and what a reader is told, is true.
    fn truthful(&self, world: &World) -> bool {
        self.accepted(world).all(|(message, chunk)| {
            let life = world.life(message);
            let of = world.chunk(message, chunk);
            let too_late = life.phase > Phase::Open;
            let stored = self.item(world, message, chunk).is_none_or(|item| {
                let final_if_done = (item.state == State::Done) == item.all_final();
                final_if_done
                    && item.devices.iter().all(|device| u16::from(device.calls) <= item.attempt)
                    && item.devices.iter().zip(&of.truth).all(|(device, truth)| match device.letter {
                        Word::Sent => truth.accepted > 0 && device.provider_id.is_some(),
                        Word::Failed => truth.accepted == 0 && truth.called,
                        Word::Expired => truth.accepted == 0 && too_late,
                        Word::Pending => item.state != State::Retry || truth.accepted == 0,
                        Word::Lost1 | Word::Lost2 => self.config.policy == Policy::AtLeastOnce,
                        // A refusal alone leaves no doubt.
                        Word::Unknown => truth.maybe > 0 || of.unrecorded,
                    })
            });
            // By the clock rule alone nothing reads as expired that a provider accepted.
            let read = life.phase < Phase::Over
                || self.words(world, message, chunk).iter().zip(&of.truth).all(|(word, truth)| match word {
                    DeviceWord::Expired | DeviceWord::Failed => truth.accepted == 0,
                    DeviceWord::Sent => truth.accepted > 0,
                    DeviceWord::Unknown => true,
                    DeviceWord::Pending | DeviceWord::Sending => false,
                });
            stored && read
        })
    }

    /// What a reader is told about a chunk's devices.
    fn words(&self, world: &World, message: u8, chunk: u8) -> Vec<DeviceWord> {
        let item = self.item(world, message, chunk).map(crate::shared::Shared::take);
        let deliver_by = self.requests[usize::from(message)].deliver_by_ms;
        device_words(self.config.devices, &[item], deliver_by, self.now(world, message, false), &TIMING)
    }

    /// Whether what a caller reads went back in this step.
    ///
    /// One exception: the clock rule takes a chunk for given up a lease and a skew after its deadline. A write whose
    /// sender had begun before the deadline, and that the network held until then, may turn "expired" into "unknown" if
    /// it is a claim, and "unknown" into "failed" or "expired" if it is a record. It never opens a device again and never
    /// takes back "sent". No process can do that: its invocation is ended before the clock rule begins.
    pub(super) fn goes_back(&self, world: &World, action: Action, next: &World) -> bool {
        self.accepted(world).any(|(message, chunk)| {
            let (before, after) = (self.item(world, message, chunk), self.item(next, message, chunk));
            let phase = world.life(message).phase;
            if before == after && phase == next.life(message).phase {
                return false;
            }
            if self.has(Mutation::ItemExpiresEarly) && after.is_none() {
                return false;
            }
            let overtaken = Self::overtaken(world, action, message, chunk).map(|held| held.claim);
            let (before, after) = (self.words(world, message, chunk), self.words(next, message, chunk));
            before.into_iter().zip(after).any(|(before, after)| !forward(before, after, overtaken))
        })
    }
}

/// `overtaken`: by a write that the clock rule had overtaken; whether that is a claim.
fn forward(before: DeviceWord, after: DeviceWord, overtaken: Option<bool>) -> bool {
    before == after
        || match before {
            DeviceWord::Pending => true,
            DeviceWord::Sending => after != DeviceWord::Pending,
            DeviceWord::Unknown if overtaken == Some(false) => {
                matches!(after, DeviceWord::Sent | DeviceWord::Failed | DeviceWord::Expired)
            }
            DeviceWord::Unknown => after == DeviceWord::Sent,
            DeviceWord::Expired => overtaken == Some(true) && after == DeviceWord::Unknown,
            DeviceWord::Sent | DeviceWord::Failed => false,
        }
}
