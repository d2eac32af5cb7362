//! From the bytes and headers of a send to its key and its typed request: pure, so that it can be attacked with random
//! input without a server.

use crate::{key, validate};
use axum::{body::Bytes, http::HeaderMap};
use protocol::content::SendRequest;
use sendonce_http::{Problem, parse_object};

/// Reads a send whose content type and size are already accepted.
///
/// # Errors
/// In this order: syntax, unknown members, the key, validation. Nothing was stored.
pub fn read_send(headers: &HeaderMap, body: &Bytes) -> Result<(String, SendRequest), Problem> {
    let body = parse_object(body)?;
    validate::known(&body)?;
    let key = key::idempotency_key(headers, &body)?;
    let request = validate::send_request(&body)?;
    Ok((key, request))
}
