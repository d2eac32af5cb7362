//! Which faults a search may inject, and how many of each.

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// An invocation dies, before or after an effect.
    Crash,
    /// SQS or the stream delivers twice, or a read answers from before the last write.
    Duplicate,
    /// A request or its answer is lost on the way to the table or to SQS.
    Lost,
    /// The provider's answer to a call is lost, or does not say whether it accepted.
    ProviderLost,
    /// An invocation sleeps past the end of its lease.
    Stall,
    /// The provider refuses for the time being.
    NotNow,
    /// The provider refuses for good.
    Permanent,
    /// A write is held in the network and arrives after its client gave up.
    Late,
}

/// All kinds.
pub const FAULTS: [Fault; 8] = [
    Fault::Crash,
    Fault::Duplicate,
    Fault::Lost,
    Fault::ProviderLost,
    Fault::Stall,
    Fault::NotNow,
    Fault::Permanent,
    Fault::Late,
];

/// How many faults of each kind may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget([u8; FAULTS.len()]);

impl Budget {
    /// These faults, once for each time they are named.
    #[must_use]
    pub fn of(faults: &[Fault]) -> Self {
        let mut budget = Self::default();
        for fault in faults {
            budget.0[*fault as usize] += 1;
        }
        budget
    }

    /// Whether one of this kind may still happen.
    #[must_use]
    pub fn has(self, fault: Fault) -> bool {
        self.0[fault as usize] > 0
    }

    /// One less of this kind.
    pub fn spend(&mut self, fault: Fault) {
        self.0[fault as usize] = self.0[fault as usize].saturating_sub(1);
    }
}

/// Every choice of so many faults: each kind any number of times.
#[must_use]
pub fn choices(faults: usize) -> Vec<Vec<Fault>> {
    let mut all: Vec<Vec<Fault>> = vec![Vec::new()];
    for _ in 0..faults {
        let more = |chosen: Vec<Fault>| {
            let least = chosen.last().map_or(0, |last| *last as usize);
            FAULTS[least..].iter().map(move |fault| [&chosen[..], &[*fault]].concat())
        };
        all = all.into_iter().flat_map(more).collect();
    }
    all
}
