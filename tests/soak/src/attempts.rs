//! A chunk's attempts: each claim that arrived, and whether the outcome of its calls was written down.
//!
//! Used by the oracle, pure like it. An attempt without a record needs a fault that hit its own invocation; one without
//! either is a broken promise whatever came of its devices.

use crate::evidence::{Evidence, Fault, Harm};
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
    pub(crate) claims: Vec<u64>,
    /// When each was sent, and when it was done.
    pub(crate) records: Vec<(u64, u64)>,
    pub(crate) works: Vec<&'a Work>,
    pub(crate) faults: Vec<&'a Fault>,
    pub(crate) jumps: &'a [(u64, u64)],
}

impl fmt::Debug for Chunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let works: Vec<_> = self.works.iter().map(|work| (work.from_ms, work.to_ms, work.broke)).collect();
        let faults: Vec<_> = self.faults.iter().map(|fault| (fault.from_ms, fault.to_ms, fault.name)).collect();
        write!(f, "claims {:?}, records {:?}, works {works:?}, faults {faults:?}", self.claims, self.records)
    }
}

impl<'a> Chunk<'a> {
    pub(crate) fn new(evidence: &'a Evidence) -> Self {
        Self { jumps: &evidence.jumps, ..Self::default() }
    }

    /// Its attempts, oldest first; `called` says whether any of its devices was called in [from, to].
    pub(crate) fn attempts(&self, called: impl Fn(u64, u64) -> bool) -> Vec<Attempt> {
        let mut claims = self.claims.clone();
        claims.sort_unstable();
        let until = claims.iter().skip(1).copied().chain([u64::MAX]);
        let attempt = |(from_ms, until_ms): (u64, u64)| {
            let outcome = self.outcome(from_ms, until_ms, &called);
            Attempt { from_ms, until_ms, outcome }
        };
        claims.iter().copied().zip(until).map(attempt).collect()
    }

    fn outcome(&self, claim_ms: u64, until_ms: u64, called: impl Fn(u64, u64) -> bool) -> Outcome {
        // What a dying process had sent arrives all the same.
        let last_ms = |work: &Work| work.to_ms + if work.broke.is_some() { TIMING.record } else { 0 };
        let works = || self.works.iter().filter(|work| (work.from_ms..=last_ms(work)).contains(&claim_ms));
        let end_ms = works().map(|work| work.to_ms).max().unwrap_or(claim_ms);
        let last_ms = works().map(|work| last_ms(work)).max().unwrap_or(claim_ms);
        // Nobody else writes before the lease is over, whatever the clocks of the two say.
        let alone_ms = claim_ms + TIMING.lease - 2 * TIMING.skew;
        let owner = |(sent_ms, at_ms): &(u64, u64)| {
            *sent_ms >= claim_ms && *sent_ms <= last_ms.max(alone_ms) && *at_ms < until_ms
        };
        if self.records.iter().any(owner) {
            return Outcome::Kept;
        }
        let during = |fault: &&&Fault| fault.from_ms <= end_ms && claim_ms <= fault.to_ms;
        let of = |harm: Harm| self.faults.iter().filter(during).find(|fault| fault.harm == harm);
        // Whoever learnt that it had the claim went on.
        let unheard = || of(Harm::Claim).filter(|_| !called(claim_ms, end_ms));
        let fault = of(Harm::Stalled).or_else(|| of(Harm::Record)).or_else(unheard).map(|fault| fault.name);
        let broke = || works().find_map(|work| work.broke);
        let moved = |work: &&&Work| {
            self.jumps.iter().any(|(from, to)| *from <= work.to_ms && work.from_ms <= *to && claim_ms <= *to)
        };
        let moved = || works().find(moved).map(|_| "all clocks moved during a call");
        fault.or_else(broke).or_else(moved).map_or(Outcome::Missing, Outcome::Lost)
    }
}
