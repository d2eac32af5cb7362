//! The apps of a project, as its item lists them: read when a request names one, and remembered.
//!
//! Remembered as API keys are, for `Timing::key_cache`, also "no such project". Bounded: only projects of valid API keys
//! are asked for, and forgetting costs one read and never a wrong answer.

use platform::{Clock, Remembered};
use sendonce_http::Problem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::Store;

/// Projects remembered at once. With a few apps each they stay below 1 MB.
const PROJECTS_MAX: usize = 1_000;

type Apps = Arc<[String]>;

/// Looks projects up. One per process.
#[derive(Clone, Debug)]
pub struct Projects {
    store: Store,
    clock: Clock,
    remembered: Arc<Mutex<Remembered<String, Apps>>>,
}

impl Projects {
    /// Looks projects up in `store` and remembers them for `cache_ms`.
    #[must_use]
    pub fn new(store: Store, clock: Clock, cache_ms: u64) -> Self {
        Self { store, clock, remembered: Arc::new(Mutex::new(Remembered::new(PROJECTS_MAX, cache_ms))) }
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered<String, Apps>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The apps of a project, the default first; none of a project without an item.
    ///
    /// # Errors
    /// 503 when the table does not answer: an app is never refused, and never taken, on a guess.
    pub(crate) async fn apps(&self, project: &str) -> Result<Apps, Problem> {
        let remembered = self.remembered().get(project, self.clock.now_ms());
        if let Some(apps) = remembered {
            return Ok(apps);
        }
        let found = self.store.project(project).await.map_err(|error| {
            tracing::error!(project, error = %error, "a project's apps could not be looked up");
            Problem::unavailable()
        })?;
        let apps: Apps = found.map(|project| project.apps).unwrap_or_default().into();
        self.remembered().put(project.to_owned(), Arc::clone(&apps), true, self.clock.now_ms());
        Ok(apps)
    }
}
