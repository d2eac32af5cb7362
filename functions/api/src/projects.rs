//! The apps of a project, as its item lists them: read when a request names one, and remembered.
//!
//! Remembered as API keys are, for `Timing::key_cache`, also "no such project". Bounded: only projects of valid API keys
//! are asked for, and forgetting costs one read and never a wrong answer.

use platform::Clock;
use sendonce_http::Problem;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use store::Store;

/// Projects remembered at once. With a few apps each they stay below 1 MB.
const PROJECTS_MAX: usize = 1_000;

type Apps = Arc<[String]>;

#[derive(Debug)]
struct Cached {
    until_ms: u64,
    apps: Apps,
}

#[derive(Debug, Default)]
struct Cache(HashMap<String, Cached>);

impl Cache {
    fn get(&self, project: &str, now_ms: u64) -> Option<Apps> {
        self.0.get(project).filter(|cached| cached.until_ms > now_ms).map(|cached| Arc::clone(&cached.apps))
    }

    fn put(&mut self, project: &str, apps: Apps, now_ms: u64, for_ms: u64) {
        if self.0.len() >= PROJECTS_MAX {
            self.0.retain(|_, cached| cached.until_ms > now_ms);
            // Fewer than half are left, so a look over all of them pays for hundreds of additions.
            if self.0.len() > PROJECTS_MAX / 2 {
                self.0.clear();
            }
        }
        self.0.insert(project.to_owned(), Cached { until_ms: now_ms.saturating_add(for_ms), apps });
    }
}

/// Looks projects up. One per process.
#[derive(Clone, Debug)]
pub struct Projects {
    store: Store,
    clock: Clock,
    cache_ms: u64,
    cache: Arc<Mutex<Cache>>,
}

impl Projects {
    /// Looks projects up in `store` and remembers them for `cache_ms`.
    #[must_use]
    pub fn new(store: Store, clock: Clock, cache_ms: u64) -> Self {
        Self { store, clock, cache_ms, cache: Arc::default() }
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The apps of a project, the default first; none of a project without an item.
    ///
    /// # Errors
    /// 503 when the table does not answer: an app is never refused, and never taken, on a guess.
    pub(crate) async fn apps(&self, project: &str) -> Result<Apps, Problem> {
        let remembered = self.cache().get(project, self.clock.now_ms());
        if let Some(apps) = remembered {
            return Ok(apps);
        }
        let found = self.store.project(project).await.map_err(|error| {
            tracing::error!(project, error = %error, "a project's apps could not be looked up");
            Problem::unavailable()
        })?;
        let apps: Apps = found.map(|project| project.apps).unwrap_or_default().into();
        self.cache().put(project, Arc::clone(&apps), self.clock.now_ms(), self.cache_ms);
        Ok(apps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apps(app: &str) -> Apps {
        vec![app.to_owned()].into()
    }

    #[test]
    fn apps_are_remembered_for_their_time_and_no_longer() {
        let mut cache = Cache::default();
        cache.put("acme", apps("a"), 100, 50);
        cache.put("none", Vec::new().into(), 100, 50);
        assert_eq!(cache.get("acme", 149), Some(apps("a")));
        assert_eq!(cache.get("none", 149), Some(Vec::new().into()));
        assert_eq!([cache.get("acme", 150), cache.get("other", 100)], [None, None]);
    }

    #[test]
    fn many_projects_are_bounded_and_the_last_is_remembered() {
        let mut cache = Cache::default();
        for n in 0..10_000_u64 {
            cache.put(&n.to_string(), apps("a"), n, 400);
            assert!(cache.0.len() <= PROJECTS_MAX);
            assert!(cache.get(&n.to_string(), n).is_some());
        }
    }
}
