//! Stripe's refund object, wherever it is met: in the answer to a call, in a listing, in an event.
//!
//! Source: stripe-python, `_refund.py`; <https://docs.stripe.com/api/refunds>.

use crate::form::METADATA;
use outbound::outcome::{provider_code, reason};
use protocol::refund::{id::PayoutId, payout::Finding, terms::Terms};
use serde_json::Value;

/// Longest id of the provider's that is kept, in bytes; Stripe's are about 30 (it promises no more than 255).
const ID_MAX_BYTES: usize = 255;

/// The object's id.
pub(crate) fn id(object: &Value) -> Option<&str> {
    object["id"]
        .as_str()
        .filter(|id| (1..=ID_MAX_BYTES).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic()))
}

/// The payout that the object is about, by our metadata; none if it is not ours.
pub(crate) fn payout(object: &Value) -> Option<PayoutId> {
    object["metadata"][METADATA].as_str().and_then(PayoutId::parse)
}

/// What the object says of its payout; none if it has no id.
///
/// The status is an open set. One that nobody knows is an object that exists and has not come to an end that we know, which
/// is what pending means: no second payment is made, and it is looked at again.
pub(crate) fn finding(object: &Value) -> Option<Finding> {
    let reference = id(object)?.to_owned();
    Some(match object["status"].as_str() {
        Some("succeeded") => Finding::Succeeded { reference },
        Some(status @ ("failed" | "canceled")) => {
            let code = object["failure_reason"].as_str().and_then(provider_code).unwrap_or(status);
            let detail = format!("Stripe: the refund {status}");
            Finding::Failed { reference, reason: reason(code, &detail, &[]) }
        }
        _ => Finding::Pending { reference },
    })
}

/// What the object says that it pays.
pub(crate) fn terms(object: &Value) -> Terms {
    Terms { amount: object["amount"].as_u64(), currency: object["currency"].as_str().map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_status_means_something() {
        let of = |status: Value| finding(&json!({"id": "re_1", "status": status, "failure_reason": "declined"}));
        let reference = || "re_1".to_owned();
        assert_eq!(of(json!("succeeded")), Some(Finding::Succeeded { reference: reference() }));
        for open in [json!("pending"), json!("requires_action"), json!("a_new_one"), Value::Null] {
            assert_eq!(of(open), Some(Finding::Pending { reference: reference() }));
        }
        for status in ["failed", "canceled"] {
            let Some(Finding::Failed { reference, reason }) = of(json!(status)) else { panic!("{status}") };
            assert_eq!((reference.as_str(), reason.code.as_str()), ("re_1", "declined"));
        }
        let unnamed = finding(&json!({"id": "re_1", "status": "canceled", "failure_reason": null}));
        assert!(matches!(unnamed, Some(Finding::Failed { reason, .. }) if reason.code == "canceled"));
    }

    #[test]
    fn an_object_without_a_usable_id_says_nothing() {
        for id in [Value::Null, json!(""), json!("re 1"), json!(7), json!("x".repeat(256))] {
            assert_eq!(finding(&json!({"id": id, "status": "succeeded"})), None);
        }
    }

    #[test]
    fn terms_are_what_is_said_and_nothing_else() {
        let said = terms(&json!({"amount": 4_200, "currency": "usd"}));
        assert_eq!(said, Terms { amount: Some(4_200), currency: Some("usd".to_owned()) });
        for silent in [json!({}), json!({"amount": "4200", "currency": null}), json!({"amount": -1, "currency": 840})] {
            assert_eq!(terms(&silent), Terms::default());
        }
    }

    #[test]
    fn our_metadata_names_the_payout() {
        let id = "payout_rf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbb_2";
        let object = |value: Value| json!({"metadata": {METADATA: value}});
        assert_eq!(payout(&object(json!(id))).map(|payout| payout.to_string()), Some(id.to_owned()));
        for other in [json!("payout_1"), json!(1), Value::Null] {
            assert_eq!(payout(&object(other)), None);
        }
        assert_eq!(payout(&json!({"metadata": {}})), None);
    }
}
