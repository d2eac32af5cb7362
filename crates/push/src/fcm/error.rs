//! What an FCM answer means, as a table.
//!
//! Used by the client. The code that counts is `error.details[]` with a type ending in `FcmError`; `error.status` and
//! the sentence are only repeated. Sources: FCM v1 reference, `ErrorCode` and "FCM error codes" (what is refused for
//! good), "Best practices when sending at scale" (429: Retry-After, else 60 s), and where named, public issues.

use crate::{
    outcome::{provider_code, reason, retry_after_ms},
    transport::Answered,
};
use protocol::answer::Answer;
use serde_json::Value;
use std::ops::RangeInclusive;

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    /// Refused for good.
    Permanent,
    /// Refused for now. Without `Retry-After`, wait this long; `None` leaves it to our own schedule.
    NotNow { default_ms: Option<u64> },
    /// Refused for now, and the access token is not worth keeping.
    TokenRefused,
    /// May have been taken.
    Ambiguous,
}

struct Row {
    status: RangeInclusive<u16>,
    /// The FcmError code; `None` matches any and none.
    code: Option<&'static str>,
    means: Means,
    /// Where this is from, for the reader.
    #[cfg_attr(not(test), expect(dead_code, reason = "documentation that a test requires"))]
    source: &'static str,
}

const fn row(status: RangeInclusive<u16>, code: Option<&'static str>, means: Means, source: &'static str) -> Row {
    Row { status, code, means, source }
}

/// Google's wait for a 429 without `Retry-After`.
const QUOTA_WAIT_MS: u64 = 60_000;
const LATER: Means = Means::NotNow { default_ms: None };
const QUOTA: Means = Means::NotNow { default_ms: Some(QUOTA_WAIT_MS) };
const REFUSED: RangeInclusive<u16> = 400..=498;

/// The first row that matches counts.
const TABLE: [Row; 17] = [
    row(500..=599, None, Means::Ambiguous, "firebase-admin-node 1248: 503 for messages that were delivered"),
    row(REFUSED, Some("UNREGISTERED"), Means::Permanent, "ErrorCode: 404, the token is gone"),
    row(REFUSED, Some("INVALID_ARGUMENT"), Means::Permanent, "ErrorCode: 400, payload or token"),
    row(REFUSED, Some("SENDER_ID_MISMATCH"), Means::Permanent, "ErrorCode: 403, a token of another project"),
    row(REFUSED, Some("QUOTA_EXCEEDED"), QUOTA, "ErrorCode: 429; scale-fcm: 60 s"),
    row(REFUSED, Some("THIRD_PARTY_AUTH_ERROR"), LATER, "ErrorCode: 401, a push key is missing in Firebase"),
    row(REFUSED, Some("UNAVAILABLE"), Means::Ambiguous, "ErrorCode: 503; the code counts more than the status"),
    row(REFUSED, Some("INTERNAL"), Means::Ambiguous, "ErrorCode: 500; the code counts more than the status"),
    row(400..=400, None, Means::Permanent, "scale-fcm: 400 is not repeated"),
    row(401..=401, None, Means::TokenRefused, "google.rpc UNAUTHENTICATED: the access token"),
    row(403..=403, None, LATER, "google.rpc PERMISSION_DENIED: API off or role missing, not the device"),
    row(404..=404, None, LATER, "google.rpc NOT_FOUND without FcmError: wrong project id, not the device"),
    row(413..=413, None, Means::Permanent, "RFC 9110, 15.5.14: too large stays too large"),
    row(429..=429, None, QUOTA, "scale-fcm: 429 without Retry-After waits 60 s"),
    row(REFUSED, None, LATER, "RFC 9110, 15.5: refused, but for a reason that nobody documents as final"),
    row(499..=499, None, Means::Ambiguous, "google.rpc CANCELLED: ended in the middle"),
    row(0..=u16::MAX, None, Means::Ambiguous, "not an answer of FCM's at all"),
];

fn look_up(status: u16, code: Option<&str>) -> Means {
    let matches = |row: &&Row| row.status.contains(&status) && (row.code.is_none() || row.code == code);
    TABLE.iter().find(matches).map_or(Means::Ambiguous, |row| row.means)
}

/// What an answer came to.
pub(crate) struct Verdict {
    pub(crate) answer: Answer,
    /// FCM refused the access token itself.
    pub(crate) token_refused: bool,
}

/// Reads any answer. `secrets` must not show in the reason.
pub(crate) fn read(answered: &Answered, now_ms: u64, secrets: &[&str]) -> Verdict {
    let body: Value = answered.body.as_deref().and_then(|b| serde_json::from_slice(b).ok()).unwrap_or_default();
    if answered.status.is_success() {
        // The status line is the acceptance. If the body is lost or has no name, the device was still reached once,
        // and saying anything else would reach it twice; the id is then empty.
        let provider_id = body["name"].as_str().unwrap_or_default().to_owned();
        return Verdict { answer: Answer::Accepted { provider_id }, token_refused: false };
    }
    let status = answered.status.as_u16();
    let error = &body["error"];
    let fcm_code = fcm_code(error);
    let means = look_up(status, fcm_code);
    let asked = retry_after_ms(&answered.headers, now_ms);
    let code = fcm_code.or_else(|| error["status"].as_str().and_then(provider_code));
    let code = code.map_or_else(|| format!("HTTP_{status}"), str::to_owned);
    let sentence = error["message"].as_str().map_or_else(|| format!("FCM answered {status}"), str::to_owned);
    let reason = reason(&code, &sentence, secrets);
    let answer = match means {
        Means::Permanent => Answer::Permanent(reason),
        Means::NotNow { default_ms } => Answer::NotNow { reason, after_ms: asked.or(default_ms) },
        Means::TokenRefused => Answer::NotNow { reason, after_ms: asked },
        Means::Ambiguous => Answer::Ambiguous { reason, after_ms: asked },
    };
    Verdict { answer, token_refused: means == Means::TokenRefused }
}

fn fcm_code(error: &Value) -> Option<&str> {
    let details = error["details"].as_array()?;
    let fcm = details.iter().find(|d| d["@type"].as_str().is_some_and(|t| t.ends_with(".fcm.v1.FcmError")))?;
    fcm["errorCode"].as_str().filter(|code| *code != "UNSPECIFIED_ERROR").and_then(provider_code)
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
