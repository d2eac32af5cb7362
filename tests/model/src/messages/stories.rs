//! What the protocol itself can come to, as schedules: the shortest way to each outcome that a guarantee speaks of.
//!
//! The fault tests play them on the real functions, whose outcome must be the model's. Nothing is mistaken here.

use super::{Config, Messages};
use crate::{
    faults::{Budget, Fault},
    shortest::reaching,
    trace::Trace,
};
use protocol::content::Policy;

/// More states than any of these searches needs.
const STATES_MAX: usize = 400_000;

/// An outcome, and the faults that it takes.
#[derive(Clone, Copy, Debug)]
pub struct Story {
    /// The `sometimes` property that its last state has.
    pub outcome: &'static str,
    /// The policy of every request in it.
    pub policy: Policy,
    /// The faults.
    pub faults: &'static [Fault],
}

const fn story(outcome: &'static str, policy: Policy, faults: &'static [Fault]) -> Story {
    Story { outcome, policy, faults }
}

/// All of them.
pub const STORIES: [Story; 11] = [
    story("sent", Policy::AtLeastOnce, &[]),
    story("failed", Policy::AtLeastOnce, &[Fault::Permanent]),
    story("retry", Policy::AtLeastOnce, &[Fault::NotNow]),
    story("accepted twice, in a window", Policy::AtLeastOnce, &[Fault::Crash]),
    story("accepted twice, in a window", Policy::AtLeastOnce, &[Fault::ProviderLost]),
    story("accepted twice, in a window", Policy::AtLeastOnce, &[Fault::Stall]),
    story("unknown", Policy::AtLeastOnce, &[Fault::ProviderLost, Fault::Permanent]),
    story("unknown", Policy::AtMostOnce, &[Fault::Crash]),
    story("unknown", Policy::AtMostOnce, &[Fault::ProviderLost]),
    story("expired", Policy::AtLeastOnce, &[]),
    story("two answers lost", Policy::AtLeastOnce, &[Fault::ProviderLost, Fault::ProviderLost]),
];

impl Story {
    /// The shortest schedule that comes to it; `None` if none does.
    #[must_use]
    pub fn told(&self) -> Option<Trace> {
        let model = Messages::new(Config { faults: Budget::of(self.faults), ..Config::new(self.policy) });
        reaching(&model, self.outcome, STATES_MAX).map(|found| found.trace(&model))
    }
}
