//! From a JSON object to a typed send, with every fault of the body reported together.
//!
//! Validation makes the defaults of the API version explicit, removes duplicate devices and gives iOS tokens their one
//! spelling, so that the fingerprint sees the meaning of a request and not its text. The rules are `rules`' table.

use crate::rules::{self, TTL_DEFAULT};
use protocol::{
    content::{Content, Device, Notification, Platform, Policy, Priority, SendRequest, Token},
    ids::ID_LEN,
};
use push::{apns, fcm};
use sendonce_http::{
    Code, Fault, Problem, Rule, key, known_members, optional, refuse,
    strict::{Json, Object, escape},
    unknown,
};
use std::collections::{BTreeMap, HashSet};

/// What a body may hold.
pub(crate) const MEMBERS: [&str; 9] =
    [key::MEMBER, "to", "notification", "data", "collapse_key", "app", "ttl_seconds", "priority", "delivery"];
/// What a notification may hold.
pub(crate) const NOTIFICATION_MEMBERS: [&str; 3] = ["title", "body", "image"];
/// What a device may hold.
pub(crate) const DEVICE_MEMBERS: [&str; 2] = ["platform", "token"];

/// Refuses the first member, in the order of the text, that has no meaning.
///
/// # Errors
/// 400 unknown_member.
pub(crate) fn known(body: &Object<'_>) -> Result<(), Problem> {
    for (name, value) in body.iter() {
        if !MEMBERS.contains(&name) {
            return Err(unknown("", name, &MEMBERS));
        }
        match (name, value) {
            ("notification", Json::Object(shown)) => known_members(shown, "/notification", &NOTIFICATION_MEMBERS)?,
            ("to", Json::Array(devices)) => {
                for (index, device) in devices.iter().enumerate() {
                    if let Json::Object(device) = device {
                        known_members(device, &format!("/to/{index}"), &DEVICE_MEMBERS)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether the body names an app that could be one.
pub(crate) fn names_app(body: &Object<'_>) -> bool {
    body.get("app").and_then(bundle_id).is_some()
}

/// Makes the typed request. `apps` are the project's, the default first.
///
/// # Errors
/// 400 validation_failed with every fault, or 400 payload_too_large_for_provider.
pub(crate) fn send_request(body: &Object<'_>, apps: &[String]) -> Result<SendRequest, Problem> {
    let mut faults = Vec::new();
    let to = devices(body.get("to"), &mut faults);
    let notification = notification(body.get("notification"), &mut faults);
    let data = data(body.get("data"), &mut faults);
    let collapse_key = optional(body.get("collapse_key"), &rules::COLLAPSE_KEY, &mut faults, |value| {
        value.as_str().filter(|key| rules::COLLAPSE_KEY.allows(key.len())).map(str::to_owned)
    });
    let app = app(body.get("app"), apps, &mut faults);
    let ttl_seconds = optional(body.get("ttl_seconds"), &rules::TTL, &mut faults, seconds).unwrap_or(TTL_DEFAULT);
    let priority = optional(body.get("priority"), &rules::PRIORITY, &mut faults, |value| {
        [Priority::High, Priority::Normal].into_iter().find(|word| value.as_str() == Some(word.as_str()))
    });
    let policy = optional(body.get("delivery"), &rules::DELIVERY, &mut faults, |value| {
        [Policy::AtLeastOnce, Policy::AtMostOnce].into_iter().find(|word| value.as_str() == Some(word.as_str()))
    });
    let empty_data = match body.get("data") {
        None => true,
        Some(Json::Object(members)) => members.iter().next().is_none(),
        Some(_) => false,
    };
    if body.get("notification").is_none() && empty_data {
        faults.push(rules::SOMETHING.broken_here());
    }
    if !faults.is_empty() {
        return Err(refuse(faults));
    }
    let content = Content { notification, data, collapse_key, app, priority: priority.unwrap_or_default() };
    fits(&to, &content)?;
    Ok(SendRequest { to, content, ttl_seconds, policy: policy.unwrap_or_default() })
}

/// What may be a bundle id (Apple, CFBundleIdentifier: ASCII letters, digits, hyphens and dots).
fn bundle_id<'a>(value: &'a Json<'_>) -> Option<&'a str> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.';
    value.as_str().filter(|app| rules::APP.allows(app.len()) && app.bytes().all(allowed))
}

/// The project's default, named, is the same as none: which one that is, is a setting and not part of the request.
fn app(value: Option<&Json<'_>>, apps: &[String], faults: &mut Vec<Fault>) -> Option<String> {
    let Some(app) = bundle_id(value?) else {
        faults.push(rules::APP.broken_here());
        return None;
    };
    match apps.iter().position(|known| known == app) {
        None => {
            faults.push(rules::APP_KNOWN.broken_here());
            None
        }
        Some(0) => None,
        Some(_) => Some(app.to_owned()),
    }
}

fn seconds(value: &Json<'_>) -> Option<u32> {
    match value {
        Json::Number(number) => {
            let seconds = number.as_integer().and_then(|n| usize::try_from(n).ok());
            seconds.filter(|n| rules::TTL.allows(*n)).and_then(|n| u32::try_from(n).ok())
        }
        _ => None,
    }
}

/// What would be sent is measured by the functions that build it, with an id of an id's length.
fn fits(to: &[Device], content: &Content) -> Result<(), Problem> {
    let id = "x".repeat(ID_LEN);
    for platform in [Platform::Ios, Platform::Android, Platform::Web] {
        if !to.iter().any(|device| device.platform == platform) {
            continue;
        }
        let (provider, size, limit) = match platform {
            Platform::Ios => ("apns", apns::payload_size(&id, content), apns::PAYLOAD_MAX_BYTES),
            Platform::Android | Platform::Web => {
                ("fcm", fcm::payload_size(platform, &id, content), fcm::PAYLOAD_MAX_BYTES)
            }
        };
        if size > limit {
            let (name, provider_name) = (platform.as_str(), provider.to_ascii_uppercase());
            let rule = format!("{provider_name} takes at most {limit} bytes; this message has {size} for {name}.");
            let detail = format!("The message is too large for the provider {provider}.");
            return Err(Problem::at(Code::PayloadTooLargeForProvider, detail, vec![Fault::at("", rule)]));
        }
    }
    Ok(())
}

/// 1 to 500 entries, counted before duplicates are removed; the first of each stays, in order.
fn devices(value: Option<&Json<'_>>, faults: &mut Vec<Fault>) -> Vec<Device> {
    let entries = match value {
        Some(Json::Array(entries)) if rules::TO.allows(entries.len()) => entries,
        _ => {
            faults.push(rules::TO.broken_here());
            return Vec::new();
        }
    };
    let mut seen = HashSet::new();
    let mut devices = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        devices.extend(device(entry, index, faults).filter(|device| seen.insert(device.clone())));
    }
    devices
}

fn device(entry: &Json<'_>, index: usize, faults: &mut Vec<Fault>) -> Option<Device> {
    let Json::Object(entry) = entry else {
        faults.push(rules::DEVICE.broken(format!("/to/{index}")));
        return None;
    };
    let platform = entry.get("platform").and_then(Json::as_str).and_then(Platform::parse);
    if platform.is_none() {
        faults.push(rules::PLATFORM.broken(format!("/to/{index}/platform")));
    }
    let at = format!("/to/{index}/token");
    let Some(token) = entry.get("token").and_then(Json::as_str).filter(|token| !token.is_empty()) else {
        faults.push(rules::TOKEN.broken(at));
        return None;
    };
    let platform = platform?;
    let (token, rule, holds) = match platform {
        Platform::Ios => {
            let hexadecimal = token.bytes().all(|b| b.is_ascii_hexdigit());
            let holds = hexadecimal && token.len() % 2 == 0 && rules::TOKEN_IOS.allows(token.len());
            (token.to_ascii_lowercase(), &rules::TOKEN_IOS, holds)
        }
        Platform::Android | Platform::Web => {
            let holds = rules::TOKEN_FCM.allows(token.len()) && token.bytes().all(|b| (b'!'..=b'~').contains(&b));
            (token.to_owned(), &rules::TOKEN_FCM, holds)
        }
    };
    if !holds {
        faults.push(rule.broken(at));
    }
    holds.then_some(Device { platform, token: Token(token) })
}

fn notification(value: Option<&Json<'_>>, faults: &mut Vec<Fault>) -> Option<Notification> {
    let object = match value? {
        Json::Object(object) => object,
        _ => {
            faults.push(rules::NOTIFICATION.broken_here());
            return None;
        }
    };
    let mut text = |name: &str, rule: &Rule| match object.get(name).and_then(Json::as_str) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => {
            faults.push(rule.broken_here());
            String::new()
        }
    };
    let title = text("title", &rules::TITLE);
    let body = text("body", &rules::BODY);
    let image = optional(object.get("image"), &rules::IMAGE, faults, |value| {
        value.as_str().filter(|url| rules::IMAGE.allows(url.len()) && is_https(url)).map(str::to_owned)
    });
    Some(Notification { title, body, image })
}

/// By the URL standard that browsers and phones follow (WHATWG URL), without what it forgives: a missing slash, and
/// white space around it or in it.
fn is_https(url: &str) -> bool {
    let scheme = url.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"));
    let clean = !url.contains(|c: char| c.is_whitespace() || c.is_control());
    scheme && clean && url::Url::parse(url).is_ok_and(|url| url.scheme() == "https" && url.has_host())
}

/// Names in `data` that FCM keeps for itself, and ours.
fn reserved(name: &str) -> bool {
    ["message_id", "aps", "from", "message_type"].contains(&name)
        || name.starts_with("google")
        || name.starts_with("gcm")
}

fn data(value: Option<&Json<'_>>, faults: &mut Vec<Fault>) -> BTreeMap<String, String> {
    let mut data = BTreeMap::new();
    match value {
        None => {}
        Some(Json::Object(object)) => {
            for (name, value) in object.iter() {
                let at = || format!("/data/{}", escape(name));
                match value {
                    _ if reserved(name) => faults.push(rules::DATA_NAME.broken(at())),
                    Json::String(text) => {
                        data.insert(name.to_owned(), text.to_string());
                    }
                    _ => faults.push(rules::DATA_VALUE.broken(at())),
                }
            }
        }
        Some(_) => faults.push(rules::DATA.broken_here()),
    }
    data
}

#[cfg(test)]
mod tests;
