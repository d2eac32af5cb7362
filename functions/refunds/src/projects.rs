//! Which projects there are: asked before a webhook's signature is checked, and remembered.
//!
//! Anybody may name a project in a webhook's address. A name that nobody has must cost one read of the table, not one of
//! AWS Secrets Manager, and no place among the credentials that are kept.

use platform::{Clock, Remembered};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{Store, StoreError};

/// Names remembered at once, of projects and of nobody. At some 200 bytes each they stay below 200 KB.
const PROJECTS_MAX: usize = 1_000;

/// Looks projects up. One per process.
#[derive(Clone, Debug)]
pub struct Projects {
    store: Store,
    clock: Clock,
    remembered: Arc<Mutex<Remembered<String, bool>>>,
}

impl Projects {
    /// Looks projects up in `store` and remembers them for `cache_ms`.
    #[must_use]
    pub fn new(store: Store, clock: Clock, cache_ms: u64) -> Self {
        Self { store, clock, remembered: Arc::new(Mutex::new(Remembered::new(PROJECTS_MAX, cache_ms))) }
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered<String, bool>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is a project of this name. One whose settings cannot be read is there.
    ///
    /// # Errors
    /// When the table does not answer.
    pub(crate) async fn has(&self, project: &str) -> Result<bool, StoreError> {
        if !payments::webhook::is_name(project) {
            return Ok(false);
        }
        let remembered = self.remembered().get(project, self.clock.now_ms());
        if let Some(there) = remembered {
            return Ok(there);
        }
        let there = match self.store.project(project).await {
            Ok(found) => found.is_some(),
            Err(StoreError::Corrupt(_)) => true,
            Err(error) => return Err(error),
        };
        self.remembered().put(project.to_owned(), there, there, self.clock.now_ms());
        Ok(there)
    }
}
