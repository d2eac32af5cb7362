//! How answers and refusals look over HTTP.
//!
//! Used by `api` alone. A refusal has the modelled name in the body and the older protocol's code in a header, because
//! SDKs differ in which of the two they read.

use crate::SqsError;
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use data_encoding::HEXLOWER;

pub(super) fn success(request_id: &str, body: Vec<u8>) -> Response {
    respond(StatusCode::OK, request_id, body)
}

pub(super) fn refusal(request_id: &str, error: &SqsError) -> Response {
    let (status, fault) = if error.is_senders_fault() {
        (StatusCode::BAD_REQUEST, "Sender")
    } else {
        tracing::error!(%error, "request failed");
        (StatusCode::INTERNAL_SERVER_ERROR, "Receiver")
    };
    let body = serde_json::json!({ "__type": error.shape(), "message": error.to_string() });
    let mut response = respond(status, request_id, body.to_string().into_bytes());
    if let Ok(value) = HeaderValue::try_from(format!("{};{fault}", error.code())) {
        response.headers_mut().insert("x-amzn-query-error", value);
    }
    response
}

fn respond(status: StatusCode, request_id: &str, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-amz-json-1.0"));
    if let Ok(value) = HeaderValue::try_from(request_id) {
        headers.insert("x-amzn-requestid", value);
    }
    response
}

/// Random bytes in the form of a version 4 UUID, as SQS writes message and request ids.
pub(crate) fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let [a, b, c, d, e, f, g, h, tail @ ..] = bytes;
    let parts = [&[a, b, c, d][..], &[e, f], &[g, h], &tail[..2], &tail[2..]];
    parts.map(|part| HEXLOWER.encode(part)).join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        assert_eq!(uuid([0; 16]), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid([255; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
