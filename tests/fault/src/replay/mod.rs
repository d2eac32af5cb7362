//! A trace of the model, played on the real functions: one step after the other, as the trace has them.
//!
//! A step is what `tests/model` tells: function, which of its invocations, effect, its number, what is done to
//! it. The replay stands at the proxy's gate, so nothing happens that the trace does not say; where it says "crash" the
//! process is killed. The replay is also the event source of the consumers and of dead_letter, one copy at a time. After
//! the last step everything runs free until nothing is left to do. What the trace expects at an effect is checked: a step
//! whose effect never comes, or comes as another one, fails the replay.

mod messages;
pub mod refunds;
mod stage;

pub use messages::{Played, play, token};

use model::trace::TraceStep as Step;

/// A step that no proxy can play.
#[derive(Clone, Debug, thiserror::Error)]
#[error("step {at} cannot be replayed: {step:?}")]
pub struct Unplayable {
    /// Its place, from 0.
    pub at: usize,
    /// The step.
    pub step: Step,
}
