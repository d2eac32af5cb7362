//! A message as GET shows it: words derived from its items and the clock.

use platform::rfc3339_ms;
use protocol::{
    DEVICES_PER_CHUNK,
    status::{DEVICE_WORDS, DeviceWord, device_words, message_word},
    timing::Timing,
};
use serde_json::{Map, Value, json};
use store::StoredMessage;

/// The JSON of a message.
pub(crate) fn message(stored: &StoredMessage, now_ms: u64, timing: &Timing) -> Value {
    let message = &stored.message;
    let words = device_words(message.devices.len(), &stored.deliveries, message.deliver_by_ms, now_ms, timing);
    let deliveries: Vec<Value> = words.iter().enumerate().map(|(index, word)| delivery(stored, index, *word)).collect();
    let counts: Map<String, Value> = DEVICE_WORDS
        .iter()
        .map(|word| (word.as_str().to_owned(), json!(words.iter().filter(|w| *w == word).count())))
        .collect();
    json!({
        "id": message.id.to_string(),
        "idempotency_key": message.key,
        "request_hash": message.fingerprint.to_string(),
        "status": message_word(&words).as_str(),
        "delivery": message.policy.as_str(),
        "created_at": rfc3339_ms(message.at_ms),
        "deliver_by": rfc3339_ms(message.deliver_by_ms),
        "expires_at": rfc3339_ms(message.expires_ms),
        "held": null,
        "counts": counts,
        "deliveries": deliveries,
    })
}

fn delivery(stored: &StoredMessage, index: usize, word: DeviceWord) -> Value {
    let device = &stored.message.devices[index];
    let item = stored.deliveries.get(index / DEVICES_PER_CHUNK).and_then(Option::as_ref);
    let state = item.and_then(|item| item.devices.get(index % DEVICES_PER_CHUNK));
    let error = state.and_then(|state| state.error.as_ref());
    json!({
        "index": index,
        "platform": device.platform.as_str(),
        "token": device.token.masked(),
        "status": word.as_str(),
        "provider_id": state.and_then(|state| state.provider_id.as_deref()),
        "attempts": state.map_or(0, |state| state.calls),
        "last_error": error.map(|error| json!({"code": error.code, "detail": error.detail})),
        "updated_at": item.map(|item| rfc3339_ms(item.updated_ms)),
    })
}
