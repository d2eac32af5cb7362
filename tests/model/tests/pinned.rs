//! Searches whose state counts are pinned in `counts.txt`: a count that changes says that the protocol or the model
//! did, and that somebody must look.

use model::search::{Searched, exhaust};
use stateright::Model;
use std::{
    collections::BTreeSet,
    hash::Hash,
    mem,
    num::NonZero,
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
};

const COUNTS: &str = include_str!("counts.txt");
/// One test's searches at a time: they use every core.
static TURN: Mutex<()> = Mutex::new(());

/// How many faults more than usual a search may have: `MODEL_MORE_FAULTS`.
pub(crate) fn more_faults() -> usize {
    std::env::var("MODEL_MORE_FAULTS").map_or(0, |text| text.parse().expect("MODEL_MORE_FAULTS: a number"))
}

/// A search that is to be made.
type Search = Box<dyn FnOnce() -> Searched + Send>;

/// The lines of one test, and what they met.
#[derive(Default)]
pub(crate) struct Pinned {
    planned: Vec<(String, Search)>,
    wrong: Vec<String>,
    violated: Vec<String>,
    reached: BTreeSet<&'static str>,
    searched: BTreeSet<String>,
    states: usize,
}

impl Pinned {
    /// Plans to search a model to its end and to compare the count with the line of this name.
    pub(crate) fn search<M>(&mut self, name: &str, model: M)
    where
        M: Model + Send + Sync + 'static,
        M::State: Hash + Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static,
        M::Action: Clone + PartialEq + std::fmt::Debug,
    {
        self.planned.push((name.to_owned(), Box::new(|| exhaust(model))));
    }

    /// Makes the planned searches, one on each core; what they met.
    pub(crate) fn reached(&mut self) -> BTreeSet<&'static str> {
        self.reached.clear();
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken from the end, so in the planned order.
        self.planned.reverse();
        let planned = Mutex::new(mem::take(&mut self.planned));
        let next = || planned.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let found = Mutex::new(&mut *self);
        thread::scope(|threads| {
            for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
                threads.spawn(|| {
                    while let Some((name, search)) = next() {
                        let from = Instant::now();
                        let searched = search();
                        let seconds = from.elapsed().as_secs_f32();
                        found.lock().unwrap_or_else(PoisonError::into_inner).note(name, searched, seconds);
                    }
                });
            }
        });
        self.reached.clone()
    }

    fn note(&mut self, name: String, searched: Searched, seconds: f32) {
        let Searched { states, generated, violated, reached } = searched;
        println!("{name}: {states} states, {generated} generated, {seconds:.1} s");
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
        self.searched.insert(name);
        self.states += states;
    }

    /// Fails if a rule was violated, a count is another than the pinned one, or a pinned search of these worlds (the
    /// words before the first comma) was not made.
    pub(crate) fn judge(&mut self) {
        if !self.planned.is_empty() {
            self.reached();
        }
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
