//! APNs' error answers: a status and a JSON body with a reason.
//!
//! Source: Apple, "Handling notification responses from APNs".

use crate::respond::typed;
use axum::response::Response;
use http::StatusCode;
use serde_json::json;

/// A refusal.
#[derive(Debug)]
pub(super) struct Refusal {
    status: u16,
    reason: String,
    timestamp: Option<u64>,
}

impl Refusal {
    /// One of APNs' own.
    pub(super) fn new(status: u16, reason: &'static str) -> Self {
        Self { status, reason: reason.to_owned(), timestamp: None }
    }

    /// What a script asked for; without a reason, the one that APNs gives with this status.
    pub(super) fn scripted(status: u16, reason: Option<String>, timestamp: Option<u64>) -> Self {
        Self { status, reason: reason.unwrap_or_else(|| usual(status).to_owned()), timestamp }
    }

    pub(super) fn response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut body = json!({ "reason": self.reason });
        if let Some(at_ms) = self.timestamp {
            body["timestamp"] = json!(at_ms);
        }
        typed(status, "application/json; charset=utf-8", body.to_string())
    }
}

fn usual(status: u16) -> &'static str {
    match status {
        400 => "BadDeviceToken",
        403 => "Forbidden",
        404 => "BadPath",
        405 => "MethodNotAllowed",
        410 => "Unregistered",
        413 => "PayloadTooLarge",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "InternalServerError",
    }
}
