//! The rules of a send, as one table: where, what, its limit, and where the limit comes from.
//!
//! Used by validation, which breaks a request against them, and by the OpenAPI document and the HTTP reference, which
//! show them. A rule that is not in the table cannot refuse anything.

use sendonce_http::Fault;

/// One rule about one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The member, as a JSON pointer with `*` for any element or name.
    pub pointer: &'static str,
    /// The rule, as the caller reads it.
    pub says: &'static str,
    /// Where its limit comes from.
    pub source: &'static str,
}

impl Rule {
    /// The rule, broken at a place.
    pub(crate) fn broken(&self, pointer: impl Into<String>) -> Fault {
        Fault::at(pointer, self.says)
    }

    /// The rule, broken at the only place it is about.
    pub(crate) fn broken_here(&self) -> Fault {
        self.broken(self.pointer)
    }
}

const fn rule(pointer: &'static str, says: &'static str, source: &'static str) -> Rule {
    Rule { pointer, says, source }
}

/// Longest iOS token, in hexadecimal digits.
pub const IOS_TOKEN_MAX: usize = 400;
/// Longest FCM token, in bytes.
pub const FCM_TOKEN_MAX: usize = 4_096;
/// Longest image URL, in bytes.
pub const IMAGE_MAX: usize = 2_048;
/// Longest collapse key, in bytes.
pub const COLLAPSE_KEY_MAX: usize = 64;
/// Longest time to live, in seconds.
pub const TTL_MAX: u32 = 2_419_200;
/// Time to live when none is given, in seconds.
pub const TTL_DEFAULT: u32 = 86_400;

const OURS: &str = "Sendonce";

pub(crate) const TO: Rule = rule("/to", "Give an array of 1 to 500 devices.", OURS);
pub(crate) const DEVICE: Rule = rule("/to/*", "Give an object with platform and token.", OURS);
pub(crate) const PLATFORM: Rule = rule("/to/*/platform", "Give ios, android or web.", OURS);
pub(crate) const TOKEN: Rule = rule("/to/*/token", "Give the device's token, a string that is not empty.", OURS);
pub(crate) const TOKEN_IOS: Rule = rule(
    "/to/*/token",
    "An ios token is hexadecimal, of even length, at most 400 digits.",
    "Apple, Registering your app with APNs: a token's length may change; today's have 64 digits",
);
pub(crate) const TOKEN_FCM: Rule = rule(
    "/to/*/token",
    "An android or web token is printable ASCII without spaces, at most 4096 bytes.",
    "Google names no limit; today's FCM tokens are below 300 bytes",
);
pub(crate) const NOTIFICATION: Rule = rule("/notification", "Give an object with title and body.", OURS);
pub(crate) const TITLE: Rule = rule("/notification/title", "Give a string that is not empty.", OURS);
pub(crate) const BODY: Rule = rule("/notification/body", "Give a string that is not empty.", OURS);
pub(crate) const IMAGE: Rule = rule(
    "/notification/image",
    "Give an https URL of at most 2048 bytes.",
    "FCM HTTP v1 reference, Notification.image; the length is Sendonce's",
);
pub(crate) const DATA: Rule =
    rule("/data", "Give an object whose values are strings.", "FCM HTTP v1 reference, Message.data");
pub(crate) const DATA_VALUE: Rule = rule("/data/*", "Give a string.", "FCM HTTP v1 reference, Message.data");
pub(crate) const DATA_NAME: Rule = rule(
    "/data/*",
    "This name is reserved: message_id, aps, from, message_type, and all that begin with google or gcm.",
    "FCM HTTP v1 reference, Message.data; message_id is Sendonce's",
);
pub(crate) const COLLAPSE_KEY: Rule =
    rule("/collapse_key", "Give a string of 1 to 64 bytes.", "Apple, apns-collapse-id: at most 64 bytes");
pub(crate) const TTL: Rule = rule(
    "/ttl_seconds",
    "Give a whole number of seconds from 0 to 2419200.",
    "FCM, Set the lifespan of a message: at most 28 days",
);
pub(crate) const PRIORITY: Rule = rule("/priority", "Give high or normal.", OURS);
pub(crate) const DELIVERY: Rule = rule("/delivery", "Give at_least_once or at_most_once.", OURS);
pub(crate) const SOMETHING: Rule = rule("", "Give a notification, data, or both.", OURS);

/// Every rule whose breaking is `validation_failed`, in the order in which they are checked.
pub const RULES: [Rule; 18] = [
    TO,
    DEVICE,
    PLATFORM,
    TOKEN,
    TOKEN_IOS,
    TOKEN_FCM,
    NOTIFICATION,
    TITLE,
    BODY,
    IMAGE,
    DATA,
    DATA_NAME,
    DATA_VALUE,
    COLLAPSE_KEY,
    TTL,
    PRIORITY,
    DELIVERY,
    SOMETHING,
];
