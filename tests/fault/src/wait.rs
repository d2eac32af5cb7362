//! Waiting for what must happen, with an end.

use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// Real time within which everything that is waited for must have happened, on a busy machine too.
pub const DEADLINE: Duration = Duration::from_secs(60);
/// How many times longer something may take that depends on work which goes on.
const STRETCHED: u32 = 10;
/// Pause between two looks at what tells nobody that it changed.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Looks until `look` finds something. Panics, naming `what`, when that takes longer than [`DEADLINE`].
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "waited {DEADLINE:?} in vain: {what}");
        sleep(LOOK_EVERY).await;
    }
}

/// Looks until `look` finds something while others work: as long as `done` grows within [`DEADLINE`], a busy machine is only
/// slow, up to ten times as long. Panics, naming `what`, when nothing more is done or that is over.
pub async fn eventually_behind<T>(what: &str, done: impl Fn() -> usize, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let (begun, mut reached) = (Instant::now(), done());
    let mut moved = begun;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        let now = done();
        if now > reached {
            (reached, moved) = (now, Instant::now());
        }
        assert!(moved.elapsed() < DEADLINE, "nothing was done for {DEADLINE:?}, and waited in vain: {what}");
        assert!(begun.elapsed() < DEADLINE * STRETCHED, "waited {:?} in vain: {what}", begun.elapsed());
        sleep(LOOK_EVERY).await;
    }
}

/// Looks until `count` reaches `goal`. Panics, naming `what`, when it has not grown for longer than [`DEADLINE`]: for
/// work whose length depends on the machine.
pub async fn progresses(what: &str, goal: usize, mut count: impl AsyncFnMut() -> usize) {
    let (mut reached, mut end) = (0, Instant::now() + DEADLINE);
    while reached < goal {
        let now = count().await;
        if now > reached {
            (reached, end) = (now, Instant::now() + DEADLINE);
        }
        assert!(Instant::now() < end, "stuck at {reached} of {goal} for {DEADLINE:?}: {what}");
        sleep(LOOK_EVERY).await;
    }
}

/// Awaits `event`. Panics, naming `what`, when that takes longer than [`DEADLINE`].
pub async fn within<F: Future>(what: &str, event: F) -> F::Output {
    timeout(DEADLINE, event).await.unwrap_or_else(|_| panic!("waited {DEADLINE:?} in vain: {what}"))
}
