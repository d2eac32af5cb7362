//! One device of one message before the oracle: its words, its calls, its chunk's attempts. Pure.

use crate::{
    attempts::{Attempt, Chunk, Outcome},
    evidence::{Call, Device, Fault, Harm, Look, Message},
    oracle::{Promise, Verdict},
};

/// A call that began before its owner stood still arrives at most so long after that, in ms: its own limit.
const LATE_MS: u64 = protocol::timing::Timing::PRODUCTION.call;

/// Until when what it had under way arrives.
fn late_ms(stall: &Fault) -> u64 {
    stall.to_ms.saturating_add(LATE_MS)
}

/// One device's part of it.
pub(crate) struct Case<'a> {
    pub(crate) message: &'a Message,
    pub(crate) device: &'a Device,
    pub(crate) calls: &'a [&'a Call],
    /// Lost answers of its own.
    pub(crate) answers: &'a [&'a Fault],
    pub(crate) chunk: &'a Chunk<'a>,
    pub(crate) attempts: &'a [Attempt],
}

impl Case<'_> {
    /// The attempt that a call belongs to.
    pub(crate) fn attempt(&self, at_ms: u64) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.holds(at_ms))
    }

    /// Somebody stood still with this chunk in hand, and may have gone on among others' attempts.
    fn stalls(&self) -> impl Iterator<Item = &Fault> {
        self.chunk.faults.iter().copied().filter(|fault| fault.harm == Harm::Stalled)
    }

    /// The fault because of which `second` followed on `first`, which was accepted.
    fn cause(&self, first: &Call, second: &Call) -> Option<&'static str> {
        if first.lost.is_some() {
            return first.lost;
        }
        let attempt = self.attempt(first.at_ms);
        let until_ms = attempt.map_or(u64::MAX, |attempt| attempt.until_ms).min(second.at_ms);
        let recorded =
            |to_ms: u64| self.chunk.records.iter().any(|record| (first.at_ms..to_ms).contains(&record.at_ms));
        let during = |at_ms: u64| first.at_ms <= at_ms && at_ms <= until_ms && !recorded(at_ms);
        if let Some(fault) = self.answers.iter().find(|fault| during(fault.from_ms)) {
            return Some(fault.name);
        }
        if let Some(Attempt { outcome: Outcome::Lost(name), .. }) = attempt {
            return Some(name);
        }
        // Either it had called before it stood still, or its call was under way, and others called before or after that
        // arrived.
        let stalled = |fault: &&Fault| {
            first.at_ms <= late_ms(fault)
                && fault.from_ms <= second.at_ms
                && if first.at_ms <= fault.from_ms { !recorded(fault.from_ms) } else { second.at_ms <= late_ms(fault) }
        };
        self.stalls().find(stalled).map(|fault| fault.name)
    }

    /// When those began that are the cause of a repeat by this name.
    fn stalls_between(&self, name: &str, first: &Call, second: &Call) -> impl Iterator<Item = u64> {
        let (first_ms, second_ms) = (first.at_ms, second.at_ms);
        let touches = move |fault: &&Fault| first_ms <= late_ms(fault) && fault.from_ms <= second_ms;
        self.stalls().filter(move |fault| fault.name == name).filter(touches).map(|fault| fault.from_ms)
    }

    /// Whether a provider's acceptance of this call reached the table.
    pub(crate) fn is_known(&self, call: &Call) -> bool {
        let attempt = self.attempt(call.at_ms);
        let kept = attempt.filter(|attempt| attempt.outcome == Outcome::Kept);
        let heard = |attempt: &Attempt| {
            !self.answers.iter().any(|fault| call.at_ms <= fault.from_ms && attempt.holds(fault.from_ms))
        };
        call.lost.is_none() && self.stalls().next().is_none() && kept.is_some_and(heard)
    }

    /// The worst letter that the losses of all attempts until then can have led to.
    fn worst(&self, until_ms: u64) -> Letter {
        let mut letter = Letter::None;
        for attempt in self.attempts.iter().filter(|attempt| attempt.from_ms <= until_ms) {
            let calls = || self.calls.iter().filter(|call| attempt.holds(call.at_ms) && call.at_ms <= until_ms);
            let lost = matches!(attempt.outcome, Outcome::Lost(_))
                || calls().any(|call| call.lost.is_some() && !call.error)
                || self.answers.iter().any(|fault| attempt.holds(fault.from_ms));
            letter = match (letter, lost) {
                (Letter::None, true) => Letter::One,
                (Letter::One, true) => Letter::Two,
                (Letter::Two, true) => Letter::Unknown,
                (Letter::None, false) if calls().any(|call| call.error) => Letter::One,
                (letter, _) => letter,
            };
        }
        letter
    }

    /// Whether what was lost until then allows the word.
    pub(crate) fn may_be_unknown(&self, until_ms: u64) -> bool {
        let worst = self.worst(until_ms);
        if self.message.once || until_ms >= self.message.deliver_by_ms {
            return worst != Letter::None;
        }
        // A lost answer, then refused for good; or so many losses that nobody asks again. In either order: an owner
        // that stood still may record its refusal last.
        let refused = self.calls.iter().any(|call| call.permanent && call.at_ms <= until_ms);
        worst == Letter::Unknown || (refused && worst != Letter::None)
    }

    /// Whether the ledger and the attempts allow this last word.
    fn is_true(&self, word: &str, end_ms: u64) -> bool {
        if word != "sent" && self.calls.iter().any(|call| call.accepted && self.is_known(call)) {
            return false;
        }
        let maybe = self.calls.iter().any(|call| call.accepted || call.lost.is_some());
        let kept = |attempt: &Attempt| attempt.outcome == Outcome::Kept;
        // An owner that stood still joins its outcome to others'.
        let stalled = self.stalls().next().is_some();
        let kept_before = |at_ms: u64| self.attempts.iter().filter(|attempt| attempt.from_ms <= at_ms).all(kept);
        let mut refusals = self.calls.iter().filter(|call| call.permanent);
        match word {
            "sent" => self.calls.iter().any(|call| call.accepted),
            "failed" => !maybe && refusals.any(|call| stalled || kept_before(call.at_ms)),
            "expired" => {
                let all = stalled || self.attempts.iter().all(kept);
                !maybe && all && end_ms >= self.message.deliver_by_ms && refusals.next().is_none()
            }
            // The last GET named fewer devices than the message has.
            "" => false,
            _ => true,
        }
    }

    fn story(&self) -> String {
        let calls: Vec<_> =
            self.calls.iter().map(|call| (call.at_ms, call.accepted, call.permanent, call.lost)).collect();
        let (device, message) = (self.device, self.message);
        let policy = if message.once { "at_most_once" } else { "at_least_once" };
        format!(
            "{} of {}, {policy}: {:?}, calls {calls:?}, lost answers {:?}, attempts {:?}, {:?}",
            device.token,
            message.id,
            device.looks.iter().map(|look| (look.told_ms, &look.word)).collect::<Vec<_>>(),
            self.answers.iter().map(|fault| (fault.from_ms, fault.name)).collect::<Vec<_>>(),
            self.attempts.iter().map(|attempt| (attempt.from_ms, attempt.outcome)).collect::<Vec<_>>(),
            self.chunk
        )
    }

    /// Reports every promise that is broken.
    pub(crate) fn judge(&self, end_ms: u64, verdict: &mut Verdict) {
        let looks = self.device.looks.split_last();
        let word = looks.map_or("", |(last, _)| last.word.as_str());
        *verdict.words.entry(word.to_owned()).or_default() += 1;
        let accepted: Vec<&Call> = self.calls.iter().copied().filter(|call| call.accepted).collect();
        for pair in accepted.windows(2) {
            match self.cause(pair[0], pair[1]) {
                Some(name) => {
                    *verdict.repeated.entry(name).or_default() += 1;
                    verdict.stalls_that_repeat.extend(self.stalls_between(name, pair[0], pair[1]));
                }
                None => verdict.report(Promise::RepeatedOutside, self.story()),
            }
        }
        // A call after one that may have been accepted is one too many whatever comes of it.
        let first = |of: &dyn Fn(&Call) -> bool| self.calls.iter().position(|call| of(call));
        let more = |at: Option<usize>| at.is_some_and(|at| at + 1 < self.calls.len());
        if self.message.once && more(first(&|call| call.accepted || call.lost.is_some())) {
            verdict.report(Promise::AtMostOnce, self.story());
        }
        // Of those that were accepted the pairs above tell.
        let known = first(&|call| call.accepted && self.is_known(call));
        if known.is_some_and(|at| self.calls[at + 1..].iter().any(|call| !call.accepted)) {
            verdict.report(Promise::RepeatedOutside, self.story());
        }
        if !self.is_true(word, end_ms) {
            verdict.report(Promise::Contradicted, self.story());
        }
        match word {
            "sent" | "failed" => {}
            "expired" => {
                if self.calls.is_empty() && end_ms < self.message.deliver_by_ms {
                    verdict.report(Promise::Lost, format!("never attempted: {}", self.story()));
                }
            }
            "unknown" => {
                if !self.may_be_unknown(end_ms) {
                    verdict.report(Promise::UnknownUnexplained, self.story());
                }
            }
            _ => verdict.report(Promise::Lost, self.story()),
        }
        for look in looks.map_or(&[][..], |(_, earlier)| earlier) {
            if let Some((promise, why)) = self.wrong(look) {
                verdict.report(promise, format!("{:?} at {}, {why}: {}", look.word, look.told_ms, self.story()));
            }
        }
        if goes_back(&self.device.looks) {
            verdict.report(Promise::WentBack, self.story());
        }
    }
}

/// The letters of an open device, as far as losses lead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Letter {
    None,
    One,
    Two,
    Unknown,
}

fn goes_back(looks: &[Look]) -> bool {
    looks.windows(2).any(|pair| {
        let (earlier, later) = (pair[0].word.as_str(), pair[1].word.as_str());
        rank(earlier) > rank(later)
            || (rank(earlier) == FINAL && earlier != later)
            || (earlier == "unknown" && !matches!(later, "unknown" | "sent"))
    })
}

/// Words that are final but for `unknown`, which may become `sent`.
const FINAL: u8 = 3;

fn rank(word: &str) -> u8 {
    match word {
        "pending" => 0,
        "sending" => 1,
        "unknown" => 2,
        _ => FINAL,
    }
}
