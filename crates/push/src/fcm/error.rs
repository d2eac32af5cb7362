//! What an FCM answer means, as a table.
//!
//! Used by the client. The code that counts is `error.details[]` with a type ending in `FcmError`; `error.status` and
//! the sentence are only repeated, but for one: a bad token and a bad payload have the same code, and only the field that
//! is named, or the sentence, tells them apart. Sources: FCM v1 reference, `ErrorCode`, and "FCM error codes" (what is
//! refused for good), "Best practices when sending at scale" (429: Retry-After, else 60 s), and where named, public
//! issues.

use crate::{
    answers::{Also, Class, Credentials, Heard, Row, is_reason_lost, means},
    outcome::{provider_code, raw, reason, retry_after_ms},
    transport::Answered,
};
use serde::Deserialize;
use serde_json::Value;
use std::ops::RangeInclusive;

/// Google's wait for a 429 without `Retry-After`.
const QUOTA_WAIT_MS: u64 = 60_000;
const REFUSED: RangeInclusive<u16> = 400..=498;
/// How the tables name INVALID_ARGUMENT that is about the device's token.
const TOKEN_FAULT: &str = "INVALID_ARGUMENT (message.token)";
/// How the tables name an FcmError whose code they do not list: FCM itself refused this message or this device, for a
/// reason that was added since.
const OTHER_CODE: &str = "any other FcmError";
/// The fields that name a device.
const TOKEN_FIELDS: [&str; 2] = ["message.token", "message.fid"];
/// What FCM says of a token that is none ("FCM error codes", sample; rails/action_push_native pull 141).
const TOKEN_SENTENCE: &str = "registration token is not a valid FCM registration token";
const QUOTA: &str = "QUOTA_EXCEEDED";
/// Longest name of a field that is repeated, in bytes.
const FIELD_MAX_BYTES: usize = 80;

/// Every answer but the acceptance. The first row that covers an answer counts.
pub const ANSWERS: &[Row] = &[
    Row::of(REFUSED, &["UNREGISTERED"], Class::TokenDead, "ErrorCode: 404, the token is gone"),
    Row::of(REFUSED, &[TOKEN_FAULT], Class::TokenDead, "FCM error codes, sample: 400, no token of FCM's"),
    Row::of(REFUSED, &["INVALID_ARGUMENT"], Class::Permanent, "ErrorCode: 400, the payload; the token may be good"),
    Row::of(
        REFUSED,
        &["SENDER_ID_MISMATCH"],
        Class::Permanent,
        "ErrorCode: 403, a token of another project, or credentials of another: the token may be good",
    ),
    Row::of(REFUSED, &["THIRD_PARTY_AUTH_ERROR"], Class::Hold, "ErrorCode: 401, a push key is missing in Firebase"),
    Row::of(
        REFUSED,
        &["INTERNAL", "UNAVAILABLE"],
        Class::Ambiguous,
        "ErrorCode: 500 and 503; the code counts more than the status",
    ),
    Row::of(
        400..=400,
        &[],
        Class::OurBug,
        "scale-fcm: not repeated; what no documented code explains is the request's fault",
    )
    .or_any(),
    Row::of(401..=401, &[], Class::Hold, "google.rpc UNAUTHENTICATED: the access token")
        .or_any()
        .also(Also::RenewToken),
    Row::of(
        403..=404,
        &[OTHER_CODE],
        Class::Permanent,
        "scale-fcm: not repeated; FCM says it of this device or message, and of no token that it is gone",
    ),
    Row::of(403..=403, &[], Class::Hold, "google.rpc PERMISSION_DENIED: API off or role missing, not the device")
        .or_any(),
    Row::of(404..=404, &[], Class::Hold, "google.rpc NOT_FOUND without FcmError: wrong project id, not the device")
        .or_any(),
    Row::of(413..=413, &[], Class::Permanent, "RFC 9110, 15.5.14: too large stays too large").or_any(),
    Row::of(429..=429, &[QUOTA], Class::NotNow, "ErrorCode: 429; scale-fcm: 429 without Retry-After waits 60 s")
        .or_any()
        .also(Also::WaitMs(QUOTA_WAIT_MS)),
    Row::of(REFUSED, &[], Class::NotNow, "RFC 9110, 15.5: refused, but for a reason that nobody documents as final")
        .or_any(),
    Row::of(
        0..=u16::MAX,
        &["INTERNAL", "UNAVAILABLE"],
        Class::Ambiguous,
        "firebase-admin-node 1248: 503 for messages that were delivered; what is not documented may have been taken",
    )
    .or_any(),
];

/// What is read of an acceptance.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Taken {
    name: String,
}

/// Reads any answer. `renewed` says that the access token replaced one that FCM had refused. `secrets` must not show in
/// the reason.
pub(crate) fn read(answered: &Answered, renewed: bool, now_ms: u64, secrets: &[&str]) -> Heard {
    if answered.status.is_success() {
        // The status line is the acceptance. If the body is lost or has no name, the device was still reached once,
        // and saying anything else would reach it twice; the id is then empty.
        let taken = answered.body.as_deref().and_then(|body| serde_json::from_slice::<Taken>(body).ok());
        return Heard::accepted(taken.unwrap_or_default().name);
    }
    let body = body(answered);
    let error = &body["error"];
    let fcm_code = fcm_error(error).and_then(errors_code);
    let (class, also) = means(ANSWERS, answered, table_reason(error));
    let class = if also == Also::RenewToken && !renewed { Class::NotNow } else { class };
    let asked = retry_after_ms(&answered.headers, now_ms);
    let after_ms = match also {
        Also::WaitMs(wait_ms) => asked.or(Some(wait_ms)),
        Also::Nothing | Also::RenewToken | Also::Reconnect => asked,
    };
    let code = fcm_code.or_else(|| error["status"].as_str().and_then(provider_code));
    let code = code.map_or_else(|| format!("HTTP_{}", answered.status.as_u16()), str::to_owned);
    let sentence = sentence(answered, error);
    let mut heard = Heard::refused(class, reason(&code, sentence.trim_end(), secrets), after_ms, is_own(error));
    if fcm_code == Some(QUOTA) {
        heard.credentials = Credentials::Taken;
    }
    heard
}

/// Whether an error has Google's own form: a word for its status, or an FcmError. Anything else may be a proxy's.
fn is_own(error: &Value) -> bool {
    fcm_error(error).is_some() || error["status"].as_str().and_then(provider_code).is_some()
}

/// What a person is told: the status and the field that is complained about first, since a long message is cut.
fn sentence(answered: &Answered, error: &Value) -> String {
    let status = answered.status.as_u16();
    if is_reason_lost(answered) {
        return format!("FCM answered {status}, and the rest of its answer was lost");
    }
    let Some(message) = error["message"].as_str() else {
        return format!("FCM answered {status} {}", raw(answered));
    };
    let word = error["status"].as_str().and_then(provider_code).map(|word| format!(" {word}"));
    let field = violations(error).find_map(|field| is_field(field).then(|| format!(", {field}")));
    format!("FCM answered {status}{}{}: {message}", word.unwrap_or_default(), field.unwrap_or_default())
}

/// Whether FCM refused the access token itself. Asked of refusals only.
pub(crate) fn token_refused(answered: &Answered) -> bool {
    let body = body(answered);
    means(ANSWERS, answered, table_reason(&body["error"])).1 == Also::RenewToken
}

fn body(answered: &Answered) -> Value {
    answered.body.as_deref().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default()
}

/// The reason by which the table is looked up.
fn table_reason(error: &Value) -> Option<&str> {
    let Some(fcm_error) = fcm_error(error) else {
        // Google's front end names the field without an FcmError.
        return names_token(error).then_some(TOKEN_FAULT);
    };
    match errors_code(fcm_error) {
        Some("INVALID_ARGUMENT") if about_token(error) => Some(TOKEN_FAULT),
        None if names_token(error) => Some(TOKEN_FAULT),
        Some(code) if ANSWERS.iter().any(|row| row.reasons.contains(&code)) => Some(code),
        _ => Some(OTHER_CODE),
    }
}

fn about_token(error: &Value) -> bool {
    let says_so = || error["message"].as_str().is_some_and(|sentence| sentence.contains(TOKEN_SENTENCE));
    names_token(error) || (violations(error).next().is_none() && says_so())
}

/// Whether the token is all that FCM complains about: where a field of the payload is wrong too, nothing is known of the
/// token.
fn names_token(error: &Value) -> bool {
    let mut fields = violations(error).peekable();
    fields.peek().is_some() && fields.all(|field| TOKEN_FIELDS.contains(&field))
}

/// The fields that FCM complains about.
fn violations(error: &Value) -> impl Iterator<Item = &str> {
    let details = error["details"].as_array().into_iter().flatten();
    let violations = details.filter_map(|detail| detail["fieldViolations"].as_array()).flatten();
    violations.filter_map(|violation| violation["field"].as_str())
}

/// A path of a field, `message.android.ttl`; anything else may be something that somebody sent.
fn is_field(text: &str) -> bool {
    let known = |b: u8| b.is_ascii_alphanumeric() || b"._[]".contains(&b);
    !text.is_empty() && text.len() <= FIELD_MAX_BYTES && text.bytes().all(known)
}

fn fcm_error(error: &Value) -> Option<&Value> {
    error["details"].as_array()?.iter().find(|d| d["@type"].as_str().is_some_and(|t| t.ends_with(".fcm.v1.FcmError")))
}

/// What an FcmError says, if anything: "unspecified" is no reason.
fn errors_code(fcm_error: &Value) -> Option<&str> {
    fcm_error["errorCode"].as_str().filter(|code| *code != "UNSPECIFIED_ERROR").and_then(provider_code)
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
