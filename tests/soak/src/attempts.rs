//! A chunk's attempts: each claim that arrived, and whether the outcome of its calls was written down.
//!
//! Used by the oracle, pure like it. An attempt without a record needs a fault that hit its own invocation; one without
//! either is a broken promise whatever came of its devices.

use crate::evidence::{Evidence, Fault, Harm, Write};
use protocol::timing::Timing;
use std::fmt;

const TIMING: Timing = Timing::PRODUCTION;

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its outcome was recorded.
    Kept,
    /// It was not, because of this.
    Lost(&'static str),
    /// It was not, and nothing explains it.
    Missing,
}

/// One attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// When its claim arrived, in ms.
    pub(crate) from_ms: u64,
    /// When the next one arrived; the end of time for the last.
    pub(crate) until_ms: u64,
    /// What came of it.
    pub(crate) outcome: Outcome,
}

impl Attempt {
    /// Whether this happened during it.
    pub(crate) fn holds(&self, at_ms: u64) -> bool {
        (self.from_ms..self.until_ms).contains(&at_ms)
    }
}

/// An invocation of a consumer that had a copy of a chunk.
#[derive(Clone, Debug)]
pub struct Work {
    /// The message.
    pub message: String,
    /// The chunk.
    pub chunk: usize,
    /// The process.
    pub by: String,
    /// From when, in ms.
    pub from_ms: u64,
    /// Until when.
    pub to_ms: u64,
    /// Why it did not come to its end, if so.
    pub broke: Option<&'static str>,
}

/// What is known of one chunk.
#[derive(Clone, Default)]
pub(crate) struct Chunk<'a> {
    pub(crate) claims: Vec<&'a Write>,
    pub(crate) records: Vec<&'a Write>,
    pub(crate) works: Vec<&'a Work>,
    pub(crate) faults: Vec<&'a Fault>,
    pub(crate) jumps: &'a [(u64, u64)],
}

/// Until when something may arrive that it sent: what a dying process had sent arrives all the same.
fn last_ms(work: &Work) -> u64 {
    work.to_ms + if work.broke.is_some() { TIMING.record } else { 0 }
}

impl fmt::Debug for Chunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let works: Vec<_> = self.works.iter().map(|work| (&work.by, work.from_ms, work.to_ms, work.broke)).collect();
        let faults: Vec<_> = self.faults.iter().map(|fault| (fault.from_ms, fault.to_ms, fault.name)).collect();
        let of = |writes: &[&Write]| -> Vec<_> {
            writes.iter().map(|write| (write.by.clone(), write.sent_ms, write.at_ms)).collect()
        };
        let (claims, records) = (of(&self.claims), of(&self.records));
        write!(f, "claims {claims:?}, records {records:?}, works {works:?}, faults {faults:?}")
    }
}

impl<'a> Chunk<'a> {
    pub(crate) fn new(evidence: &'a Evidence) -> Self {
        Self { jumps: &evidence.jumps, ..Self::default() }
    }

    /// Its attempts, oldest first; `called` says whether any of its devices was called in [from, to].
    pub(crate) fn attempts(&self, called: impl Fn(u64, u64) -> bool) -> Vec<Attempt> {
        let mut claims = self.claims.clone();
        claims.sort_unstable_by_key(|claim| claim.at_ms);
        let until = claims.iter().skip(1).map(|claim| claim.at_ms).chain([u64::MAX]);
        let attempt = |(claim, until_ms): (&&Write, u64)| {
            let outcome = self.outcome(claim, until_ms, &called);
            Attempt { from_ms: claim.at_ms, until_ms, outcome }
        };
        claims.iter().zip(until).map(attempt).collect()
    }

    /// The invocations in which this claim was won.
    fn works_of(&self, claim: &Write) -> impl Iterator<Item = &'a Work> {
        let here = |work: &&Work| work.by == claim.by && (work.from_ms..=last_ms(work)).contains(&claim.at_ms);
        self.works.iter().copied().filter(here)
    }

    /// Whether whoever won this claim wrote this.
    fn is_of(&self, record: &Write, claim: &Write) -> bool {
        let last_ms = self.works_of(claim).map(last_ms).max().unwrap_or(claim.at_ms);
        record.by == claim.by && (claim.at_ms..=last_ms).contains(&record.sent_ms)
    }

    fn outcome(&self, claim: &Write, until_ms: u64, called: impl Fn(u64, u64) -> bool) -> Outcome {
        let claim_ms = claim.at_ms;
        let works = || self.works_of(claim);
        let end_ms = works().map(|work| work.to_ms).max().unwrap_or(claim_ms);
        let earlier = |record: &Write| self.claims.iter().any(|won| won.at_ms < claim_ms && self.is_of(record, won));
        let others = |record: &&&Write| (claim_ms..until_ms).contains(&record.at_ms) && !earlier(record);
        let first = self.records.iter().filter(others).min_by_key(|record| record.at_ms);
        // Its own, and before that of a stranger: whoever comes after one joins what that one made of its silence.
        if first.is_some_and(|record| self.is_of(record, claim)) {
            return Outcome::Kept;
        }
        let during = |fault: &&&Fault| fault.from_ms <= end_ms && claim_ms <= fault.to_ms;
        let of = |harm: Harm| self.faults.iter().filter(during).find(|fault| fault.harm == harm);
        // Whoever learnt that it had the claim went on.
        let unheard = || of(Harm::Claim).filter(|_| !called(claim_ms, end_ms));
        let fault = of(Harm::Stalled).or_else(|| of(Harm::Record)).or_else(unheard).map(|fault| fault.name);
        let broke = || works().find_map(|work| work.broke);
        let moved = |work: &&Work| {
            self.jumps.iter().any(|(from, to)| *from <= work.to_ms && work.from_ms <= *to && claim_ms <= *to)
        };
        let moved = || works().find(moved).map(|_| "all clocks moved during a call");
        fault.or_else(broke).or_else(moved).map_or(Outcome::Missing, Outcome::Lost)
    }
}
