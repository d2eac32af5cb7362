//! Stripe's error answers.
//!
//! Sources: <https://docs.stripe.com/api/errors>; sentences from stripe-stateful-mock and public issues (stripity-stripe
//! issue 564, stripe-ruby issue 503), which a client must not rely on.

use crate::respond::json;
use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

/// A refusal.
#[derive(Debug)]
pub(super) struct Refusal {
    status: u16,
    kind: &'static str,
    code: Option<String>,
    param: Option<&'static str>,
    message: String,
}

const INVALID: &str = "invalid_request_error";

impl Refusal {
    fn new(status: u16, kind: &'static str, code: Option<&str>, message: impl Into<String>) -> Self {
        Self { status, kind, code: code.map(str::to_owned), param: None, message: message.into() }
    }

    pub(super) fn parts(self) -> (u16, Value) {
        // Members that are null are left out.
        let mut error = json!({"type": self.kind, "message": self.message});
        if let Some(code) = self.code {
            error["code"] = json!(code);
        }
        if let Some(param) = self.param {
            error["param"] = json!(param);
        }
        (self.status, json!({ "error": error }))
    }

    pub(super) fn response(self) -> Response {
        let (status, body) = self.parts();
        json(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), &body)
    }

    pub(super) fn unauthorized() -> Self {
        Self::new(401, INVALID, None, "Invalid API Key provided.")
    }

    pub(super) fn parameter(code: &'static str, param: &'static str, message: &str) -> Self {
        Self { param: Some(param), ..Self::new(400, INVALID, Some(code), message) }
    }

    pub(super) fn unknown_parameter(name: &str) -> Self {
        Self::new(400, INVALID, Some("parameter_unknown"), format!("Received unknown parameter: {name}"))
    }

    pub(super) fn malformed(message: &str) -> Self {
        Self::new(400, INVALID, None, message)
    }

    pub(super) fn in_use() -> Self {
        let message = "There is currently another in-progress request using this Idempotent Key.";
        Self::new(409, INVALID, Some("idempotency_key_in_use"), message)
    }

    pub(super) fn other_parameters() -> Self {
        let message =
            "Keys for idempotent requests can only be used with the same parameters they were first used with.";
        Self::new(400, "idempotency_error", None, message)
    }

    pub(super) fn no_refund(id: &str) -> Self {
        Self::new(404, INVALID, Some("resource_missing"), format!("No such refund: '{id}'"))
    }

    pub(super) fn no_payment(id: &str) -> Self {
        Self::new(404, INVALID, Some("resource_missing"), format!("No such payment: '{id}'"))
    }

    pub(super) fn unknown_url() -> Self {
        Self::new(404, INVALID, None, "Unrecognized request URL.")
    }

    pub(super) fn internal() -> Self {
        Self::new(500, "api_error", None, "An unknown error occurred")
    }

    /// The sandbox's own limits are reached.
    pub(super) fn busy() -> Self {
        Self::new(429, INVALID, Some("rate_limit"), "The sandbox keeps no more refunds.")
    }

    /// What a script asked for.
    pub(super) fn scripted(status: u16, reason: Option<String>) -> Self {
        let kind = match (status, reason.as_deref()) {
            (_, Some("idempotency_error")) => "idempotency_error",
            (500.., _) | (424, _) => "api_error",
            (402, _) => "card_error",
            _ => INVALID,
        };
        let code = reason.filter(|code| code != "idempotency_error");
        Self::new(status, kind, code.as_deref(), format!("The sandbox was told to answer {status}."))
    }
}
