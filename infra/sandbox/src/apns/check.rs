//! What APNs refuses by itself: method and path, provider token, headers, device token, payload.
//!
//! Sources: Apple, "Sending notification requests to APNs" and "Handling notification responses from APNs"; the order
//! and what is not written there follow the validating mock server of pushy (jchambers/pushy).

use super::{Arrived, aps, provider_token, refusal::Refusal};
use crate::state::{Shared, State};
use http::{HeaderMap, Method};
use serde_json::{Value, json};

/// Longest body, in bytes; that of a VoIP push is longer.
const PAYLOAD_MAX_BYTES: usize = 4_096;
const VOIP_MAX_BYTES: usize = 5_120;
/// Longest collapse id, in bytes.
const COLLAPSE_ID_MAX: usize = 64;
const PUSH_TYPES: [&str; 11] = [
    "alert",
    "background",
    "complication",
    "controls",
    "fileprovider",
    "liveactivity",
    "location",
    "mdm",
    "pushtotalk",
    "voip",
    "widgets",
];
/// Headers that may come once.
const SINGLE: [&str; 6] =
    ["apns-id", "apns-topic", "apns-push-type", "apns-expiration", "apns-priority", "apns-collapse-id"];

/// The device token of a request that APNs would take.
pub(super) fn request<'a>(
    state: &mut State,
    shared: &Shared,
    arrived: &Arrived<'a>,
    payload: &Value,
    now_ms: u64,
) -> Result<&'a str, Refusal> {
    let bad = |reason| Refusal::new(400, reason);
    let token = arrived.path.strip_prefix("device/").ok_or(Refusal::new(404, "BadPath"))?;
    if arrived.method != Method::POST {
        return Err(Refusal::new(405, "MethodNotAllowed"));
    }
    let headers = arrived.headers;
    let connection = &arrived.stream.connection;
    let apps = provider_token::check(state, &shared.provider_key, connection, headers, now_ms)?;
    if SINGLE.iter().any(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        return Err(bad("DuplicateHeaders"));
    }
    if header(headers, "apns-id").is_some_and(|id| !is_uuid(id)) {
        return Err(bad("BadMessageId"));
    }
    let topic = header(headers, "apns-topic").ok_or(bad("MissingTopic"))?;
    if !apps.iter().any(|app| app == topic) {
        return Err(bad("TopicDisallowed"));
    }
    if token.is_empty() {
        return Err(bad("MissingDeviceToken"));
    }
    if token.len() % 2 == 1 || !token.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(bad("BadDeviceToken"));
    }
    let push_type = header(headers, "apns-push-type");
    let priority = header(headers, "apns-priority").unwrap_or("10");
    if !["10", "5", "1"].contains(&priority) || (push_type == Some("background") && priority != "5") {
        return Err(bad("BadPriority"));
    }
    if header(headers, "apns-expiration").is_some_and(|at| at.parse::<u64>().is_err()) {
        return Err(bad("BadExpirationDate"));
    }
    if headers.get("apns-collapse-id").is_some_and(|id| id.is_empty() || id.len() > COLLAPSE_ID_MAX) {
        return Err(bad("BadCollapseId"));
    }
    let longest = if push_type == Some("voip") { VOIP_MAX_BYTES } else { PAYLOAD_MAX_BYTES };
    if arrived.body.len() > longest {
        return Err(Refusal::new(413, "PayloadTooLarge"));
    }
    if !payload.get("aps").is_some_and(Value::is_object) {
        return Err(bad("PayloadEmpty"));
    }
    match push_type {
        Some(push_type) if !PUSH_TYPES.contains(&push_type) || !matches(push_type, payload) => {
            Err(bad("InvalidPushType"))
        }
        _ => Ok(token),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

/// The canonical form: 8-4-4-4-12 hexadecimal digits in lower case.
fn is_uuid(text: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    let fits = |(at, b): (usize, u8)| match dashes.contains(&at) {
        true => b == b'-',
        false => b.is_ascii_digit() || (b'a'..=b'f').contains(&b),
    };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}

/// Real APNs delays or drops what does not match; a test should notice.
fn matches(push_type: &str, payload: &Value) -> bool {
    let shown = ["alert", "badge", "sound"].iter().any(|name| aps(payload, name).is_some());
    match push_type {
        "alert" => shown,
        "background" => aps(payload, "content-available") == Some(&json!(1)) && !shown,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_an_id() {
        assert!(is_uuid("123e4567-e89b-12d3-a456-4266554400a0"));
        for other in [
            "",
            "123E4567-e89b-12d3-a456-4266554400a0",
            "123e4567e89b12d3a4564266554400a0",
            "123e4567-e89b-12d3-a456-4266554400a",
            "123e4567-e89b-12d3-a456-4266554400ag",
        ] {
            assert!(!is_uuid(other), "{other}");
        }
    }
}
