//! A counterexample as people and programs read it: one step per line, or JSON.
//!
//! A step names the function, the effect, its number and what was done to it, which is what a fault proxy needs to
//! replay the schedule on the real functions; what no proxy does (time, SQS) is a step of the functions `time` and `sqs`.

use serde::{Deserialize, Serialize};
use stateright::Model;
use std::{collections::HashMap, fmt};

/// What happens to an effect, or to the invocation that asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Do {
    /// The event arrives and its invocation starts.
    Start,
    /// Done, and answered. For a provider call: accepted.
    Apply,
    /// Done; no answer comes.
    ApplyDropResponse,
    /// Done; the answer is lost, and the client's own repeat meets its first try.
    ApplyAndRepeat,
    /// Done in part: the first of several entries.
    ApplyInPart,
    /// Never arrives; no answer comes.
    DropRequest,
    /// Held in the network; no answer comes.
    Hold,
    /// What was held arrives.
    Arrive,
    /// The provider refuses for good.
    RefuseForGood,
    /// The provider refuses for the time being.
    RefuseForNow,
    /// The provider accepts and answers with an error that does not say so.
    AcceptAndFail,
    /// The provider does not accept, and answers with an error that does not say so.
    RefuseAndFail,
    /// The store or the provider's credentials give a clean error: nothing happened.
    Error,
    /// A read answers from before the last write.
    ReadStale,
    /// The invocation dies before this effect.
    CrashBefore,
    /// The effect is done; the invocation dies before it hears of it, or its acknowledgement is lost.
    CrashAfter,
    /// Before this effect the invocation sleeps past the end of its lease.
    Stall,
    /// SQS delivers the copy twice, or the stream its batch.
    Duplicate,
    /// SQS moves the copy to the dead-letter queue.
    Bury,
    /// It is lost: only a seeded mistake does this.
    Lose,
    /// Time passes.
    Pass,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceStep {
    /// `api`, `relay`, `deliver`, `dead_letter`, `refunds`, `payout`; `sqs`, `time` or `network` for what no function does.
    pub function: String,
    /// Which of several invocations of the function; its place among those running.
    pub invocation: u8,
    /// The effect's name, as its machine has it ("put", "claim", …); for `time` what passes ("lease", "deadline", …).
    pub effect: String,
    /// The how many-th such effect of that function this is, from 1.
    pub nth: u32,
    /// What happens to it.
    pub r#do: Do,
    /// What it is about: message, chunk, device.
    pub about: String,
}

impl TraceStep {
    /// A step that is not numbered yet.
    #[must_use]
    pub fn new(function: &str, invocation: usize, effect: &str, what: Do, about: String) -> Self {
        let invocation = u8::try_from(invocation).unwrap_or(u8::MAX);
        Self { function: function.to_owned(), invocation, effect: effect.to_owned(), nth: 0, r#do: what, about }
    }
}

impl fmt::Display for TraceStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, invocation, effect, nth, r#do, about } = self;
        write!(f, "{function}[{invocation}] {effect} #{nth}: {do:?}")?;
        if about.is_empty() { Ok(()) } else { write!(f, " ({about})") }
    }
}

/// A way to a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The property that fails at its end.
    pub property: String,
    /// The steps in order.
    pub steps: Vec<TraceStep>,
    /// For a property about the future: the fair steps without faults that follow, and end badly.
    pub then: Vec<TraceStep>,
}

impl Trace {
    /// Numbers each step among those of the same function and effect.
    #[must_use]
    pub fn numbered(property: &str, mut steps: Vec<TraceStep>, mut then: Vec<TraceStep>) -> Self {
        let mut counts: HashMap<(String, String), u32> = HashMap::new();
        for step in steps.iter_mut().chain(&mut then) {
            let count = counts.entry((step.function.clone(), step.effect.clone())).or_default();
            step.nth = *count + 1;
            // Before a crash or a sleep the effect is not asked for yet.
            if !matches!(step.r#do, Do::CrashBefore | Do::Stall) {
                *count += 1;
            }
        }
        Self { property: property.to_owned(), steps, then }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({} steps)", self.property, self.steps.len())?;
        for (at, step) in self.steps.iter().enumerate() {
            writeln!(f, "  {:>2}. {step}", at + 1)?;
        }
        if !self.then.is_empty() {
            writeln!(f, "  then, without faults:")?;
        }
        self.then.iter().try_for_each(|step| writeln!(f, "      {step}"))
    }
}

/// A model that can tell its steps.
pub trait Tell: Model {
    /// The step that `action` is in the state `before`.
    fn tell(&self, before: &Self::State, action: &Self::Action) -> TraceStep;

    /// The steps of the future that makes `property` fail in this state; none if it is about the state alone.
    fn aftermath(&self, _state: &Self::State, _property: &str) -> Vec<TraceStep> {
        Vec::new()
    }
}
