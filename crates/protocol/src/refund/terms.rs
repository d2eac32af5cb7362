//! What the provider says that a payout pays, held against what was approved.
//!
//! Our call names the amount, and the payment decides the currency, so another amount, or a payment in another
//! currency, shows only in what the provider made. That is asked of every object of the provider's, wherever it is met:
//! in the answer to a call, in a listing, in an event.

use super::payout::Finding;
use crate::answer::Reason;
use alloc::string::String;

/// The code of a payout that the provider made otherwise than asked for.
pub const NOT_AS_ASKED: &str = "not_as_asked";

/// What an object of the provider's says that it pays. What it does not say is not held against it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Terms {
    /// In the currency's minor unit.
    pub amount: Option<u64>,
    /// Three letters, in either case.
    pub currency: Option<String>,
}

impl Terms {
    /// Whether it pays this amount (in minor units) of this currency, as far as it says.
    #[must_use]
    pub fn are(&self, amount: u64, currency: &str) -> bool {
        self.amount.is_none_or(|said| said == amount)
            && self.currency.as_ref().is_none_or(|said| said.eq_ignore_ascii_case(currency))
    }

    /// What was found about an object with these terms. One that gives money back otherwise than asked for is a
    /// person's to look at, and never `paid`; one that failed gave nothing back, whatever it says.
    #[must_use]
    pub fn judge(&self, finding: &Finding, amount: u64, currency: &str) -> Finding {
        match finding {
            Finding::Pending { reference } | Finding::Succeeded { reference } if !self.are(amount, currency) => {
                let detail = "what the provider made is not what was asked for: another amount, or the payment's \
                              currency is another";
                let reason = Reason { code: String::from(NOT_AS_ASKED), detail: String::from(detail) };
                Finding::Unclear { reference: Some(reference.clone()), reason }
            }
            as_asked => as_asked.clone(),
        }
    }
}
