//! What must be true of a run, from what clients heard, what providers got and what the API says at the end.
//!
//! Pure: [`judge`] takes the [`Evidence`] and reports every promise that it contradicts. It knows no schedule: a fault
//! excuses only what it can have caused, which it shows by whom it hit and when.

use crate::{
    attempts::{Chunk, Outcome},
    case::Case,
    evidence::{Call, Device, Evidence, Fault, Harm, Hit, Key, Message, Said},
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Devices of a chunk.
const CHUNK: usize = protocol::DEVICES_PER_CHUNK;

/// Promises that can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// All answers of a key agree.
    Answers,
    /// Nothing accepted is lost.
    Lost,
    /// A second accepted call has a cause.
    RepeatedOutside,
    /// at_most_once: never a second call after one that may have been accepted.
    AtMostOnce,
    /// A status agrees with the ledger.
    Contradicted,
    /// `unknown` has a cause.
    UnknownUnexplained,
    /// The outcome of an attempt is written down, unless a fault hit that very attempt.
    RecordMissing,
    /// A status never goes back.
    WentBack,
    /// Nothing reaches a device that nobody accepted.
    Unasked,
}

/// The verdict.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Keys with a message.
    pub accepted: usize,
    /// 202 `duplicate_ignored`.
    pub duplicates: usize,
    /// 422.
    pub mismatches: usize,
    /// Requests that were answered with nothing that helps.
    pub unanswered: usize,
    /// Looks at messages by their ids.
    pub looks: usize,
    /// Looks that were answered with nothing that helps.
    pub not_shown: usize,
    /// Devices by their last word.
    pub words: BTreeMap<String, usize>,
    /// Devices that got a message more than once, by the fault that explains it.
    pub repeated: BTreeMap<&'static str, usize>,
    /// When the consumers that stood still did so.
    pub stalls: BTreeSet<u64>,
    /// Those of them that explain a repeat.
    pub stalls_that_repeat: BTreeSet<u64>,
    /// Every broken promise, with its story.
    pub broken: Vec<(Promise, String)>,
}

impl Verdict {
    /// How often a promise was broken.
    #[must_use]
    pub fn count(&self, promise: Promise) -> usize {
        self.broken.iter().filter(|(broken, _)| *broken == promise).count()
    }

    pub(crate) fn report(&mut self, promise: Promise, story: String) {
        self.broken.push((promise, story));
    }
}

/// Looks through everything once.
#[must_use]
pub fn judge(evidence: &Evidence) -> Verdict {
    let court = Court::new(evidence);
    let stalls = evidence.faults.iter().filter(|fault| fault.harm == Harm::Stalled).map(|fault| fault.from_ms);
    let mut verdict = Verdict { stalls: stalls.collect(), ..Verdict::default() };
    let mut asked = HashSet::new();
    for key in &evidence.keys {
        answers(key, &mut verdict);
        let Some(message) = &key.message else { continue };
        verdict.accepted += 1;
        let of = |device| (message.id.as_str(), device, Some(message.variant));
        asked.extend(message.devices.iter().map(|device| of(device.token.as_str())));
        court.message(message, &mut verdict);
    }
    verdict.looks = evidence.looks;
    for (id, status) in &evidence.not_shown {
        match status {
            502..=504 => verdict.not_shown += 1,
            404 => verdict.report(Promise::Lost, format!("{id}: accepted, and GET says 404")),
            _ => verdict.report(Promise::Answers, format!("{id}: GET says {status}")),
        }
    }
    for call in &evidence.calls {
        if !asked.contains(&(call.message.as_str(), call.token.as_str(), call.variant)) {
            let Call { token, message, variant, .. } = call;
            verdict
                .report(Promise::Unasked, format!("{token} got {message}, content {variant:?}: nobody asked for it"));
        }
    }
    verdict
}

fn answers(key: &Key, verdict: &mut Verdict) {
    let (mut ids, mut winners, mut queued) = (BTreeSet::new(), BTreeSet::new(), 0);
    for answer in &key.answers {
        match &answer.said {
            Said::Queued(id) | Said::Duplicate(id) => {
                ids.insert(id.as_str());
                winners.insert(answer.variant);
            }
            Said::Reused => verdict.mismatches += 1,
            Said::Nothing => verdict.unanswered += 1,
            Said::Odd(what) => verdict.report(Promise::Answers, format!("{}: {what}", key.key)),
        }
        match &answer.said {
            Said::Queued(_) => queued += 1,
            Said::Duplicate(_) => verdict.duplicates += 1,
            _ => {}
        }
    }
    let stored = key.message.as_ref().map(|message| message.id.as_str());
    if !ids.is_empty() && stored.is_none() {
        verdict.report(Promise::Lost, format!("{}: accepted, and nothing is stored", key.key));
    }
    ids.extend(stored);
    winners.extend(key.message.as_ref().map(|message| message.variant));
    if ids.len() > 1 {
        verdict.report(Promise::Answers, format!("{}: more than one id: {ids:?}", key.key));
    }
    if winners.len() > 1 {
        verdict.report(Promise::Answers, format!("{}: two different requests were both accepted", key.key));
    }
    if queued > 1 {
        verdict.report(Promise::Answers, format!("{}: {queued} answers say queued", key.key));
    }
    for answer in key.answers.iter().filter(|answer| answer.said == Said::Reused) {
        if winners.contains(&answer.variant) {
            verdict.report(Promise::Answers, format!("{}: 422 for the request that was accepted", key.key));
        }
    }
}

/// The evidence, found by what it is about.
struct Court<'a> {
    calls: HashMap<(&'a str, &'a str), Vec<&'a Call>>,
    answers: HashMap<(&'a str, &'a str), Vec<&'a Fault>>,
    chunks: HashMap<(&'a str, usize), Chunk<'a>>,
    end_ms: u64,
}

impl<'a> Court<'a> {
    fn new(evidence: &'a Evidence) -> Self {
        let mut court =
            Self { calls: HashMap::new(), answers: HashMap::new(), chunks: HashMap::new(), end_ms: evidence.end_ms };
        for call in &evidence.calls {
            court.calls.entry((&call.message, &call.token)).or_default().push(call);
        }
        let chunks = &mut court.chunks;
        let mut chunk = |message: &'a str, chunk: usize, put: &dyn Fn(&mut Chunk<'a>)| {
            put(chunks.entry((message, chunk)).or_insert_with(|| Chunk::new(evidence)));
        };
        for write in &evidence.records {
            chunk(&write.message, write.chunk, &|chunk| chunk.records.push(write));
        }
        for write in &evidence.claims {
            chunk(&write.message, write.chunk, &|chunk| chunk.claims.push(write));
        }
        for work in &evidence.works {
            chunk(&work.message, work.chunk, &|chunk| chunk.works.push(work));
        }
        for fault in &evidence.faults {
            match &fault.hit {
                Hit::Chunk(message, number) => chunk(message, *number, &|chunk| chunk.faults.push(fault)),
                Hit::Device(message, token) => court.answers.entry((message, token)).or_default().push(fault),
            }
        }
        court
    }

    fn calls(&self, message: &'a Message, device: &'a Device) -> &[&'a Call] {
        self.calls.get(&(message.id.as_str(), device.token.as_str())).map_or(&[], Vec::as_slice)
    }

    fn message(&self, message: &'a Message, verdict: &mut Verdict) {
        for (number, devices) in message.devices.chunks(CHUNK).enumerate() {
            let nothing = Chunk::default();
            let chunk = self.chunks.get(&(message.id.as_str(), number)).unwrap_or(&nothing);
            let called = |from_ms: u64, to_ms: u64| {
                let mut calls = devices.iter().flat_map(|device| self.calls(message, device));
                calls.any(|call| (from_ms..=to_ms).contains(&call.at_ms))
            };
            let attempts = chunk.attempts(called);
            let missing = attempts.iter().filter(|attempt| attempt.outcome == Outcome::Missing).count();
            if missing > 0 {
                let id = &message.id;
                let outcomes: Vec<_> = attempts.iter().map(|attempt| (attempt.from_ms, attempt.outcome)).collect();
                let story = format!("{id}, chunk {number}: attempts {outcomes:?}, {chunk:?}");
                verdict.report(Promise::RecordMissing, story);
            }
            for device in devices {
                let answers = self.answers.get(&(message.id.as_str(), device.token.as_str()));
                let answers = answers.map_or(&[][..], Vec::as_slice);
                let case =
                    Case { message, device, calls: self.calls(message, device), answers, chunk, attempts: &attempts };
                case.judge(self.end_ms, verdict);
            }
        }
    }
}
