//! What a refund asks for: the typed form of a create request.
//!
//! Made by validation, stored with the refund, hashed by [`crate::fingerprint`]. Nothing here checks limits: validation
//! does.

use alloc::string::String;

/// Why money is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// It was charged twice.
    Duplicate,
    /// The payment was not the payer's.
    Fraudulent,
    /// The payer asked for it.
    RequestedByCustomer,
    /// Anything else.
    Other,
}

/// All reasons.
pub const REASONS: [Why; 4] = [Why::Duplicate, Why::Fraudulent, Why::RequestedByCustomer, Why::Other];

impl Why {
    /// The word in requests and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Fraudulent => "fraudulent",
            Self::RequestedByCustomer => "requested_by_customer",
            Self::Other => "other",
        }
    }

    /// The reason of a word, exactly as [`Why::as_str`] writes it.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        REASONS.into_iter().find(|reason| reason.as_str() == word)
    }
}

/// A validated create request, without its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RefundRequest {
    /// The caller's order, 1 to 128 characters.
    pub order: String,
    /// The provider's payment, 1 to 128 characters.
    pub payment: String,
    /// In the currency's minor unit, 1 to 2^53−1.
    pub amount: u64,
    /// Three lower-case letters.
    pub currency: String,
    /// Why.
    pub reason: Why,
    /// At most 500 characters. Absent and `null` are the same.
    pub note: Option<String>,
}
