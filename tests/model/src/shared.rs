//! A value that many states share: cheap to clone, hashed once.
//!
//! States are cloned and hashed millions of times; the machines and items in them change rarely. Equal values are equal
//! wherever they were made, so two states that hold equal machines are one state.

use std::{
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
    sync::Arc,
};

/// The hash of a value, the same in each run: the one that stateright itself takes for its states, since a world is hashed
/// once more for "drains", and the standard library's takes thrice as long.
pub(crate) fn hash_of<T: Hash>(value: &T) -> u64 {
    static HASHED: ahash::RandomState = ahash::RandomState::with_seeds(1, 2, 3, 4);
    HASHED.hash_one(value)
}

/// A shared value with its hash.
pub struct Shared<T> {
    hash: u64,
    value: Arc<T>,
}

impl<T: Hash> Shared<T> {
    /// Shares a value.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self { hash: hash_of(&value), value: Arc::new(value) }
    }
}

impl<T: Clone> Shared<T> {
    /// A copy of the value.
    #[must_use]
    pub fn take(&self) -> T {
        (*self.value).clone()
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self { hash: self.hash, value: Arc::clone(&self.value) }
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.value, &other.value) || (self.hash == other.hash && self.value == other.value)
    }
}

impl<T: Eq> Eq for Shared<T> {}

impl<T> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}
