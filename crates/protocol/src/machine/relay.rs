//! One batch of the table's stream: enqueue each chunk that was accepted but has no delivery item.
//!
//! Batches of ten entries may span records and are sent in order; at the first entry that SQS does not confirm the
//! batch stops and reports that record, so a retry repeats nothing confirmed before it. What cannot be read, or what
//! SQS refuses as the sender's fault, is parked in a queue of its own and passed, so one bad record never blocks the
//! stream.

use crate::machine::{Machine, Named, Step};
use alloc::{collections::VecDeque, vec::Vec};

/// Look-ups at once.
pub const LOOKS_AT_ONCE: usize = 32;
/// Entries of one batch send (Amazon SQS API reference, SendMessageBatch).
pub const ENTRIES_PER_BATCH: usize = 10;

/// What a stream record asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Record {
    /// Nothing: neither a fresh message nor a fresh payout.
    Skip,
    /// It cannot be read.
    Unreadable,
    /// A fresh message.
    Message {
        /// When it was accepted, in ms.
        at_ms: u64,
        /// How many chunks it has.
        chunks: u16,
    },
    /// A refund whose payout is due, under another id than before (see [`crate::refund::step::needs_relay`]). Its one
    /// copy is chunk 0; "present" is what [`crate::refund::step::wants_copy`] refuses.
    Payout {
        /// When the payout became due, in ms.
        at_ms: u64,
    },
}

impl Record {
    /// When it became due and how many copies it may need, if it is anything to look up.
    fn asks(&self) -> Option<(u64, u16)> {
        match self {
            Self::Skip | Self::Unreadable => None,
            Self::Message { at_ms, chunks } => Some((*at_ms, *chunks)),
            Self::Payout { at_ms } => Some((*at_ms, 1)),
        }
    }
}

/// One chunk to enqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The record it belongs to.
    pub record: usize,
    /// Its chunk.
    pub chunk: u16,
    /// Wait this long, in ms: what is left of the grace in which the inline send may still do it.
    pub delay_ms: u64,
}

/// What came of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// SQS has it.
    Confirmed,
    /// SQS says the entry itself is wrong: a repeat would fail the same way.
    SenderFault,
    /// Not confirmed.
    Unconfirmed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Job {
    Enqueue { record: usize, chunk: u16, at_ms: u64 },
    Park(usize),
}

/// The order of steps for one batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Relay {
    grace: u64,
    records: Vec<Record>,
    /// Per record: the chunks to enqueue, once looked up.
    missing: Vec<Option<Vec<u16>>>,
    next_look: usize,
    looking: usize,
    jobs: VecDeque<Job>,
    sending: Vec<Entry>,
    /// The first record that must be repeated.
    failed: Option<usize>,
    enqueued: usize,
    parked: usize,
    /// Chunks of one record follow each other, so this is enough to park a record once.
    last_parked: Option<usize>,
}

/// What the machine asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Which chunks of this record's message have a delivery item? (Eventually consistent: a late answer only repeats.)
    /// For a payout: is it settled or under way? (Read consistently: money is not worth a stale answer.)
    Look(usize),
    /// Enqueue these, in one batch.
    Send(Vec<Entry>),
    /// Put this record into the parking queue.
    Park(usize),
}

/// The names of all effects: crash points are "after_" and one of these.
pub const EFFECTS: [&str; 3] = ["look", "send", "park"];

impl Named for Effect {
    fn name(&self) -> &'static str {
        match self {
            Self::Look(_) => "look",
            Self::Send(_) => "send",
            Self::Park(_) => "park",
        }
    }
}

/// What the world answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Begin.
    Start,
    /// The chunks that have a delivery item.
    Looked {
        /// Which record.
        record: usize,
        /// Chunk numbers.
        present: Vec<u16>,
    },
    /// The store did not answer.
    LookFailed {
        /// Which record.
        record: usize,
    },
    /// What came of each entry of the batch, in order.
    Sent(Vec<Sent>),
    /// The parking queue confirmed the record, or did not.
    Parked {
        /// Whether it did.
        confirmed: bool,
        /// Which record.
        record: usize,
    },
}

/// How the batch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Verdict {
    /// The first record to repeat, if any.
    pub failed_from: Option<usize>,
    /// Entries confirmed.
    pub enqueued: usize,
    /// Records parked.
    pub parked: usize,
}

type Next = Step<Relay, Effect, Verdict>;

impl Relay {
    /// A batch in stream order.
    #[must_use]
    pub fn new(records: Vec<Record>, grace: u64) -> Self {
        let missing = records.iter().map(|_| None).collect();
        Self {
            grace,
            records,
            missing,
            next_look: 0,
            looking: 0,
            jobs: VecDeque::new(),
            sending: Vec::new(),
            failed: None,
            enqueued: 0,
            parked: 0,
            last_parked: None,
        }
    }

    fn fail_from(&mut self, record: usize) {
        self.failed = Some(self.failed.map_or(record, |failed| failed.min(record)));
    }

    /// Starts look-ups until 32 run or none is left.
    fn look(mut self, now_ms: u64) -> Next {
        let mut effects = Vec::new();
        while self.looking < LOOKS_AT_ONCE && self.next_look < self.records.len() {
            let record = self.next_look;
            self.next_look = self.next_look.saturating_add(1);
            if self.records.get(record).and_then(Record::asks).is_some() {
                self.looking = self.looking.saturating_add(1);
                effects.push(Effect::Look(record));
            }
        }
        if effects.is_empty() && self.looking == 0 { self.plan().advance(now_ms) } else { Step::Go(self, effects) }
    }

    /// Everything is looked up: the jobs, in stream order, up to the first record whose look-up failed.
    fn plan(mut self) -> Self {
        let end = self.failed.unwrap_or(self.records.len());
        for (index, record) in self.records.iter().enumerate().take(end) {
            match record {
                Record::Skip => {}
                Record::Unreadable => self.jobs.push_back(Job::Park(index)),
                Record::Message { at_ms, .. } | Record::Payout { at_ms } => {
                    let chunks = self.missing.get_mut(index).and_then(Option::take).unwrap_or_default();
                    self.jobs.extend(chunks.into_iter().map(|chunk| Job::Enqueue {
                        record: index,
                        chunk,
                        at_ms: *at_ms,
                    }));
                }
            }
        }
        self
    }

    /// The next job: a batch of entries, or one record to park.
    fn advance(mut self, now_ms: u64) -> Next {
        if let Some(Job::Park(record)) = self.jobs.front() {
            let record = *record;
            return Step::Go(self, alloc::vec![Effect::Park(record)]);
        }
        let mut batch = Vec::new();
        while batch.len() < ENTRIES_PER_BATCH {
            let Some(Job::Enqueue { record, chunk, at_ms }) = self.jobs.front().copied() else { break };
            self.jobs.pop_front();
            let delay_ms = at_ms.saturating_add(self.grace).saturating_sub(now_ms);
            batch.push(Entry { record, chunk, delay_ms });
        }
        if batch.is_empty() {
            return Step::Done(Verdict { failed_from: self.failed, enqueued: self.enqueued, parked: self.parked });
        }
        self.sending.clone_from(&batch);
        Step::Go(self, alloc::vec![Effect::Send(batch)])
    }

    /// Reads a batch's outcome in order. Entries after the first unconfirmed one may be confirmed too; repeating them
    /// costs a copy that finds its item done.
    fn sent(mut self, outcomes: &[Sent], now_ms: u64) -> Next {
        let sending = core::mem::take(&mut self.sending);
        let mut parks: Vec<usize> = Vec::new();
        let mut stop = None;
        for (position, entry) in sending.iter().enumerate() {
            match outcomes.get(position).copied().unwrap_or(Sent::Unconfirmed) {
                Sent::Confirmed => self.enqueued = self.enqueued.saturating_add(1),
                Sent::SenderFault
                    if stop.is_none() && parks.last().copied().or(self.last_parked) != Some(entry.record) =>
                {
                    parks.push(entry.record);
                }
                Sent::SenderFault => {}
                Sent::Unconfirmed => stop = stop.or(Some(entry.record)),
            }
        }
        if let Some(record) = stop {
            self.fail_from(record);
            self.jobs.clear();
            // The record to repeat is read again whole, so it is not parked now.
            parks.retain(|parked| *parked != record);
        }
        for record in parks.into_iter().rev() {
            self.jobs.push_front(Job::Park(record));
        }
        self.advance(now_ms)
    }
}

impl Machine for Relay {
    type Effect = Effect;
    type Outcome = Outcome;
    type Verdict = Verdict;

    fn step(mut self, outcome: Outcome, now_ms: u64) -> Next {
        match outcome {
            Outcome::Start => self.look(now_ms),
            Outcome::Looked { record, present } => {
                if let Some((_, chunks)) = self.records.get(record).and_then(Record::asks) {
                    let absent = (0..chunks).filter(|chunk| !present.contains(chunk)).collect();
                    if let Some(slot) = self.missing.get_mut(record) {
                        *slot = Some(absent);
                    }
                }
                self.looking = self.looking.saturating_sub(1);
                self.look(now_ms)
            }
            Outcome::LookFailed { record } => {
                self.fail_from(record);
                // Later records are repeated anyway.
                self.next_look = self.records.len();
                self.looking = self.looking.saturating_sub(1);
                self.look(now_ms)
            }
            Outcome::Sent(outcomes) => self.sent(&outcomes, now_ms),
            Outcome::Parked { confirmed: true, record } => {
                self.parked = self.parked.saturating_add(1);
                self.last_parked = Some(record);
                self.jobs.pop_front();
                self.advance(now_ms)
            }
            Outcome::Parked { confirmed: false, record } => {
                self.fail_from(record);
                self.jobs.clear();
                self.advance(now_ms)
            }
        }
    }

    fn stuck(self) -> Verdict {
        Verdict { failed_from: Some(self.failed.unwrap_or(0)), enqueued: self.enqueued, parked: self.parked }
    }
}
