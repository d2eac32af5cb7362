//! The one clock of a process, in milliseconds since the Unix epoch.
//!
//! Every function asks it for "now" and hands the number on to `protocol`. The local system can move it forward
//! (`POST /control {"advance_seconds": N}`), so a day passes in a test without waiting; sleepers notice at once.
//! I/O timeouts do not use it: they are real time on purpose.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::sync::watch;

/// A shared clock. Clones show the same time and move together.
#[derive(Clone)]
pub struct Clock {
    ahead_ms: Arc<watch::Sender<u64>>,
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").field("ahead_ms", &*self.ahead_ms.borrow()).finish()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl Clock {
    /// The machine's own time, not moved.
    #[must_use]
    pub fn system() -> Self {
        Self { ahead_ms: Arc::new(watch::Sender::new(0)) }
    }

    /// Milliseconds since the Unix epoch. A machine whose clock stands before 1970 reads as 0.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the one place where time enters")]
    pub fn now_ms(&self) -> u64 {
        let real = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        u64::try_from(real).unwrap_or(u64::MAX).saturating_add(*self.ahead_ms.borrow())
    }

    /// Moves this clock and its clones forward. It never moves back.
    pub fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.ahead_ms.send_modify(|ahead| *ahead = ahead.saturating_add(by));
    }

    /// Waits until this clock shows `at_ms` or later, however it gets there. For pollers and stand-ins of the local
    /// system; a function never sleeps.
    pub async fn sleep_until(&self, at_ms: u64) {
        let mut moved = self.ahead_ms.subscribe();
        loop {
            let now = self.now_ms();
            if now >= at_ms {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(at_ms - now)) => {}
                _ = moved.changed() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn clones_move_together_and_sleepers_wake() {
        let clock = Clock::system();
        let other = clock.clone();
        let due = clock.now_ms() + 3_600_000;
        let sleeper = tokio::spawn(async move {
            other.sleep_until(due).await;
            other.now_ms()
        });
        tokio::task::yield_now().await;
        clock.advance(Duration::from_secs(3_600));
        let woke = sleeper.await.unwrap();
        assert!(woke >= due);
    }
}
