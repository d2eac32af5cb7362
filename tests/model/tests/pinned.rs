//! Searches whose state counts are pinned in `counts.txt`: a count that changes says that the protocol or the model
//! did, and that somebody must look.

use model::search::{Searched, exhaust};
use stateright::Model;
use std::{
    collections::BTreeSet,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::Instant,
};

const COUNTS: &str = include_str!("counts.txt");
/// One search at a time: each uses every core.
static TURN: Mutex<()> = Mutex::new(());

/// How many faults more than usual a search may have: `MODEL_MORE_FAULTS`.
pub(crate) fn more_faults() -> usize {
    std::env::var("MODEL_MORE_FAULTS").map_or(0, |text| text.parse().expect("MODEL_MORE_FAULTS: a number"))
}

/// The lines of one test, and what they met.
#[derive(Debug, Default)]
pub(crate) struct Pinned {
    wrong: Vec<String>,
    violated: Vec<String>,
    pub(crate) reached: BTreeSet<&'static str>,
    searched: BTreeSet<String>,
    states: usize,
}

impl Pinned {
    /// Searches a model to its end and compares the count with the line of this name.
    pub(crate) fn search<M>(&mut self, name: &str, model: M)
    where
        M: Model + Send + Sync + 'static,
        M::State: Hash + Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static,
        M::Action: Clone + PartialEq + std::fmt::Debug,
    {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let from = Instant::now();
        let Searched { states, generated, violated, reached } = exhaust(model);
        println!("{name}: {states} states, {generated} generated, {:.1} s", from.elapsed().as_secs_f32());
        if !violated.is_empty() {
            println!("{name}: VIOLATED {violated:?}");
            self.violated.push(format!("{name}: {violated:?}"));
        }
        let line = format!("{name}: {states}");
        let pinned = COUNTS.lines().find(|pinned| pinned.rsplit_once(": ").is_some_and(|(of, _)| of == name));
        // Larger budgets than the usual are not pinned.
        if pinned.map_or(more_faults() == 0, |pinned| pinned != line) {
            self.wrong.push(line);
        }
        self.reached.extend(reached);
        self.searched.insert(name.to_owned());
        self.states += states;
    }

    /// Fails if a rule was violated, a count is another than the pinned one, or a pinned search of these worlds (the
    /// words before the first comma) was not made.
    pub(crate) fn judge(&self) {
        println!("{} searches, {} states", self.searched.len(), self.states);
        assert!(self.violated.is_empty(), "violated; `shortest` tells how:\n{}", self.violated.join("\n"));
        assert!(self.wrong.is_empty(), "counts changed; if that is right, counts.txt says:\n{}", self.wrong.join("\n"));
        let world = |name: &str| name.split(',').next().map(ToOwned::to_owned);
        let worlds: BTreeSet<_> = self.searched.iter().map(|name| world(name)).collect();
        let pinned = COUNTS.lines().filter_map(|line| line.rsplit_once(": ")).map(|(name, _)| name);
        let left: Vec<_> =
            pinned.filter(|name| worlds.contains(&world(name)) && !self.searched.contains(*name)).collect();
        assert!(left.is_empty() || more_faults() > 0, "pinned, and not searched any more: {left:?}");
    }
}
