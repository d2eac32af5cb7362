//! Searching a model to its end: stateright's checker, and what came of it in a form that a test can pin.
//!
//! Called by the tests for every configuration. It guarantees that a finished search has visited every state, or panics;
//! it says only *that* a property is violated, not how: the shortest way there is `shortest`'s.

use stateright::{Checker, Expectation, Model};
use std::{collections::BTreeSet, hash::Hash};

/// What a finished search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// Distinct states.
    pub states: usize,
    /// States generated, distinct or not: transitions and the first states.
    pub generated: usize,
    /// `always` properties that some state violates.
    pub violated: BTreeSet<&'static str>,
    /// `sometimes` properties that some state has.
    pub reached: BTreeSet<&'static str>,
}

/// Visits every state of the model, on this thread's core alone: many searches side by side keep all cores busy to their
/// ends, which threads within one do not, since they share its smaller parts badly.
///
/// # Panics
/// When the search ends early, which happens only when every property has its example or counterexample.
#[must_use]
pub fn exhaust<M>(model: M) -> Searched
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static,
    M::Action: Clone + PartialEq + std::fmt::Debug,
{
    let expected = |expectation: &Expectation| {
        let properties = model.properties().into_iter();
        properties.filter(|p| p.expectation == *expectation).map(|p| p.name).collect::<BTreeSet<_>>()
    };
    let (always, sometimes) = (expected(&Expectation::Always), expected(&Expectation::Sometimes));
    let checker = model.checker().threads(1).spawn_bfs().join();
    let found: BTreeSet<&'static str> = checker.discoveries().into_keys().collect();
    let searched = Searched {
        states: checker.unique_state_count(),
        generated: checker.state_count(),
        violated: always.intersection(&found).copied().collect(),
        reached: sometimes.intersection(&found).copied().collect(),
    };
    assert!(checker.is_done() || !searched.violated.is_empty(), "the search ended before the last state");
    searched
}
