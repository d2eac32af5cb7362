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

    /// Remembers a value from `now_ms` on. When there is no room, values that do not last are forgotten first: a flood
    /// of names that mean nothing must not make the others slow.
    pub fn put(&mut self, key: K, value: V, lasting: bool, now_ms: u64) {
        if self.answers.len() >= self.at_most {
            self.answers.retain(|_, answer| answer.until_ms > now_ms && answer.lasting);
            // At most half are left, so a look over all of them pays for as many additions.
            if self.answers.len() > self.at_most / 2 {
                self.answers.clear();
            }
        }
        self.answers.insert(key, Answer { until_ms: now_ms.saturating_add(self.for_ms), value, lasting });
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
}
