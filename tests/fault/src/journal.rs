//! What was invoked with which event, from when until when, and how it ended. The soak's oracle reads it.

use crate::process::Process;
use platform::Clock;
use serde_json::Value;
use std::sync::{
    Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

/// How an invocation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The function returned an answer, which may have been lost afterwards.
    Returned,
    /// Its process died, or answered with an error.
    Broke,
    /// Its time ran out, and its process was killed.
    TimedOut,
}

/// One invocation.
#[derive(Clone, Debug)]
pub struct Invoked {
    /// The function.
    pub function: &'static str,
    /// The process's name.
    pub by: String,
    /// When it began, in ms of the system's clock.
    pub from_ms: u64,
    /// When it was over.
    pub to_ms: u64,
    /// How.
    pub end: End,
    /// What it was invoked with.
    pub event: Value,
}

/// The invocations that are over.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    clock: OnceLock<Clock>,
    over: Mutex<Vec<Invoked>>,
    count: AtomicUsize,
}

impl Journal {
    fn over(&self) -> MutexGuard<'_, Vec<Invoked>> {
        self.over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clock by which everything is dated. Said once.
    pub(crate) fn set_clock(&self, clock: Clock) {
        self.clock.set(clock).expect("said once");
    }

    /// Now, in ms; 0 before there is a clock.
    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.get().map_or(0, Clock::now_ms)
    }

    /// An invocation is over.
    pub(crate) fn ended(&self, process: &Process, from_ms: u64, end: End, event: &Value) {
        let (function, by) = (process.function(), process.name().to_owned());
        let invoked = Invoked { function, by, from_ms, to_ms: self.now_ms(), end, event: event.clone() };
        self.over().push(invoked);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// How many have ended so far, taken or not.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// What ended since this was last asked.
    pub(crate) fn take(&self) -> Vec<Invoked> {
        std::mem::take(&mut *self.over())
    }
}
