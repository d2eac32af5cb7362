//! What an APNs answer means, as a table.
//!
//! Used by the client. Sources: Apple, "Handling notification responses from APNs" (A2: reasons, and which of them are
//! never to be repeated) and "Sending notification requests to APNs" (A1); where APNs may have taken a notification
//! although it answered with an error, design section 4 decides.

use crate::{
    outcome::{provider_code, reason, retry_after_ms},
    pool::Standing,
    transport::Answered,
};
use protocol::answer::Answer;
use serde::Deserialize;
use std::ops::RangeInclusive;

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    /// Refused for good.
    Permanent,
    /// Refused for now.
    NotNow,
    /// Refused for now, and the provider token is not worth keeping.
    TokenRefused,
    /// Refused for now, and the connection is not worth keeping.
    ConnectionSpent,
    /// May have been taken.
    Ambiguous,
}

struct Row {
    status: RangeInclusive<u16>,
    /// APNs' reason; `None` matches any and none.
    reason: Option<&'static str>,
    means: Means,
    /// Where this is from, for the reader.
    #[cfg_attr(not(test), expect(dead_code, reason = "documentation that a test requires"))]
    source: &'static str,
}

const fn row(status: RangeInclusive<u16>, reason: Option<&'static str>, means: Means, source: &'static str) -> Row {
    Row { status, reason, means, source }
}

/// The first row that matches counts. Reasons that are not named go by their status.
const TABLE: [Row; 31] = [
    row(400..=400, Some("BadDeviceToken"), Means::Permanent, "A2: never repeat; invalid, or of the other environment"),
    row(400..=400, Some("DeviceTokenNotForTopic"), Means::Permanent, "A2: never repeat"),
    row(400..=400, Some("BadTopic"), Means::Permanent, "A2: the request is wrong; stays so"),
    row(400..=400, Some("MissingTopic"), Means::Permanent, "A2: the request is wrong; stays so"),
    row(400..=400, Some("TopicDisallowed"), Means::Permanent, "A2: the request is wrong; stays so"),
    row(400..=400, Some("IdleTimeout"), Means::ConnectionSpent, "A2: the connection, not the notification"),
    row(400..=400, None, Means::Permanent, "A2: the request is wrong; stays so"),
    row(403..=403, Some("ExpiredProviderToken"), Means::TokenRefused, "A2, A3: the token is over an hour old"),
    row(403..=403, Some("InvalidProviderToken"), Means::TokenRefused, "A2: the token, not the device"),
    row(403..=403, Some("MissingProviderToken"), Means::NotNow, "A2: the credentials, not the device"),
    row(403..=403, Some("Forbidden"), Means::NotNow, "A2: the credentials, not the device"),
    row(403..=403, Some("BadCertificate"), Means::NotNow, "A2: the credentials, not the device"),
    row(403..=403, Some("BadCertificateEnvironment"), Means::NotNow, "A2: the credentials, not the device"),
    row(403..=403, Some("BadEnvironmentKeyIdInToken"), Means::NotNow, "A2: the credentials, not the device"),
    row(403..=403, Some("UnrelatedKeyIdInToken"), Means::ConnectionSpent, "A2: open a new connection"),
    row(403..=403, None, Means::NotNow, "A2: authorization, not the device"),
    row(404..=404, Some("BadPath"), Means::Permanent, "A2: the request is wrong; stays so"),
    row(404..=405, None, Means::Permanent, "A2: the request is wrong; stays so"),
    row(410..=410, Some("Unregistered"), Means::Permanent, "A2: never repeat; the token is gone"),
    row(410..=410, Some("ExpiredToken"), Means::Permanent, "A2: never repeat; the token is gone"),
    row(410..=410, None, Means::Permanent, "A2: 410 says that the token is gone"),
    row(413..=413, None, Means::Permanent, "A2: PayloadTooLarge, never repeat"),
    row(429..=429, Some("TooManyProviderTokenUpdates"), Means::NotNow, "A2, A3: no new token for 20 minutes"),
    row(429..=429, None, Means::NotNow, "A2: TooManyRequests, repeat with delay"),
    row(400..=498, None, Means::NotNow, "RFC 9110, 15.5: refused, but for a reason that nobody documents as final"),
    row(500..=500, None, Means::Ambiguous, "design section 4: an internal error may follow the acceptance"),
    row(503..=503, Some("Shutdown"), Means::ConnectionSpent, "A2: the server ends; design section 4: refused for now"),
    row(503..=503, None, Means::NotNow, "A2: ServiceUnavailable; design section 4: refused for now"),
    row(502..=504, None, Means::Ambiguous, "design section 4: something in between lost the answer"),
    row(499..=599, None, Means::Ambiguous, "not documented; may have been taken"),
    row(0..=u16::MAX, None, Means::Ambiguous, "not an answer of APNs' at all"),
];

fn look_up(status: u16, reason: Option<&str>) -> Means {
    let matches = |row: &&Row| row.status.contains(&status) && (row.reason.is_none() || row.reason == reason);
    TABLE.iter().find(matches).map_or(Means::Ambiguous, |row| row.means)
}

/// The body of a refusal.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    reason: String,
    /// Since when APNs knows that the token is gone, in milliseconds since the Unix epoch.
    timestamp: Option<u64>,
}

impl Body {
    fn of(answered: &Answered) -> Self {
        answered.body.as_deref().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default()
    }
}

/// What an answer came to.
pub(crate) struct Verdict {
    pub(crate) answer: Answer,
    /// APNs refused the provider token itself.
    pub(crate) token_refused: bool,
}

/// Reads any answer to the notification `id`. `secrets` must not show in the reason.
pub(crate) fn read(answered: &Answered, id: &str, now_ms: u64, secrets: &[&str]) -> Verdict {
    if answered.status.is_success() {
        // The status line is the acceptance; the id that it names is ours unless APNs made another.
        let given = answered.headers.get("apns-id").and_then(|value| value.to_str().ok());
        let provider_id = given.unwrap_or(id).to_owned();
        return Verdict { answer: Answer::Accepted { provider_id }, token_refused: false };
    }
    let status = answered.status.as_u16();
    let body = Body::of(answered);
    let word = provider_code(&body.reason);
    let means = look_up(status, word);
    let after_ms = retry_after_ms(&answered.headers, now_ms);
    let code = word.map_or_else(|| format!("HTTP_{status}"), str::to_owned);
    let since = body.timestamp.map(|at_ms| format!("; so since {}", platform::rfc3339_ms(at_ms)));
    let sentence = format!("APNs answered {status} {}{}", body.reason, since.unwrap_or_default());
    let reason = reason(&code, sentence.trim_end(), secrets);
    let answer = match means {
        Means::Permanent => Answer::Permanent(reason),
        Means::NotNow | Means::TokenRefused | Means::ConnectionSpent => Answer::NotNow { reason, after_ms },
        Means::Ambiguous => Answer::Ambiguous { reason, after_ms },
    };
    Verdict { answer, token_refused: means == Means::TokenRefused }
}

/// What an answer says of its connection: whatever APNs says about a device or a payload, it says to a token that it
/// took.
pub(crate) fn standing(answered: &Answered) -> Standing {
    let status = answered.status.as_u16();
    if look_up(status, provider_code(&Body::of(answered).reason)) == Means::ConnectionSpent {
        return Standing::Spent;
    }
    match status {
        200..=299 | 400 | 410 | 413 => Standing::Proven,
        _ => Standing::Open,
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
