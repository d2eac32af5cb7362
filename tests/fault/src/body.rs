//! Bodies of sends.

use serde_json::{Value, json};

/// A push to one Android device.
#[must_use]
pub fn push(key: &str, token: &str) -> Value {
    push_to(key, &[token])
}

/// A push to these Android devices.
#[must_use]
pub fn push_to<T: AsRef<str>>(key: &str, tokens: &[T]) -> Value {
    let to: Vec<Value> = tokens.iter().map(|token| json!({"platform": "android", "token": token.as_ref()})).collect();
    json!({
        "idempotency_key": key,
        "to": to,
        "notification": {"title": "Shipped", "body": "Order 1042 is on its way."},
    })
}

/// The same body under this policy.
#[must_use]
pub fn under(policy: &str, mut body: Value) -> Value {
    body["delivery"] = json!(policy);
    body
}

/// Different device tokens, long enough to be masked and not hidden.
#[must_use]
pub fn tokens(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("device-of-{name}-{number:06}")).collect()
}
