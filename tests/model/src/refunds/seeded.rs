//! Where each seeded mistake shows: the smallest world, the fewest faults, and the guarantee that it breaks.

use super::{Config, Mutation, Refunds};
use crate::{
    faults::Fault::{self, Crash, Duplicate, Lost, Permanent, ProviderLost},
    shortest::shortest,
    trace::Trace,
};

/// States that a search for a mistake may see.
const STATES_MAX: usize = 2_000_000;

#[derive(Clone, Copy, Debug)]
enum World {
    /// Two approvers, one rejecter.
    People,
    /// One approver.
    Approved,
    /// One approver, one consumer, events.
    Events,
    /// One approver, events, and nobody retries.
    EventsOfTwo,
    /// One approver, and ry12, against whose harm there are more guards.
    Believed,
}

/// A seeded mistake and what catches it.
#[derive(Clone, Copy, Debug)]
pub struct Seeded {
    /// Its code: rx… are the design's list, ry… further ones.
    pub code: &'static str,
    /// What it does.
    pub mutation: Mutation,
    world: World,
    /// The faults that it takes.
    pub faults: &'static [Fault],
    /// How the name of the property begins that it breaks.
    pub property: &'static str,
}

impl Seeded {
    const fn new(
        code: &'static str,
        mutation: Mutation,
        world: World,
        faults: &'static [Fault],
        property: &'static str,
    ) -> Self {
        Self { code, mutation, world, faults, property }
    }

    fn config(&self, mutation: Option<Mutation>) -> Config {
        let base = match self.world {
            World::People => Config::new(self.faults),
            World::Approved => Config::approved(self.faults),
            World::Believed => Config { also: Some(Mutation::RefusalOfMany), ..Config::approved(self.faults) },
            World::Events => Config { events: true, later: true, consumers: 1, ..Config::approved(self.faults) },
            World::EventsOfTwo => Config { events: true, ..Config::later(self.faults) },
        };
        Config { mutation, ..base }
    }

    /// Its world and faults: mistakes of one place have one control.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{:?}, {:?}", self.world, self.faults)
    }

    /// The shortest schedule that shows the mistake; `None` when it is not caught.
    #[must_use]
    pub fn caught(&self) -> Option<Trace> {
        let model = Refunds::new(self.config(Some(self.mutation)));
        shortest(&model, self.property, STATES_MAX).map(|found| found.trace(&model))
    }

    /// A schedule that breaks any rule in the same world without the mistake; `None` when all is well.
    #[must_use]
    pub fn control(&self) -> Option<Trace> {
        let model = Refunds::new(self.config(None));
        shortest(&model, "", STATES_MAX).map(|found| found.trace(&model))
    }
}

const TWICE: &str = "G7 at most one payout pays";
const DRAINS: &str = "G7 approved drains";

/// All of them.
pub const SEEDED: [Seeded; 20] = [
    Seeded::new("rx1", Mutation::ReadThenWrite, World::People, &[], "G7 a decision is final"),
    Seeded::new("rx2", Mutation::PayoutInSecondWrite, World::Approved, &[Crash], DRAINS),
    Seeded::new("rx3", Mutation::KeyPerAttempt, World::Approved, &[], TWICE),
    Seeded::new("rx4", Mutation::NoWindow, World::Approved, &[], TWICE),
    Seeded::new("rx5", Mutation::BlindReissue, World::Approved, &[Duplicate], TWICE),
    Seeded::new("ry1", Mutation::NoWait, World::Believed, &[Permanent], TWICE),
    Seeded::new("ry2", Mutation::AckBecauseStamped, World::Approved, &[Crash], DRAINS),
    Seeded::new("ry3", Mutation::EventsUnordered, World::Events, &[], "G6 a payout never goes back"),
    Seeded::new("ry4", Mutation::NoLookBefore, World::Believed, &[Crash, Permanent], TWICE),
    Seeded::new("ry5", Mutation::RefusalBelieved, World::Believed, &[ProviderLost, Permanent], "G6 failed is not said"),
    Seeded::new("ry6", Mutation::FailedIsFinal, World::Believed, &[Permanent], "G6 failed is true"),
    Seeded::new("ry7", Mutation::NoRelay, World::Approved, &[Crash], DRAINS),
    Seeded::new("ry8", Mutation::DeadLettersLost, World::Approved, &[], DRAINS),
    Seeded::new("ry9", Mutation::AmountOfCall, World::Approved, &[], "G7 the amount paid"),
    Seeded::new("ry10", Mutation::RecordUnfenced, World::EventsOfTwo, &[], "G6 a payout never goes back"),
    Seeded::new("ry11", Mutation::ReviewAtOnce, World::Approved, &[Crash, Duplicate], TWICE),
    Seeded::new("ry12", Mutation::RefusalOfMany, World::Approved, &[Crash, Duplicate, Permanent], TWICE),
    Seeded::new("ry13", Mutation::RepeatUnannounced, World::Approved, &[Crash, Duplicate, Permanent], TWICE),
    Seeded::new("ry14", Mutation::RedriveBelieved, World::Approved, &[Lost], DRAINS),
    Seeded::new("ry15", Mutation::FailureForgotten, World::Events, &[Permanent], "G6 paid is true"),
];
