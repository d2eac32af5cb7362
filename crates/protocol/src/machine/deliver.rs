//! One received copy of a chunk: prepare, claim, call, record, acknowledge.
//!
//! Credentials and the access token come before the claim, so that a refused credential spends no attempt; devices whose
//! provider is held stay as they are, and where nothing else is open no claim is made. Every call is made under a lease
//! that outlives it. A copy is acknowledged only with a finished delivery item in hand or after
//! SQS confirmed a successor copy; everything else keeps it.

use crate::{
    answer::Answer,
    claim::{ChunkFacts, Claim, claim},
    delivery::{Delivery, DeviceState, Finished, State},
    expect::Expect,
    hold::HeldDevices,
    ids::OwnerToken,
    letter::{Evidence, join},
    machine::{Machine, Named, Step},
    record::{Learned, record},
    timing::{SQS_DELAY_MAX_MS, Timing},
};
use alloc::{boxed::Box, vec, vec::Vec};

/// Lost compare-and-sets in a row before a copy is put back: two owners and a dead-letter handler at most meet on one
/// item, so more means that something is wrong.
const LOST_WRITES_MAX: u8 = 8;

/// What one receive knows from the start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Receive {
    /// The chunk, from the copy.
    pub facts: ChunkFacts,
    /// Fresh for this receive.
    pub token: OwnerToken,
    /// 0 to 1,000, for the retry schedule.
    pub jitter_permille: u16,
    /// When this invocation is ended, in ms.
    pub invocation_ends_ms: u64,
    /// Read the item before writing: a relay copy, a successor or a repeated receive probably finds one.
    pub read_first: bool,
}

/// The order of steps for one copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deliver {
    receive: Receive,
    timing: Timing,
    lost_writes: u8,
    held: HeldDevices,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    New,
    Preparing,
    Reading,
    /// A claim is being written; on success its devices are called for.
    Claiming(Delivery),
    /// A final status is being written.
    Settling(Delivery),
    Calling {
        run: Delivery,
        answers: Vec<Option<Answer>>,
        waiting: usize,
    },
    Recording {
        learned: Box<Learned>,
        item: Delivery,
    },
    Succeeding {
        until_ms: u64,
    },
    Releasing,
}

/// Why an item is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Take the lease.
    Claim,
    /// Give every open device its last word.
    Settle,
    /// Keep what the provider answered.
    Record,
}

/// What the machine asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Get credentials and access tokens for the chunk's platforms.
    Prepare,
    /// Read the delivery item, consistently.
    Read,
    /// Write the delivery item if it is as expected.
    Write {
        /// Why.
        purpose: Purpose,
        /// The whole item.
        item: Delivery,
        /// The condition.
        expect: Expect,
    },
    /// Call the provider for one device, once.
    Call {
        /// Its index in the chunk.
        device: usize,
    },
    /// Send a copy of this chunk that arrives after the delay, and have it confirmed.
    Successor {
        /// In ms, at most SQS's longest delay.
        delay_ms: u64,
    },
    /// Keep this copy and show it again after the delay.
    Release {
        /// In ms.
        delay_ms: u64,
    },
}

/// The names of all effects: crash points are "after_" and one of these.
pub const EFFECTS: [&str; 8] = ["prepare", "read", "claim", "settle", "record", "call", "successor", "release"];

impl Named for Effect {
    fn name(&self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Read => "read",
            Self::Write { purpose: Purpose::Claim, .. } => "claim",
            Self::Write { purpose: Purpose::Settle, .. } => "settle",
            Self::Write { purpose: Purpose::Record, .. } => "record",
            Self::Call { .. } => "call",
            Self::Successor { .. } => "successor",
            Self::Release { .. } => "release",
        }
    }
}

/// What the world answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Begin.
    Start,
    /// Credentials are there.
    Prepared,
    /// They are there for all devices but these, whose provider is held.
    Held(HeldDevices),
    /// They are not; nothing was claimed.
    NotPrepared,
    /// The item, or none.
    Read(Option<Delivery>),
    /// The store did not answer a read.
    ReadFailed,
    /// The write happened.
    Written,
    /// It did not: this is the stored item.
    Conflict(Option<Delivery>),
    /// Nobody knows whether the write happened.
    WriteUnknown,
    /// What came of a call.
    Called {
        /// Which device.
        device: usize,
        /// The answer.
        answer: Answer,
    },
    /// SQS confirmed the successor.
    SuccessorConfirmed,
    /// It did not.
    SuccessorUnconfirmed,
    /// The copy's visibility was changed, or the attempt to change it failed: it comes back either way.
    Released,
}

/// How a receive ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The copy may be deleted.
    Ack(AckProof),
    /// It must come back.
    Keep,
}

/// Why a copy may be deleted. Only this machine makes one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AckProof {
    /// The chunk's item is done.
    Finished(Finished),
    /// SQS confirmed another copy of the chunk.
    Successor(Confirmed),
}

/// Proof of a confirmed successor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Confirmed(());

type Next = Step<Deliver, Effect, Verdict>;

impl Deliver {
    /// A fresh receive.
    #[must_use]
    pub fn new(receive: Receive, timing: Timing) -> Self {
        Self { receive, timing, lost_writes: 0, held: HeldDevices::default(), phase: Phase::New }
    }

    fn go(self, phase: Phase, effects: Vec<Effect>) -> Next {
        Step::Go(Self { phase, ..self }, effects)
    }

    fn release(self, delay_ms: u64) -> Next {
        self.go(Phase::Releasing, vec![Effect::Release { delay_ms }])
    }

    /// Comes back after the first wait of the schedule: for faults of ours, not of the provider.
    fn release_soon(self) -> Next {
        let delay = self.timing.retry_delay(1, self.receive.jitter_permille, None);
        self.release(delay)
    }

    fn look(self, now_ms: u64) -> Next {
        if self.receive.read_first { self.go(Phase::Reading, vec![Effect::Read]) } else { self.decide(None, now_ms) }
    }

    /// Decides from the stored item, before the first write and after each lost one.
    fn decide(self, stored: Option<&Delivery>, now_ms: u64) -> Next {
        let receive = &self.receive;
        match claim(stored, &receive.facts, receive.token, now_ms, self.timing.lease) {
            Claim::Ack(finished) => Step::Done(Verdict::Ack(AckProof::Finished(finished))),
            Claim::Busy(until) => self.release(until.saturating_sub(now_ms).saturating_add(1)),
            Claim::Resume(item) => self.call(item, now_ms),
            Claim::Settle(item, expect) => {
                let effect = Effect::Write { purpose: Purpose::Settle, item: item.clone(), expect };
                self.go(Phase::Settling(item), vec![effect])
            }
            Claim::Run(item, _) if self.callable(&item).next().is_none() => {
                let until_ms = self.held.until_ms();
                self.wait(until_ms, now_ms)
            }
            Claim::Run(item, expect) => {
                // A claim that leaves no time to call would only spend an attempt.
                let ends = receive.invocation_ends_ms;
                if !self.timing.call_may_start(now_ms.saturating_add(self.timing.record), u64::MAX, ends, u64::MAX) {
                    return self.release(0);
                }
                let effect = Effect::Write { purpose: Purpose::Claim, item: item.clone(), expect };
                self.go(Phase::Claiming(item), vec![effect])
            }
        }
    }

    /// The open devices whose provider is not held.
    fn callable<'a>(&self, item: &'a Delivery) -> impl Iterator<Item = usize> + use<'a> {
        let held = self.held;
        item.open().filter(move |device| !held.has(*device))
    }

    /// Another copy takes over at this time, or when SQS can at the latest.
    fn wait(self, until_ms: u64, now_ms: u64) -> Next {
        // Never beyond the deadline, so that the last receive settles in time.
        let until_ms = until_ms.min(self.receive.facts.deliver_by_ms.max(now_ms));
        let delay_ms = until_ms.saturating_sub(now_ms).min(SQS_DELAY_MAX_MS);
        self.go(Phase::Succeeding { until_ms }, vec![Effect::Successor { delay_ms }])
    }

    /// Calls for every open device that is not held, if the lease and this invocation leave time for it.
    fn call(self, run: Delivery, now_ms: u64) -> Next {
        let may = self.timing.call_may_start(
            now_ms,
            run.lease_ms,
            self.receive.invocation_ends_ms,
            self.receive.facts.deliver_by_ms,
        );
        let open: Vec<usize> = if may { self.callable(&run).collect() } else { Vec::new() };
        let answers = vec![None; run.devices.len()];
        if open.is_empty() {
            return self.record(run, answers, now_ms);
        }
        let waiting = open.len();
        let effects = open.into_iter().map(|device| Effect::Call { device }).collect();
        self.go(Phase::Calling { run, answers, waiting }, effects)
    }

    fn record(self, run: Delivery, answers: Vec<Option<Answer>>, now_ms: u64) -> Next {
        // What was asked for a device that is not called again is nothing that the others wait for.
        let policy = self.receive.facts.policy;
        let again = |device: &DeviceState, answer: &Answer| {
            join(device.letter, Evidence::of(answer, device.letter), policy).is_open().then(|| answer.asked_ms())?
        };
        let answered = run.devices.iter().zip(&answers);
        let asked = answered.filter_map(|(device, answer)| again(device, answer.as_ref()?)).max();
        let called = answers.iter().any(Option::is_some);
        // Nothing was called: the next receive may try at once.
        let wait = if called { self.timing.retry_delay(run.attempt, self.receive.jitter_permille, asked) } else { 0 };
        // Never beyond the deadline, so that the last receive settles in time.
        let retry_at_ms = now_ms.saturating_add(wait).min(self.receive.facts.deliver_by_ms.max(now_ms));
        let learned = Learned { held: run.clone(), answers, retry_at_ms };
        self.write_record(&run, Box::new(learned), now_ms)
    }

    /// Writes what was learned over `stored`, or goes on if that says it all already.
    fn write_record(self, stored: &Delivery, learned: Box<Learned>, now_ms: u64) -> Next {
        match record(stored, &learned, self.receive.facts.policy, now_ms) {
            Some(item) => {
                let expect = Expect::Version(stored.version);
                let effect = Effect::Write { purpose: Purpose::Record, item: item.clone(), expect };
                self.go(Phase::Recording { learned, item }, vec![effect])
            }
            None => self.follow(stored, now_ms),
        }
    }

    /// The item is stored: done, mine to retry, or another owner's.
    fn follow(self, stored: &Delivery, now_ms: u64) -> Next {
        if let Some(finished) = Finished::of(stored) {
            return Step::Done(Verdict::Ack(AckProof::Finished(finished)));
        }
        match stored.state {
            State::Retry => self.wait(stored.not_before_ms, now_ms),
            State::InFlight | State::Done => {
                let until = stored.lease_ms;
                self.release(until.saturating_sub(now_ms).saturating_add(1))
            }
        }
    }

    /// Another write came first: decide again, a bounded number of times.
    fn lost(mut self) -> Option<Self> {
        self.lost_writes = self.lost_writes.saturating_add(1);
        (self.lost_writes < LOST_WRITES_MAX).then_some(self)
    }
}

impl Machine for Deliver {
    type Effect = Effect;
    type Outcome = Outcome;
    type Verdict = Verdict;

    fn step(mut self, outcome: Outcome, now_ms: u64) -> Next {
        let phase = core::mem::replace(&mut self.phase, Phase::New);
        match (phase, outcome) {
            // Too late for a call: no credentials are needed to say so.
            (Phase::New, Outcome::Start) if now_ms >= self.receive.facts.deliver_by_ms => self.look(now_ms),
            (Phase::New, Outcome::Start) => self.go(Phase::Preparing, vec![Effect::Prepare]),

            (Phase::Preparing, Outcome::Prepared) => self.look(now_ms),
            (Phase::Preparing, Outcome::Held(held)) => Self { held, ..self }.look(now_ms),
            (Phase::Preparing, Outcome::NotPrepared) => self.release_soon(),

            (Phase::Reading, Outcome::Read(stored)) => self.decide(stored.as_ref(), now_ms),
            (Phase::Reading, Outcome::ReadFailed) => self.release_soon(),

            (Phase::Claiming(item), Outcome::Written) => self.call(item, now_ms),
            (Phase::Settling(item), Outcome::Written) => self.follow(&item, now_ms),
            (Phase::Claiming(_) | Phase::Settling(_), Outcome::Conflict(stored)) => match self.clone().lost() {
                Some(machine) => machine.decide(stored.as_ref(), now_ms),
                None => self.release_soon(),
            },

            (Phase::Calling { run, mut answers, waiting }, Outcome::Called { device, answer }) => {
                let mut waiting = waiting;
                if let Some(slot @ None) = answers.get_mut(device) {
                    *slot = Some(answer);
                    waiting = waiting.saturating_sub(1);
                }
                if waiting == 0 {
                    self.record(run, answers, now_ms)
                } else {
                    self.go(Phase::Calling { run, answers, waiting }, Vec::new())
                }
            }

            (Phase::Recording { item, .. }, Outcome::Written) => self.follow(&item, now_ms),
            (Phase::Recording { learned, .. }, Outcome::Conflict(Some(stored))) => match self.clone().lost() {
                Some(machine) => machine.write_record(&stored, learned, now_ms),
                None => self.release_soon(),
            },

            (Phase::Succeeding { .. }, Outcome::SuccessorConfirmed) => {
                Step::Done(Verdict::Ack(AckProof::Successor(Confirmed(()))))
            }
            (Phase::Succeeding { until_ms }, Outcome::SuccessorUnconfirmed) => {
                self.release(until_ms.saturating_sub(now_ms))
            }

            // A record that is lost costs a second call once the lease is stolen, so it is written again while there is
            // time. If the first try did happen, the second meets its own item and goes on from there.
            (Phase::Recording { learned, item }, Outcome::WriteUnknown)
                if self.timing.record_may_start(now_ms, self.receive.invocation_ends_ms) =>
            {
                match self.clone().lost() {
                    Some(machine) => {
                        let expect = Expect::Version(item.version.saturating_sub(1));
                        let effect = Effect::Write { purpose: Purpose::Record, item: item.clone(), expect };
                        machine.go(Phase::Recording { learned, item }, vec![effect])
                    }
                    None => self.release_soon(),
                }
            }

            // Nobody knows whether the write happened (or the item is gone): the copy comes back and finds out.
            (
                Phase::Claiming(_) | Phase::Settling(_) | Phase::Recording { .. },
                Outcome::WriteUnknown | Outcome::Conflict(None),
            ) => self.release_soon(),

            (Phase::Releasing, Outcome::Released) => Step::Done(Verdict::Keep),
            // An outcome that answers no effect of ours is ignored.
            (phase, _) => self.go(phase, Vec::new()),
        }
    }

    fn stuck(self) -> Verdict {
        Verdict::Keep
    }
}
