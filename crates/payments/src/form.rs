//! The form of a create call, and the query of a listing.
//!
//! Stripe's v1 bodies are `application/x-www-form-urlencoded` with nested names in brackets (stripe-python, `_encode.py`).

use crate::client::Ask;
use protocol::refund::request::Why;
use url::form_urlencoded::Serializer;

/// Refunds of one page of a listing: Stripe's most (stripe-python, `RefundListParams`).
pub(crate) const PAGE: usize = 100;
/// The name of our metadata: the payout's id.
pub(crate) const METADATA: &str = "sendonce_payout";
/// What ids of payment intents start with; anything else is a charge (`ch_…`, `py_…`).
const INTENT: &str = "pi_";

fn parameter(payment: &str) -> &'static str {
    if payment.starts_with(INTENT) { "payment_intent" } else { "charge" }
}

/// The body of a create call. It depends on nothing but what is stored with the refund, so every call of a payout has the
/// same one: other parameters under the same key are refused.
pub(crate) fn create(ask: &Ask<'_>) -> String {
    let mut form = Serializer::new(String::new());
    form.append_pair(parameter(ask.payment), ask.payment);
    form.append_pair("amount", &ask.amount.to_string());
    // Stripe knows no other reason than these three; without one it names none.
    let reason = match ask.why {
        Why::Duplicate | Why::Fraudulent | Why::RequestedByCustomer => Some(ask.why.as_str()),
        Why::Other => None,
    };
    if let Some(reason) = reason {
        form.append_pair("reason", reason);
    }
    form.append_pair(&format!("metadata[{METADATA}]"), &ask.key.to_string());
    form.finish()
}

/// The query of one page: the newest, or those after the refund with this id of Stripe's.
pub(crate) fn list(payment: &str, after: Option<&str>) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair(parameter(payment), payment);
    query.append_pair("limit", &PAGE.to_string());
    if let Some(after) = after {
        query.append_pair("starting_after", after);
    }
    query.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::refund::id::PayoutId;

    fn ask(payment: &str, why: Why) -> String {
        let key = PayoutId::parse("payout_rf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbb_1").unwrap();
        create(&Ask { key, amount: 1_250, payment, currency: "eur", why })
    }

    #[test]
    fn a_create_call_is_a_form() {
        assert_eq!(
            ask("pi_3", Why::Duplicate),
            "payment_intent=pi_3&amount=1250&reason=duplicate&metadata%5Bsendonce_payout%5D=\
             payout_rf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbb_1"
        );
        assert!(ask("ch_3 &x=1", Why::Other).starts_with("charge=ch_3+%26x%3D1&amount=1250&metadata"));
    }

    #[test]
    fn a_page_is_a_query() {
        assert_eq!(list("pi_3", None), "payment_intent=pi_3&limit=100");
        assert_eq!(list("ch_3", Some("re_9")), "charge=ch_3&limit=100&starting_after=re_9");
    }
}
