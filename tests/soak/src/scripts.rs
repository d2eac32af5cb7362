//! What providers do with a device's next requests, and what a ledger entry says of it.

use crate::dice::Dice;
use sandbox::Entry;
use serde_json::{Value, json};

/// What titles begin with.
pub(crate) const TITLE: &str = "Variant ";
/// Ends that say nothing, but for those that cost the call's whole time.
const LOST: [&str; 3] = ["drop_after_accept", "goaway_after_accept", "reset"];
/// Ends that say that nothing was processed.
const NOT_PROCESSED: [&str; 2] = ["goaway", "refused_stream"];

/// One to three outcomes; everything is accepted after them. A script never holds both an end of the kind `reset` and
/// one of the kind `refused_stream`: the ledger shows both as not accepted and not answered.
pub(crate) fn script(dice: &mut Dice, platform: &str) -> Value {
    let lost = dice.percent(60);
    let outcomes: Vec<Value> = (0..dice.between(1, 3))
        .map(|_| match dice.below(10) {
            0..3 if lost => json!(dice.pick(&LOST)),
            0..3 => json!(dice.pick(&NOT_PROCESSED)),
            3 => json!("accept"),
            4..6 => json!({"status": 429, "retry_after": dice.between(1, 30)}),
            6 => json!({"status": 503, "retry_after": 5}),
            7 => json!({"status": 500}),
            _ if platform == "ios" => dice
                .pick(&[
                    json!({"status": 410, "reason": "Unregistered"}),
                    json!({"status": 400, "reason": "BadDeviceToken"}),
                ])
                .clone(),
            _ => dice
                .pick(&[
                    json!({"status": 404, "reason": "UNREGISTERED"}),
                    json!({"status": 400, "reason": "INVALID_ARGUMENT"}),
                ])
                .clone(),
        })
        .collect();
    json!(outcomes)
}

/// Whether an unanswered, not accepted request for a device with this script may have been accepted as far as anybody
/// can see.
#[must_use]
pub(crate) fn silence_says_nothing(script: &Value) -> bool {
    let outcomes = script.as_array().map_or(&[][..], Vec::as_slice);
    !outcomes.iter().any(|outcome| outcome.as_str().is_some_and(|word| NOT_PROCESSED.contains(&word)))
}

/// Whether an answer leaves open if the request was accepted (FCM: any 5xx; APNs: 500, 502 and 504).
#[must_use]
pub(crate) fn is_ambiguous(entry: &Entry) -> bool {
    match (entry.provider, entry.status) {
        ("fcm", Some(500..=599)) => true,
        ("apns", Some(status)) => matches!(status, 500 | 502 | 504),
        _ => false,
    }
}

/// Whether an answer refuses the device for good.
#[must_use]
pub(crate) fn is_permanent(entry: &Entry) -> bool {
    matches!(entry.status, Some(400 | 404 | 410 | 413))
}

/// Which of its key's requests a notification's title is of.
#[must_use]
pub(crate) fn variant(title: &str) -> Option<u8> {
    title.strip_prefix(TITLE)?.parse().ok()
}

/// The same of a request to a provider.
#[must_use]
pub(crate) fn variant_of(payload: &Value) -> Option<u8> {
    let title = payload["aps"]["alert"]["title"].as_str();
    variant(title.or_else(|| payload["message"]["notification"]["title"].as_str())?)
}

/// The message that a request was for.
#[must_use]
pub(crate) fn message_of(payload: &Value) -> Option<&str> {
    payload["message_id"].as_str().or_else(|| payload["message"]["data"]["message_id"].as_str())
}
