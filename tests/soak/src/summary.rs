//! The closing summary of a run, and whether it passed.

use crate::{
    oracle::{Promise, Verdict},
    tally::Tally,
};
use std::fmt::{self, Display, Formatter};

/// Stories that are told of each broken promise.
const STORIES_MAX: usize = 5;
/// All promises and their lines.
const PROMISES: [(Promise, &str); 9] = [
    (Promise::RepeatedOutside, "repeated outside the window"),
    (Promise::AtMostOnce, "repeated under at_most_once"),
    (Promise::Lost, "lost"),
    (Promise::Contradicted, "statuses that the ledger contradicts"),
    (Promise::UnknownUnexplained, "unknown without a fault"),
    (Promise::RecordMissing, "records missing without a fault"),
    (Promise::WentBack, "statuses that went back"),
    (Promise::Answers, "answers of a key that disagree"),
    (Promise::Unasked, "delivered though never accepted"),
];

/// A run, in numbers.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The seed.
    pub seed: u64,
    /// Keys.
    pub sends: usize,
    /// Requests that sent.
    pub requests: usize,
    /// What the oracle says.
    pub verdict: Verdict,
    /// The faults.
    pub tally: Tally,
}

impl Summary {
    /// Whether no promise was broken, no kind of fault was missing, and enough was answered to show anything.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verdict.broken.is_empty() && self.tally.missing().is_empty() && self.silent().is_empty()
    }

    /// What too few answers were of use for. A key has about one repeat of the same request.
    fn silent(&self) -> Vec<&'static str> {
        let verdict = &self.verdict;
        let floors = [
            (verdict.accepted * 2 < self.sends, "fewer than half of the keys were accepted"),
            (verdict.duplicates * 2 < self.sends, "fewer repeats than half of the keys were answered"),
            (verdict.unanswered * 2 > self.requests, "more than half of the requests got no usable answer"),
            (verdict.not_shown * 2 > verdict.looks, "more than half of the looks showed nothing"),
        ];
        floors.into_iter().filter(|(silent, _)| *silent).map(|(_, what)| what).collect()
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let verdict = &self.verdict;
        let word = |word: &str| verdict.words.get(word).copied().unwrap_or_default();
        writeln!(f, "soak: seed {}, {} keys, {} requests", self.seed, self.sends, self.requests)?;
        writeln!(f, "  accepted {}", verdict.accepted)?;
        writeln!(f, "  duplicates answered {}", verdict.duplicates)?;
        writeln!(f, "  mismatches refused (422) {}", verdict.mismatches)?;
        writeln!(f, "  requests without a usable answer {}", verdict.unanswered)?;
        writeln!(f, "  looks {}, without a usable answer {}", verdict.looks, verdict.not_shown)?;
        writeln!(
            f,
            "  devices: delivered {}, failed {}, expired {}, unknown {}",
            word("sent"),
            word("failed"),
            word("expired"),
            word("unknown")
        )?;
        writeln!(f, "  repeated inside the window {}", verdict.repeated.values().sum::<usize>())?;
        for (name, count) in &verdict.repeated {
            writeln!(f, "    {name}: {count}")?;
        }
        let (stalls, repeat) = (verdict.stalls.len(), verdict.stalls_that_repeat.len());
        writeln!(f, "  consumers that stood still with work in hand {stalls}, of them explain a repeat {repeat}")?;
        for (promise, line) in PROMISES {
            writeln!(f, "  {line}: {}", verdict.count(promise))?;
        }
        writeln!(f, "  faults injected, and what clients and providers did:")?;
        for (kind, count) in self.tally.iter() {
            writeln!(f, "    {kind}: {count}")?;
        }
        for kind in self.tally.missing() {
            writeln!(f, "  VACUOUS: never happened: {kind}")?;
        }
        for what in self.silent() {
            writeln!(f, "  VACUOUS: {what}")?;
        }
        for (promise, line) in PROMISES {
            let broken = verdict.broken.iter().filter(|(broken, _)| *broken == promise);
            for (_, story) in broken.take(STORIES_MAX) {
                writeln!(f, "  BROKEN: {line}: {story}")?;
            }
        }
        write!(f, "  {}", if self.passed() { "passed" } else { "FAILED" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_hardly_answered_shows_nothing() {
        let verdict =
            Verdict { accepted: 9, duplicates: 8, unanswered: 3, looks: 6, not_shown: 1, ..Verdict::default() };
        let run = Summary { seed: 1, sends: 10, requests: 20, verdict, tally: Tally::default() };
        assert!(run.silent().is_empty());
        let worse = |verdict: Verdict| Summary { verdict, ..run.clone() }.silent().len();
        let good = || run.verdict.clone();
        assert_eq!(worse(Verdict { accepted: 4, ..good() }), 1);
        assert_eq!(worse(Verdict { duplicates: 0, ..good() }), 1);
        assert_eq!(worse(Verdict { unanswered: 11, ..good() }), 1);
        assert_eq!(worse(Verdict { not_shown: 4, ..good() }), 1);
    }
}
