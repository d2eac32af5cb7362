//! What an APNs answer means, as a table.
//!
//! Used by the client. Sources: Apple, "Handling notification responses from APNs" (A2: reasons, and which of them are
//! never to be repeated), "Sending notification requests to APNs" (A1) and "Establishing a token-based connection to
//! APNs" (A3); where APNs may have taken a notification although it answered with an error, design section 4 decides.

use crate::{
    answers::{Also, Class, Credentials, Heard, Row, is_reason_lost, means},
    outcome::{provider_code, raw, reason, retry_after_ms},
    pool::Standing,
    transport::Answered,
};
use serde_json::Value;

const OURS: &[&str] = &[
    "BadCollapseId",
    "BadExpirationDate",
    "BadMessageId",
    "BadPriority",
    "BadTopic",
    "DuplicateHeaders",
    "InvalidPushType",
    "MissingDeviceToken",
    "MissingTopic",
    "PayloadEmpty",
];
const CREDENTIALS: &[&str] = &[
    "BadCertificate",
    "BadCertificateEnvironment",
    "BadEnvironmentKeyIdInToken",
    "Forbidden",
    "InvalidProviderToken",
    "MissingProviderToken",
];
const LATER: &[&str] = &["TooManyRequests", "TooManyProviderTokenUpdates"];
/// 429 for this one device: the token was looked at and taken.
const DEVICE_BUSY: &str = "TooManyRequests";

/// Every answer but the acceptance. The first row that covers an answer counts.
pub const ANSWERS: &[Row] = &[
    Row::of(400..=400, &["BadDeviceToken"], Class::TokenDead, "A2: never repeat; invalid, or of the other environment"),
    Row::of(
        400..=400,
        &["DeviceTokenNotForTopic", "TopicDisallowed"],
        Class::Permanent,
        "A2: never repeat; the app that was named, so the token may be good",
    ),
    Row::of(400..=400, &["IdleTimeout"], Class::NotNow, "A2: the connection, not the notification")
        .also(Also::Reconnect),
    Row::of(400..=400, OURS, Class::OurBug, "A2: the request is wrong; stays so").or_any(),
    Row::of(403..=403, &["ExpiredProviderToken"], Class::Hold, "A2, A3: the token is over an hour old")
        .also(Also::RenewToken),
    Row::of(403..=403, &["UnrelatedKeyIdInToken"], Class::NotNow, "A2: open a new connection").also(Also::Reconnect),
    Row::of(403..=403, CREDENTIALS, Class::Hold, "A2: the credentials, not the device").or_any(),
    Row::of(404..=405, &["BadPath", "MethodNotAllowed"], Class::OurBug, "A2: the request is wrong; stays so").or_any(),
    Row::of(410..=410, &["ExpiredToken", "Unregistered"], Class::TokenDead, "A2: never repeat; the token is gone")
        .or_any(),
    Row::of(413..=413, &["PayloadTooLarge"], Class::Permanent, "A2: never repeat").or_any(),
    Row::of(
        400..=498,
        LATER,
        Class::NotNow,
        "A2: 429 is repeated with delay; RFC 9110, 15.5: what nobody documents as final is not final",
    )
    .or_any(),
    Row::of(503..=503, &["Shutdown"], Class::NotNow, "A2: the server ends, and did not take it").also(Also::Reconnect),
    Row::of(503..=503, &["ServiceUnavailable"], Class::NotNow, "A2: refused for now").or_any(),
    Row::of(
        0..=u16::MAX,
        &["InternalServerError"],
        Class::Ambiguous,
        "Apple does not say: an internal error may follow the acceptance, and 502 and 504 lost the answer on its way; \
         what is not documented may have been taken",
    )
    .or_any(),
];

/// The body of a refusal.
#[derive(Default)]
struct Body {
    reason: String,
    /// Since when APNs knows that the token is gone, in milliseconds since the Unix epoch.
    timestamp: Option<u64>,
}

impl Body {
    /// Each member by itself: one that is not as documented takes nothing from the other.
    fn of(answered: &Answered) -> Self {
        let body = answered.body.as_deref().and_then(|body| serde_json::from_slice::<Value>(body).ok());
        let member = |name| body.as_ref().and_then(|body| body.get(name));
        Self {
            reason: member("reason").and_then(Value::as_str).unwrap_or_default().to_owned(),
            // 0 names no time.
            timestamp: member("timestamp").and_then(Value::as_u64).filter(|at_ms| *at_ms > 0),
        }
    }
}

/// Reads any answer to the notification `id`. `renewed` says that the provider token replaced one that APNs had refused.
/// `secrets` must not show in the reason.
pub(crate) fn read(answered: &Answered, id: &str, renewed: bool, now_ms: u64, secrets: &[&str]) -> Heard {
    if answered.status.is_success() {
        // The status line is the acceptance; the id that it names is ours unless APNs made another.
        let given = answered.headers.get("apns-id").and_then(|value| value.to_str().ok());
        return Heard::accepted(given.unwrap_or(id).to_owned());
    }
    let status = answered.status.as_u16();
    let body = Body::of(answered);
    let word = provider_code(&body.reason);
    let (class, also) = means(ANSWERS, answered, word);
    let class = if also == Also::RenewToken && !renewed { Class::NotNow } else { class };
    let after_ms = retry_after_ms(&answered.headers, now_ms);
    let code = word.map_or_else(|| format!("HTTP_{status}"), str::to_owned);
    let said = match body.reason.as_str() {
        _ if is_reason_lost(answered) => "and the rest of its answer was lost".to_owned(),
        "" => raw(answered),
        reason => reason.to_owned(),
    };
    let since = body.timestamp.map(|at_ms| format!("; so since {}", platform::rfc3339_ms(at_ms)));
    let sentence = format!("APNs answered {status} {said}{}", since.unwrap_or_default());
    let mut heard = Heard::refused(class, reason(&code, sentence.trim_end(), secrets), after_ms, word.is_some());
    heard.dead_since_ms = body.timestamp.filter(|_| class == Class::TokenDead);
    match status {
        429 if word == Some(DEVICE_BUSY) => heard.credentials = Credentials::Taken,
        // It did not get as far as the token.
        404 | 405 => heard.credentials = Credentials::Unknown,
        _ => {}
    }
    heard
}

/// Whether APNs refused the provider token itself, not the key behind it. Asked of refusals only.
pub(crate) fn token_refused(answered: &Answered) -> bool {
    answered_means(answered).1 == Also::RenewToken
}

fn answered_means(answered: &Answered) -> (Class, Also) {
    means(ANSWERS, answered, provider_code(&Body::of(answered).reason))
}

/// What an answer says of its connection: whatever APNs says about a device or a payload, it says to a token that it
/// took.
pub(crate) fn standing(answered: &Answered) -> Standing {
    if answered.status.is_success() {
        return Standing::Proven;
    }
    if answered.body.is_none() || answered_means(answered).1 == Also::Reconnect {
        return Standing::Spent;
    }
    // A refusal of APNs' names its reason; without one it may be a proxy's.
    let own = provider_code(&Body::of(answered).reason).is_some();
    match answered.status.as_u16() {
        400 | 410 | 413 if own => Standing::Proven,
        _ => Standing::Open,
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
