//! From a JSON object to a typed send, with every fault of the body reported together.
//!
//! Validation makes the defaults of the API version explicit, removes duplicate devices and gives iOS tokens their one
//! spelling, so that the fingerprint sees the meaning of a request and not its text.

use crate::key;
use protocol::{
    DEVICES_PER_MESSAGE,
    content::{Content, Device, Notification, Platform, Policy, Priority, SendRequest, Token},
    ids::ID_LEN,
};
use push::fcm::PAYLOAD_MAX_BYTES;
use sendonce_http::{Code, Fault, Problem};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet};

/// Longest iOS token, in hexadecimal digits (Apple warns against a fixed length; today's are 64).
const IOS_TOKEN_MAX: usize = 400;
/// Longest FCM token, in bytes (Google gives no limit; today's are below 300).
const FCM_TOKEN_MAX: usize = 4_096;
/// Longest image URL, in bytes.
const IMAGE_MAX: usize = 2_048;
/// Longest collapse key, in bytes (Apple, `apns-collapse-id`).
const COLLAPSE_KEY_MAX: usize = 64;
/// Longest time to live, in seconds: 28 days (FCM, "Set the lifespan of a message").
const TTL_MAX: u32 = 2_419_200;
/// Time to live when none is given, in seconds.
const TTL_DEFAULT: u32 = 86_400;

/// What a body may hold.
const MEMBERS: [&str; 8] =
    [key::MEMBER, "to", "notification", "data", "collapse_key", "ttl_seconds", "priority", "delivery"];

/// Refuses the first member that has no meaning.
///
/// # Errors
/// 400 unknown_member.
pub(crate) fn known(body: &Map<String, Value>) -> Result<(), Problem> {
    known_members(body, "", &MEMBERS)?;
    if let Some(Value::Object(notification)) = body.get("notification") {
        known_members(notification, "/notification", &["title", "body", "image"])?;
    }
    if let Some(Value::Array(devices)) = body.get("to") {
        for (index, device) in devices.iter().enumerate() {
            if let Value::Object(device) = device {
                known_members(device, &format!("/to/{index}"), &["platform", "token"])?;
            }
        }
    }
    Ok(())
}

/// Makes the typed request.
///
/// # Errors
/// 400 validation_failed with every fault, or 400 platform_not_configured where a platform cannot be served yet.
pub(crate) fn send_request(body: &Map<String, Value>) -> Result<SendRequest, Problem> {
    let mut faults = Vec::new();
    let to = devices(body.get("to"), &mut faults);
    let notification = notification(body.get("notification"), &mut faults);
    let data = data(body.get("data"), &mut faults);
    let collapse_key = collapse_key(body.get("collapse_key"), &mut faults);
    let ttl_seconds = ttl(body.get("ttl_seconds"), &mut faults);
    let high = Priority::High;
    let priority =
        word(body.get("priority"), "/priority", high, &[high, Priority::Normal], Priority::as_str, &mut faults);
    let policies = [Policy::AtLeastOnce, Policy::AtMostOnce];
    let policy = word(body.get("delivery"), "/delivery", policies[0], &policies, Policy::as_str, &mut faults);
    let shown = body.get("notification").is_some_and(|value| !value.is_null());
    if !shown && data.is_empty() && !faults.iter().any(|fault| fault.pointer.starts_with("/data")) {
        faults.push(Fault::at("", "Give a notification, data, or both."));
    }
    if !faults.is_empty() {
        return Err(Problem::validation_failed(faults));
    }
    served(&to)?;
    let content = Content { notification, data, collapse_key, priority };
    fits(&to, &content)?;
    Ok(SendRequest { to, content, ttl_seconds, policy })
}

fn known_members(object: &Map<String, Value>, at: &str, known: &[&str]) -> Result<(), Problem> {
    match object.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let escaped = name.replace('~', "~0").replace('/', "~1");
            let fault = Fault::at(format!("{at}/{escaped}"), format!("Known members: {}.", known.join(", ")));
            Err(Problem::at(
                Code::UnknownMember,
                "A member has no meaning here; a typo must not be ignored.",
                vec![fault],
            ))
        }
    }
}

/// Which platforms this deployment can send to. iOS comes with APNs.
fn served(to: &[Device]) -> Result<(), Problem> {
    let faults: Vec<Fault> = to
        .iter()
        .enumerate()
        .filter(|(_, device)| device.platform == Platform::Ios)
        .map(|(index, _)| Fault::at(format!("/to/{index}/platform"), "ios is not configured: APNs is not served yet."))
        .collect();
    if faults.is_empty() {
        return Ok(());
    }
    Err(Problem::at(Code::PlatformNotConfigured, "A platform of this request is not configured.", faults))
}

/// What would be sent is measured by the function that builds it, with an id of an id's length.
fn fits(to: &[Device], content: &Content) -> Result<(), Problem> {
    let id = "x".repeat(ID_LEN);
    for platform in [Platform::Android, Platform::Web] {
        let size = push::fcm::payload_size(platform, &id, content);
        if size > PAYLOAD_MAX_BYTES && to.iter().any(|device| device.platform == platform) {
            let rule = format!(
                "FCM takes at most {PAYLOAD_MAX_BYTES} bytes; this message has {size} for {}.",
                platform.as_str()
            );
            let detail = "The message is too large for the provider fcm.";
            return Err(Problem::at(Code::PayloadTooLargeForProvider, detail, vec![Fault::at("", rule)]));
        }
    }
    Ok(())
}

fn devices(value: Option<&Value>, faults: &mut Vec<Fault>) -> Vec<Device> {
    let Some(Value::Array(entries)) = value else {
        faults.push(Fault::at("/to", "Give an array of 1 to 500 devices."));
        return Vec::new();
    };
    if entries.is_empty() || entries.len() > DEVICES_PER_MESSAGE {
        faults.push(Fault::at("/to", format!("Give 1 to {DEVICES_PER_MESSAGE} devices, not {}.", entries.len())));
        return Vec::new();
    }
    let mut seen = HashSet::new();
    let mut devices = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        devices.extend(device(entry, index, faults).filter(|device| seen.insert(device.clone())));
    }
    devices
}

fn device(entry: &Value, index: usize, faults: &mut Vec<Fault>) -> Option<Device> {
    let Value::Object(entry) = entry else {
        faults.push(Fault::at(format!("/to/{index}"), "Give an object with platform and token."));
        return None;
    };
    let platform = entry.get("platform").and_then(Value::as_str).and_then(Platform::parse);
    if platform.is_none() {
        faults.push(Fault::at(format!("/to/{index}/platform"), "Give ios, android or web."));
    }
    let at = format!("/to/{index}/token");
    let Some(token) = entry.get("token").and_then(Value::as_str).filter(|token| !token.is_empty()) else {
        faults.push(Fault::at(at, "Give the device's token as a string that is not empty."));
        return None;
    };
    let platform = platform?;
    let (token, rule) = match platform {
        Platform::Ios => (
            token.to_ascii_lowercase(),
            (token.len() > IOS_TOKEN_MAX || token.len() % 2 == 1 || !token.bytes().all(|b| b.is_ascii_hexdigit()))
                .then(|| format!("An ios token is hexadecimal, of even length, at most {IOS_TOKEN_MAX} digits.")),
        ),
        Platform::Android | Platform::Web => (
            token.to_owned(),
            (token.len() > FCM_TOKEN_MAX || !token.bytes().all(|b| (b'!'..=b'~').contains(&b)))
                .then(|| format!("An FCM token is printable ASCII without spaces, at most {FCM_TOKEN_MAX} bytes.")),
        ),
    };
    match rule {
        Some(rule) => {
            faults.push(Fault::at(at, rule));
            None
        }
        None => Some(Device { platform, token: Token(token) }),
    }
}

/// A string member that is required and not empty.
fn text(object: &Map<String, Value>, at: &str, name: &str, faults: &mut Vec<Fault>) -> String {
    match object.get(name) {
        Some(Value::String(text)) if !text.is_empty() => text.clone(),
        _ => {
            faults.push(Fault::at(format!("{at}/{name}"), "Give a string that is not empty."));
            String::new()
        }
    }
}

fn notification(value: Option<&Value>, faults: &mut Vec<Fault>) -> Option<Notification> {
    let object = match value {
        None | Some(Value::Null) => return None,
        Some(Value::Object(object)) => object,
        Some(_) => {
            faults.push(Fault::at("/notification", "Give an object with title and body."));
            return None;
        }
    };
    let title = text(object, "/notification", "title", faults);
    let body = text(object, "/notification", "body", faults);
    let image = match object.get("image") {
        None | Some(Value::Null) => None,
        Some(Value::String(url)) if is_https(url) && url.len() <= IMAGE_MAX => Some(url.clone()),
        Some(_) => {
            faults.push(Fault::at("/notification/image", format!("Give an https URL of at most {IMAGE_MAX} bytes.")));
            None
        }
    };
    Some(Notification { title, body, image })
}

fn is_https(url: &str) -> bool {
    let scheme = url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
    scheme && url.parse::<axum::http::Uri>().is_ok_and(|uri| uri.host().is_some_and(|host| !host.is_empty()))
}

/// Names in `data` that FCM keeps for itself, and ours (FCM HTTP v1 reference, Message.data).
fn reserved(name: &str) -> bool {
    ["message_id", "aps", "from", "message_type"].contains(&name)
        || name.starts_with("google")
        || name.starts_with("gcm")
}

fn data(value: Option<&Value>, faults: &mut Vec<Fault>) -> BTreeMap<String, String> {
    let object = match value {
        None | Some(Value::Null) => return BTreeMap::new(),
        Some(Value::Object(object)) => object,
        Some(_) => {
            faults.push(Fault::at("/data", "Give an object whose values are strings."));
            return BTreeMap::new();
        }
    };
    let mut data = BTreeMap::new();
    for (name, value) in object {
        let at = format!("/data/{}", name.replace('~', "~0").replace('/', "~1"));
        match value {
            _ if reserved(name) => faults.push(Fault::at(at, "This name is reserved.")),
            Value::String(text) => {
                data.insert(name.clone(), text.clone());
            }
            _ => faults.push(Fault::at(at, "Give a string.")),
        }
    }
    data
}

fn collapse_key(value: Option<&Value>, faults: &mut Vec<Fault>) -> Option<String> {
    match value {
        None | Some(Value::Null) => None,
        Some(Value::String(key)) if !key.is_empty() && key.len() <= COLLAPSE_KEY_MAX => Some(key.clone()),
        Some(_) => {
            faults.push(Fault::at("/collapse_key", format!("Give a string of 1 to {COLLAPSE_KEY_MAX} bytes.")));
            None
        }
    }
}

fn ttl(value: Option<&Value>, faults: &mut Vec<Fault>) -> u32 {
    let seconds = match value {
        None | Some(Value::Null) => return TTL_DEFAULT,
        Some(Value::Number(number)) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Some(_) => None,
    };
    match seconds.and_then(|seconds| u32::try_from(seconds).ok()).filter(|seconds| *seconds <= TTL_MAX) {
        Some(seconds) => seconds,
        None => {
            faults.push(Fault::at("/ttl_seconds", format!("Give a whole number of seconds from 0 to {TTL_MAX}.")));
            TTL_DEFAULT
        }
    }
}

/// `60.0` is 60: JSON has one kind of number. Only values within the limit matter here.
fn whole(number: f64) -> Option<u64> {
    let fits = number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole and in range")]
    fits.then_some(number as u64)
}

fn word<T: Copy>(
    value: Option<&Value>,
    at: &str,
    default: T,
    all: &[T],
    name: impl Fn(T) -> &'static str,
    faults: &mut Vec<Fault>,
) -> T {
    match value {
        None | Some(Value::Null) => default,
        Some(value) => {
            let found = all.iter().copied().find(|word| value.as_str() == Some(name(*word)));
            found.unwrap_or_else(|| {
                let words: Vec<&str> = all.iter().map(|word| name(*word)).collect();
                faults.push(Fault::at(at, format!("Give {}.", words.join(" or "))));
                default
            })
        }
    }
}
