//! What FCM refuses by itself, in FCM's order: access token, JSON, project, fields, size.
//!
//! Sources: FCM v1 reference, `projects.messages` and `ErrorCode`.

use super::refusal::Refusal;
use crate::state::State;
use http::{HeaderMap, header::AUTHORIZATION};
use serde_json::{Map, Value};

/// A message to one device, keys and values together.
const PAYLOAD_MAX_BYTES: usize = 4_096;
/// 28 days, in seconds.
const TTL_MAX: f64 = 2_419_200.0;
/// The members of `Message`.
const MESSAGE_MEMBERS: [&str; 11] =
    ["name", "data", "notification", "android", "webpush", "apns", "fcm_options", "fid", "token", "topic", "condition"];
/// The members of `Notification`.
const NOTIFICATION_MEMBERS: [&str; 3] = ["title", "body", "image"];

/// A request that FCM would take.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) token: String,
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
    known(root, "", &["message", "validate_only"])?;
    let message = root
        .get("message")
        .and_then(Value::as_object)
        .ok_or_else(|| Refusal::invalid_argument("message", "Message is not set."))?;
    known(message, "message", &MESSAGE_MEMBERS)?;
    let token = token(message)?;
    notification(message)?;
    data(message)?;
    android(message)?;
    size(message)?;
    let validate_only = root.get("validate_only").and_then(Value::as_bool).unwrap_or(false);
    Ok(Checked { token, validate_only })
}

fn known(object: &Map<String, Value>, at: &str, members: &[&str]) -> Result<(), Refusal> {
    match object.keys().find(|name| !members.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) if at.is_empty() => {
            Err(Refusal::invalid_json("", &format!("Unknown name \"{name}\": Cannot find field.")))
        }
        Some(name) => Err(Refusal::invalid_json(at, &format!("Unknown name \"{name}\" at '{at}': Cannot find field."))),
    }
}

fn token(message: &Map<String, Value>) -> Result<String, Refusal> {
    match message.get("token") {
        Some(Value::String(token)) if !token.is_empty() => Ok(token.clone()),
        Some(_) => Err(Refusal::invalid_argument(
            "message.token",
            "The registration token is not a valid FCM registration token",
        )),
        None => Err(Refusal::invalid_argument("message", "Recipient of the message is not set.")),
    }
}

fn notification(message: &Map<String, Value>) -> Result<(), Refusal> {
    let Some(notification) = message.get("notification") else { return Ok(()) };
    let at = "message.notification";
    let members = notification.as_object().ok_or_else(|| Refusal::invalid_json(at, "It is not an object."))?;
    known(members, at, &NOTIFICATION_MEMBERS)?;
    match members.iter().find(|(_, value)| !value.is_string()) {
        Some((name, _)) => Err(Refusal::invalid_json(at, &format!("Invalid value at '{at}.{name}' (TYPE_STRING)"))),
        None => Ok(()),
    }
}

fn data(message: &Map<String, Value>) -> Result<(), Refusal> {
    let Some(data) = message.get("data") else { return Ok(()) };
    let entries = data.as_object().ok_or_else(|| Refusal::invalid_json("message.data", "It is not an object."))?;
    for (key, value) in entries {
        if !value.is_string() {
            let what = format!("Invalid value at 'message.data[{key}].value' (TYPE_STRING)");
            return Err(Refusal::invalid_json("message.data", &what));
        }
        if ["from", "message_type"].contains(&key.as_str()) || key.starts_with("google") || key.starts_with("gcm") {
            return Err(Refusal::invalid_argument("message.data", &format!("Invalid data payload key: {key}")));
        }
    }
    Ok(())
}

fn android(message: &Map<String, Value>) -> Result<(), Refusal> {
    let Some(android) = message.get("android") else { return Ok(()) };
    let ttl = |text: &str| text.strip_suffix('s').and_then(|seconds| seconds.parse::<f64>().ok());
    match android.get("ttl").map(|value| value.as_str().and_then(ttl)) {
        None => {}
        Some(Some(seconds)) if (0.0..=TTL_MAX).contains(&seconds) => {}
        Some(_) => {
            return Err(Refusal::invalid_argument("message.android.ttl", "Invalid TTL: 0s to 2419200s."));
        }
    }
    match android.get("priority").map(|value| value.as_str().unwrap_or_default()) {
        None | Some("NORMAL" | "HIGH") => Ok(()),
        Some(_) => Err(Refusal::invalid_json(
            "message.android.priority",
            "Invalid value at 'message.android.priority' (TYPE_ENUM)",
        )),
    }
}

/// Counts what FCM hands to the app: names and values of the notification, the data and the platform's notification.
fn size(message: &Map<String, Value>) -> Result<(), Refusal> {
    let platform = ["android", "webpush"].iter().filter_map(|name| message.get(*name)?.get("notification"));
    let parts = ["notification", "data"].iter().filter_map(|name| message.get(*name)).chain(platform);
    let members = parts.filter_map(Value::as_object).flatten();
    let bytes: usize = members.map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
    if bytes > PAYLOAD_MAX_BYTES {
        return Err(Refusal::invalid_argument("message", "Android message is too big"));
    }
    Ok(())
}
