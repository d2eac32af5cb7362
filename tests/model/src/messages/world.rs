//! The world: the table, the stream, the queues, who is running, and what is true whatever is stored.
//!
//! Time is abstract. A message has a phase (before its deadline, after it, after the clock rule); a lease is live or
//! over; a retry may come at any time; a run is late or not. [`Messages::now`] turns that into the one clock value that
//! a machine is told, so equal worlds are equal whenever they happen.

use crate::{
    faults::Budget,
    messages::{
        Messages,
        config::{AT, TIMING},
        mutation::Mutation,
    },
    shared::Shared,
};
use protocol::{
    delivery::{Delivery, Finished, State},
    expect::{Expect, Seen},
    machine::{
        accept::{self, Accept},
        dead_letter::{self, DeadLetter},
        deliver::{self, Deliver},
        relay::{Entry, Relay},
    },
};

/// Where a message stands with its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Before deliver_by.
    Open,
    /// At or after it.
    Closed,
    /// A lease and a skew later: nothing reads as under way any more.
    Over,
}

/// What is true of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Truth {
    /// It was called at least once.
    pub called: bool,
    /// Calls that the provider accepted.
    pub accepted: u8,
    /// Calls after which nobody can rule out that the provider accepted, accepted ones included.
    pub maybe: u8,
}

/// One chunk of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chunk {
    /// The delivery item.
    pub item: Option<Shared<Delivery>>,
    /// Its devices.
    pub truth: Vec<Truth>,
    /// Runs with a fault after which a second call is allowed: a lost or ambiguous answer, a crash between call and
    /// record, a stall.
    pub windows: u8,
    /// A claim may have been left unrecorded.
    pub unrecorded: bool,
}

/// One request's message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Life {
    /// It is in the table, or was.
    pub accepted: bool,
    /// Where it stands.
    pub phase: Phase,
    /// Its inline send was tried; kept only for the mistake that believes it.
    pub inline_tried: bool,
    /// Its chunks.
    pub chunks: Vec<Chunk>,
}

/// The item of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyItem {
    /// The request that made it.
    pub by: u8,
    /// The key's validity is over.
    pub over: bool,
}

/// A copy of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Copy {
    /// The message.
    pub message: u8,
    /// The chunk.
    pub chunk: u8,
    /// The consumer reads before it writes: not an inline copy, or not its first receive.
    pub read_first: bool,
    /// Copies of one number above 0 are one SQS message, delivered more than once.
    pub twin: u8,
    /// The relay sent it; kept only for the mistake that looks at it.
    pub marked: bool,
}

/// An API request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// At this effect.
    Asking(Shared<Accept>, Shared<accept::Effect>),
    /// Answered, or dead.
    Over,
}

/// The relay at its send.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RelayRun {
    /// Its machine.
    pub machine: Shared<Relay>,
    /// The messages of its batch.
    pub batch: Vec<u8>,
    /// What it is sending.
    pub sending: Vec<Entry>,
}

/// A consumer with a copy in hand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// Its owner token.
    pub token: u8,
    /// The copy.
    pub copy: Copy,
    /// The copy is deleted already.
    pub gone: bool,
    /// Its machine.
    pub machine: Shared<Deliver>,
    /// What it asked for.
    pub pending: Shared<Vec<deliver::Effect>>,
    /// It began before the deadline.
    pub early: bool,
    /// It slept past the end of its lease.
    pub late: bool,
    /// It called and what came of it is not stored.
    pub unrecorded: bool,
    /// A window was counted for it.
    pub counted: bool,
    /// Devices refused for good; kept only for the mistake that looks at it.
    pub refused: u8,
    /// It will acknowledge, come what may: only a seeded mistake does this.
    pub acking: bool,
}

/// A dead letter in hand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Letter {
    /// The copy.
    pub copy: Copy,
    /// Its machine.
    pub machine: Shared<DeadLetter>,
    /// What it asked for.
    pub pending: Shared<dead_letter::Effect>,
}

/// A write whose client gave up, still in the network.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Held {
    /// An accept write, under the clock of its time.
    Put(u8, u64),
    /// A write of a delivery item.
    Item(HeldItem),
}

/// A write of a delivery item, under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeldItem {
    /// The message.
    pub message: u8,
    /// The chunk.
    pub chunk: u8,
    /// It takes the lease.
    pub claim: bool,
    /// Its sender began before the deadline, and so was ended before the clock rule.
    pub early: bool,
    /// The item.
    pub item: Shared<Delivery>,
    /// Its condition.
    pub expect: Expect,
}

/// Rules about answers and steps that were broken on the way here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Broken {
    /// G1: an answer named another message than the key's, or a key got two.
    pub one_message: bool,
    /// G2: another body was replayed.
    pub replayed: bool,
    /// G3: a refused request stored something.
    pub stored: bool,
    /// G6: a status went back.
    pub went_back: bool,
    /// G8: another project's key answered.
    pub crossed: bool,
    /// A machine waited for nothing, or a write did not make the next version.
    pub machine: bool,
}

/// A state of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// Faults that may still happen.
    pub budget: Budget,
    /// Per request.
    pub apis: Vec<Api>,
    /// Per request.
    pub lives: Vec<Life>,
    /// Per key hash.
    pub keys: Vec<Option<KeyItem>>,
    /// Accepted messages that the relay's checkpoint has not passed.
    pub stream: Vec<u8>,
    /// The relay; one batch at a time.
    pub relay: Option<RelayRun>,
    /// The deliveries queue, sorted.
    pub queue: Vec<Copy>,
    /// The dead-letter queue, sorted.
    pub dead: Vec<Copy>,
    /// The dead-letter handler; one letter at a time.
    pub letter: Option<Letter>,
    /// Consumers.
    pub runs: Vec<Run>,
    /// What the network holds.
    pub network: Vec<Held>,
    /// Copies that the audit may still add.
    pub audits: u8,
    /// The project is held: whoever prepares now is told so.
    pub held: bool,
    /// How often it still may be.
    pub holds: u8,
    /// Broken rules.
    pub broken: Broken,
}

impl World {
    /// The chunk of a copy.
    pub(super) fn life(&self, message: u8) -> &Life {
        &self.lives[usize::from(message)]
    }

    pub(super) fn chunk(&self, message: u8, chunk: u8) -> &Chunk {
        &self.lives[usize::from(message)].chunks[usize::from(chunk)]
    }

    pub(super) fn chunk_mut(&mut self, message: u8, chunk: u8) -> &mut Chunk {
        &mut self.lives[usize::from(message)].chunks[usize::from(chunk)]
    }

    /// Whether the chunk's item is done.
    pub(super) fn done(&self, message: u8, chunk: u8) -> bool {
        self.chunk(message, chunk).item.as_ref().is_some_and(|item| Finished::of(item).is_some())
    }

    pub(super) fn all_done(&self, message: u8) -> bool {
        (0..self.life(message).chunks.len()).all(|chunk| self.done(message, u8::try_from(chunk).unwrap_or(u8::MAX)))
    }

    pub(super) fn enqueue(&mut self, message: u8, chunk: u8, read_first: bool, marked: bool) {
        self.queue.push(Copy { message, chunk, read_first, twin: 0, marked });
    }

    /// A copy in hand shows again.
    pub(super) fn give_back(&mut self, copy: Copy) {
        let again = Copy { read_first: true, ..copy };
        if copy.twin == 0 || !self.queue.iter().any(|other| other.twin == copy.twin) {
            self.queue.push(again);
        }
    }

    /// A number that only one copy has says nothing.
    pub(super) fn forget_lonely_twins(&mut self) {
        let twins = |world: &Self| {
            let in_hand = world.runs.iter().filter(|run| !run.gone).map(|run| run.copy.twin);
            world.queue.iter().map(|copy| copy.twin).chain(in_hand).collect::<Vec<_>>()
        };
        let all = twins(self);
        if all.iter().all(|twin| *twin == 0) && self.runs.iter().all(|run| run.copy.twin == 0) {
            return;
        }
        let lonely = |twin: u8| all.iter().filter(|other| **other == twin).count() < 2;
        for copy in self.queue.iter_mut().chain(self.runs.iter_mut().map(|run| &mut run.copy)) {
            if lonely(copy.twin) {
                copy.twin = 0;
            }
        }
    }

    /// The SQS message of this copy is deleted, or moved: whoever else holds it holds nothing.
    pub(super) fn take_away(&mut self, twin: u8) {
        if twin > 0 {
            self.queue.retain(|copy| copy.twin != twin);
            for run in self.runs.iter_mut().filter(|run| run.copy.twin == twin) {
                run.gone = true;
            }
        }
    }
}

/// What a condition sees of a delivery item.
pub(super) fn seen(item: &Delivery) -> Seen {
    Seen { version: Some(item.version), expires_s: Some(item.expires_s), ..Seen::default() }
}

/// Whether an item's lease is live. A live lease is stored as an end that even a late run's clock has not reached, one
/// that is over as 0.
pub(super) fn leased(item: &Delivery) -> bool {
    item.state == State::InFlight && item.lease_ms > 0
}

impl Messages {
    /// The clock of whoever works on this message.
    pub(super) fn now(&self, world: &World, message: u8, late: bool) -> u64 {
        let deliver_by = self.requests[usize::from(message)].deliver_by_ms;
        let now = match world.life(message).phase {
            Phase::Open => AT,
            Phase::Closed => deliver_by,
            Phase::Over => deliver_by + TIMING.lease + TIMING.skew + 1,
        };
        if late { now + TIMING.lease + 1 } else { now }
    }

    /// The message under whose name this one's delivery items are stored: itself.
    pub(super) fn home(&self, message: u8) -> u8 {
        if self.has(Mutation::ItemOfKey) {
            let slot = self.requests[usize::from(message)].slot;
            let first = self.requests.iter().position(|request| request.slot == slot).unwrap_or(0);
            return u8::try_from(first).unwrap_or(u8::MAX);
        }
        message
    }

    pub(super) fn item<'a>(&self, world: &'a World, message: u8, chunk: u8) -> Option<&'a Shared<Delivery>> {
        world.chunk(self.home(message), chunk).item.as_ref()
    }

    /// Writes an item, its times made abstract. `claim` says whether this write takes the lease (and whether it is over
    /// already); another write leaves the lease as it stands.
    pub(super) fn store(&self, world: &mut World, message: u8, chunk: u8, item: &Delivery, claim: Option<bool>) {
        let before = self.item(world, message, chunk).cloned();
        let live = match claim {
            Some(late) => !late && world.life(message).phase < Phase::Over,
            None => before.as_ref().is_some_and(|item| leased(item)),
        };
        let live = live && item.state == State::InFlight;
        let lease_ms = if live { self.live_until(world, message) } else { 0 };
        let next = Delivery { lease_ms, not_before_ms: 0, updated_ms: 0, ..item.clone() };
        world.broken.machine |= next.version != before.map_or(0, |item| item.version) + 1;
        world.chunk_mut(self.home(message), chunk).item = Some(Shared::new(next));
    }

    fn live_until(&self, world: &World, message: u8) -> u64 {
        self.now(world, message, true) + TIMING.lease
    }

    /// A live lease outlives a change of phase, or not.
    pub(super) fn carry_leases(&self, world: &mut World, message: u8, live: bool) {
        for chunk in 0..self.config.chunks {
            let lease_ms = if live { self.live_until(world, message) } else { 0 };
            if let Some(item) = &world.chunk(message, chunk).item
                && leased(item)
            {
                let carried = Delivery { lease_ms, ..item.take() };
                world.chunk_mut(message, chunk).item = Some(Shared::new(carried));
            }
        }
    }

    /// The lease is over.
    pub(super) fn end_lease(&self, world: &mut World, message: u8, chunk: u8) {
        let home = self.home(message);
        if let Some(item) = &world.chunk(home, chunk).item
            && leased(item)
        {
            let over = Delivery { lease_ms: 0, ..item.take() };
            world.chunk_mut(home, chunk).item = Some(Shared::new(over));
        }
    }
}
