//! What Stripe refuses by itself, before its idempotency layer: API key, form, parameters.

use super::{Params, payment, refunds::Stripe, refusal::Refusal};
use http::{
    HeaderMap,
    header::{AUTHORIZATION, CONTENT_TYPE},
};

/// Longest Idempotency-Key (<https://docs.stripe.com/api/idempotent_requests>).
const KEY_MAX_CHARS: usize = 255;
const FORM: &str = "application/x-www-form-urlencoded";
const REASONS: [&str; 3] = ["duplicate", "fraudulent", "requested_by_customer"];
/// The parameters of a create call, `metadata[…]` apart (stripe-python, `RefundCreateParams`).
const PARAMETERS: [&str; 10] = [
    "amount",
    "charge",
    "currency",
    "customer",
    "instructions_email",
    "origin",
    "payment_intent",
    "reason",
    "refund_application_fee",
    "reverse_transfer",
];
/// Metadata (<https://docs.stripe.com/api/metadata>).
const METADATA_MAX: usize = 50;
const METADATA_NAME_MAX: usize = 40;
const METADATA_VALUE_MAX: usize = 500;
/// What ids of payments begin with that do not exist.
const UNKNOWN: [&str; 2] = ["pi_unknown", "ch_unknown"];
/// A page of a listing.
const PAGE_DEFAULT: usize = 10;
const PAGE_MAX: usize = 100;

/// The account whose API key a request has.
pub(super) fn account(stripe: &Stripe, headers: &HeaderMap) -> Result<String, Refusal> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    bearer.and_then(|key| stripe.account(key)).map(str::to_owned).ok_or_else(Refusal::unauthorized)
}

/// The account of a create call that Stripe would execute.
pub(super) fn create(stripe: &Stripe, headers: &HeaderMap, params: &Params) -> Result<String, Refusal> {
    let account = account(stripe, headers)?;
    let form = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = form.and_then(|form| form.split(';').next()).map(str::trim);
    if media != Some(FORM) {
        return Err(Refusal::malformed("The body must be a form."));
    }
    if headers.get("idempotency-key").is_some_and(|key| key.is_empty() || key.len() > KEY_MAX_CHARS) {
        return Err(Refusal::malformed("Idempotency keys are 1 to 255 characters long."));
    }
    metadata(params)?;
    if params.contains_key("charge") && params.contains_key("payment_intent") {
        return Err(Refusal::malformed("You may only specify one of these parameters: charge, payment_intent."));
    }
    if payment(params).is_none() {
        return Err(Refusal::parameter("parameter_missing", "charge", "One of charge and payment_intent is needed."));
    }
    // Without an amount Stripe gives back what is left, which the sandbox does not know.
    let amount = params.get("amount").ok_or_else(|| Refusal::malformed("The sandbox needs an amount."))?;
    if amount.is_empty() || !amount.bytes().all(|b| b.is_ascii_digit()) || amount.parse::<u64>().ok() == Some(0) {
        return Err(Refusal::parameter("parameter_invalid_integer", "amount", "Invalid integer"));
    }
    if params.get("reason").is_some_and(|reason| !REASONS.contains(&reason.as_str())) {
        return Err(Refusal::parameter("parameter_invalid_enum", "reason", "Invalid reason"));
    }
    exists(params)?;
    Ok(account)
}

/// The payment that is named, if one is, must be there.
fn exists(params: &Params) -> Result<(), Refusal> {
    match payment(params).filter(|payment| UNKNOWN.iter().any(|unknown| payment.starts_with(unknown))) {
        Some(payment) => Err(Refusal::no_payment(payment)),
        None => Ok(()),
    }
}

/// The names of all parameters, and the metadata.
fn metadata(params: &Params) -> Result<(), Refusal> {
    let mut count = 0;
    for (name, value) in params {
        let key = name.strip_prefix("metadata[").and_then(|rest| rest.strip_suffix(']'));
        match key {
            Some(key) => {
                count += 1;
                let good = (1..=METADATA_NAME_MAX).contains(&key.chars().count()) && !key.contains(['[', ']']);
                if !good || value.chars().count() > METADATA_VALUE_MAX || count > METADATA_MAX {
                    return Err(Refusal::malformed("Metadata has 50 names of 40 characters, and values of 500."));
                }
            }
            None if PARAMETERS.contains(&name.as_str()) => {}
            None => return Err(Refusal::unknown_parameter(name)),
        }
    }
    Ok(())
}

/// A page that is asked for.
pub(super) struct Page {
    pub(super) payment: Option<String>,
    pub(super) limit: usize,
    pub(super) after: Option<String>,
}

pub(super) fn page(params: &Params) -> Result<Page, Refusal> {
    let known = ["payment_intent", "charge", "limit", "starting_after"];
    if let Some(name) = params.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(Refusal::unknown_parameter(name));
    }
    let limit = match params.get("limit") {
        None => PAGE_DEFAULT,
        Some(limit) => (limit.parse().ok().filter(|limit| (1..=PAGE_MAX).contains(limit)))
            .ok_or_else(|| Refusal::parameter("parameter_invalid_integer", "limit", "A limit is 1 to 100."))?,
    };
    exists(params)?;
    Ok(Page { payment: payment(params).map(str::to_owned), limit, after: params.get("starting_after").cloned() })
}
