//! What is known of a device token that a provider once called dead: an entry of a project's list of invalid tokens.
//!
//! Written by `store` for the deliver function, shown by the api function. Pure, and a join like that of letters: of
//! what was said about a token the latest counts, in whatever order it is written down, so that a late "dead" does not
//! come back over a later acceptance, nor a late acceptance over a later "dead". An entry stays when its token has
//! left the list: it is what a late "dead" meets. A token that no provider ever called dead has none.

use crate::{
    content::{Device, Platform},
    expect::Expect,
};
use alloc::string::String;
use sha2::{Digest, Sha256};

const DAY_MS: u64 = 86_400_000;
/// How long a token stays on the list, and an acceptance is remembered that took one off it.
pub const KEPT_MS: u64 = 90 * DAY_MS;
/// Parts into which a project's list is cut, so that a provider's bad day does not meet one partition's limit
/// (DynamoDB, "Best practices for designing and using partition keys").
pub const SHARDS: u8 = 4;

/// A device by its token's hash: its place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenKey {
    /// Its platform.
    pub platform: Platform,
    /// SHA-256 of the token.
    pub hash: [u8; 32],
}

impl TokenKey {
    /// A device's place.
    #[must_use]
    pub fn of(device: &Device) -> Self {
        Self { platform: device.platform, hash: Sha256::digest(device.token.0.as_bytes()).into() }
    }

    /// The part of the list that it is in, below [`SHARDS`].
    #[must_use]
    pub fn shard(&self) -> u8 {
        self.hash.first().map_or(0, |byte| byte % SHARDS)
    }
}

/// What a provider said of a token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Said {
    /// It is no device's any more.
    Dead {
        /// Since when, in ms: what the provider said, or else when it was asked. Never later than that, so that of two
        /// calls that overlap the acceptance counts.
        since_ms: u64,
        /// The provider's reason, one word.
        reason: String,
    },
    /// It took a push for it.
    Accepted {
        /// When it had answered, in ms.
        at_ms: u64,
    },
}

/// Why a token is on the list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Death {
    /// The provider's latest reason.
    pub reason: String,
    /// Since when it is known to be dead, in ms.
    pub since_ms: u64,
    /// The latest moment of which that was said, in ms. Only an acceptance after it takes the token off the list.
    pub last_ms: u64,
    /// When it was put on the list, in ms: its place in the order, and the beginning of its time there.
    pub listed_ms: u64,
}

/// What is stored of a token, besides the token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// `None` if its token is not on the list any more.
    pub death: Option<Death>,
    /// The latest acceptance that was written down, in ms; 0 if there was none.
    pub accepted_ms: u64,
    /// Counts writes.
    pub version: u32,
}

impl Entry {
    /// Until when the entry means anything, in ms.
    #[must_use]
    pub fn ends_ms(&self) -> u64 {
        let begun = self.death.as_ref().map_or(self.accepted_ms, |death| death.listed_ms);
        begun.saturating_add(KEPT_MS)
    }

    /// Whether the token is on the list.
    #[must_use]
    pub fn is_listed(&self, now_ms: u64) -> bool {
        self.death.is_some() && now_ms < self.ends_ms()
    }
}

/// The entry that `stored` becomes, and what must be true for it to be written; `None` if nothing needs to be.
///
/// An acceptance is written down only where there is an entry: a token that was never called dead costs nothing.
#[must_use]
pub fn hear(stored: Option<&Entry>, said: &Said, now_ms: u64) -> Option<(Entry, Expect)> {
    // What has ended says nothing any more, but a write must still name its version.
    let valid = stored.filter(|entry| now_ms < entry.ends_ms());
    let accepted_ms = valid.map_or(0, |entry| entry.accepted_ms);
    let before = valid.and_then(|entry| entry.death.as_ref());
    let (death, accepted_ms) = match said {
        // 0 is no acceptance, so it refutes nothing.
        Said::Dead { since_ms, .. } if accepted_ms > 0 && *since_ms <= accepted_ms => return None,
        Said::Dead { since_ms, reason } => (Some(dead(before, *since_ms, reason, now_ms)), accepted_ms),
        Said::Accepted { at_ms } => {
            valid?;
            if *at_ms <= accepted_ms {
                return None;
            }
            (before.and_then(|death| outlive(death, *at_ms)), *at_ms)
        }
    };
    if valid.is_some_and(|entry| entry.death == death && entry.accepted_ms == accepted_ms) {
        return None;
    }
    let version = stored.map_or(1, |entry| entry.version.wrapping_add(1));
    let expect = stored.map_or(Expect::Absent, |entry| Expect::Version(entry.version));
    Some((Entry { death, accepted_ms, version }, expect))
}

fn dead(before: Option<&Death>, since_ms: u64, reason: &str, now_ms: u64) -> Death {
    match before {
        None => Death { reason: reason.into(), since_ms, last_ms: since_ms, listed_ms: now_ms },
        Some(death) => Death {
            reason: if since_ms > death.last_ms { reason.into() } else { death.reason.clone() },
            since_ms: death.since_ms.min(since_ms),
            last_ms: death.last_ms.max(since_ms),
            listed_ms: death.listed_ms,
        },
    }
}

/// What is left of a death after an acceptance.
fn outlive(death: &Death, accepted_ms: u64) -> Option<Death> {
    // Dead, accepted, dead again: only the last is still known to be true.
    let since_ms = if death.since_ms <= accepted_ms { death.last_ms } else { death.since_ms };
    (accepted_ms < death.last_ms).then(|| Death { since_ms, ..death.clone() })
}
