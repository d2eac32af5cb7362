//! Waiting for what must happen, with an end.

use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Real time within which everything that is waited for must have happened, on a busy machine too.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
/// First pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Longest pause. What takes a minute is not worth three thousand requests to a slow service.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_millis(500);

/// Looks until `look` finds something. Panics, naming `what`, when that takes longer than [`DEADLINE`].
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    let end = begun + DEADLINE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "waited {DEADLINE:?} in vain: {what}");
        // A tenth of the wait so far, so that looking costs a tenth of it at most.
        sleep((begun.elapsed() / 10).clamp(LOOK_EVERY, LOOK_AT_LEAST_EVERY)).await;
    }
}
