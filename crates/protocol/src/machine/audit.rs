//! One invocation of the audit: page after page of messages and refunds, and a copy for each chunk and each payout that
//! seems to have none.
//!
//! The pass is an item of its own. It is written when an invocation takes it up and after each page, each time by
//! compare-and-set, so that a crash repeats at most one page and of two invocations that meet one stops at its next
//! write. A page is passed only once SQS has confirmed every copy of it.

use crate::{
    audit::{
        Candidate, Finding, INVOCATION_MAX, OpenPayout, PAGE_RESERVE, PASS_EVERY, Pass, Position, Progress, Range,
        judge,
    },
    expect::Expect,
    ids::{MessageId, OwnerToken},
    machine::{
        Machine, Named, Step,
        relay::{ENTRIES_PER_BATCH, LOOKS_AT_ONCE},
    },
    refund::payout::State as PayoutState,
    timing::Timing,
};
use alloc::{collections::VecDeque, vec, vec::Vec};

/// What an invocation is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    /// What is due: go on with an unfinished pass, begin the day's, or do nothing.
    Due,
    /// A whole pass, from its beginning. It takes the place of an unfinished one.
    Now,
}

/// One copy to enqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// A chunk's.
    Chunk {
        /// Its message.
        id: MessageId,
        /// Its chunk.
        chunk: u16,
        /// Why.
        finding: Finding,
    },
    /// A payout's.
    Payout(OpenPayout),
}

/// What came of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// SQS has it.
    Confirmed,
    /// The message is no longer there: its end has come, or somebody deleted it. Or the payout is settled by now.
    Gone,
    /// Its project is held ([`crate::audit::waits_for`]): its copies wait, and none is missed.
    Held,
    /// The message or refund cannot be read, or SQS says the entry itself is wrong: a repeat would fail the same way.
    Refused,
    /// Not confirmed.
    Unconfirmed,
}

/// What the machine asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Read the pass, consistently.
    Read,
    /// Write the pass if it is as expected.
    Save {
        /// The whole item.
        pass: Pass,
        /// The condition.
        expect: Expect,
    },
    /// Read the page of messages behind a position. (Eventually consistent: a message in range was written minutes ago.)
    Scan {
        /// Where the last page ended.
        after: Option<Position>,
        /// Which messages.
        range: Range,
    },
    /// How far are the chunks of this message? Consistently, or a chunk that was just claimed would be a finding.
    Look {
        /// Its place in the page.
        candidate: usize,
        /// The message.
        id: MessageId,
    },
    /// Enqueue these, in one batch.
    Send(Vec<Entry>),
}

/// The names of all effects: crash points are "after_" and one of these.
pub const EFFECTS: [&str; 5] = ["read", "save", "scan", "look", "send"];

impl Named for Effect {
    fn name(&self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Save { .. } => "save",
            Self::Scan { .. } => "scan",
            Self::Look { .. } => "look",
            Self::Send(_) => "send",
        }
    }
}

/// What the world answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Begin.
    Start,
    /// The stored pass, or none.
    Read(Option<Pass>),
    /// The pass was written.
    Saved,
    /// It was not: this one is stored, or none.
    Conflict(Option<Pass>),
    /// A page.
    Scanned {
        /// How many items were read for it.
        items: u64,
        /// The messages in range.
        candidates: Vec<Candidate>,
        /// The payouts that are due or submitted.
        payouts: Vec<OpenPayout>,
        /// How many payouts wait for a person.
        in_review: u64,
        /// Messages and refunds that cannot be read.
        unreadable: u64,
        /// Where the next page begins; `None` at the end of the table.
        next: Option<Position>,
    },
    /// The chunks of a message that have a delivery item; `None` where that cannot be read.
    Looked {
        /// The message's place in the page.
        candidate: usize,
        /// Chunk numbers, and how far each is.
        items: Vec<(u16, Option<Progress>)>,
    },
    /// What came of each entry of the batch, in order.
    Sent(Vec<Sent>),
    /// The store did not answer an effect, or nobody knows whether a write happened.
    Failed,
}

/// Why an invocation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// The pass came to the end of the table.
    Finished,
    /// Nothing is due yet.
    NotDue,
    /// Another invocation is at it, or took the pass over.
    Elsewhere,
    /// Its time is over; a later invocation goes on.
    OutOfTime,
    /// Something did not answer; a later invocation repeats the page.
    Failed,
}

impl Ended {
    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::NotDue => "not_due",
            Self::Elsewhere => "elsewhere",
            Self::OutOfTime => "out_of_time",
            Self::Failed => "failed",
        }
    }
}

/// What an invocation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Report {
    /// Items that the scan read.
    pub scanned: u64,
    /// Messages in range.
    pub messages: u64,
    /// Copies confirmed for chunks without a delivery item.
    pub no_delivery_item: u64,
    /// Copies confirmed for chunks whose lease ended long ago.
    pub stuck_in_flight: u64,
    /// Copies confirmed for chunks whose retry was due long ago.
    pub stuck_retry: u64,
    /// Copies confirmed for payouts that had long been due.
    pub payouts_due: u64,
    /// Copies confirmed for payouts that the provider has not decided on for long.
    pub payouts_submitted: u64,
    /// Payouts in review that were met: they wait for a person, and no copy would help.
    pub payouts_in_review: u64,
    /// Items that cannot be read and copies that SQS refuses: for a person.
    pub not_repaired: u64,
    /// How it ended.
    pub ended: Ended,
}

impl Report {
    /// All copies together.
    #[must_use]
    pub fn enqueued(&self) -> u64 {
        self.missed().saturating_add(self.payouts_submitted)
    }

    /// Copies for what should have had one. A payout that the provider takes days to decide on is none of these: its copy
    /// may be well.
    #[must_use]
    pub fn missed(&self) -> u64 {
        let chunks = self.no_delivery_item.saturating_add(self.stuck_in_flight).saturating_add(self.stuck_retry);
        chunks.saturating_add(self.payouts_due)
    }
}

/// The order of steps of one invocation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Audit {
    asked: Asked,
    owner: OwnerToken,
    /// When this invocation is ended, in ms; `None` for a process that nobody ends.
    ends_ms: Option<u64>,
    timing: Timing,
    /// The pass as it was last asked to be written.
    pass: Option<Pass>,
    candidates: Vec<Candidate>,
    next_look: usize,
    looking: usize,
    jobs: VecDeque<Entry>,
    sending: Vec<Entry>,
    /// Where the next page begins, once this one is scanned.
    next: Option<Position>,
    /// Something did not answer: nothing new is begun.
    failed: bool,
    report: Report,
}

type Next = Step<Audit, Effect, Report>;

fn one(count: &mut u64) {
    *count = count.saturating_add(1);
}

impl Audit {
    /// A fresh invocation. `owner` is fresh too; it tells this invocation's own writes from another's.
    #[must_use]
    pub fn new(asked: Asked, owner: OwnerToken, ends_ms: Option<u64>, timing: Timing) -> Self {
        Self {
            asked,
            owner,
            ends_ms,
            timing,
            pass: None,
            candidates: Vec::new(),
            next_look: 0,
            looking: 0,
            jobs: VecDeque::new(),
            sending: Vec::new(),
            next: None,
            failed: false,
            report: Report {
                scanned: 0,
                messages: 0,
                no_delivery_item: 0,
                stuck_in_flight: 0,
                stuck_retry: 0,
                payouts_due: 0,
                payouts_submitted: 0,
                payouts_in_review: 0,
                not_repaired: 0,
                ended: Ended::Failed,
            },
        }
    }

    fn end(self, ended: Ended) -> Next {
        Step::Done(Report { ended, ..self.report })
    }

    /// Takes a pass up, or has nothing to do.
    fn begin(self, stored: Option<Pass>, now_ms: u64) -> Next {
        let version = stored.as_ref().map_or(0, |pass| pass.version);
        let expect = stored.as_ref().map_or(Expect::Absent, |pass| Expect::Version(pass.version));
        let (started_ms, position) = match (self.asked, stored) {
            (Asked::Due, Some(pass)) if !pass.finished => {
                // Somebody who wrote it a moment ago is probably still at it; the condition decides if not.
                if now_ms < pass.saved_ms.saturating_add(INVOCATION_MAX) {
                    return self.end(Ended::Elsewhere);
                }
                (pass.started_ms, pass.position)
            }
            (Asked::Due, Some(pass)) if now_ms < pass.started_ms.saturating_add(PASS_EVERY) => {
                return self.end(Ended::NotDue);
            }
            (Asked::Due | Asked::Now, _) => (now_ms, None),
        };
        let owner = self.owner;
        self.save(Pass { started_ms, saved_ms: now_ms, position, finished: false, owner, version }, expect)
    }

    /// Writes the pass as its next version.
    fn save(mut self, pass: Pass, expect: Expect) -> Next {
        let pass = Pass { version: pass.version.saturating_add(1), ..pass };
        self.pass = Some(pass.clone());
        Step::Go(self, vec![Effect::Save { pass, expect }])
    }

    /// The next page, if there is one and time for it.
    fn page(self, now_ms: u64) -> Next {
        let Some(pass) = &self.pass else { return self.end(Ended::Failed) };
        if pass.finished {
            return self.end(Ended::Finished);
        }
        if self.ends_ms.is_some_and(|ends| now_ms.saturating_add(PAGE_RESERVE) >= ends) {
            return self.end(Ended::OutOfTime);
        }
        let effect = Effect::Scan { after: pass.position.clone(), range: Range::at(now_ms, &self.timing) };
        Step::Go(self, vec![effect])
    }

    /// Starts look-ups until 32 run or none is left; then the sends.
    fn look(mut self, now_ms: u64) -> Next {
        let mut effects = Vec::new();
        while !self.failed && self.looking < LOOKS_AT_ONCE {
            let candidate = self.next_look;
            let Some(message) = self.candidates.get(candidate) else { break };
            effects.push(Effect::Look { candidate, id: message.id });
            self.next_look = self.next_look.saturating_add(1);
            self.looking = self.looking.saturating_add(1);
        }
        if effects.is_empty() && self.looking == 0 { self.send(now_ms) } else { Step::Go(self, effects) }
    }

    fn looked(&mut self, candidate: usize, items: &[(u16, Option<Progress>)], now_ms: u64) {
        let Some(message) = self.candidates.get(candidate) else { return };
        for chunk in 0..message.chunks {
            let found = match items.iter().find(|(number, _)| *number == chunk) {
                Some((_, None)) => {
                    one(&mut self.report.not_repaired);
                    continue;
                }
                Some((_, Some(item))) => judge(Some(item), self.timing.visibility, now_ms),
                None => judge(None, self.timing.visibility, now_ms),
            };
            self.jobs.extend(found.map(|finding| Entry::Chunk { id: message.id, chunk, finding }));
        }
    }

    /// The next batch of the page, or the end of the page.
    fn send(mut self, now_ms: u64) -> Next {
        if self.failed {
            return self.end(Ended::Failed);
        }
        let batch: Vec<Entry> = self.jobs.drain(..ENTRIES_PER_BATCH.min(self.jobs.len())).collect();
        if !batch.is_empty() {
            self.sending.clone_from(&batch);
            return Step::Go(self, vec![Effect::Send(batch)]);
        }
        let Some(pass) = self.pass.take() else { return self.end(Ended::Failed) };
        let expect = Expect::Version(pass.version);
        let next = self.next.take();
        self.save(Pass { saved_ms: now_ms, finished: next.is_none(), position: next, ..pass }, expect)
    }

    fn sent(mut self, outcomes: &[Sent], now_ms: u64) -> Next {
        for (index, entry) in core::mem::take(&mut self.sending).iter().enumerate() {
            let report = &mut self.report;
            match outcomes.get(index).copied().unwrap_or(Sent::Unconfirmed) {
                Sent::Confirmed => one(match entry {
                    Entry::Chunk { finding: Finding::NoDeliveryItem, .. } => &mut report.no_delivery_item,
                    Entry::Chunk { finding: Finding::StuckInFlight, .. } => &mut report.stuck_in_flight,
                    Entry::Chunk { finding: Finding::StuckRetry, .. } => &mut report.stuck_retry,
                    Entry::Payout(open) if open.state == PayoutState::Submitted => &mut report.payouts_submitted,
                    Entry::Payout(_) => &mut report.payouts_due,
                }),
                Sent::Gone | Sent::Held => {}
                Sent::Refused => one(&mut report.not_repaired),
                Sent::Unconfirmed => self.failed = true,
            }
        }
        self.send(now_ms)
    }
}

impl Machine for Audit {
    type Effect = Effect;
    type Outcome = Outcome;
    type Verdict = Report;

    fn step(mut self, outcome: Outcome, now_ms: u64) -> Next {
        match outcome {
            Outcome::Start => Step::Go(self, vec![Effect::Read]),
            Outcome::Read(stored) => self.begin(stored, now_ms),
            Outcome::Saved => self.page(now_ms),
            // My own write, whose answer was lost and which the SDK repeated.
            Outcome::Conflict(stored) if stored.is_some() && stored == self.pass => self.page(now_ms),
            Outcome::Conflict(_) => self.end(Ended::Elsewhere),
            Outcome::Scanned { items, candidates, payouts, in_review, unreadable, next } => {
                self.report.scanned = self.report.scanned.saturating_add(items);
                self.report.payouts_in_review = self.report.payouts_in_review.saturating_add(in_review);
                self.report.not_repaired = self.report.not_repaired.saturating_add(unreadable);
                self.report.messages = self.report.messages.saturating_add(candidates.len() as u64);
                (self.candidates, self.next_look, self.next) = (candidates, 0, next);
                let waiting = payouts.into_iter().filter(|open| open.waits_long(&self.timing, now_ms));
                self.jobs.extend(waiting.map(Entry::Payout));
                self.look(now_ms)
            }
            Outcome::Looked { candidate, items } => {
                self.looked(candidate, &items, now_ms);
                self.looking = self.looking.saturating_sub(1);
                self.look(now_ms)
            }
            Outcome::Sent(outcomes) => self.sent(&outcomes, now_ms),
            Outcome::Failed => {
                self.failed = true;
                self.looking = self.looking.saturating_sub(1);
                self.look(now_ms)
            }
        }
    }

    fn stuck(self) -> Report {
        self.report
    }
}
