//! What is cached per project, and one fetch at a time for all who wait for it.
//!
//! Used by a provider's client. A fetch that fails is shared too: those who waited for it get its failure instead of
//! fetching again one after the other. A fetcher that is dropped in the middle hands over to the next who waits.

use crate::NotPrepared;
use std::{
    collections::HashMap,
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Projects whose credentials are kept in memory; the one unused for longest makes room.
const PROJECTS_MAX: usize = 1_000;

/// The cached state of one project.
pub struct Slot<S> {
    state: Mutex<S>,
    fetching: tokio::sync::Mutex<()>,
    last: Mutex<Last>,
}

impl<S> fmt::Debug for Slot<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Last {
    /// How many fetches have ended.
    ended: u64,
    failure: Option<NotPrepared>,
}

impl<S: Default> Slot<S> {
    fn new() -> Self {
        Self { state: Mutex::default(), fetching: tokio::sync::Mutex::default(), last: Mutex::default() }
    }

    /// The state, for a look or a change that does not wait for anything.
    pub fn state(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `look` finds in the state, else what it finds after one `fetch`, mine or the one I waited for.
    ///
    /// # Errors
    /// What that fetch failed with.
    pub async fn get<T, F>(&self, look: impl Fn(&S) -> Option<T>, fetch: impl FnOnce() -> F) -> Result<T, NotPrepared>
    where
        F: Future<Output = Result<T, NotPrepared>>,
    {
        if let Some(found) = look(&self.state()) {
            return Ok(found);
        }
        let before = self.last().ended;
        let _mine = self.fetching.lock().await;
        if let Some(found) = look(&self.state()) {
            return Ok(found);
        }
        {
            let last = self.last();
            if let Some(failure) = last.failure.as_ref().filter(|_| last.ended != before) {
                return Err(failure.clone());
            }
        }
        let outcome = fetch().await;
        let mut last = self.last();
        last.ended += 1;
        last.failure = outcome.as_ref().err().cloned();
        outcome
    }
}

/// All projects' slots.
pub struct Slots<S> {
    by_project: Mutex<HashMap<String, Used<S>>>,
}

impl<S> fmt::Debug for Slots<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots").finish_non_exhaustive()
    }
}

/// A slot and when it was last asked for.
type Used<S> = (u64, Arc<Slot<S>>);

impl<S> Default for Slots<S> {
    fn default() -> Self {
        Self { by_project: Mutex::default() }
    }
}

impl<S: Default> Slots<S> {
    /// No slots yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A project's slot.
    pub fn of(&self, project: &str, now_ms: u64) -> Arc<Slot<S>> {
        let mut slots = self.by_project.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((used_ms, slot)) = slots.get_mut(project) {
            *used_ms = now_ms;
            return Arc::clone(slot);
        }
        if slots.len() >= PROJECTS_MAX {
            let oldest = slots.iter().min_by_key(|(_, (used_ms, _))| *used_ms).map(|(name, _)| name.clone());
            oldest.and_then(|name| slots.remove(&name));
        }
        let slot = Arc::new(Slot::new());
        slots.insert(project.to_owned(), (now_ms, Arc::clone(&slot)));
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test]
    async fn those_who_wait_share_one_fetch_and_its_failure() {
        for fails in [false, true] {
            let slot: Slot<Option<u32>> = Slot::new();
            let fetches = AtomicU32::new(0);
            let one = || {
                slot.get(
                    |state| *state,
                    || async {
                        fetches.fetch_add(1, Ordering::SeqCst);
                        tokio::task::yield_now().await;
                        if fails {
                            return Err(NotPrepared::TimedOut { limit_ms: 1 });
                        }
                        *slot.state() = Some(7);
                        Ok(7)
                    },
                )
            };
            let (a, b, c) = tokio::join!(one(), one(), one());
            assert_eq!(fetches.load(Ordering::SeqCst), 1);
            assert!([a, b, c].iter().all(|result| result.is_err() == fails));
            // A failure is not remembered for those who come later.
            assert_eq!(one().await.is_err(), fails);
            assert_eq!(fetches.load(Ordering::SeqCst), if fails { 2 } else { 1 });
        }
    }

    #[test]
    fn the_project_unused_for_longest_makes_room() {
        let slots: Slots<u8> = Slots::new();
        let first = slots.of("p0", 0);
        for n in 1..PROJECTS_MAX {
            slots.of(&format!("p{n}"), n as u64);
        }
        assert!(Arc::ptr_eq(&first, &slots.of("p0", 5_000)));
        slots.of("one more", 5_001);
        assert!(Arc::ptr_eq(&first, &slots.of("p0", 5_002)));
        assert_eq!(slots.by_project.lock().unwrap().len(), PROJECTS_MAX);
        assert!(!slots.by_project.lock().unwrap().contains_key("p1"));
    }
}
