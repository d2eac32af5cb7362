//! The rules of a send, as one table: where, which code, what, its limit, and where the limit comes from.
//!
//! The rules of the key and of the whole payload have codes of their own and are not here.

use protocol::DEVICES_PER_MESSAGE;
pub use sendonce_http::Rule;
use sendonce_http::{OURS, rules};

/// Time to live when none is given, in seconds.
pub const TTL_DEFAULT: u32 = 86_400;

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
