//! Waiting for what must happen, with an end.

use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Real time within which everything that is waited for must have happened, on a busy machine too.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
/// The same beside a queue service that is not ours. There a copy whose claim took longer than the short profile's second, as
/// it may on a machine that others want too, waits out its visibility timeout of 48 s in real time, perhaps twice.
const DEADLINE_ELSEWHERE: Duration = Duration::from_secs(180);
/// First pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Longest pause. What takes a minute is not worth three thousand requests to a slow service.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_millis(500);

/// Looks until `look` finds something. Panics, naming `what`, when that takes longer than [`DEADLINE`], or
/// [`DEADLINE_ELSEWHERE`] there.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    let elsewhere = std::env::var_os("AWS_ENDPOINT_URL_SQS").is_some();
    let patience = if elsewhere { DEADLINE_ELSEWHERE } else { DEADLINE };
    let end = begun + patience;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "waited {patience:?} in vain: {what}");
        // A tenth of the wait so far, so that looking costs a tenth of it at most.
        sleep((begun.elapsed() / 10).clamp(LOOK_EVERY, LOOK_AT_LEAST_EVERY)).await;
    }
}
