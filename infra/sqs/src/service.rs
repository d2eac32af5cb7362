//! The server's handle: the state behind its lock, the clock and the randomness.
//!
//! Made once by `infra/local` or by a test; clones share everything. It guarantees that a request sees all queues at
//! one instant, that no lock is held while anything waits, and that what changed is on disk, where there is one, before
//! the answer. Writing there blocks a moment under the lock: the next request must not see what could still fail.

use crate::{Counts, OpenError, QueueAttributes, SqsError, api, disk::Disk, names, queue::Queue, state::State};
use platform::{Clock, Random};
use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A stand-in for Amazon SQS. Clones are handles on the same queues.
#[derive(Clone)]
pub struct Sqs {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Clock,
    random: Random,
    base_url: String,
    state: Mutex<State>,
}

impl fmt::Debug for Sqs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqs").field("base_url", &self.shared.base_url).finish_non_exhaustive()
    }
}

impl Sqs {
    /// A server without queues, in memory. `base_url` is where clients reach it, such as `http://127.0.0.1:9324`; queue URLs are
    /// made from it.
    #[must_use]
    pub fn new(clock: Clock, base_url: String) -> Self {
        Self::with(clock, base_url, State::default())
    }

    /// A server with the queues and messages that are in `file`, which is made if missing. Everything is written there
    /// before it is answered; hidden and delayed messages show at their times by `clock`. Reads the whole file, which
    /// blocks. The last clone that is dropped closes it.
    ///
    /// # Errors
    /// When another server has the file open, or it cannot be read or written.
    pub fn open(clock: Clock, base_url: String, file: &Path) -> Result<Self, OpenError> {
        let (disk, queues) = Disk::open(file)?;
        Ok(Self::with(clock, base_url, State::on_disk(disk, queues)))
    }

    fn with(clock: Clock, base_url: String, state: State) -> Self {
        let shared = Shared { clock, random: Random::system(), base_url, state: Mutex::new(state) };
        Self { shared: Arc::new(shared) }
    }

    /// The HTTP side: every action of the JSON protocol, and `POST /control {"copies":"twice"|"once"}`, which answers
    /// 204. The caller binds it, to a loopback address only: any credentials pass.
    pub fn router(&self) -> axum::Router {
        api::router(self.clone())
    }

    /// Makes a queue and returns its URL. Repeating it with the same or fewer attributes changes nothing.
    ///
    /// # Errors
    /// As CreateQueue: a bad name or value, a dead-letter queue that does not exist, other attributes than the
    /// existing queue's, a name that was deleted less than a minute ago.
    pub fn create_queue(&self, name: &str, attributes: &QueueAttributes) -> Result<String, SqsError> {
        self.create_tagged(name, attributes, BTreeMap::new())
    }

    /// While on, each sent message makes two copies with the same message id that live apart, and receives pick in no
    /// order. Real SQS may do both at any moment. Copies that are already there stay as they are.
    pub fn deliver_twice(&self, on: bool) {
        self.lock().twice = on;
    }

    /// Sets how many messages of each queue may be in flight; without this, 120,000. Not kept on disk.
    pub fn limit_in_flight(&self, most: usize) {
        self.lock().limit_in_flight(most);
    }

    /// How many copies a queue holds now; `None` without such a queue.
    #[must_use]
    pub fn counts(&self, name: &str) -> Option<Counts> {
        self.apply(|state, now| Ok(state.queue(name, now)?.counts())).ok()
    }

    pub(crate) fn create_tagged(
        &self,
        name: &str,
        attributes: &QueueAttributes,
        tags: BTreeMap<String, String>,
    ) -> Result<String, SqsError> {
        let identity = self.random().bytes()?;
        self.apply(|state, now| state.create(name, attributes, tags, identity, now))?;
        Ok(self.url(name))
    }

    /// Runs `work` on the queue under `url` at the present time.
    pub(crate) fn on_queue<T>(
        &self,
        url: &str,
        work: impl FnOnce(&mut Queue, u64) -> Result<T, SqsError>,
    ) -> Result<T, SqsError> {
        let name = names::name_in_url(url)?;
        self.apply(|state, now| work(state.queue(name, now)?, now))
    }

    /// Runs `work` on the state at the present time, after the moves have got as far as they are by then, and puts on disk what it changed before anybody else can see it.
    pub(crate) fn apply<T>(&self, work: impl FnOnce(&mut State, u64) -> Result<T, SqsError>) -> Result<T, SqsError> {
        let now = self.now_ms();
        let mut state = self.lock();
        let done = state.go_on_moving(self.random(), now).and_then(|()| work(&mut state, now));
        let kept = state.keep();
        let done = done?;
        kept.map(|()| done)
    }

    /// The state, locked, to look at. What is changed through it waits for the next [`Sqs::apply`]. A panic while it was locked is a bug elsewhere; each step leaves it usable, so it is used.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.shared.clock.now_ms()
    }

    pub(crate) fn random(&self) -> &Random {
        &self.shared.random
    }

    pub(crate) fn url(&self, name: &str) -> String {
        names::url(&self.shared.base_url, name)
    }
}
