//! What the protocol itself can come to, as schedules: the shortest way to each outcome of a refund.
//!
//! The fault tests play them on the real functions, which must be where the model is: after the last step of the schedule,
//! and after all that follows without faults. Nothing is mistaken here.

use super::{
    Config, Refunds,
    world::{World, state},
};
use crate::{
    faults::Fault,
    shortest::reaching,
    trace::{Do, Trace},
};
use protocol::refund::Status;

/// More states than any of these searches needs.
const STATES_MAX: usize = 1_000_000;

/// An outcome, and the world that comes to it.
#[derive(Clone, Copy, Debug)]
pub struct Story {
    /// The `sometimes` property that its last state has.
    pub outcome: &'static str,
    /// The world, with its faults.
    config: fn(&[Fault]) -> Config,
    /// The faults.
    pub faults: &'static [Fault],
}

/// A story as it is told.
#[derive(Clone, Debug)]
pub struct Told {
    /// The steps.
    pub trace: Trace,
    /// The provider decides later.
    pub later: bool,
    /// The refund's word after the last step: its payout's state, or its own where there is no payout.
    pub word: &'static str,
    /// Requests to pay that have reached the provider by then.
    pub calls: usize,
    /// The word after the fair run without faults that follows.
    pub drained: &'static str,
    /// Refunds that the provider has made by then.
    pub made: usize,
}

const fn story(outcome: &'static str, config: fn(&[Fault]) -> Config, faults: &'static [Fault]) -> Story {
    Story { outcome, config, faults }
}

/// All of them.
pub const STORIES: [Story; 16] = [
    story("paid", Config::approved, &[]),
    story("submitted", Config::later, &[]),
    // Submitted first.
    story("paid", Config::later, &[]),
    story("failed", Config::approved, &[Fault::Permanent]),
    story("review", Config::approved, &[Fault::Crash]),
    story("rejected", Config::new, &[]),
    story("a loser is told who approved", Config::new, &[]),
    story("a loser is told that it is not pending", Config::new, &[]),
    story("a successor is paid", Config::approved, &[Fault::Permanent]),
    story("a refusal waits for the other callers", Config::approved, &[Fault::ProviderLost, Fault::Permanent]),
    story("one payout, called for three times", Config::approved, &[Fault::Crash, Fault::ProviderLost]),
    story("a call that did nothing is taken back", Config::approved, &[Fault::NotNow]),
    story("the key is forgotten and the payout due", Config::approved, &[Fault::Crash]),
    story("a success is taken back", Config::events, &[Fault::Permanent]),
    story("two consumers at one payout", Config::approved, &[]),
    story("a dead letter", Config::approved, &[]),
];

fn word(world: &World) -> &'static str {
    match world.item.status() {
        Status::Approved => state(&world.item).map_or("no payout", protocol::refund::payout::State::as_str),
        Status::Rejected => "rejected",
        Status::Pending => "pending",
    }
}

/// Requests to pay of a trace that reach the provider.
fn calls(trace: &Trace) -> usize {
    let reaches = |what: Do| !matches!(what, Do::CrashBefore | Do::DropRequest | Do::Hold);
    trace.steps.iter().filter(|step| step.effect == "call" && reaches(step.r#do)).count()
}

impl Story {
    /// The shortest schedule that comes to it; `None` if none does.
    #[must_use]
    pub fn told(&self) -> Option<Told> {
        let model = Refunds::new((self.config)(self.faults));
        let found = reaching(&model, self.outcome, STATES_MAX)?;
        let (trace, last) = (found.trace(&model), found.last(&model)?);
        let end = model.fair_run(&last).1;
        let (later, calls, made) = (model.config.later, calls(&trace), end.provider.objects.len());
        Some(Told { word: word(&last), drained: word(&end), trace, later, calls, made })
    }
}
