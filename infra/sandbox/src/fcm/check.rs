//! What FCM refuses by itself, in FCM's order: access token, JSON, project, members (`schema`), values, size.
//!
//! Sources: FCM v1 reference, `projects.messages` and `ErrorCode`.

use super::{refusal::Refusal, schema};
use crate::state::State;
use http::{HeaderMap, header::AUTHORIZATION};
use serde_json::{Map, Value};

/// A message to one device, keys and values together; one to a topic may be half as long.
const PAYLOAD_MAX_BYTES: usize = 4_096;
const TOPIC_PAYLOAD_MAX_BYTES: usize = 2_048;
/// 28 days, in seconds.
const TTL_MAX: f64 = 2_419_200.0;
/// The members of `Message` of which one, and only one, says to whom it goes.
const TARGETS: [&str; 4] = ["fid", "token", "topic", "condition"];
/// The parts of a message that FCM hands to an app, by platform: what all get, and what its devices get besides.
const HANDED: [(&str, &[&str]); 3] =
    [("android", &["notification", "data"]), ("webpush", &["notification", "data"]), ("apns", &["payload"])];
/// Longest `analytics_label`, in characters.
const LABEL_MAX: usize = 50;

/// A request that FCM would take.
#[derive(Debug)]
pub(super) struct Checked {
    /// The device; none of a message to a topic, which is only ever validated.
    pub(super) token: Option<String>,
    pub(super) validate_only: bool,
}

pub(super) fn request(
    state: &State,
    headers: &HeaderMap,
    project_id: &str,
    payload: &Value,
    now_ms: u64,
) -> Result<Checked, Refusal> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let owner = bearer.and_then(|token| state.tokens.project_of(token, now_ms)).ok_or_else(Refusal::unauthenticated)?;
    let root = payload.as_object().ok_or_else(|| Refusal::invalid_json("", "Unexpected token."))?;
    if owner != project_id {
        return Err(Refusal::permission_denied(project_id));
    }
    let request = schema::read(root)?;
    let validate_only = request.get("validate_only").and_then(Value::as_bool).unwrap_or_default();
    let message = request
        .get("message")
        .and_then(Value::as_object)
        .ok_or_else(|| Refusal::invalid_argument("message", "Message is not set."))?;
    let token = if validate_only && is_topic(message) { None } else { Some(token(message)?) };
    keys(message.get("data"), "message.data")?;
    keys(message.get("android").and_then(|android| android.get("data")), "message.android.data")?;
    ttl(message)?;
    labels(message)?;
    size(message, if token.is_some() { PAYLOAD_MAX_BYTES } else { TOPIC_PAYLOAD_MAX_BYTES })?;
    Ok(Checked { token, validate_only })
}

/// The sandbox has no topics to send to, but takes one in a message that is only validated (FCM: a name of these
/// characters).
fn is_topic(message: &Map<String, Value>) -> bool {
    let topic = message.get("topic").and_then(Value::as_str).unwrap_or_default();
    !message.contains_key("token") && !topic.is_empty() && topic.bytes().all(allowed)
}

fn allowed(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"-_.~%".contains(&b)
}

/// The device. Messages to topics and conditions are FCM's too, but nobody subscribes to anything here.
fn token(message: &Map<String, Value>) -> Result<String, Refusal> {
    let mut targets = TARGETS.iter().filter_map(|name| Some((*name, message.get(*name)?)));
    let (name, target) =
        targets.next().ok_or_else(|| Refusal::invalid_argument("message", "Recipient of the message is not set."))?;
    if let Some((second, _)) = targets.next() {
        let what =
            format!("Invalid value at 'message' (oneof), oneof field 'target' is already set. Cannot set '{second}'");
        return Err(Refusal::invalid_json("message", &what));
    }
    match (name, target) {
        ("topic" | "condition", _) => {
            Err(Refusal::invalid_argument(&format!("message.{name}"), "This sandbox has devices only."))
        }
        (_, Value::String(token)) if !token.is_empty() => Ok(token.clone()),
        _ => Err(Refusal::invalid_argument(
            &format!("message.{name}"),
            "The registration token is not a valid FCM registration token",
        )),
    }
}

/// The names in `data`, also where it is for Android only: there it takes the other's place.
fn keys(data: Option<&Value>, at: &str) -> Result<(), Refusal> {
    let reserved =
        |key: &str| ["from", "message_type"].contains(&key) || key.starts_with("google") || key.starts_with("gcm");
    match data.and_then(Value::as_object).and_then(|data| data.keys().find(|key| reserved(key))) {
        Some(key) => Err(Refusal::invalid_argument(at, &format!("Invalid data payload key: {key}"))),
        None => Ok(()),
    }
}

fn ttl(message: &Map<String, Value>) -> Result<(), Refusal> {
    let ttl = message.get("android").and_then(|android| android.get("ttl"));
    match ttl.map(schema::seconds) {
        None => Ok(()),
        Some(Some(seconds)) if (0.0..=TTL_MAX).contains(&seconds) => Ok(()),
        Some(_) => Err(Refusal::invalid_argument("message.android.ttl", "Invalid TTL: 0s to 2419200s.")),
    }
}

/// Every `analytics_label` is 1 to 50 letters, digits and `-_.~%` (FCM v1 reference, `FcmOptions`).
fn labels(message: &Map<String, Value>) -> Result<(), Refusal> {
    let platforms = HANDED.iter().filter_map(|(name, _)| Some((format!("message.{name}"), message.get(*name)?)));
    let options = platforms.filter_map(|(at, platform)| Some((at, platform.get("fcm_options")?)));
    let own = message.get("fcm_options").map(|options| ("message".to_owned(), options));
    let good = |label: &str| (1..=LABEL_MAX).contains(&label.len()) && label.bytes().all(allowed);
    for (at, options) in own.into_iter().chain(options) {
        if options.get("analytics_label").and_then(Value::as_str).is_some_and(|label| !good(label)) {
            let field = format!("{at}.fcm_options.analytics_label");
            return Err(Refusal::invalid_argument(&field, "Invalid analytics label."));
        }
    }
    Ok(())
}

/// Counts what FCM hands to an app, names and values: what every device gets and what those of one platform get
/// besides. Whether FCM leaves out what the platform's part takes the place of is not known; it is counted.
fn size(message: &Map<String, Value>, most: usize) -> Result<(), Refusal> {
    let all: usize = ["notification", "data"].iter().filter_map(|part| message.get(*part)).map(bytes).sum();
    for (name, parts) in HANDED {
        let Some(platform) = message.get(name) else { continue };
        let own: usize = parts.iter().filter_map(|part| platform.get(*part)).map(bytes).sum();
        if all.saturating_add(own) > most {
            return Err(too_big());
        }
    }
    if all > most { Err(too_big()) } else { Ok(()) }
}

fn too_big() -> Refusal {
    Refusal::invalid_argument("message", "Android message is too big")
}

/// The bytes of all names and values in it; a number or a switch counts as it is written.
fn bytes(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Bool(_) | Value::Number(_) => value.to_string().len(),
        Value::String(text) => text.len(),
        Value::Array(entries) => entries.iter().map(bytes).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len().saturating_add(bytes(value))).sum(),
    }
}
