//! Where each seeded mistake shows: the smallest world and the fewest faults, and the guarantee that it breaks.
//!
//! Called by the test that every one is caught. The fault tests play the right system's schedules (`stories.rs`): after
//! its mistake a wrong one asks for effects that the right one never does.

use super::{Asked, Config, Messages, Mutation};
use crate::{
    faults::{
        Budget,
        Fault::{self, Crash, Duplicate, Lost, NotNow, Permanent, Stall},
    },
    shortest::shortest,
    trace::Trace,
};
use protocol::content::Policy;

/// States that a search for a mistake may see.
const STATES_MAX: usize = 2_000_000;

/// The world that shows a mistake; one device, two consumers and at_least_once unless it says otherwise.
#[derive(Clone, Copy, Debug)]
enum World {
    Plain,
    AtMostOnce,
    TwoDevices,
    TwoChunks,
    TwoBodies,
    KeyReuse,
    TwoProjects,
}

/// A seeded mistake and what catches it.
#[derive(Clone, Copy, Debug)]
pub struct Seeded {
    /// Its code in the design's list; g… are the guarantee's own.
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
        let at_most_once = matches!(self.world, World::AtMostOnce);
        let policy = if at_most_once { Policy::AtMostOnce } else { Policy::AtLeastOnce };
        let base = Config { faults: Budget::of(self.faults), mutation, ..Config::new(policy) };
        match self.world {
            World::Plain | World::AtMostOnce => base,
            World::TwoDevices => Config { devices: 2, ..base },
            World::TwoChunks => Config { chunks: 2, consumers: 1, ..base },
            World::TwoBodies => Config { consumers: 1, ..base.bodies(&[0, 1]) },
            World::KeyReuse => Config { consumers: 1, keys_expire: true, ..base.bodies(&[0, 1]) },
            World::TwoProjects => {
                let requests = vec![Asked { project: 0, body: 0 }, Asked { project: 1, body: 0 }];
                Config { consumers: 1, requests, ..base }
            }
        }
    }

    /// Its world and faults: mistakes of one place have one control.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{:?}, {:?}", self.world, self.faults)
    }

    /// The shortest schedule that shows the mistake; `None` when it is not caught.
    #[must_use]
    pub fn caught(&self) -> Option<Trace> {
        let model = Messages::new(self.config(Some(self.mutation)));
        shortest(&model, self.property, STATES_MAX).map(|found| found.trace(&model))
    }

    /// A schedule that breaks any rule in the same world without the mistake; `None` when all is well.
    #[must_use]
    pub fn control(&self) -> Option<Trace> {
        let model = Messages::new(self.config(None));
        shortest(&model, "", STATES_MAX).map(|found| found.trace(&model))
    }
}

const DRAINS: &str = "G4 whatever was accepted drains";
const QUEUED: &str = "G4 while a chunk is not done";
const LIES: &str = "G6 a status never lies";
const BACK: &str = "G6 a status never goes back";
const SECOND: &str = "G5 no second call";
const TWICE: &str = "G5 at most once";

/// All of them.
pub const SEEDED: [Seeded; 29] = [
    Seeded::new("x1", Mutation::NoRelay, World::Plain, &[], DRAINS),
    Seeded::new("x2", Mutation::NoSelfCheck, World::Plain, &[Lost], "G1 "),
    Seeded::new("x3", Mutation::AckOnBusy, World::Plain, &[Crash], DRAINS),
    Seeded::new("x4", Mutation::NoLeaseCheck, World::Plain, &[Stall], SECOND),
    Seeded::new("x4 asked", Mutation::NoLeaseCheck, World::Plain, &[Stall], "a machine goes on"),
    Seeded::new("x5", Mutation::RecordUnfenced, World::Plain, &[Stall], LIES),
    Seeded::new("x6", Mutation::RecordWholeVector, World::TwoDevices, &[Stall, NotNow], BACK),
    Seeded::new("x7", Mutation::DeadLetterFails, World::Plain, &[], LIES),
    Seeded::new("x8", Mutation::FailedAfterLost, World::Plain, &[Crash, Permanent], LIES),
    Seeded::new("x9", Mutation::ItemOfKey, World::KeyReuse, &[], LIES),
    Seeded::new("x12", Mutation::ItemExpiresEarly, World::Plain, &[], SECOND),
    Seeded::new("x13", Mutation::AckBeforeSuccessor, World::Plain, &[Crash, NotNow], DRAINS),
    Seeded::new("x15", Mutation::NoRedrive, World::Plain, &[], LIES),
    Seeded::new("x17", Mutation::TokenOfConsumer, World::AtMostOnce, &[Crash], TWICE),
    Seeded::new("x18", Mutation::TokenOfReceiveCount, World::AtMostOnce, &[Crash], TWICE),
    Seeded::new("e1", Mutation::RelayCopyAcked, World::Plain, &[Crash], DRAINS),
    Seeded::new("e2", Mutation::RelayAnyChunk, World::TwoChunks, &[Lost], DRAINS),
    Seeded::new("e3", Mutation::QueueLost, World::Plain, &[Crash], QUEUED),
    Seeded::new("e4", Mutation::DeadLettersLost, World::Plain, &[], QUEUED),
    Seeded::new("e5", Mutation::RelayNeverRepeats, World::Plain, &[Lost], DRAINS),
    Seeded::new("e6", Mutation::TtlFloorGone, World::Plain, &[], LIES),
    Seeded::new("e7", Mutation::InlineCountsAsSent, World::Plain, &[Lost], DRAINS),
    Seeded::new("e8", Mutation::SuccessorSkipped, World::Plain, &[NotNow, Duplicate], DRAINS),
    Seeded::new("g1", Mutation::AcceptUnfenced, World::TwoBodies, &[], "G1 "),
    Seeded::new("g2", Mutation::FingerprintIgnored, World::TwoBodies, &[], "G2 "),
    Seeded::new("g3", Mutation::RefusedStored, World::TwoBodies, &[], "G3 "),
    Seeded::new("g6", Mutation::InvocationOutlives, World::Plain, &[Stall], BACK),
    Seeded::new("g6b", Mutation::RefusalCountsAsLost, World::AtMostOnce, &[NotNow], LIES),
    Seeded::new("g8", Mutation::KeyForgetsProject, World::TwoProjects, &[], "G8 "),
];
