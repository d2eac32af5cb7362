//! Answers that were looked up lately, each remembered for a limited time.
//!
//! Used for API keys (`sendonce-http`) and for projects (the api and the refunds function). Bounded, so that a flood of names costs
//! reads and never memory; forgetting an answer costs one read and never a wrong one. It holds no clock: the caller
//! says what time it is.

use std::{borrow::Borrow, collections::HashMap, hash::Hash};

#[derive(Debug)]
struct Answer<V> {
    until_ms: u64,
    value: V,
    lasting: bool,
}

/// Values by key, at most as many as it was made for.
#[derive(Debug)]
pub struct Remembered<K, V> {
    at_most: usize,
    for_ms: u64,
    answers: HashMap<K, Answer<V>>,
}

impl<K: Eq + Hash, V: Clone> Remembered<K, V> {
    /// Remembers at most `at_most` values, each for `for_ms`.
    #[must_use]
    pub fn new(at_most: usize, for_ms: u64) -> Self {
        Self { at_most, for_ms, answers: HashMap::new() }
    }

    /// The value of a key, if it is remembered at `now_ms`.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q, now_ms: u64) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.answers.get(key).filter(|answer| answer.until_ms > now_ms).map(|answer| answer.value.clone())
    }

    /// Remembers a value from `now_ms` on. When there is no room, half of them are forgotten: what is over, then what does
    /// not last, then what was remembered first. A flood of names that mean nothing must not make the others slow, and
    /// the last half of what was put in is always there for its time.
    pub fn put(&mut self, key: K, value: V, lasting: bool, now_ms: u64) {
        if self.answers.len() >= self.at_most {
            self.forget(now_ms);
        }
        self.answers.insert(key, Answer { until_ms: now_ms.saturating_add(self.for_ms), value, lasting });
    }

    /// Forgets the value of a key.
    pub fn remove(&mut self, key: &K) {
        self.answers.remove(key);
    }

    /// Leaves at most half, so a look over all of them pays for as many additions.
    fn forget(&mut self, now_ms: u64) {
        self.answers.retain(|_, answer| answer.until_ms > now_ms);
        let keep = self.at_most / 2;
        if self.answers.len() <= keep {
            return;
        }
        let mut worth: Vec<(bool, u64)> = self.answers.values().map(Answer::worth).collect();
        worth.sort_unstable_by(|one, other| other.cmp(one));
        // The first that has no place, and how many of equal worth have one.
        let Some(limit) = worth.get(keep).copied() else { return };
        let mut equal = worth.iter().take(keep).filter(|worth| **worth == limit).count();
        self.answers.retain(|_, answer| {
            let worth = answer.worth();
            let one_more = worth == limit && equal > 0;
            equal -= usize::from(one_more);
            worth > limit || one_more
        });
    }
}

impl<V> Answer<V> {
    /// What lasts is worth more, and what came later. All are remembered for the same time.
    fn worth(&self) -> (bool, u64) {
        (self.lasting, self.until_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_remembered_for_their_time_and_no_longer() {
        let mut remembered = Remembered::new(10, 50);
        remembered.put("there".to_owned(), Some(1), true, 100);
        remembered.put("not there".to_owned(), None, false, 100);
        assert_eq!(remembered.get("there", 149), Some(Some(1)));
        assert_eq!(remembered.get("not there", 149), Some(None));
        assert_eq!([remembered.get("there", 150), remembered.get("another", 100)], [None, None]);
    }

    #[test]
    fn a_flood_is_bounded_and_spares_what_lasts() {
        let mut remembered = Remembered::new(1_000, 1_000_000);
        remembered.put(0, "mine", true, 0);
        for n in 1..10_000 {
            remembered.put(n, "flood", false, 1);
            assert!(remembered.answers.len() <= 1_000);
        }
        assert_eq!(remembered.get(&0, 2), Some("mine"));
        for n in 0..10_000 {
            remembered.put(n, "all last", true, 3);
            assert!(remembered.answers.len() <= 1_000);
            assert!(remembered.get(&n, 3).is_some());
        }
    }

    #[test]
    fn the_last_half_is_always_there() {
        for lasting in [false, true] {
            let mut remembered = Remembered::new(100, 1_000_000);
            for n in 0..1_000_u64 {
                remembered.put(n, n, lasting, n);
                assert!(remembered.answers.len() <= 100);
                for earlier in n.saturating_sub(49)..=n {
                    assert_eq!(remembered.get(&earlier, n), Some(earlier), "{earlier} at {n}");
                }
            }
        }
        // Many in one millisecond have no order, and what is over makes room first.
        let mut remembered = Remembered::new(10, 50);
        (0..10).for_each(|n| remembered.put(n, (), false, 7));
        remembered.put(10, (), false, 7);
        assert_eq!(remembered.answers.len(), 6);
        (11..15).for_each(|n| remembered.put(n, (), false, 60));
        remembered.put(15, (), false, 60);
        assert_eq!(remembered.answers.len(), 5);
        assert!((11..=15).all(|n| remembered.get(&n, 61).is_some()));
    }
}
