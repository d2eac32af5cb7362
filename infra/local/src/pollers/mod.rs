//! Lambda's event source mappings: what carries messages and stream records to the functions.
//!
//! Called by the local system, one task per mapping ([`sqs::run`], [`crate::stream::run`]). They guarantee what AWS promises
//! and no more: a message is deleted, a record passed, only after the function answered for it; everything may come
//! again. On shutdown they take no new work and return once what runs has ended. No correctness rests on the pace at
//! which they work.

pub mod response;
pub mod sqs;

use platform::Clock;
use tokio::sync::watch;

/// The message that stops pollers: true means stop. A sender that is gone means the same.
pub type Stop = watch::Receiver<bool>;

/// Resolves once pollers are to stop.
pub async fn stopped(stop: &Stop) {
    // An error says that the sender is gone.
    let _ = stop.clone().wait_for(|stop| *stop).await;
}

/// Whether pollers are to stop.
pub(crate) fn is_stopped(stop: &Stop) -> bool {
    *stop.borrow() || stop.has_changed().is_err()
}

/// Pauses that grow from 0.2 s to 5 s of the local clock while something keeps failing.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    const FIRST_MS: u64 = 200;
    const LONGEST_MS: u64 = 5_000;

    /// The next pause in ms.
    pub(crate) fn next_ms(&mut self) -> u64 {
        // Beyond 2^5 the longest pause is reached.
        let pause = Self::FIRST_MS << self.failures.min(5);
        self.failures = self.failures.saturating_add(1);
        pause.min(Self::LONGEST_MS)
    }

    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// Waits for the next pause. False if pollers are to stop.
    pub(crate) async fn wait(&mut self, clock: &Clock, stop: &Stop) -> bool {
        let until = clock.now_ms().saturating_add(self.next_ms());
        tokio::select! {
            biased;
            () = stopped(stop) => false,
            () = clock.sleep_until(until) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pauses_grow_to_a_limit_and_end_on_stop() {
        let mut backoff = Backoff::default();
        let pauses: Vec<u64> = (0..7).map(|_| backoff.next_ms()).collect();
        assert_eq!(pauses, [200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        backoff.reset();
        assert_eq!(backoff.next_ms(), 200);
        let (stop, stopping) = watch::channel(false);
        assert!(!is_stopped(&stopping));
        stop.send_replace(true);
        assert!(is_stopped(&stopping));
        assert!(!backoff.wait(&Clock::system(), &stopping).await);
        drop(stop);
        stopped(&stopping).await;
    }
}
