//! The members of an FCM message and their types, and the reading of a body by them.
//!
//! Used by `check`, which goes on with what this returns: the same message with every member under its snake_case name.
//! Sources: FCM v1 reference, `projects.messages` and `projects.messages.send`; protobuf's JSON mapping: a member may
//! be spelt in lowerCamelCase too, and `null` is as good as absent.

use super::refusal::Refusal;
use serde_json::{Map, Value};

/// What a member holds.
enum Kind {
    /// Any JSON: `check` has rules of its own for it.
    Any,
    Text,
    Bool,
    /// A whole number of 32 bits, or one in a text.
    Int,
    Number,
    /// Seconds with an `s`, such as `"3.5s"`.
    Duration,
    /// One of these words, or its number.
    Word(&'static [&'static str]),
    Texts,
    Durations,
    /// Texts by any name.
    TextMap,
    /// An object of which FCM knows nothing (`google.protobuf.Struct`).
    Struct,
    Message(Members),
}

type Members = &'static [(&'static str, Kind)];

/// The body of `messages:send`.
const REQUEST: Members = &[("validate_only", Kind::Bool), ("message", Kind::Message(MESSAGE))];

const MESSAGE: Members = &[
    ("name", Kind::Text),
    ("data", Kind::TextMap),
    ("notification", Kind::Message(NOTIFICATION)),
    ("android", Kind::Message(ANDROID)),
    ("webpush", Kind::Message(WEBPUSH)),
    ("apns", Kind::Message(APNS)),
    ("fcm_options", Kind::Message(OPTIONS)),
    ("fid", Kind::Any),
    ("token", Kind::Any),
    ("topic", Kind::Any),
    ("condition", Kind::Any),
];

const NOTIFICATION: Members = &[("title", Kind::Text), ("body", Kind::Text), ("image", Kind::Text)];

/// `FcmOptions` and `AndroidFcmOptions`.
const OPTIONS: Members = &[("analytics_label", Kind::Text)];

/// `AndroidConfig`.
const ANDROID: Members = &[
    ("collapse_key", Kind::Text),
    ("priority", Kind::Word(&["NORMAL", "HIGH"])),
    ("ttl", Kind::Any),
    ("restricted_package_name", Kind::Text),
    ("data", Kind::TextMap),
    ("notification", Kind::Message(ANDROID_NOTIFICATION)),
    ("fcm_options", Kind::Message(OPTIONS)),
    ("direct_boot_ok", Kind::Bool),
    ("bandwidth_constrained_ok", Kind::Bool),
    ("restricted_satellite_ok", Kind::Bool),
];

const ANDROID_NOTIFICATION: Members = &[
    ("title", Kind::Text),
    ("body", Kind::Text),
    ("icon", Kind::Text),
    ("color", Kind::Text),
    ("sound", Kind::Text),
    ("tag", Kind::Text),
    ("click_action", Kind::Text),
    ("body_loc_key", Kind::Text),
    ("body_loc_args", Kind::Texts),
    ("title_loc_key", Kind::Text),
    ("title_loc_args", Kind::Texts),
    ("channel_id", Kind::Text),
    ("ticker", Kind::Text),
    ("sticky", Kind::Bool),
    ("event_time", Kind::Text),
    ("local_only", Kind::Bool),
    (
        "notification_priority",
        Kind::Word(&[
            "PRIORITY_UNSPECIFIED",
            "PRIORITY_MIN",
            "PRIORITY_LOW",
            "PRIORITY_DEFAULT",
            "PRIORITY_HIGH",
            "PRIORITY_MAX",
        ]),
    ),
    ("default_sound", Kind::Bool),
    ("default_vibrate_timings", Kind::Bool),
    ("default_light_settings", Kind::Bool),
    ("vibrate_timings", Kind::Durations),
    ("visibility", Kind::Word(&["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"])),
    ("notification_count", Kind::Int),
    ("light_settings", Kind::Message(LIGHT)),
    ("image", Kind::Text),
    ("bypass_proxy_notification", Kind::Bool),
    ("proxy", Kind::Word(&["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"])),
];

/// `LightSettings`.
const LIGHT: Members =
    &[("color", Kind::Message(COLOUR)), ("light_on_duration", Kind::Duration), ("light_off_duration", Kind::Duration)];

const COLOUR: Members =
    &[("red", Kind::Number), ("green", Kind::Number), ("blue", Kind::Number), ("alpha", Kind::Number)];

/// `WebpushConfig`.
const WEBPUSH: Members = &[
    ("headers", Kind::TextMap),
    ("data", Kind::TextMap),
    ("notification", Kind::Struct),
    ("fcm_options", Kind::Message(&[("link", Kind::Text), ("analytics_label", Kind::Text)])),
];

/// `ApnsConfig`.
const APNS: Members = &[
    ("headers", Kind::TextMap),
    ("payload", Kind::Struct),
    ("fcm_options", Kind::Message(&[("analytics_label", Kind::Text), ("image", Kind::Text)])),
    ("live_activity_token", Kind::Text),
];

/// The request with every member under its one name, and without those that are `null`.
///
/// # Errors
/// The first member that does not exist, is there twice or is of another type.
pub(super) fn read(body: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    message(body, REQUEST, "")
}

fn message(object: &Map<String, Value>, members: Members, at: &str) -> Result<Map<String, Value>, Refusal> {
    let mut read = Map::new();
    for (spelling, value) in object {
        let found = members.iter().find(|(name, _)| name == spelling || camel(name) == *spelling);
        let (name, kind) = found.ok_or_else(|| unknown(spelling, at))?;
        let path = if at.is_empty() { (*name).to_owned() } else { format!("{at}.{name}") };
        if value.is_null() {
            continue;
        }
        let value = value_of(value, kind, &path).map_err(|wanted| match wanted {
            Wrong::Member(refusal) => refusal,
            Wrong::Here(wanted) => wrong_type(kind, at, &path, wanted),
        })?;
        if read.insert((*name).to_owned(), value).is_some() {
            let what = format!("Field '{path}' is set twice, as '{name}' and as '{}'.", camel(name));
            return Err(Refusal::invalid_json(at, &what));
        }
    }
    Ok(read)
}

/// What is wrong with a value.
enum Wrong {
    /// The value itself is of another type than this.
    Here(&'static str),
    /// A part of it, which the refusal names.
    Member(Refusal),
}

fn value_of(value: &Value, kind: &Kind, path: &str) -> Result<Value, Wrong> {
    let fits = |fits: bool, wanted| if fits { Ok(value.clone()) } else { Err(Wrong::Here(wanted)) };
    match kind {
        Kind::Any => Ok(value.clone()),
        Kind::Text => fits(value.is_string(), "TYPE_STRING"),
        Kind::Bool => fits(value.is_boolean(), "TYPE_BOOL"),
        Kind::Int => fits(is_int(value), "TYPE_INT32"),
        Kind::Number => fits(value.is_number(), "TYPE_FLOAT"),
        Kind::Duration => fits(is_duration(value), "type.googleapis.com/google.protobuf.Duration"),
        Kind::Word(words) => {
            let numbered = value.as_u64().and_then(|number| words.get(usize::try_from(number).ok()?));
            let word = value.as_str().and_then(|word| words.iter().find(|known| **known == word)).or(numbered);
            word.map(|word| Value::from(*word)).ok_or(Wrong::Here("TYPE_ENUM"))
        }
        Kind::Texts => each(value, path, Value::is_string, "TYPE_STRING"),
        Kind::Durations => each(value, path, is_duration, "type.googleapis.com/google.protobuf.Duration"),
        Kind::TextMap => {
            let texts = value.as_object().ok_or(Wrong::Here("an object"))?;
            match texts.iter().find(|(_, value)| !value.is_string()) {
                None => Ok(value.clone()),
                Some((key, _)) => {
                    let what = format!("Invalid value at '{path}[{key}].value' (TYPE_STRING)");
                    Err(Wrong::Member(Refusal::invalid_json(path, &what)))
                }
            }
        }
        Kind::Struct => fits(value.is_object(), "an object"),
        Kind::Message(members) => {
            let object = value.as_object().ok_or(Wrong::Here("an object"))?;
            message(object, members, path).map(Value::Object).map_err(Wrong::Member)
        }
    }
}

fn each(value: &Value, path: &str, fits: fn(&Value) -> bool, wanted: &'static str) -> Result<Value, Wrong> {
    let entries = value.as_array().ok_or(Wrong::Here("an array"))?;
    match entries.iter().position(|entry| !fits(entry)) {
        None => Ok(value.clone()),
        Some(index) => {
            let what = format!("Invalid value at '{path}[{index}]' ({wanted})");
            Err(Wrong::Member(Refusal::invalid_json(path, &what)))
        }
    }
}

fn is_int(value: &Value) -> bool {
    let number = value.as_i64().or_else(|| value.as_str()?.parse().ok());
    number.is_some_and(|number| i32::try_from(number).is_ok())
}

/// The seconds of a text such as `"3.5s"`.
pub(super) fn seconds(value: &Value) -> Option<f64> {
    let digits = value.as_str()?.strip_suffix('s')?;
    let numeric = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'-');
    if numeric { digits.parse().ok() } else { None }
}

fn is_duration(value: &Value) -> bool {
    seconds(value).is_some()
}

/// The lowerCamelCase spelling of a name.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |spelling, word| {
        let (head, tail) = word.split_at_checked(1).unwrap_or(("", word));
        format!("{spelling}{}{tail}", head.to_ascii_uppercase())
    })
}

fn unknown(name: &str, at: &str) -> Refusal {
    let place = if at.is_empty() { String::new() } else { format!(" at '{at}'") };
    Refusal::invalid_json(at, &format!("Unknown name \"{name}\"{place}: Cannot find field."))
}

/// A value of a wrong type is told of the message that holds it; an object, a list and a word of themselves.
fn wrong_type(kind: &Kind, at: &str, path: &str, wanted: &str) -> Refusal {
    let scalar = matches!(kind, Kind::Text | Kind::Bool | Kind::Int | Kind::Number | Kind::Duration);
    let field = if scalar && !at.is_empty() { at } else { path };
    Refusal::invalid_json(field, &format!("Invalid value at '{path}' ({wanted})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_spellings_are_one_member() {
        let read = |body: Value| read(body.as_object().unwrap()).map(Value::Object);
        let camel = json!({"validateOnly": true, "message": {"token": "t", "fcmOptions": {"analyticsLabel": "l"},
            "data": {"someKey": "v"}, "apns": {"payload": {"someKey": 1}, "liveActivityToken": "x"},
            "android": {"collapseKey": "c", "priority": 1, "notification": {"bodyLocArgs": ["a"], "sticky": null}}}});
        let snake = json!({"validate_only": true, "message": {"token": "t", "fcm_options": {"analytics_label": "l"},
            "data": {"someKey": "v"}, "apns": {"payload": {"someKey": 1}, "live_activity_token": "x"},
            "android": {"collapse_key": "c", "priority": "HIGH", "notification": {"body_loc_args": ["a"]}}}});
        assert_eq!(read(camel).unwrap(), snake);
        assert_eq!(read(snake.clone()).unwrap(), snake);
        assert!(read(json!({"validateOnly": true, "validate_only": true})).is_err());
        assert!(read(json!({"ValidateOnly": true})).is_err());
    }
}
