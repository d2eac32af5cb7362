//! What this instance knows of holds, and what it does about them.
//!
//! Used by [`crate::receive`]: before the claim it asks whether a provider may be called for the copy's project, and beside
//! the record it says what the calls taught. Everything is remembered for `Timing::hold_cache`, so most copies read
//! nothing. The decisions are `protocol::hold`'s; here they meet the table, the secret and the clock. Nothing here is
//! needed for correctness: where the table does not answer, copies are delivered as if there were no hold.

use platform::{Clock, Random, Remembered, events};
use protocol::{
    answer::Reason,
    expect::Expect,
    hold::{Gate, Hold, Prober, Provider, gate, lifted, refused, unused},
    ids::OwnerToken,
    timing::Timing,
};
use push::Push;
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use store::{HoldWrite, Store};

/// Projects remembered at once, with a hold or without. A few hundred bytes each.
const PROJECTS_MAX: usize = 1_000;
/// Lost compare-and-sets in a row before the hold is left to others: they are writing it.
const TRIES_MAX: u8 = 3;
/// Look-ups at once, of different projects. Two projects that share one wait for each other, for one read.
const LOOKING: usize = 32;

type Key = (String, Provider);
/// The look-up that failed last, and when: those who waited for it do not try one after the other.
type Failed = Option<(Key, Instant)>;

/// The holds, as far as this instance knows. One per process.
#[derive(Clone, Debug)]
pub struct Holds {
    store: Store,
    push: Push,
    clock: Clock,
    random: Random,
    timing: Timing,
    memory: Arc<Mutex<Memory>>,
    /// Held while a hold or a secret's version is looked up: of many copies that need it one looks.
    looking: Arc<[tokio::sync::Mutex<Failed>; LOOKING]>,
}

#[derive(Debug)]
struct Memory {
    holds: Remembered<Key, Option<Hold>>,
    /// Versions of the secrets of held projects.
    versions: Remembered<Key, Option<String>>,
    failing: Remembered<Key, Failing>,
}

/// A provider's token endpoint gives a project no access token just now.
#[derive(Clone, Debug)]
struct Failing {
    /// In a row.
    times: u16,
    /// It is not asked before, in ms.
    until_ms: u64,
    why: Reason,
}

/// What a hold means for a copy.
#[derive(Debug)]
pub(crate) enum Entry {
    /// There is none.
    Open,
    /// There is one, and this copy finds out whether it still must be.
    Probe(Hold),
    /// Nobody calls; look again then, in ms.
    Held {
        /// In ms since the Unix epoch.
        until_ms: u64,
    },
}

/// Credentials that were refused.
#[derive(Debug)]
pub(crate) struct Refusal<'a> {
    /// Why; kept with the hold.
    pub(crate) reason: &'a Reason,
    /// Whose device they were refused for, if a provider was called for one.
    pub(crate) chunk: Option<Prober>,
    /// The version of the secret that was used, if that is known.
    pub(crate) used: Option<&'a str>,
    /// The sentence for the log. None of a provider that was called for a device: it may quote the device's token.
    pub(crate) told: Option<&'a str>,
}

/// A hold that is being written. That it began is said when this goes: also where nobody knows whether it was stored,
/// since the answer was lost or nobody waits for it any more. Whoever is refused next would meet the stored item and
/// take it for another's, and nobody would say it; rather two say it than nobody.
struct Beginning<'a> {
    /// What is to be said, if it is this one's to say.
    line: Option<events::Hold<'a>>,
    clock: &'a Clock,
}

impl Beginning<'_> {
    /// Another was there first, and says it.
    fn belongs_to_another(mut self) {
        self.line = None;
    }
}

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        if let Some(line) = self.line {
            line.emit(self.clock.now_ms());
        }
    }
}

impl Holds {
    /// Nothing is read before the first copy.
    #[must_use]
    pub fn new(store: Store, push: Push, clock: Clock, random: Random, timing: Timing) -> Self {
        let memory = Memory {
            holds: Remembered::new(PROJECTS_MAX, timing.hold_cache),
            versions: Remembered::new(PROJECTS_MAX, timing.hold_cache),
            // Longer than until it is asked again, so that the next failure is one more.
            failing: Remembered::new(PROJECTS_MAX, timing.hold_look_max.saturating_mul(2)),
        };
        Self { store, push, clock, random, timing, memory: Arc::new(Mutex::new(memory)), looking: Arc::default() }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, key: &Key, hold: Option<Hold>) {
        let lasting = hold.as_ref().is_some_and(|hold| hold.held);
        self.memory().holds.put(key.clone(), hold, lasting, self.clock.now_ms());
    }

    /// Fresh for each write. Without random bytes a writer may take another's identical write for its own, which costs a
    /// second probe.
    fn me(&self) -> OwnerToken {
        OwnerToken(self.random.bytes().unwrap_or_default())
    }

    fn soon(&self) -> u64 {
        self.clock.now_ms().saturating_add(self.timing.hold_look(0))
    }

    async fn looks(&self, key: &Key) -> Option<tokio::sync::MutexGuard<'_, Failed>> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let place = hasher.finish() % u64::try_from(LOOKING).unwrap_or(1);
        Some(self.looking.get(usize::try_from(place).ok()?)?.lock().await)
    }

    async fn known(&self, key: &Key) -> Option<Hold> {
        let remembered = || self.memory().holds.get(key, self.clock.now_ms());
        if let Some(known) = remembered() {
            return known;
        }
        let began = Instant::now();
        let mut one = self.looks(key).await;
        if let Some(known) = remembered() {
            return known;
        }
        let failed = one.as_deref().and_then(Option::as_ref);
        if failed.is_some_and(|(of, at)| of == key && *at >= began) {
            return None;
        }
        match self.store.hold(&key.0, key.1).await {
            Ok(hold) => {
                self.remember(key, hold.clone());
                hold
            }
            Err(error) => {
                tracing::warn!(project = key.0, provider = key.1.as_str(), error = %error, "a hold was not read");
                if let Some(one) = one.as_deref_mut() {
                    *one = Some((key.clone(), Instant::now()));
                }
                None
            }
        }
    }

    async fn version(&self, key: &Key) -> Option<String> {
        let remembered = || self.memory().versions.get(key, self.clock.now_ms());
        if let Some(version) = remembered() {
            return version;
        }
        let _one = self.looks(key).await;
        match remembered() {
            Some(version) => version,
            None => self.version_now(key).await,
        }
    }

    async fn version_now(&self, key: &Key) -> Option<String> {
        let version = self.push.credentials_version(&key.0, key.1).await;
        self.memory().versions.put(key.clone(), version.clone(), true, self.clock.now_ms());
        version
    }

    /// Until when a provider is not asked for an access token of this project, in ms, and why.
    pub(crate) fn failing(&self, project: &str, provider: Provider) -> Option<(u64, Reason)> {
        let now_ms = self.clock.now_ms();
        let failing = self.memory().failing.get(&(project.to_owned(), provider), now_ms)?;
        (now_ms < failing.until_ms).then_some((failing.until_ms, failing.why))
    }

    /// No access token could be had; says when to ask again, in ms: later each time, so that neither the endpoint nor the
    /// queue is kept busy by all that waits.
    pub(crate) fn failed(&self, project: &str, provider: Provider, why: Reason) -> u64 {
        let (key, now_ms) = ((project.to_owned(), provider), self.clock.now_ms());
        let mut memory = self.memory();
        let before = memory.failing.get(&key, now_ms);
        if let Some(other) = before.as_ref().filter(|failing| now_ms < failing.until_ms) {
            // Of many copies that asked together, the first counts.
            return other.until_ms;
        }
        let times = before.map_or(1, |failing| failing.times.saturating_add(1));
        let wait_ms = self.timing.retry_delay(times, self.random.permille(), None).min(self.timing.hold_look_max);
        let until_ms = now_ms.saturating_add(wait_ms);
        memory.failing.put(key, Failing { times, until_ms, why }, true, now_ms);
        until_ms
    }

    /// An access token could be had.
    pub(crate) fn ready(&self, project: &str, provider: Provider) {
        self.memory().failing.remove(&(project.to_owned(), provider));
    }

    /// Whether a provider may be called for a project. Of all instances that ask when a probe is due, one gets it.
    pub(crate) async fn enter(&self, project: &str, provider: Provider, chunk: Prober) -> Entry {
        let key = (project.to_owned(), provider);
        let stored = self.known(&key).await;
        let decide = |credentials: Option<&str>| {
            gate(stored.as_ref(), credentials, chunk, self.me(), self.clock.now_ms(), &self.timing)
        };
        let decided = match decide(None) {
            // Other credentials than those that were refused are tried at once.
            Gate::Held { .. } => decide(self.version(&key).await.as_deref()),
            other => other,
        };
        match decided {
            Gate::Open => Entry::Open,
            Gate::Held { until_ms } => Entry::Held { until_ms },
            Gate::Probe(next, expect) => self.probe(&key, next, expect, chunk).await,
        }
    }

    async fn probe(&self, key: &Key, next: Hold, expect: Expect, chunk: Prober) -> Entry {
        match self.store.write_hold(&key.0, key.1, &next, expect).await {
            HoldWrite::Written => {
                self.remember(key, Some(next.clone()));
                // What a probe finds out is about the credentials: it is one call, and must not be spent on an aged token.
                self.push.try_anew(&key.0, key.1);
                tracing::info!(
                    project = key.0,
                    provider = key.1.as_str(),
                    "a chunk tries the credentials of a held project"
                );
                Entry::Probe(next)
            }
            HoldWrite::Conflict(winner) => {
                let entry = match gate(winner.as_ref(), None, chunk, self.me(), self.clock.now_ms(), &self.timing) {
                    Gate::Open => Entry::Open,
                    Gate::Held { until_ms } => Entry::Held { until_ms },
                    Gate::Probe(..) => Entry::Held { until_ms: self.soon() },
                };
                self.remember(key, winner);
                entry
            }
            HoldWrite::Unknown(error) => {
                tracing::warn!(project = key.0, provider = key.1.as_str(), error = %error, "a probe is uncertain");
                Entry::Held { until_ms: self.soon() }
            }
        }
    }

    /// The credentials of a project were refused. Begins a hold, or writes down
    /// another reason; says when to look again, in ms. Credentials that have been replaced since begin none: the new ones
    /// are used next.
    pub(crate) async fn refused(&self, project: &str, provider: Provider, refusal: Refusal<'_>) -> u64 {
        let Refusal { reason, chunk, used, told } = refusal;
        let key = (project.to_owned(), provider);
        let current = self.version_now(&key).await;
        if let (Some(used), Some(current)) = (used, current.as_deref())
            && used != current
        {
            self.push.doubt(project, provider);
            return self.soon();
        }
        let version = current.as_deref().or(used).unwrap_or_default();
        let mut stored = self.known(&key).await;
        for _ in 0..TRIES_MAX {
            let now_ms = self.clock.now_ms();
            let decided = refused(stored.as_ref(), reason, version, chunk, self.me(), now_ms, &self.timing);
            let Some((item, expect)) = decided else { break };
            let begins = !stored.as_ref().is_some_and(|hold| hold.held);
            let (word, code) = (provider.as_str(), reason.code.as_str());
            let line = events::Hold { project, provider: word, change: "began", code, detail: told, held_ms: None };
            let beginning = Beginning { line: begins.then_some(line), clock: &self.clock };
            match self.store.write_hold(project, provider, &item, expect).await {
                HoldWrite::Written => {
                    self.remember(&key, Some(item));
                    break;
                }
                HoldWrite::Conflict(winner) => {
                    beginning.belongs_to_another();
                    self.remember(&key, winner.clone());
                    stored = winner;
                }
                HoldWrite::Unknown(error) => {
                    tracing::warn!(project, provider = provider.as_str(), error = %error, "a hold is uncertain");
                    break;
                }
            }
        }
        self.soon()
    }

    /// The credentials of a held project were taken.
    pub(crate) async fn taken(&self, project: &str, provider: Provider, probe: &Hold) {
        let now_ms = self.clock.now_ms();
        let (item, expect) = lifted(probe, self.me(), now_ms);
        match self.store.write_hold(project, provider, &item, expect).await {
            HoldWrite::Written => {
                self.remember(&(project.to_owned(), provider), Some(item));
                let held_ms = Some(now_ms.saturating_sub(probe.since_ms));
                let (provider, code) = (provider.as_str(), &probe.reason.code);
                events::Hold { project, provider, change: "ended", code, detail: None, held_ms }.emit(now_ms);
            }
            HoldWrite::Conflict(winner) => self.remember(&(project.to_owned(), provider), winner),
            HoldWrite::Unknown(error) => {
                tracing::warn!(project, provider = provider.as_str(), error = %error, "lifting a hold is uncertain");
            }
        }
    }

    /// A probe met nothing to call: the next copy may have it.
    pub(crate) async fn unused(&self, project: &str, provider: Provider, probe: &Hold) {
        let (item, expect) = unused(probe, self.me(), self.clock.now_ms());
        let key = (project.to_owned(), provider);
        match self.store.write_hold(project, provider, &item, expect).await {
            HoldWrite::Written => self.remember(&key, Some(item)),
            HoldWrite::Conflict(winner) => self.remember(&key, winner),
            // The probe after next is its time.
            HoldWrite::Unknown(_) => {}
        }
    }
}

#[cfg(test)]
#[path = "holds_tests.rs"]
mod tests;
