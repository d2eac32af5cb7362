//! From the bytes of a body to a typed request: pure, with every fault of the body reported together.

use axum::{body::Bytes, http::HeaderMap};
use protocol::refund::{
    id::PayoutId,
    person::Seen,
    request::{RefundRequest, Why},
};
use sendonce_http::{
    Fault, Problem, Rule, key, known_members, optional, parse_object, refund_rules as rules, refuse,
    strict::{Json, Object},
};

/// What a create may hold.
const MEMBERS: [&str; 7] = [key::MEMBER, "order_id", "payment_id", "amount", "currency", "reason", "note"];

/// Reads a create whose content type and size are already accepted: its key and the typed request.
///
/// # Errors
/// In this order: syntax, unknown members, the key, validation. Nothing was stored.
pub fn read_refund(headers: &HeaderMap, body: &Bytes) -> Result<(String, RefundRequest), Problem> {
    let body = parse_object(body)?;
    known_members(&body, "", &MEMBERS)?;
    let key = key::idempotency_key(headers, &body)?;
    Ok((key, refund(&body)?))
}

/// A member that must be there.
fn required<T>(
    body: &Object<'_>,
    name: &str,
    rule: &Rule,
    faults: &mut Vec<Fault>,
    read: impl Fn(&Json<'_>) -> Option<T>,
) -> Option<T> {
    let found = body.get(name).and_then(read);
    if found.is_none() {
        faults.push(rule.broken_here());
    }
    found
}

/// A text whose characters keep the rule's limit.
fn text(rule: &Rule) -> impl Fn(&Json<'_>) -> Option<String> {
    move |value| value.as_str().filter(|text| rule.allows(text.chars().count())).map(str::to_owned)
}

fn amount(value: &Json<'_>) -> Option<u64> {
    let Json::Number(number) = value else { return None };
    let amount = number.as_integer().and_then(|amount| u64::try_from(amount).ok())?;
    usize::try_from(amount).is_ok_and(|size| rules::AMOUNT.allows(size)).then_some(amount)
}

/// Any three letters: which currencies there are is the provider's to say. Kept in lower case.
fn currency(value: &Json<'_>) -> Option<String> {
    let code = value.as_str()?;
    (code.len() == 3 && code.bytes().all(|b| b.is_ascii_alphabetic())).then(|| code.to_ascii_lowercase())
}

fn refund(body: &Object<'_>) -> Result<RefundRequest, Problem> {
    let mut faults = Vec::new();
    let order = required(body, "order_id", &rules::ORDER_ID, &mut faults, text(&rules::ORDER_ID));
    let payment = required(body, "payment_id", &rules::PAYMENT_ID, &mut faults, text(&rules::PAYMENT_ID));
    let amount = required(body, "amount", &rules::AMOUNT, &mut faults, amount);
    let currency = required(body, "currency", &rules::CURRENCY, &mut faults, currency);
    let reason = required(body, "reason", &rules::REASON, &mut faults, |value| value.as_str().and_then(Why::parse));
    let note = optional(body.get("note"), &rules::NOTE, &mut faults, text(&rules::NOTE));
    match (order, payment, amount, currency, reason) {
        (Some(order), Some(payment), Some(amount), Some(currency), Some(reason)) if faults.is_empty() => {
            Ok(RefundRequest { order, payment, amount, currency, reason, note })
        }
        _ => Err(refuse(faults)),
    }
}

/// Reads a retry: which payout failed.
///
/// # Errors
/// In this order: syntax, unknown members, validation.
pub fn read_retry(body: &Bytes) -> Result<PayoutId, Problem> {
    let body = parse_object(body)?;
    known_members(&body, "", &["payout_id"])?;
    let mut faults = Vec::new();
    let named =
        required(&body, "payout_id", &rules::PAYOUT_ID, &mut faults, |value| value.as_str().and_then(PayoutId::parse));
    named.ok_or_else(|| refuse(faults))
}

/// Reads a resolve: the payout that a person looked at, if named, and what was seen at the provider.
///
/// # Errors
/// In this order: syntax, unknown members, validation.
pub fn read_resolve(body: &Bytes) -> Result<(Option<PayoutId>, Seen), Problem> {
    let body = parse_object(body)?;
    known_members(&body, "", &["payout_id", "outcome", "reference"])?;
    let mut faults = Vec::new();
    let named = optional(body.get("payout_id"), &rules::PAYOUT_ID, &mut faults, |value| {
        value.as_str().and_then(PayoutId::parse)
    });
    let paid = required(&body, "outcome", &rules::OUTCOME, &mut faults, |value| match value.as_str()? {
        "paid" => Some(true),
        "not_paid" => Some(false),
        _ => None,
    });
    let reference = optional(body.get("reference"), &rules::REFERENCE, &mut faults, |value| {
        // An id, not a sentence: what the provider says of that object later is known by it.
        text(&rules::REFERENCE)(value).filter(|id| id.bytes().all(|byte| byte.is_ascii_graphic()))
    });
    let seen = match (paid, reference) {
        (Some(true), Some(reference)) => Some(Seen::Paid { reference }),
        (Some(false), reference) => Some(Seen::NotPaid { reference }),
        (Some(true), None) => {
            if faults.is_empty() {
                faults.push(rules::REFERENCE.broken_here());
            }
            None
        }
        (None, _) => None,
    };
    seen.filter(|_| faults.is_empty()).map(|seen| (named, seen)).ok_or_else(|| refuse(faults))
}

#[cfg(test)]
mod tests;
