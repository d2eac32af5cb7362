//! The condition of a write, as a value: the few shapes that exist in the system.
//!
//! `store` renders each as a ConditionExpression; [`Expect::holds`] says what the expression means, and a test compares
//! the two on random items.

/// What must be true of the stored item for a write to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expect {
    /// There is no item.
    Absent,
    /// There is no item, or its validity ended before `now_s` (whole seconds). DynamoDB deletes expired items late, so
    /// the clock decides, not the deletion.
    AbsentOrExpired {
        /// Now, in whole seconds.
        now_s: u64,
    },
    /// The item is at this version.
    Version(u32),
}

/// What conditions can see of a stored item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seen {
    /// Its version, if it has one.
    pub version: Option<u32>,
    /// When it may be deleted, in whole seconds, if it says so.
    pub expires_s: Option<u64>,
}

impl Expect {
    /// Whether a write would happen. A comparison with an attribute that is not there is false, as in DynamoDB.
    #[must_use]
    pub fn holds(&self, stored: Option<&Seen>) -> bool {
        match (self, stored) {
            (Self::Absent | Self::AbsentOrExpired { .. }, None) => true,
            (Self::Absent, Some(_)) | (Self::Version(_), None) => false,
            (Self::AbsentOrExpired { now_s }, Some(seen)) => seen.expires_s.is_some_and(|expires| expires < *now_s),
            (Self::Version(version), Some(seen)) => seen.version == Some(*version),
        }
    }
}
