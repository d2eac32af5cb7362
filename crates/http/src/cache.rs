//! API keys that were looked up lately, valid or not.
//!
//! Used by `auth`. Bounded, so a flood of wrong keys costs reads and never memory; forgetting a key costs one read and
//! never a wrong answer.

use std::collections::HashMap;
use store::ApiKey;

/// API keys remembered at once. At some 300 bytes each they stay below 3 MB.
const KEYS_MAX: usize = 10_000;

#[derive(Debug)]
struct Cached {
    until_ms: u64,
    key: Option<ApiKey>,
}

/// Answers by the hash of the key.
#[derive(Debug, Default)]
pub(crate) struct KeyCache {
    by_hash: HashMap<[u8; 32], Cached>,
}

impl KeyCache {
    /// What was found for a hash, if it is remembered: a key, or that there is none.
    pub(crate) fn get(&self, hash: &[u8; 32], now_ms: u64) -> Option<Option<ApiKey>> {
        self.by_hash.get(hash).filter(|cached| cached.until_ms > now_ms).map(|cached| cached.key.clone())
    }

    /// Remembers what was found for `for_ms`.
    pub(crate) fn put(&mut self, hash: [u8; 32], key: Option<ApiKey>, now_ms: u64, for_ms: u64) {
        if self.by_hash.len() >= KEYS_MAX {
            // Keys that exist go last: a flood of wrong ones must not make the right ones slow.
            self.by_hash.retain(|_, cached| cached.until_ms > now_ms && cached.key.is_some());
            // Fewer than half are left, so a look over all of them pays for thousands of additions.
            if self.by_hash.len() > KEYS_MAX / 2 {
                self.by_hash.clear();
            }
        }
        self.by_hash.insert(hash, Cached { until_ms: now_ms.saturating_add(for_ms), key });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: usize) -> [u8; 32] {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&n.to_be_bytes());
        hash
    }

    fn key() -> ApiKey {
        ApiKey { project: "p".into(), name: "n".into(), scopes: Vec::new(), revoked_at_ms: None }
    }

    #[test]
    fn answers_are_remembered_for_their_time_and_no_longer() {
        let mut cache = KeyCache::default();
        cache.put(hash(1), Some(key()), 100, 50);
        cache.put(hash(2), None, 100, 50);
        assert_eq!(cache.get(&hash(1), 149), Some(Some(key())));
        assert_eq!(cache.get(&hash(2), 149), Some(None));
        assert_eq!([cache.get(&hash(1), 150), cache.get(&hash(3), 100)], [None, None]);
    }

    #[test]
    fn a_flood_of_wrong_keys_is_bounded_and_spares_the_right_ones() {
        let mut cache = KeyCache::default();
        cache.put(hash(0), Some(key()), 0, 1_000_000);
        for n in 1..100_000 {
            cache.put(hash(n), None, 1, 1_000_000);
            assert!(cache.by_hash.len() <= KEYS_MAX);
        }
        assert_eq!(cache.get(&hash(0), 2), Some(Some(key())));
        for n in 0..100_000 {
            cache.put(hash(n), Some(key()), 3, 1_000_000);
            assert!(cache.by_hash.len() <= KEYS_MAX);
        }
    }
}
