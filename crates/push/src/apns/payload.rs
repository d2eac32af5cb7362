//! What is sent to APNs, built in one place: the same functions serve the call and the API's size limit.
//!
//! Sources: Apple, "Sending notification requests to APNs" (headers), "Generating a remote notification" (payload).

use crate::Outgoing;
use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::HeaderValue;
use protocol::content::{Content, Priority, Token};
use serde_json::{Map, Value, json};

/// APNs' limit for the body of a request, in bytes (Apple, "Generating a remote notification").
pub const PAYLOAD_MAX_BYTES: usize = 4_096;
/// Longest time that APNs stores a notification, in ms: 30 days.
const STORED_MAX_MS: u64 = 30 * 86_400_000;
/// The namespace of our notification ids (RFC 9562, section 5.5), drawn once.
const NAMESPACE: [u8; 16] =
    [0x5e, 0x0d, 0x0a, 0xce, 0x3b, 0x41, 0x4c, 0x6f, 0x9d, 0x52, 0x7a, 0x18, 0xe4, 0xb3, 0x90, 0x26];

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The headers of one request, besides authorization and topic.
pub(crate) struct Headers {
    pub(crate) id: String,
    pub(crate) push_type: &'static str,
    /// Seconds since the Unix epoch; 0 means now or never.
    pub(crate) expiration: u64,
    pub(crate) priority: &'static str,
    pub(crate) collapse_id: HeaderValue,
}

/// The headers for one device. `now_ms` is milliseconds since the Unix epoch.
///
/// A silent push goes out with priority 5: APNs refuses any other for the push type background.
pub(crate) fn headers(token: &Token, outgoing: &Outgoing<'_>, now_ms: u64) -> Headers {
    let shown = outgoing.content.notification.is_some();
    let high = shown && outgoing.content.priority == Priority::High;
    let expires_ms = outgoing.expires_ms.min(now_ms.saturating_add(STORED_MAX_MS));
    Headers {
        id: notification_id(outgoing.message_id, token),
        push_type: if shown { "alert" } else { "background" },
        expiration: if expires_ms / 1_000 > now_ms / 1_000 { expires_ms / 1_000 } else { 0 },
        priority: if high { "10" } else { "5" },
        collapse_id: collapse_id(outgoing.collapse_id()),
    }
}

/// The same (message, device) has the same id in every attempt: a UUID of version 5 in lower case, the form that APNs
/// asks for. APNs does not look for repeats; it is for tracing.
fn notification_id(message_id: &str, token: &Token) -> String {
    let name = [&NAMESPACE[..], message_id.as_bytes(), b"/", token.0.as_bytes()].concat();
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &name);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_ref()[..16]);
    bytes[6] = (bytes[6] & 0x0f) | 0x50;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let mut id = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            id.push('-');
        }
        id.extend([byte >> 4, byte & 0x0f].map(|digit| char::from(HEX[usize::from(digit)])));
    }
    id
}

/// The collapse id as a header. One that no header can carry (control characters, a space at either end) is replaced
/// by its hash: repeats still replace their first.
fn collapse_id(text: &str) -> HeaderValue {
    let edges = text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']);
    let direct = HeaderValue::from_bytes(text.as_bytes()).ok().filter(|_| !edges);
    direct.unwrap_or_else(|| {
        let hash = URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()));
        HeaderValue::from_str(&hash).unwrap_or_else(|_| HeaderValue::from_static("collapsed"))
    })
}

/// The body of one request: `aps`, and beside it the caller's data and our `message_id`.
///
/// An image goes out as `image` (the caller's own datum of that name counts more) with `mutable-content`, so that the
/// app's notification service extension fetches it.
#[must_use]
pub fn build(message_id: &str, content: &Content) -> Value {
    let mut body = Map::new();
    let aps = match &content.notification {
        Some(shown) => {
            let mut aps = json!({"alert": {"title": shown.title, "body": shown.body}, "sound": "default"});
            if let Some(image) = &shown.image {
                aps["mutable-content"] = json!(1);
                body.insert("image".to_owned(), json!(image));
            }
            aps
        }
        None => json!({"content-available": 1}),
    };
    body.extend(content.data.iter().map(|(key, value)| (key.clone(), json!(value))));
    body.insert("message_id".to_owned(), json!(message_id));
    body.insert("aps".to_owned(), aps);
    Value::Object(body)
}

/// The bytes of the body that would be sent, which is what counts against [`PAYLOAD_MAX_BYTES`].
#[must_use]
pub fn payload_size(message_id: &str, content: &Content) -> usize {
    build(message_id, content).to_string().len()
}

#[cfg(test)]
#[path = "payload_tests.rs"]
mod tests;
