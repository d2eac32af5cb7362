//! Answers in the shapes of those that this sandbox stands for.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use serde_json::Value;
use std::time::{Duration, UNIX_EPOCH};

/// Longest request body that is read. FCM's and Secrets Manager's limits are far below.
pub(crate) const BODY_MAX_BYTES: usize = 1_048_576;

/// A JSON answer.
pub(crate) fn json(status: StatusCode, body: &Value) -> Response {
    typed(status, "application/json; charset=UTF-8", body.to_string())
}

/// An answer of the AWS JSON 1.1 protocol.
pub(crate) fn aws(status: StatusCode, body: &Value) -> Response {
    typed(status, "application/x-amz-json-1.1", body.to_string())
}

pub(crate) fn typed(status: StatusCode, content_type: &'static str, body: String) -> Response {
    let mut response = (status, Body::from(body)).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// `Retry-After` as an HTTP date, so many seconds from `now_ms` (rounded up: a date has no fractions).
pub(crate) fn with_date(mut response: Response, now_ms: u64, seconds: Option<u64>) -> Response {
    if let Some(seconds) = seconds {
        let at = UNIX_EPOCH + Duration::from_secs(now_ms.div_ceil(1_000).saturating_add(seconds));
        if let Ok(date) = HeaderValue::from_str(&httpdate::fmt_http_date(at)) {
            response.headers_mut().insert(RETRY_AFTER, date);
        }
    }
    response
}
