//! Keeping the projects' lists of dead tokens: what providers say of tokens, brought to the table beside the record.
//!
//! Used by [`crate::receive`]. The decisions are `protocol::dead_token`'s; here they meet the table and what this
//! instance remembers. An accepted device costs no write and, while its project's list is empty or short, no read of
//! its own: an instance looks at a part of a list once in `Timing::hold_cache` and remembers which tokens are in it.
//! Nothing here is needed for correctness of deliveries, so nothing waits for it longer than a record may take: what is
//! not written down is said again by the next push to that token.

use crate::within;
use futures_util::future::join_all;
use platform::{Clock, Remembered};
use protocol::{
    content::Device,
    dead_token::{SHARDS, Said, TokenKey, hear},
    expect::Expect,
    timing::Timing,
};
use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use store::{DeadTokenWrite, Store, StoreError};

/// Parts of lists remembered at once: a few kilobytes each at most.
const PARTS_MAX: usize = 400;
/// Tokens of a part that are remembered. Beyond that an accepted device is looked up by itself.
const PART_TOKENS_MAX: u16 = 100;
/// Tokens whose acceptance is remembered, and such that this instance has brought to a list.
const TOKENS_MAX: usize = 10_000;
/// How long, in ms: longer than what is remembered of a part, which may have been read before that.
const TOKENS_FOR_MS: u64 = 600_000;
/// Lost compare-and-sets in a row before a token is left to others: they are writing it.
const TRIES_MAX: u8 = 3;

/// The lists, as far as this instance knows. One per process.
#[derive(Clone, Debug)]
pub struct Tokens {
    store: Store,
    clock: Clock,
    timing: Timing,
    memory: Arc<Mutex<Memory>>,
    /// Held while a part is looked at, by its number: of many copies that need it one looks.
    looking: Arc<[tokio::sync::Mutex<()>; SHARDS as usize]>,
}

type Part = (String, u8);
type Of = (String, TokenKey);

#[derive(Debug)]
struct Memory {
    parts: Remembered<Part, Known>,
    /// When a token was accepted, in ms: for answers about an earlier time that are heard later.
    accepted: Remembered<Of, u64>,
    /// What this instance has brought to a list itself.
    brought: Remembered<Of, ()>,
}

/// What is known of a part of a project's list.
#[derive(Clone, Debug)]
enum Known {
    /// Every token that it has an item for.
    All(Arc<HashSet<TokenKey>>),
    /// They are too many.
    Many,
}

impl Known {
    fn may_have(&self, key: &TokenKey) -> bool {
        match self {
            Self::All(keys) => keys.contains(key),
            Self::Many => true,
        }
    }
}

/// What was said of a device's token.
#[derive(Clone, Debug)]
pub(crate) struct News<'a> {
    pub(crate) device: &'a Device,
    pub(crate) said: Said,
}

impl Tokens {
    /// Nothing is read before the first copy.
    #[must_use]
    pub fn new(store: Store, clock: Clock, timing: Timing) -> Self {
        let memory = Memory {
            parts: Remembered::new(PARTS_MAX, timing.hold_cache),
            accepted: Remembered::new(TOKENS_MAX, TOKENS_FOR_MS),
            brought: Remembered::new(TOKENS_MAX, TOKENS_FOR_MS),
        };
        Self { store, clock, timing, memory: Arc::new(Mutex::new(memory)), looking: Arc::default() }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down what must be. Takes at most `timing.record`. What an invocation learned says nothing any more once
    /// its time is over: a process that stood still does not bring a death that others have seen refuted since.
    pub(crate) async fn hear(&self, project: &str, news: Vec<News<'_>>, ends_ms: u64) {
        if news.is_empty() {
            return;
        }
        let late = self.clock.now_ms() >= ends_ms;
        let (mut dead, mut accepted) = (Vec::new(), Vec::new());
        for news in news {
            match news.said {
                Said::Dead { .. } if !late => dead.push(news),
                Said::Dead { .. } => {}
                Said::Accepted { .. } => accepted.push(news),
            }
        }
        let accepted = self.accepted(project, accepted);
        let dead = dead.into_iter().map(|news| self.dead(project, news));
        let all = async { tokio::join!(join_all(dead), self.take_off(project, accepted)) };
        if within(self.timing.record, all).await.is_none() {
            tracing::warn!(project, "the list of dead tokens was not brought up to date in time");
        }
    }

    /// Remembers acceptances.
    fn accepted<'a>(&self, project: &str, news: Vec<News<'a>>) -> Vec<(TokenKey, News<'a>)> {
        let mut memory = self.memory();
        let now_ms = self.clock.now_ms();
        let news = news.into_iter().map(|news| (TokenKey::of(news.device), news));
        news.inspect(|(key, news)| {
            if let Said::Accepted { at_ms } = news.said {
                memory.accepted.put((project.to_owned(), *key), at_ms, false, now_ms);
            }
        })
        .collect()
    }

    /// A provider called a token dead: it goes on the list, unless it was accepted later than that.
    async fn dead(&self, project: &str, news: News<'_>) {
        let of = (project.to_owned(), TokenKey::of(news.device));
        let now_ms = self.clock.now_ms();
        let accepted = self.memory().accepted.get(&of, now_ms);
        if let (Some(accepted_ms), Said::Dead { since_ms, .. }) = (accepted, &news.said)
            && *since_ms <= accepted_ms
        {
            return;
        }
        let Some((entry, _)) = hear(None, &news.said, now_ms) else { return };
        self.memory().brought.put(of, (), false, now_ms);
        let expect = Expect::AbsentOrExpired { now_s: now_ms / 1_000 };
        let written = self.store.write_dead_token(project, news.device, &entry, expect).await;
        self.settle(project, &news, written).await;
    }

    /// Decides again from what others have written, and writes again only if that changes something.
    async fn settle(&self, project: &str, news: &News<'_>, mut written: DeadTokenWrite) {
        for _ in 0..TRIES_MAX {
            let stored = match written {
                DeadTokenWrite::Written { units } => {
                    tracing::debug!(project, ?units, "a dead token's item is written");
                    return;
                }
                DeadTokenWrite::Conflict(stored) => stored,
                DeadTokenWrite::Unknown(error) => {
                    tracing::warn!(project, error = %error, "it is uncertain whether a dead token's item was written");
                    return;
                }
            };
            let Some((entry, expect)) = hear(stored.as_ref(), &news.said, self.clock.now_ms()) else { return };
            written = self.store.write_dead_token(project, news.device, &entry, expect).await;
        }
    }

    /// Takes accepted tokens off the list, those that may be on it.
    async fn take_off(&self, project: &str, news: Vec<(TokenKey, News<'_>)>) {
        let parts: BTreeSet<u8> = news.iter().map(|(key, _)| key.shard()).collect();
        let known = join_all(parts.into_iter().map(|shard| self.known((project.to_owned(), shard)))).await;
        let known: Vec<(u8, Known)> = known.into_iter().flatten().collect();
        let may = |key: &TokenKey| known.iter().any(|(shard, part)| *shard == key.shard() && part.may_have(key));
        let now_ms = self.clock.now_ms();
        let brought = |key: &TokenKey| self.memory().brought.get(&(project.to_owned(), *key), now_ms).is_some();
        let news: Vec<(TokenKey, News<'_>)> = news.into_iter().filter(|(key, _)| may(key) || brought(key)).collect();
        if news.is_empty() {
            return;
        }
        let stored = match self.store.dead_tokens(project, news.iter().map(|(key, _)| *key)).await {
            Ok(stored) => stored,
            Err(error) => {
                tracing::warn!(project, error = %error, "accepted tokens were not looked up in the list of dead ones");
                return;
            }
        };
        let listed = stored.into_iter().filter_map(|(key, entry)| {
            let (_, news) = news.iter().find(|(of, _)| *of == key)?;
            Some(self.settle(project, news, DeadTokenWrite::Conflict(Some(entry))))
        });
        join_all(listed).await;
    }

    async fn known(&self, part: Part) -> Option<(u8, Known)> {
        let shard = part.1;
        let remembered = || self.memory().parts.get(&part, self.clock.now_ms());
        if let Some(known) = remembered() {
            return Some((shard, known));
        }
        let _one = self.looking.get(usize::from(shard))?.lock().await;
        if let Some(known) = remembered() {
            return Some((shard, known));
        }
        let known = match self.store.dead_token_keys(&part.0, shard, PART_TOKENS_MAX).await {
            Ok(Some(keys)) => Known::All(Arc::new(keys.into_iter().collect())),
            Ok(None) => Known::Many,
            Err(error) => {
                warn_unread(&part.0, &error);
                return None;
            }
        };
        self.memory().parts.put(part, known.clone(), false, self.clock.now_ms());
        Some((shard, known))
    }
}

fn warn_unread(project: &str, error: &StoreError) {
    tracing::warn!(project, error = %error, "the list of dead tokens was not read");
}
