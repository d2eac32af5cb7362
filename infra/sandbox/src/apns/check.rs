//! What APNs refuses by itself: method and path, provider token, headers, device token, payload.
//!
//! Sources: Apple, "Sending notification requests to APNs" and "Handling notification responses from APNs"; the order
//! and what is not written there follow the validating mock server of pushy (jchambers/pushy).

use super::{Arrived, aps, provider_token, refusal::Refusal};
use crate::state::State;
use http::{HeaderMap, Method};
use serde_json::{Value, json};

/// Longest body, in bytes; that of a VoIP push is longer.
const PAYLOAD_MAX_BYTES: usize = 4_096;
const VOIP_MAX_BYTES: usize = 5_120;
/// Longest collapse id, in bytes.
const COLLAPSE_ID_MAX: usize = 64;
/// What follows the bundle id in the topic, by push type (Apple, "Sending notification requests to APNs"). An MDM push
/// goes to a topic that is no app's but its push certificate's, so no token of a team can send one.
const TOPICS: [(&str, Option<&str>); 11] = [
    ("alert", Some("")),
    ("background", Some("")),
    ("complication", Some(".complication")),
    ("controls", Some(".push-type.controls")),
    ("fileprovider", Some(".pushkit.fileprovider")),
    ("liveactivity", Some(".push-type.liveactivity")),
    ("location", Some(".location-query")),
    ("mdm", None),
    ("pushtotalk", Some(".voip-ptt")),
    ("voip", Some(".voip")),
    ("widgets", Some(".push-type.widgets")),
];
/// Headers that may come once.
const SINGLE: [&str; 7] = [
    "authorization",
    "apns-id",
    "apns-topic",
    "apns-push-type",
    "apns-expiration",
    "apns-priority",
    "apns-collapse-id",
];

/// The device token of a request that APNs would take.
pub(super) fn request<'a>(
    state: &mut State,
    arrived: &Arrived<'a>,
    payload: &Value,
    now_ms: u64,
) -> Result<&'a str, Refusal> {
    let bad = |reason| Refusal::new(400, reason);
    let token = arrived.device().ok_or(Refusal::new(404, "BadPath"))?;
    if arrived.method != Method::POST {
        return Err(Refusal::new(405, "MethodNotAllowed"));
    }
    let headers = arrived.headers;
    let connection = &arrived.stream.connection;
    let apps = provider_token::check(state, connection, headers, now_ms)?;
    if SINGLE.iter().any(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        return Err(bad("DuplicateHeaders"));
    }
    if header(headers, "apns-id").is_some_and(|id| !is_uuid(id)) {
        return Err(bad("BadMessageId"));
    }
    let topic = header(headers, "apns-topic").ok_or(bad("MissingTopic"))?;
    let suffix = suffix(topic, &apps).ok_or(bad("TopicDisallowed"))?;
    if token.is_empty() {
        return Err(bad("MissingDeviceToken"));
    }
    if token.len() % 2 == 1 || !token.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(bad("BadDeviceToken"));
    }
    let push_type = header(headers, "apns-push-type");
    if let Some(push_type) = push_type {
        fits(push_type, suffix)?;
    }
    let priority = header(headers, "apns-priority").unwrap_or("10");
    if !["10", "5", "1"].contains(&priority) || (push_type == Some("background") && priority != "5") {
        return Err(bad("BadPriority"));
    }
    if header(headers, "apns-expiration").is_some_and(|at| !is_number(at)) {
        return Err(bad("BadExpirationDate"));
    }
    if headers.get("apns-collapse-id").is_some_and(|id| id.is_empty() || id.len() > COLLAPSE_ID_MAX) {
        return Err(bad("BadCollapseId"));
    }
    let longest = if suffix == ".voip" { VOIP_MAX_BYTES } else { PAYLOAD_MAX_BYTES };
    if arrived.body.len() > longest {
        return Err(Refusal::new(413, "PayloadTooLarge"));
    }
    // "The message payload is empty" is all that Apple says. Nothing shows what it makes of a body that is no JSON or
    // has no `aps`; no app would see anything of it, so it counts as empty here.
    if !payload.get("aps").is_some_and(Value::is_object) {
        return Err(bad("PayloadEmpty"));
    }
    match push_type {
        Some(push_type) if !matches(push_type, payload) => Err(bad("InvalidPushType")),
        _ => Ok(token),
    }
}

/// What follows the bundle id in a topic of one of these apps; `None` for a topic of nobody or of somebody else.
fn suffix<'a>(topic: &'a str, apps: &[String]) -> Option<&'a str> {
    let known = |suffix: &str| TOPICS.iter().any(|(_, known)| *known == Some(suffix));
    apps.iter().filter_map(|app| topic.strip_prefix(app.as_str())).find(|suffix| known(suffix))
}

/// Whether a push type goes with a topic. Apple names the topics and no reason for the wrong one; the reasons here are
/// what people met: a VoIP push to the bare bundle id is DeviceTokenNotForTopic (laravel-notification-channels/apn issue
/// 88), an alert to the VoIP topic InvalidPushType (AndrewBarba/apns2 issue 23, Pr0Ger/PyAPNs2 issue 87). That other
/// types are treated like these two is a guess.
fn fits(push_type: &str, suffix: &str) -> Result<(), Refusal> {
    let wanted = TOPICS.iter().find(|(known, _)| *known == push_type);
    match wanted {
        Some((_, wanted)) if *wanted == Some(suffix) => Ok(()),
        Some(_) if suffix.is_empty() => Err(Refusal::new(400, "DeviceTokenNotForTopic")),
        _ => Err(Refusal::new(400, "InvalidPushType")),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

/// Digits only: `parse` alone would take a sign.
fn is_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u64>().is_ok()
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

/// Whether the payload is what the push type says. Apple: where it is not, APNs "may return an error, delay the
/// delivery of the notification, or drop it altogether"; a test should notice, so it is always an error here.
///
/// An alert is one that shows, counts or sounds. `null` is JSON for nothing, so `{"alert": null}` shows nothing, as
/// `{"aps": {}}` does. Whether APNs looks into a value (an empty text, a badge that is no number) is not known; it is
/// taken. Of the other types nothing is known that APNs itself checks in the payload.
fn matches(push_type: &str, payload: &Value) -> bool {
    let there = |name: &&str| aps(payload, name).is_some_and(|value| !value.is_null());
    let shown = ["alert", "badge", "sound"].iter().any(there);
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
    fn a_topic_is_an_app_and_a_known_suffix() {
        let apps = ["com.example.acme".to_owned(), "com.example.acme.beta".to_owned()];
        assert_eq!(suffix("com.example.acme", &apps), Some(""));
        assert_eq!(suffix("com.example.acme.voip", &apps), Some(".voip"));
        assert_eq!(suffix("com.example.acme.beta.push-type.widgets", &apps), Some(".push-type.widgets"));
        for other in ["", "com.example", "com.example.acme.gamma", "com.example.acme.voip.voip", "com.example.acmevoip"]
        {
            assert_eq!(suffix(other, &apps), None, "{other}");
        }
    }

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
