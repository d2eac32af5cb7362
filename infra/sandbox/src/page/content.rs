//! What a request says to the device and to the person who holds it, whichever provider carried it.

use crate::ledger::Entry;
use serde_json::Value;
use std::borrow::Cow;

/// Where FCM's texts are. A platform's own notification counts more than the one for all.
const FCM: [&str; 3] = ["/message/android/notification/", "/message/webpush/notification/", "/message/notification/"];

/// The texts of a notification. All are empty in a silent push.
pub(super) struct Content<'a> {
    pub(super) title: Cow<'a, str>,
    pub(super) body: Cow<'a, str>,
    pub(super) image: Cow<'a, str>,
}

impl<'a> Content<'a> {
    pub(super) fn of(entry: &'a Entry) -> Self {
        let payload = &entry.payload;
        if entry.provider == "apns" {
            let body = if let Some(Value::String(alert)) = payload.pointer("/aps/alert") {
                Cow::Borrowed(alert.as_str())
            } else {
                text(payload.pointer("/aps/alert/body"))
            };
            // Without mutable-content the app has no chance to fetch an image.
            let fetched = payload.pointer("/aps/mutable-content").and_then(Value::as_u64) == Some(1);
            let image = payload.get("image").filter(|_| fetched);
            return Self { title: text(payload.pointer("/aps/alert/title")), body, image: text(image) };
        }
        let find = |name: &str| text(FCM.iter().find_map(|at| payload.pointer(&format!("{at}{name}"))));
        Self { title: find("title"), body: find("body"), image: find("image") }
    }

    /// Nothing of it is seen.
    pub(super) fn is_silent(&self) -> bool {
        self.title.is_empty() && self.body.is_empty() && self.image.is_empty()
    }
}

/// What the app gets besides the notification, as JSON.
pub(super) fn data(entry: &Entry) -> String {
    if entry.provider == "apns" {
        let mut members = entry.payload.as_object().cloned().unwrap_or_default();
        members.remove("aps");
        return Value::Object(members).to_string();
    }
    text(entry.payload.pointer("/message/data")).into_owned()
}

/// Whose notification it is: the topic of APNs, the project of FCM (from the message's name), else nobody's.
pub(super) fn app(entry: &Entry) -> &str {
    let project = || entry.id.as_deref()?.strip_prefix("projects/")?.split('/').next();
    match entry.provider {
        "apns" => entry.headers.get("apns-topic").map(String::as_str),
        _ => project(),
    }
    .unwrap_or_default()
}

/// What the device is, as far as the request tells.
pub(super) fn platform(entry: &Entry) -> &'static str {
    match entry.provider {
        "apns" => "iOS",
        _ if entry.payload.pointer("/message/webpush").is_some() => "Web",
        _ => "Android",
    }
}

fn text(value: Option<&Value>) -> Cow<'_, str> {
    match value {
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(other) => Cow::Owned(other.to_string()),
        None => Cow::Borrowed(""),
    }
}
