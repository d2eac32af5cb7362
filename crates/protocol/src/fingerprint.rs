//! What counts as the same request: a SHA-256 over the typed request's canonical form.
//!
//! Called by accept and by create refund. The stored hash carries its version, and every version stays computable, so a deploy that changes
//! the rule never turns an honest retry into a 422. Defaults that are constants of the API version are filled in by
//! validation before this; the idempotency key and all headers are left out of the form (the key is a field of its
//! own); duplicate devices are already gone.

use crate::{canonical::Value, content::SendRequest, ids::Operation, refund::request::RefundRequest};
use alloc::{borrow::ToOwned, string::String, vec, vec::Vec};
use core::fmt;
use sha2::{Digest, Sha256};

/// The version written today.
pub const CURRENT_VERSION: u8 = 1;

/// A request's hash and the version of the rule that made it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// The rule.
    pub version: u8,
    /// SHA-256.
    pub hash: [u8; 32],
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}:", self.version)?;
        self.hash.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Fingerprint {
    /// The current fingerprint of a send.
    #[must_use]
    pub fn of_send(project: &str, key: &str, request: &SendRequest) -> Self {
        Self { version: CURRENT_VERSION, hash: hash_v1(Operation::Message, project, key, &send_value(request)) }
    }

    /// The current fingerprint of a refund.
    #[must_use]
    pub fn of_refund(project: &str, key: &str, request: &RefundRequest) -> Self {
        Self { version: CURRENT_VERSION, hash: hash_v1(Operation::Refund, project, key, &refund_value(request)) }
    }

    /// Whether `stored` is the fingerprint of this request under the rule that made it; `None` when that rule is not
    /// known here (an item written by later code).
    #[must_use]
    pub fn matches(stored: &Self, project: &str, key: &str, request: &SendRequest) -> Option<bool> {
        match stored.version {
            1 => Some(stored.hash == hash_v1(Operation::Message, project, key, &send_value(request))),
            _ => None,
        }
    }

    /// As [`Fingerprint::matches`], for a refund.
    #[must_use]
    pub fn matches_refund(stored: &Self, project: &str, key: &str, request: &RefundRequest) -> Option<bool> {
        match stored.version {
            1 => Some(stored.hash == hash_v1(Operation::Refund, project, key, &refund_value(request))),
            _ => None,
        }
    }
}

fn hash_v1(operation: Operation, project: &str, key: &str, request: &Value) -> [u8; 32] {
    let canonical = request.to_canonical();
    let mut digest = Sha256::new();
    for field in ["v1", operation.as_str(), project, key, &canonical] {
        digest.update((field.len() as u64).to_be_bytes());
        digest.update(field.as_bytes());
    }
    digest.finalize().into()
}

fn text(value: &str) -> Value {
    Value::String(value.to_owned())
}

/// The JSON form of a send that is hashed. Public so that tests can compare it with other canonicalizers.
#[must_use]
pub fn send_value(request: &SendRequest) -> Value {
    let devices: Vec<Value> = request
        .to
        .iter()
        .map(|device| {
            Value::Object(vec![
                ("platform".to_owned(), text(device.platform.as_str())),
                ("token".to_owned(), text(&device.token.0)),
            ])
        })
        .collect();
    let mut members: Vec<(String, Value)> = vec![
        ("to".to_owned(), Value::Array(devices)),
        ("ttl_seconds".to_owned(), Value::Integer(i64::from(request.ttl_seconds))),
        ("priority".to_owned(), text(request.content.priority.as_str())),
        ("delivery".to_owned(), text(request.policy.as_str())),
    ];
    if let Some(notification) = &request.content.notification {
        let mut shown =
            vec![("title".to_owned(), text(&notification.title)), ("body".to_owned(), text(&notification.body))];
        if let Some(image) = &notification.image {
            shown.push(("image".to_owned(), text(image)));
        }
        members.push(("notification".to_owned(), Value::Object(shown)));
    }
    if !request.content.data.is_empty() {
        let data = request.content.data.iter().map(|(name, value)| (name.clone(), text(value))).collect();
        members.push(("data".to_owned(), Value::Object(data)));
    }
    if let Some(collapse) = &request.content.collapse_key {
        members.push(("collapse_key".to_owned(), text(collapse)));
    }
    // The project's first app counts as absent, so a request that names none hashes as it did before there were any.
    if let Some(app) = &request.content.app {
        members.push(("app".to_owned(), text(app)));
    }
    Value::Object(members)
}

/// The JSON form of a refund that is hashed.
#[must_use]
pub fn refund_value(request: &RefundRequest) -> Value {
    let mut members: Vec<(String, Value)> = vec![
        ("order_id".to_owned(), text(&request.order)),
        ("payment_id".to_owned(), text(&request.payment)),
        ("amount".to_owned(), Value::Integer(i64::try_from(request.amount).unwrap_or(i64::MAX))),
        ("currency".to_owned(), text(&request.currency)),
        ("reason".to_owned(), text(request.reason.as_str())),
    ];
    if let Some(note) = &request.note {
        members.push(("note".to_owned(), text(note)));
    }
    Value::Object(members)
}
