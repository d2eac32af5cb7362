//! What is sent to FCM, built in one place: the same function serves the call and the API's size limit.
//!
//! Sources: the FCM v1 reference (`projects.messages`), "Set the lifespan of a message", "Collapsible and
//! non-collapsible messages".

use crate::Outgoing;
use protocol::content::{Content, Device, Platform, Priority, Token};
use serde_json::{Map, Value, json};

/// FCM's limit for a message to one device, keys and values together (FCM v1 reference, `ErrorCode`,
/// INVALID_ARGUMENT).
pub const PAYLOAD_MAX_BYTES: usize = 4_096;
/// The longest time to live that FCM takes: 28 days.
const TTL_MAX_SECONDS: u64 = 2_419_200;
/// The longest Web Push topic (RFC 8030, section 5.4).
const TOPIC_MAX_BYTES: usize = 32;

/// The body of one `messages:send` request. `now_ms` is milliseconds since the Unix epoch.
///
/// A repeat carries the same tag and replaces its first on the screen. `collapse_key` is set only if the caller gave
/// one: FCM keeps at most four per device, so a key per message would lose messages. A silent push has no
/// notification and goes out with normal priority: FCM lowers an app's priority if it shows nothing for a high one.
#[must_use]
pub fn build(device: &Device, outgoing: &Outgoing<'_>, now_ms: u64) -> Value {
    let content = outgoing.content;
    let ttl_seconds = (outgoing.expires_ms.saturating_sub(now_ms) / 1_000).min(TTL_MAX_SECONDS);
    let high = content.notification.is_some() && content.priority == Priority::High;

    let mut data: Map<String, Value> = content.data.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    data.insert("message_id".to_owned(), json!(outgoing.message_id));
    let mut message = Map::new();
    message.insert("token".to_owned(), json!(device.token.0));
    message.insert("data".to_owned(), Value::Object(data));
    if let Some(shown) = &content.notification {
        let mut notification = json!({"title": shown.title, "body": shown.body});
        if let Some(image) = &shown.image {
            notification["image"] = json!(image);
        }
        message.insert("notification".to_owned(), notification);
    }
    let (name, config) = match device.platform {
        // Never called for ios; the android form is the one without surprises.
        Platform::Android | Platform::Ios => ("android", android(outgoing, ttl_seconds, high)),
        Platform::Web => ("webpush", webpush(outgoing, ttl_seconds, high)),
    };
    message.insert(name.to_owned(), config);
    json!({ "message": message })
}

fn android(outgoing: &Outgoing<'_>, ttl_seconds: u64, high: bool) -> Value {
    let mut config = json!({
        "ttl": format!("{ttl_seconds}s"),
        "priority": if high { "HIGH" } else { "NORMAL" },
    });
    if let Some(key) = &outgoing.content.collapse_key {
        config["collapse_key"] = json!(key);
    }
    if outgoing.content.notification.is_some() {
        config["notification"] = json!({"tag": outgoing.collapse_id()});
    }
    config
}

fn webpush(outgoing: &Outgoing<'_>, ttl_seconds: u64, high: bool) -> Value {
    let mut headers = json!({
        "TTL": ttl_seconds.to_string(),
        "Urgency": if high { "high" } else { "normal" },
    });
    // Replaces a message that the browser has not fetched yet. A message id is too long for it, and a topic of its
    // own would replace nothing anyway.
    if let Some(key) = outgoing.content.collapse_key.as_deref().filter(|key| is_topic(key)) {
        headers["Topic"] = json!(key);
    }
    let mut config = json!({ "headers": headers });
    if outgoing.content.notification.is_some() {
        config["notification"] = json!({"tag": outgoing.collapse_id()});
    }
    config
}

fn is_topic(key: &str) -> bool {
    let base64url = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    !key.is_empty() && key.len() <= TOPIC_MAX_BYTES && key.bytes().all(base64url)
}

/// The bytes of a message that count against [`PAYLOAD_MAX_BYTES`]: the names and values of everything that reaches
/// the device (notification, data with our `message_id`, and the platform's notification with its tag). Routing (the
/// token, ttl, priority, keys and headers) and JSON's own punctuation do not count. Google publishes the limit but
/// not the arithmetic; this counts what FCM hands to the app.
#[must_use]
pub fn payload_size(platform: Platform, message_id: &str, content: &Content) -> usize {
    let device = Device { platform, token: Token(String::new()) };
    let body = build(&device, &Outgoing::new(message_id, content, 0), 0);
    let message = &body["message"];
    ["/notification", "/data", "/android/notification", "/webpush/notification"]
        .into_iter()
        .filter_map(|part| message.pointer(part))
        .map(names_and_values)
        .sum()
}

fn names_and_values(part: &Value) -> usize {
    let members = part.as_object().into_iter().flatten();
    members.map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum()
}

#[cfg(test)]
#[path = "payload_tests.rs"]
mod tests;
