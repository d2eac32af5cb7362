//! Ids of refunds and payouts.
//!
//! A refund's id is built as a message's: the key hash, so that a look-up by id needs no index, and a nonce. A payout's
//! id is its refund's id and a number; it is the provider's Idempotency-Key, so it must never be given to two payments.

use crate::ids::{KeyHash, Nonce, Operation, unbase32};
use core::fmt;

/// Length of a refund's id in bytes.
const REFUND_ID_LEN: usize = 43;

/// A refund's id: `rf_`, the key hash, the nonce.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RefundId {
    /// Which key it was created under.
    pub key: KeyHash,
    /// Which request created it.
    pub nonce: Nonce,
}

impl RefundId {
    /// Parses an id exactly as [`fmt::Display`] writes it; anything else is no id of ours.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != REFUND_ID_LEN || !text.is_ascii() {
            return None;
        }
        let rest = text.strip_prefix(Operation::Refund.prefix())?;
        let (key, nonce) = rest.split_at_checked(32)?;
        Some(Self { key: KeyHash::from_base32(key)?, nonce: Nonce(unbase32(nonce)?) })
    }
}

impl fmt::Display for RefundId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", Operation::Refund.prefix(), self.key.to_base32(), self.nonce.to_base32())
    }
}

impl fmt::Debug for RefundId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A payout's id: `payout_`, the refund's id, `_` and a number from 1. At most 56 bytes, of the 255 that Stripe takes as an
/// Idempotency-Key (<https://docs.stripe.com/api/idempotent_requests>).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PayoutId {
    /// Whose payout it is.
    pub refund: RefundId,
    /// Which of its payouts: 1, and one more after each retry.
    pub number: u16,
}

impl PayoutId {
    /// The payout that approval makes.
    #[must_use]
    pub fn first(refund: RefundId) -> Self {
        Self { refund, number: 1 }
    }

    /// The payout that a retry makes; `None` when the numbers are used up (an id is never given twice).
    #[must_use]
    pub fn successor(self) -> Option<Self> {
        Some(Self { number: self.number.checked_add(1)?, ..self })
    }

    /// Parses an id exactly as [`fmt::Display`] writes it; anything else is no id of ours.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (refund, digits) = text.strip_prefix("payout_")?.rsplit_once('_')?;
        if digits.starts_with('0') || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Some(Self { refund: RefundId::parse(refund)?, number: digits.parse().ok()? })
    }
}

impl fmt::Display for PayoutId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "payout_{}_{}", self.refund, self.number)
    }
}

impl fmt::Debug for PayoutId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
