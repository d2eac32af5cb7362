//! Waiting for what must happen, with an end.

use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Real time within which everything that is waited for must have happened, on a busy machine too.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Looks until `look` finds something. Panics, naming `what`, when that takes longer than [`DEADLINE`].
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "waited {DEADLINE:?} in vain: {what}");
        sleep(LOOK_EVERY).await;
    }
}
