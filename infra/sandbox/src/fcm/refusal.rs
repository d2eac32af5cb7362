//! FCM's error answers, in Google's shape.
//!
//! Sources: FCM v1 reference, `ErrorCode`; "FCM error codes" (the samples); google.rpc.Code for statuses.

use crate::respond::json;
use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

const FCM_ERROR: &str = "type.googleapis.com/google.firebase.fcm.v1.FcmError";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";
const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";

/// Every FcmError code, with the sentence that FCM sends.
const CODES: [(&str, &str); 8] = [
    ("UNSPECIFIED_ERROR", "Unspecified error."),
    ("INVALID_ARGUMENT", "Request contains an invalid argument."),
    ("UNREGISTERED", "Requested entity was not found."),
    ("SENDER_ID_MISMATCH", "SenderId mismatch"),
    ("QUOTA_EXCEEDED", "Quota exceeded for quota metric 'Messages per project' of service 'fcm.googleapis.com'."),
    ("UNAVAILABLE", "The service is currently unavailable."),
    ("INTERNAL", "Internal error encountered."),
    ("THIRD_PARTY_AUTH_ERROR", "Auth error from APNS or Web Push Service"),
];

/// google.rpc.Code: what a status may say. Any other reason of a script is an FcmError's code, also one that FCM may add.
const RPC_CODES: [&str; 16] = [
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "UNAUTHENTICATED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
];
/// The sentence with a code that FCM does not document.
const NEW_SENTENCE: &str = "The sandbox was told to refuse it with a code that FCM does not document.";

/// A refusal.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    word: String,
    message: String,
    details: Vec<Value>,
}

impl Refusal {
    pub(super) fn response(self) -> Response {
        let mut error = json!({"code": self.status.as_u16(), "message": self.message, "status": self.word});
        if !self.details.is_empty() {
            error["details"] = Value::Array(self.details);
        }
        json(self.status, &json!({ "error": error }))
    }

    /// What a script asked for: an FcmError code becomes the detail, a google.rpc code that is none the status.
    pub(super) fn scripted(status: u16, reason: Option<String>) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let word = canonical(status).to_owned();
        let message = format!("The sandbox was told to answer {status}.");
        match reason {
            None => Self { status, word, message, details: Vec::new() },
            Some(code) => {
                let documented = CODES.iter().find(|(name, _)| *name == code);
                if documented.is_none() && RPC_CODES.contains(&code.as_str()) {
                    return Self { status, word: code, message, details: Vec::new() };
                }
                let sentence = documented.map_or(NEW_SENTENCE, |(_, sentence)| sentence);
                let details = vec![json!({"@type": FCM_ERROR, "errorCode": code})];
                Self { status, word, message: sentence.to_owned(), details }
            }
        }
    }

    /// The same, with a complaint about a field beside it.
    pub(super) fn scripted_about(status: u16, reason: Option<String>, field: &str) -> Self {
        let mut refusal = Self::scripted(status, reason);
        if field == "message.token" {
            refusal.message = "The registration token is not a valid FCM registration token".to_owned();
        }
        let violation = json!({"field": field, "description": refusal.message});
        refusal.details.push(json!({"@type": BAD_REQUEST, "fieldViolations": [violation]}));
        refusal
    }

    /// The access token is missing, unknown or past its end.
    pub(super) fn unauthenticated() -> Self {
        Self {
            status: StatusCode::UNAUTHORIZED,
            word: "UNAUTHENTICATED".to_owned(),
            message: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or \
                      other valid authentication credential. \
                      See https://developers.google.com/identity/sign-in/web/devconsole-project."
                .to_owned(),
            details: Vec::new(),
        }
    }

    /// The access token is another project's.
    pub(super) fn permission_denied(project_id: &str) -> Self {
        Self {
            status: StatusCode::FORBIDDEN,
            word: "PERMISSION_DENIED".to_owned(),
            message: format!(
                "Permission 'cloudmessaging.messages.create' denied on resource \
                 '//cloudresourcemanager.googleapis.com/projects/{project_id}' (or it may not exist)."
            ),
            details: vec![json!({
                "@type": ERROR_INFO, "reason": "IAM_PERMISSION_DENIED", "domain": "cloudresourcemanager.googleapis.com",
            })],
        }
    }

    /// The body is not JSON, or a member does not exist: Google's front end refuses it before FCM sees it.
    pub(super) fn invalid_json(field: &str, what: &str) -> Self {
        let message = format!("Invalid JSON payload received. {what}");
        let violation = json!({"field": field, "description": message});
        Self {
            status: StatusCode::BAD_REQUEST,
            word: "INVALID_ARGUMENT".to_owned(),
            details: vec![json!({"@type": BAD_REQUEST, "fieldViolations": [violation]})],
            message,
        }
    }

    /// FCM does not take the value of a field.
    pub(super) fn invalid_argument(field: &str, what: &str) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            word: "INVALID_ARGUMENT".to_owned(),
            message: what.to_owned(),
            details: vec![
                json!({"@type": FCM_ERROR, "errorCode": "INVALID_ARGUMENT"}),
                json!({"@type": BAD_REQUEST, "fieldViolations": [{"field": field, "description": what}]}),
            ],
        }
    }
}

/// The google.rpc.Code that goes with a status.
fn canonical(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        500 => "INTERNAL",
        501 => "UNIMPLEMENTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "UNKNOWN",
    }
}
