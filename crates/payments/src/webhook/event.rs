//! What an event of Stripe's says, in the protocol's words.
//!
//! Source: stripe-python, `_event.py`; <https://docs.stripe.com/changelog/acacia/2024-10-28/refund-webhook-update>. The
//! object of an event is rendered in the endpoint's API version; the members used here are the same in all since 2024-10-28.

use crate::object;
use protocol::refund::webhook::Event;
use serde_json::Value;

/// The types that are about a refund, each with the refund as its object. `charge.refund.updated` comes for some payment
/// methods besides `refund.updated`; it says the same, under an event id of its own.
const TYPES: [&str; 4] = ["refund.created", "refund.updated", "refund.failed", "charge.refund.updated"];
/// Longest id of an event that is taken, in bytes: a stored refund keeps some.
const ID_MAX_BYTES: usize = 100;

/// What a signed body says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// About a payout of ours.
    About(Event),
    /// About a refund that somebody else made.
    NotOurs,
    /// Another type, or an event that has not the form of one: nothing of ours.
    UnknownType,
}

/// Reads a body whose signature is good.
///
/// # Errors
/// The position of the fault when it is no JSON.
pub fn read(body: &[u8]) -> Result<Said, String> {
    let event: Value = serde_json::from_slice(body)
        .map_err(|error| format!("{:?} error at line {} column {}", error.classify(), error.line(), error.column()))?;
    let kind = event["type"].as_str().unwrap_or_default();
    let id = event["id"].as_str().filter(|id| (1..=ID_MAX_BYTES).contains(&id.len()) && id.is_ascii());
    let (Some(id), Some(created_s), true) = (id, event["created"].as_u64(), TYPES.contains(&kind)) else {
        return Ok(Said::UnknownType);
    };
    let object = &event["data"]["object"];
    Ok(match (object::payout(object), object::finding(object)) {
        (Some(payout), Some(finding)) => {
            let terms = object::terms(object);
            Said::About(Event { id: id.to_owned(), created_s, payout, finding, terms })
        }
        _ => Said::NotOurs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::refund::{payout::Finding, terms::Terms};
    use serde_json::json;

    const PAYOUT: &str = "payout_rf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbb_1";

    fn event(kind: &str, status: &str) -> Value {
        let refund = json!({"id": "re_1", "object": "refund", "status": status, "failure_reason": "declined",
            "amount": 1_250, "currency": "eur", "metadata": {"sendonce_payout": PAYOUT}});
        json!({"id": "evt_1", "object": "event", "created": 1_800_000_000, "type": kind, "data": {"object": refund}})
    }

    fn said(event: &Value) -> Said {
        read(event.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn every_type_about_a_refund_is_read_by_its_object() {
        for kind in TYPES {
            let Said::About(event) = said(&event(kind, "succeeded")) else { panic!("{kind}") };
            assert_eq!((event.id.as_str(), event.created_s), ("evt_1", 1_800_000_000));
            assert_eq!(event.payout.to_string(), PAYOUT);
            assert_eq!(event.finding, Finding::Succeeded { reference: "re_1".to_owned() });
            assert_eq!(event.terms, Terms { amount: Some(1_250), currency: Some("eur".to_owned()) });
        }
        let Said::About(failed) = said(&event("refund.failed", "failed")) else { panic!() };
        assert!(matches!(failed.finding, Finding::Failed { reason, .. } if reason.code == "declined"));
    }

    #[test]
    fn what_is_not_ours_has_no_effect() {
        let mut other = event("refund.updated", "succeeded");
        other["data"]["object"]["metadata"] = json!({});
        assert_eq!(said(&other), Said::NotOurs);
        let mut no_id = event("refund.updated", "succeeded");
        no_id["data"]["object"]["id"] = json!(null);
        assert_eq!(said(&no_id), Said::NotOurs);
        assert_eq!(said(&event("charge.refunded", "succeeded")), Said::UnknownType);
        for broken in [json!({}), json!([]), json!(null)] {
            assert_eq!(said(&broken), Said::UnknownType);
        }
        for (member, value) in
            [("id", json!("")), ("id", json!("x".repeat(101))), ("created", json!(-1)), ("type", json!(7))]
        {
            let mut event = event("refund.updated", "succeeded");
            event[member] = value;
            assert_eq!(said(&event), Said::UnknownType, "{member}");
        }
    }

    #[test]
    fn a_body_that_is_no_json_is_named_by_its_place() {
        assert_eq!(read(b"{\"id\": s3cret}").unwrap_err(), "Syntax error at line 1 column 8");
        assert!(read(b"").is_err());
    }
}
