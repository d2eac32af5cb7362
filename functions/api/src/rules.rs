//! The rules of a send, as one table: where, which code, what, its limit, and where the limit comes from.
//!
//! Used by validation, which breaks a request against them, and by the OpenAPI document and the HTTP reference, which
//! show them. One macro declares each rule and the table, so no rule of validation can be left out of it. The rules of
//! the key and of the whole payload have codes of their own and are not here.

use protocol::DEVICES_PER_MESSAGE;
use sendonce_http::{Code, Fault};

/// One rule about one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The member, as a JSON pointer with `*` for any element or name.
    pub pointer: &'static str,
    /// What a request that breaks it is refused with.
    pub code: Code,
    /// The rule, with `{min}` and `{max}` for its limits.
    says: &'static str,
    /// The least and the most, in the unit that the rule names.
    pub limit: Option<(usize, usize)>,
    /// Where its limit comes from.
    pub source: &'static str,
}

impl Rule {
    /// The rule, as the caller reads it.
    #[must_use]
    pub fn text(&self) -> String {
        match self.limit {
            None => self.says.to_owned(),
            Some((min, max)) => self.says.replace("{min}", &min.to_string()).replace("{max}", &max.to_string()),
        }
    }

    /// Whether a length, a count or a number keeps the limit.
    pub(crate) fn allows(&self, size: usize) -> bool {
        self.limit.is_none_or(|(min, max)| (min..=max).contains(&size))
    }

    /// The rule, broken at a place.
    pub(crate) fn broken(&self, pointer: impl Into<String>) -> Fault {
        Fault::at(pointer, self.text())
    }

    /// The rule, broken at the only place it is about.
    pub(crate) fn broken_here(&self) -> Fault {
        self.broken(self.pointer)
    }
}

/// Time to live when none is given, in seconds.
pub const TTL_DEFAULT: u32 = 86_400;

const OURS: &str = "Sendonce";

macro_rules! rules {
    ($($name:ident = $pointer:literal, $says:literal, $limit:expr, $source:expr;)*) => {
        $(pub(crate) const $name: Rule =
            Rule { pointer: $pointer, code: Code::ValidationFailed, says: $says, limit: $limit, source: $source };)*
        /// Every rule, in the order in which they are checked.
        pub const RULES: &[Rule] = &[$($name),*];
    };
}

rules! {
    TO = "/to", "Give an array of {min} to {max} devices.", Some((1, DEVICES_PER_MESSAGE)), OURS;
    DEVICE = "/to/*", "Give an object with platform and token.", None, OURS;
    PLATFORM = "/to/*/platform", "Give ios, android or web.", None, OURS;
    TOKEN = "/to/*/token", "Give the device's token, a string that is not empty.", None, OURS;
    TOKEN_IOS = "/to/*/token", "An ios token is hexadecimal, of even length, {min} to {max} digits.", Some((2, 400)),
        "Apple, Registering your app with APNs: a token's length may change; today's have 64 digits";
    TOKEN_FCM = "/to/*/token", "An android or web token is printable ASCII without spaces, {min} to {max} bytes.",
        Some((1, 4_096)), "Google names no limit; today's FCM tokens are below 300 bytes";
    NOTIFICATION = "/notification", "Give an object with title and body.", None, OURS;
    TITLE = "/notification/title", "Give a string that is not empty.", None, OURS;
    BODY = "/notification/body", "Give a string that is not empty.", None, OURS;
    IMAGE = "/notification/image", "Give an https URL of at most {max} bytes.", Some((1, 2_048)),
        "FCM HTTP v1 reference, Notification.image; the length is Sendonce's";
    DATA = "/data", "Give an object whose values are strings.", None, "FCM HTTP v1 reference, Message.data";
    DATA_NAME = "/data/*",
        "This name is reserved: message_id, aps, from, message_type, and all that begin with google or gcm.", None,
        "FCM HTTP v1 reference, Message.data; message_id is Sendonce's";
    DATA_VALUE = "/data/*", "Give a string.", None, "FCM HTTP v1 reference, Message.data";
    COLLAPSE_KEY = "/collapse_key", "Give a string of {min} to {max} bytes.", Some((1, 64)),
        "Apple, apns-collapse-id: at most 64 bytes";
    APP = "/app", "Give a bundle id, a string of {min} to {max} letters, digits, hyphens and dots.", Some((1, 255)),
        "Apple, CFBundleIdentifier: the characters; the length is Sendonce's";
    APP_KNOWN = "/app", "This project has no such app.", None, OURS;
    TTL = "/ttl_seconds", "Give a whole number of seconds from {min} to {max}.", Some((0, 2_419_200)),
        "FCM, Set the lifespan of a message: at most 28 days";
    PRIORITY = "/priority", "Give high or normal.", None, OURS;
    DELIVERY = "/delivery", "Give at_least_once or at_most_once.", None, OURS;
    SOMETHING = "", "Give a notification, data, or both.", None, OURS;
}
