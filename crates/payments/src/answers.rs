//! What Stripe's answers mean, as a table, and how an answer is read.
//!
//! Used by the client. The first row that covers an answer counts; the table is total, and no row can be left out without
//! changing what some answer means (a test takes each one away). "Refused" stands where the provider's documents, or what
//! others reported of it, give no reason to hope that a repeat would be answered otherwise. None of it promises that an
//! answer is final, nor that no other call under the key was taken, so a refusal is only believed after a listing; then it
//! leads to `failed`, and a person may pay anew. "Mismatch" is a person's. Everything else is repeated under the same key,
//! which pays once as long as the key is remembered.
//!
//! Sources: <https://docs.stripe.com/api/errors> ("errors"), <https://docs.stripe.com/error-low-level> ("low-level"),
//! <https://docs.stripe.com/rate-limits>, stripe-python 15.3.1 ("code enum": the codes that its types name), and where
//! named, public issues.

use crate::{Class, client::Ask, object};
use outbound::{
    outcome::{provider_code, raw, reason, retry_after_ms},
    transport::{Answered, Failed},
};
use protocol::{answer::Reason, machine::payout::Answer, refund::payout::Finding};
use serde_json::Value;
use std::ops::RangeInclusive;

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// HTTP statuses.
    pub status: RangeInclusive<u16>,
    /// Values of `error.type` that it covers; empty: any, or none.
    pub types: &'static [&'static str],
    /// Values of `error.code` that it covers; empty: any, or none.
    pub codes: &'static [&'static str],
    /// What it means.
    pub class: Class,
    /// Where this is from.
    pub source: &'static str,
}

const REFUSED: RangeInclusive<u16> = 400..=499;

const fn row(
    status: RangeInclusive<u16>,
    types: &'static [&'static str],
    codes: &'static [&'static str],
    class: Class,
    source: &'static str,
) -> Row {
    Row { status, types, codes, class, source }
}

/// Every answer but 2xx.
pub const ANSWERS: &[Row] = &[
    row(
        REFUSED,
        &[],
        &["idempotency_key_in_use"],
        Class::InProgress,
        "stripity-stripe issue 564: 409 while the first call under the key runs, and its answer is replayed afterwards",
    ),
    row(
        409..=409,
        &[],
        &[],
        Class::InProgress,
        "low-level: a conflict with a concurrent request is not stored and may be repeated; stripe-python repeats any 409",
    ),
    row(
        REFUSED,
        &["idempotency_error"],
        &[],
        Class::Mismatch,
        "stripe-ruby issue 503: other parameters under a used key; told by the type, and never answered with a new key",
    ),
    row(
        REFUSED,
        &[],
        &["lock_timeout"],
        Class::NotNow,
        "code enum: another request is at this payment, and it may be an earlier one of this payout",
    ),
    row(
        429..=429,
        &[],
        &[],
        Class::RateLimited,
        "rate-limits: refused before it is looked at, and not stored under the key",
    ),
    row(REFUSED, &[], &["rate_limit"], Class::RateLimited, "code enum: formerly with 400"),
    row(401..=401, &[], &[], Class::Credentials, "errors: no valid API key; not stored under the key"),
    row(403..=403, &[], &[], Class::Credentials, "errors: the API key may not make refunds"),
    row(REFUSED, &[], &["charge_already_refunded"], Class::Refused, "vm0 issue 32132: repeated 61 times, never paid"),
    row(
        REFUSED,
        &[],
        &["charge_disputed", "refund_disputed_payment"],
        Class::Refused,
        "code enum; lago-api pull 6443: charged back, so it cannot be refunded",
    ),
    row(
        REFUSED,
        &[],
        &["amount_too_large", "charge_not_refundable", "balance_insufficient", "parameter_invalid_integer"],
        Class::Refused,
        "code enum: about this payment and amount; a 400 of the endpoint is replayed under the key",
    ),
    row(REFUSED, &[], &["resource_missing"], Class::Refused, "code enum: 404, there is no such payment"),
    row(402..=402, &[], &[], Class::Refused, "errors: the parameters were valid, but the request failed"),
    row(424..=424, &[], &[], Class::Ambiguous, "errors: a service that Stripe depends on failed"),
    row(
        400..=400,
        &["invalid_request_error", "card_error"],
        &[],
        Class::Refused,
        "errors: unacceptable parameters; more than is left of the payment has no code of its own",
    ),
    row(REFUSED, &[], &[], Class::NotNow, "errors: nobody documents it as final, so the key's window decides"),
    row(
        0..=u16::MAX,
        &[],
        &[],
        Class::Ambiguous,
        "low-level: a 500 is stored and replayed, and says nothing about what was done",
    ),
];

/// The first of these rows that covers an answer.
pub fn look_up<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    status: u16,
    kind: Option<&str>,
    code: Option<&str>,
) -> Option<&'a Row> {
    let named = |names: &[&str], name: Option<&str>| names.is_empty() || name.is_some_and(|name| names.contains(&name));
    rows.into_iter().find(|row| row.status.contains(&status) && named(row.types, kind) && named(row.codes, code))
}

/// What came of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// In the protocol's words.
    pub answer: Answer,
    /// In one word.
    pub class: Class,
}

impl Heard {
    /// The provider's code for it, or ours; none of a payment that was made or is on its way.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match &self.answer {
            Answer::Heard(Finding::Pending { .. } | Finding::Succeeded { .. } | Finding::Earlier { .. }) => None,
            Answer::Heard(
                Finding::Failed { reason, .. } | Finding::Refused(reason) | Finding::Unclear { reason, .. },
            )
            | Answer::Later { reason, .. } => Some(&reason.code),
        }
    }

    pub(crate) fn failed(failed: &Failed, secrets: &[&str]) -> Self {
        let (class, code, detail) = match failed {
            Failed::NotSent { code, detail } => (Class::NotSent, code, detail),
            Failed::Lost { code, detail } => (Class::Lost, code, detail),
        };
        Self { answer: later(class, reason(code, detail, secrets), None), class }
    }

    pub(crate) fn not_sent(code: &str, detail: &str) -> Self {
        Self { answer: later(Class::NotSent, reason(code, detail, &[]), None), class: Class::NotSent }
    }
}

/// An answer after which the call is repeated.
fn later(class: Class, reason: Reason, after_ms: Option<u64>) -> Answer {
    let untouched = matches!(class, Class::NotSent | Class::RateLimited | Class::Credentials);
    Answer::Later { reason, after_ms, untouched }
}

/// A refusal, or an answer that is none: its class, what was said, and how long to wait, in ms.
pub(crate) fn refusal(answered: &Answered, now_ms: u64, secrets: &[&str]) -> (Class, Reason, Option<u64>) {
    let status = answered.status.as_u16();
    let body = json(answered);
    let error = &body["error"];
    let (kind, code) = (error["type"].as_str(), error["code"].as_str());
    let class = look_up(ANSWERS, status, kind, code).map_or(Class::Ambiguous, |row| row.class);
    // The decline code says more than `card_declined`, but a code of ours must be one that the table knows.
    let word = code.or(kind).and_then(provider_code).map_or_else(|| format!("HTTP_{status}"), str::to_owned);
    let said = error["message"].as_str().map(str::to_owned);
    let sentence = said.unwrap_or_else(|| format!("Stripe answered {status} {}", raw(answered)));
    let after_ms = retry_after_ms(&answered.headers, now_ms);
    (class, reason(&word, sentence.trim_end(), secrets), after_ms)
}

/// Reads the answer to a create call. `secrets` must not show in a reason.
pub(crate) fn read(answered: &Answered, ask: &Ask<'_>, now_ms: u64, secrets: &[&str]) -> Heard {
    if answered.status.is_success() {
        return made(&json(answered), ask);
    }
    let (class, reason, after_ms) = refusal(answered, now_ms, secrets);
    let answer = match class {
        Class::Refused => Answer::Heard(Finding::Refused(reason)),
        Class::Mismatch => Answer::Heard(Finding::Unclear { reference: None, reason }),
        _ => later(class, reason, after_ms),
    };
    Heard { answer, class }
}

/// What a 2xx says. One that cannot be read is repeated: under the same key the provider says it again.
fn made(object: &Value, ask: &Ask<'_>) -> Heard {
    let Some(finding) = object::finding(object) else {
        let reason = reason("unreadable_answer", "Stripe's answer is no refund that can be read", &[]);
        return Heard { answer: later(Class::Ambiguous, reason, None), class: Class::Ambiguous };
    };
    let finding = object::terms(object).judge(&finding, ask.amount, ask.currency);
    let class = match &finding {
        Finding::Succeeded { .. } => Class::Succeeded,
        Finding::Pending { .. } => Class::Pending,
        Finding::Failed { .. } | Finding::Refused(_) => Class::Failed,
        // An answer is about one object; only a listing tells of an earlier payout.
        Finding::Unclear { .. } | Finding::Earlier { .. } => Class::Mismatch,
    };
    Heard { answer: Answer::Heard(finding), class }
}

/// The body; null if it is no JSON.
pub(crate) fn json(answered: &Answered) -> Value {
    answered.body.as_deref().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default()
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;
