//! The schemas of bodies. Limits are the rules' constants.

use crate::{
    rules::{self, Rule, TTL_DEFAULT},
    validate::{DEVICE_MEMBERS, MEMBERS, NOTIFICATION_MEMBERS},
};
use protocol::status::{DEVICE_WORDS, MESSAGE_WORDS};
use sendonce_http::{key::KEY_LEN_MAX, list::LIMIT_MAX};
use serde_json::{Map, Value, json};

/// A reference to a schema.
pub(crate) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// An object that takes exactly these members.
pub(super) fn object(members: &[&str], required: &[&str], properties: Value) -> Value {
    debug_assert!(properties.as_object().is_some_and(|p| p.len() == members.len()), "a member without a schema");
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

pub(super) fn nullable(mut schema: Value, description: &str) -> Value {
    let kind = schema["type"].clone();
    schema["type"] = json!([kind, "null"]);
    schema["description"] = json!(description);
    schema
}

pub(super) fn words(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// All schemas by name.
pub(crate) fn all() -> Value {
    let mut all: Map<String, Value> = Map::new();
    let mut add = |name: &str, schema: Value| all.insert(name.to_owned(), schema);
    add("MessageId", json!({"type": "string", "pattern": "^msg_[a-z2-7]{40}$"}));
    add("Timestamp", json!({"type": "string", "format": "date-time", "description": "UTC, with milliseconds."}));
    add("Device", device());
    add("Notification", notification());
    add("Send", send());
    add(
        "Accepted",
        object(
            &["status", "id"],
            &["status", "id"],
            json!({
                "status": words(&["queued", "duplicate_ignored"]),
                "id": reference("MessageId"),
            }),
        ),
    );
    add("Message", message());
    add("Delivery", delivery());
    for (name, schema) in super::refunds::schemas() {
        add(name, schema);
    }
    add("InvalidTokens", invalid_tokens());
    add("Problem", problem());
    add("Health", object(&["status"], &["status"], json!({"status": {"const": "ok"}})));
    add("Document", json!({"type": "object", "required": ["openapi", "info", "paths"]}));
    Value::Object(all)
}

fn device() -> Value {
    let ios = json!({"type": "string", "pattern": "^([0-9A-Fa-f]{2})+$", "maxLength": most(&rules::TOKEN_IOS)});
    let fcm = json!({"type": "string", "pattern": "^[!-~]+$", "maxLength": most(&rules::TOKEN_FCM)});
    let of = |platforms: &[&str], token: Value| {
        object(&DEVICE_MEMBERS, &DEVICE_MEMBERS, json!({"platform": words(platforms), "token": token}))
    };
    json!({"oneOf": [of(&["ios"], ios), of(&["android", "web"], fcm)], "description": rules::TOKEN_FCM.text()})
}

/// The upper limit of a rule.
pub(super) fn most(rule: &Rule) -> usize {
    rule.limit.map_or(usize::MAX, |(_, max)| max)
}

/// An idempotency key.
pub(crate) fn key() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": KEY_LEN_MAX, "description":
        "Names the event, not the attempt: 1 to 128 bytes of UTF-8, no control characters, not only white space. \
         Compared byte by byte."})
}

fn notification() -> Value {
    object(
        &NOTIFICATION_MEMBERS,
        &["title", "body"],
        json!({
            "title": {"type": "string", "minLength": 1},
            "body": {"type": "string", "minLength": 1},
            "image": nullable(json!({"type": "string", "maxLength": most(&rules::IMAGE), "pattern": "^[Hh][Tt][Tt][Pp][Ss]://."}),
                "An https URL."),
        }),
    )
}

fn send() -> Value {
    object(
        &MEMBERS,
        &["to"],
        json!({
            "idempotency_key": nullable(key(), "Here or in the Idempotency-Key header: names the event, 1 to 128 bytes."),
            "to": {"type": "array", "minItems": 1, "maxItems": most(&rules::TO), "items": reference("Device"),
                "description": "Duplicates are removed; the order is kept."},
            "notification": {"oneOf": [reference("Notification"), {"type": "null"}],
                "description": "What a person sees. Absent in a silent push, which needs data and goes out with normal \
                    priority."},
            "data": nullable(json!({"type": "object", "additionalProperties": {"type": "string"}}),
                "For the app. Some names are reserved: message_id, aps, from, message_type, google…, gcm…. The app finds \
                 the message id under message_id."),
            "collapse_key": nullable(json!({"type": "string", "minLength": 1, "maxLength": most(&rules::COLLAPSE_KEY)}),
                "A later message with the same key replaces this one; bytes count. Default: the message id."),
            "app": nullable(json!({"type": "string", "minLength": 1, "maxLength": most(&rules::APP), "pattern": "^[A-Za-z0-9.-]+$"}),
                "The bundle id of the app that ios devices get it in, one of the project's. Default: the project's first; \
                 naming that one is the same as naming none."),
            "ttl_seconds": nullable(json!({"type": "integer", "minimum": 0, "maximum": most(&rules::TTL), "default": TTL_DEFAULT}),
                "How long it is worth delivering."),
            "priority": nullable(json!({"type": "string", "enum": ["high", "normal", null], "default": "high"}),
                "How urgent the provider is told it is."),
            "delivery": nullable(json!({"type": "string", "enum": ["at_least_once", "at_most_once", null],
                "default": "at_least_once"}), "What happens when a provider's answer is lost: ask again, or never."),
        }),
    )
}

fn message() -> Value {
    let message_words: Vec<&str> = MESSAGE_WORDS.iter().map(|word| word.as_str()).collect();
    let device_words: Vec<&str> = DEVICE_WORDS.iter().map(|word| word.as_str()).collect();
    let counts: Map<String, Value> =
        device_words.iter().map(|word| ((*word).to_owned(), json!({"type": "integer", "minimum": 0}))).collect();
    let members = [
        "id",
        "idempotency_key",
        "request_hash",
        "status",
        "delivery",
        "created_at",
        "deliver_by",
        "expires_at",
        "held",
        "counts",
        "deliveries",
    ];
    object(
        &members,
        &members,
        json!({
            "id": reference("MessageId"),
            "idempotency_key": {"type": "string"},
            "request_hash": {"type": "string", "pattern": "^v[0-9]+:[0-9a-f]{64}$", "description":
                "What counts as the same request, with the version of the rule."},
            "status": words(&message_words),
            "delivery": words(&["at_least_once", "at_most_once"]),
            "created_at": reference("Timestamp"),
            "deliver_by": reference("Timestamp"),
            "expires_at": reference("Timestamp"),
            "held": {"oneOf": [held(), {"type": "null"}], "description":
                "The hold on the provider of a device that is still to be reached; of two, the older one."},
            "counts": object(&device_words, &device_words, Value::Object(counts)),
            "deliveries": {"type": "array", "items": reference("Delivery")},
        }),
    )
}

fn held() -> Value {
    let members = ["provider", "reason", "detail", "since"];
    object(
        &members,
        &members,
        json!({
            "provider": words(&["apns", "fcm"]),
            "reason": {"type": "string", "description": "The provider's code, or ours for a secret that cannot be used."},
            "detail": {"type": "string"},
            "since": reference("Timestamp"),
        }),
    )
}

fn delivery() -> Value {
    let device_words: Vec<&str> = DEVICE_WORDS.iter().map(|word| word.as_str()).collect();
    let error = object(
        &["code", "detail"],
        &["code", "detail"],
        json!({
            "code": {"type": "string"}, "detail": {"type": "string"},
        }),
    );
    let members = ["index", "platform", "token", "status", "provider_id", "attempts", "last_error", "updated_at"];
    object(
        &members,
        &members,
        json!({
            "index": {"type": "integer", "minimum": 0},
            "platform": words(&["ios", "android", "web"]),
            "token": {"type": "string", "description": "Masked: … and the last 6 characters."},
            "status": words(&device_words),
            "provider_id": {"type": ["string", "null"], "description": "Exactly what the provider gave."},
            "attempts": {"type": "integer", "minimum": 0, "maximum": 9, "description": "Calls made, counted to 9."},
            "last_error": {"oneOf": [error, {"type": "null"}]},
            "updated_at": {"oneOf": [reference("Timestamp"), {"type": "null"}]},
        }),
    )
}

fn invalid_tokens() -> Value {
    let members = ["platform", "token", "reason", "since"];
    let row = object(
        &members,
        &members,
        json!({
            "platform": words(&["ios", "android", "web"]),
            "token": {"type": "string", "description": "Whole, as it was sent; an ios token in lower case."},
            "reason": {"type": "string", "description": "The provider's code, for example Unregistered or UNREGISTERED."},
            "since": {"oneOf": [reference("Timestamp")], "description":
                "Since when the token is known to be dead. An app that registered it later has a good one: keep that."},
        }),
    );
    object(
        &["invalid_tokens", "next_cursor"],
        &["invalid_tokens", "next_cursor"],
        json!({
            "invalid_tokens": {"type": "array", "maxItems": LIMIT_MAX, "items": row, "description":
                "The latest listed first. A token leaves the list when a provider takes a push for it, and after 90 days."},
            "next_cursor": {"type": ["string", "null"], "description": "For the next page; null on the last one."},
        }),
    )
}

fn problem() -> Value {
    let codes: Vec<&str> = sendonce_http::CODES.iter().map(|row| row.word).collect();
    let fault = object(
        &["pointer", "detail"],
        &["pointer", "detail"],
        json!({
            "pointer": {"type": "string", "description": "RFC 6901."}, "detail": {"type": "string"},
        }),
    );
    let members = ["type", "title", "status", "detail", "code", "errors", "decided_by", "decided_at"];
    object(
        &members,
        &["type", "title", "status", "detail", "code"],
        json!({
            "type": {"const": "about:blank"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "code": words(&codes),
            "errors": {"type": "array", "minItems": 1, "items": fault},
            "decided_by": {"type": "string", "description": "With refund_not_pending: who decided."},
            "decided_at": {"oneOf": [reference("Timestamp")], "description": "With refund_not_pending: when."},
        }),
    )
}
