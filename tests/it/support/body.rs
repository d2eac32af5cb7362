//! Bodies of sends.

use serde_json::{Value, json};

/// A push to one Android device.
pub(crate) fn push(key: &str, token: &str) -> Value {
    push_to(key, &[token])
}

/// A push to these Android devices.
pub(crate) fn push_to<T: AsRef<str>>(key: &str, tokens: &[T]) -> Value {
    let to: Vec<Value> = tokens.iter().map(|token| json!({"platform": "android", "token": token.as_ref()})).collect();
    json!({
        "idempotency_key": key,
        "to": to,
        "notification": {"title": "Shipped", "body": "Order 1042 is on its way."},
    })
}

/// Different device tokens, long enough to be masked and not hidden.
pub(crate) fn tokens(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("device-of-{name}-{number:06}")).collect()
}
