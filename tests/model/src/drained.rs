//! The memory of a "drains" property: states from which a fair run without faults is known to end well.
//!
//! stateright's `eventually` can miss violations where paths join or circle, so "drains" is an `always` property: from
//! each state one fair, fault-free run is made to its end. Such runs flow together, so each state is run through once.

use std::{collections::HashSet, sync::Mutex};

const SHARDS: usize = 64;

/// A set of 64-bit state keys that threads share.
#[derive(Debug)]
pub struct Drained(Vec<Mutex<HashSet<u64>>>);

impl Default for Drained {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }
}

impl Drained {
    fn shard(&self, key: u64) -> std::sync::MutexGuard<'_, HashSet<u64>> {
        let at = usize::try_from(key % SHARDS as u64).unwrap_or(0);
        // A thread that panicked has failed the test already; what it knew is still true.
        self.0[at].lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Whether a run from the state of this key ends well.
    #[must_use]
    pub fn knows(&self, key: u64) -> bool {
        self.shard(key).contains(&key)
    }

    /// Runs from the states of these keys end well.
    pub fn learn(&self, keys: &[u64]) {
        for key in keys {
            self.shard(*key).insert(*key);
        }
    }
}
