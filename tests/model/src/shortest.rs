//! The shortest way to a violation, or to a state that is sought.
//!
//! stateright's own breadth-first search keeps the last counterexample of a block of states, with several threads even
//! of several blocks, so its paths are not the shortest. This is a plain level-by-level search over the same `Model`;
//! it keeps the states of one level and, for all others, 64 bits and the step that led there.

use crate::{
    shared::hash_of,
    trace::{Tell, Trace},
};
use stateright::{Expectation, Model};
use std::{collections::HashSet, hash::Hash};

/// How a property comes to be violated, or a state to be reached.
#[derive(Clone, Debug)]
pub struct Counterexample<A> {
    /// The first property that fails, in the model's order; or the one that is reached.
    pub property: &'static str,
    /// The steps from a first state.
    pub steps: Vec<A>,
    /// Distinct states seen until then.
    pub states: usize,
    first: usize,
}

/// The shortest list of steps after which an `always` property fails whose name begins with `of`; `None` when none does.
///
/// # Panics
/// When more than `most` states were seen before that was known.
#[must_use]
pub fn shortest<M>(model: &M, of: &str, most: usize) -> Option<Counterexample<M::Action>>
where
    M: Model,
    M::State: Hash,
    M::Action: Clone,
{
    let mut properties = model.properties();
    properties.retain(|property| property.expectation == Expectation::Always && property.name.starts_with(of));
    search(model, most, |state| properties.iter().find(|p| !(p.condition)(model, state)).map(|p| p.name))
}

/// The shortest list of steps to a state that the `sometimes` property of this name is about; `None` when there is none.
///
/// # Panics
/// When more than `most` states were seen before that was known.
#[must_use]
pub fn reaching<M>(model: &M, name: &str, most: usize) -> Option<Counterexample<M::Action>>
where
    M: Model,
    M::State: Hash,
    M::Action: Clone,
{
    let properties = model.properties();
    let sought = properties.iter().find(|p| p.expectation == Expectation::Sometimes && p.name == name)?;
    search(model, most, |state| (sought.condition)(model, state).then_some(sought.name))
}

/// The shortest way to a state in which `found` finds something.
fn search<M>(
    model: &M,
    most: usize,
    found: impl Fn(&M::State) -> Option<&'static str>,
) -> Option<Counterexample<M::Action>>
where
    M: Model,
    M::State: Hash,
    M::Action: Clone,
{
    let mut seen = HashSet::new();
    // For each state: the one before it and the step between them; a first state names itself.
    let mut came: Vec<(usize, Option<M::Action>)> = Vec::new();
    let mut level: Vec<(usize, M::State)> = Vec::new();
    let back = |came: &[(usize, Option<M::Action>)], property, mut at: usize| {
        let mut steps = Vec::new();
        while let (before, Some(action)) = &came[at] {
            steps.push(action.clone());
            at = *before;
        }
        steps.reverse();
        Some(Counterexample { property, steps, states: came.len(), first: at })
    };
    for state in model.init_states() {
        seen.insert(hash_of(&state));
        came.push((came.len(), None));
        if let Some(property) = found(&state) {
            return back(&came, property, came.len() - 1);
        }
        level.push((came.len() - 1, state));
    }
    let mut actions = Vec::new();
    while !level.is_empty() && came.len() <= most {
        let mut next_level = Vec::new();
        for (at, state) in level {
            model.actions(&state, &mut actions);
            for action in actions.drain(..) {
                let Some(next) = model.next_state(&state, action.clone()) else { continue };
                if seen.insert(hash_of(&next)) {
                    came.push((at, Some(action)));
                    if let Some(property) = found(&next) {
                        return back(&came, property, came.len() - 1);
                    }
                    next_level.push((came.len() - 1, next));
                }
            }
        }
        level = next_level;
    }
    // "Nothing found" would say of a world that all is well.
    assert!(level.is_empty(), "given up after {most} states");
    None
}

impl<A: Clone> Counterexample<A> {
    /// The same steps as a trace that people and programs can read.
    #[must_use]
    pub fn trace<M>(&self, model: &M) -> Trace
    where
        M: Tell<Action = A>,
    {
        let mut steps = Vec::new();
        let state = self.walk(model, |before, action| steps.push(model.tell(before, action)));
        let then = state.map_or_else(Vec::new, |last| model.aftermath(&last, self.property));
        Trace::numbered(self.property, steps, then)
    }

    /// The state after the last step.
    #[must_use]
    pub fn last<M>(&self, model: &M) -> Option<M::State>
    where
        M: Model<Action = A>,
    {
        self.walk(model, |_, _| {})
    }

    fn walk<M>(&self, model: &M, mut see: impl FnMut(&M::State, &A)) -> Option<M::State>
    where
        M: Model<Action = A>,
    {
        let mut state = model.init_states().into_iter().nth(self.first)?;
        for action in &self.steps {
            see(&state, action);
            state = model.next_state(&state, action.clone())?;
        }
        Some(state)
    }
}
