//! The condition of a write, as a value: the few shapes that exist in the system.
//!
//! `store` renders each as a ConditionExpression; [`Expect::holds`] says what the expression means, and a test compares
//! the two on random items.

use crate::refund::{Status, id::PayoutId};

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
    /// The refund waits for its decision. No version: who decides has not read the refund, and every refund that is
    /// pending is as create wrote it.
    RefundPending,
    /// The current payout is this one, and the refund is as it was read: at this version. The version says all that a
    /// write has to know besides (the payout's state, that nobody has stamped a first call), and keeps two writers from
    /// dropping each other's lines of the audit trail.
    Payout {
        /// The current payout's id.
        payout: PayoutId,
        /// The refund's version.
        version: u32,
    },
}

/// What conditions can see of a stored item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seen {
    /// Its version, if it has one.
    pub version: Option<u32>,
    /// When it may be deleted, in whole seconds, if it says so.
    pub expires_s: Option<u64>,
    /// A refund's status.
    pub status: Option<Status>,
    /// The id of a refund's current payout.
    pub payout: Option<PayoutId>,
}

impl Expect {
    /// Whether a write would happen. A comparison with an attribute that is not there is false, as in DynamoDB.
    #[must_use]
    pub fn holds(&self, stored: Option<&Seen>) -> bool {
        match (self, stored) {
            (Self::Absent | Self::AbsentOrExpired { .. }, None) => true,
            (Self::Absent, Some(_)) => false,
            (Self::Version(_) | Self::RefundPending | Self::Payout { .. }, None) => false,
            (Self::AbsentOrExpired { now_s }, Some(seen)) => seen.expires_s.is_some_and(|expires| expires < *now_s),
            (Self::Version(version), Some(seen)) => seen.version == Some(*version),
            (Self::RefundPending, Some(seen)) => seen.status == Some(Status::Pending),
            (Self::Payout { payout, version }, Some(seen)) => {
                seen.payout == Some(*payout) && seen.version == Some(*version)
            }
        }
    }
}
