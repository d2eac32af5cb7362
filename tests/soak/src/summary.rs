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
    /// Whether no promise was broken and no kind of fault was missing.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verdict.broken.is_empty() && self.tally.missing().is_empty()
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
        for (promise, line) in PROMISES {
            let broken = verdict.broken.iter().filter(|(broken, _)| *broken == promise);
            for (_, story) in broken.take(STORIES_MAX) {
                writeln!(f, "  BROKEN: {line}: {story}")?;
            }
        }
        write!(f, "  {}", if self.passed() { "passed" } else { "FAILED" })
    }
}
