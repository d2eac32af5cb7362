//! Reading a request's body: its type, its size, its syntax.

use crate::{
    Code, Fault, Problem,
    strict::{self, Object, RefusalKind},
};
use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, header},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};

/// Largest body, in bytes (design section 3; a message item stays below DynamoDB's 400 KB and a copy below SQS's
/// limit).
pub const BODY_LIMIT_BYTES: usize = 256 * 1_024;

/// Reads a JSON body's bytes.
///
/// # Errors
/// 415 for another content type or any content encoding, 413 beyond [`BODY_LIMIT_BYTES`].
pub async fn read_body(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    check_type(headers)?;
    read_raw(headers, body).await
}

/// Reads a body's bytes, whatever they are said to be: for one that is judged by its signature.
///
/// # Errors
/// 413 beyond [`BODY_LIMIT_BYTES`].
pub async fn read_raw(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|length| length > BODY_LIMIT_BYTES) {
        return Err(too_large());
    }
    // Beyond the limit the read fails; what the client sends after that is not read.
    match Limited::new(body, BODY_LIMIT_BYTES).collect().await {
        Ok(read) => Ok(read.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        // The upload broke off or was framed wrongly. Nothing of it was stored.
        Err(_) => {
            let fault = Fault::at("", "The body did not arrive whole.");
            Err(Problem::at(Code::InvalidJson, "The body could not be read.", vec![fault]))
        }
    }
}

/// Reads a body's JSON object, strictly.
///
/// # Errors
/// 400 invalid_json, duplicate_member or number_not_exact, with the place.
pub fn parse_object(body: &Bytes) -> Result<Object<'_>, Problem> {
    strict::read(body).map_err(|refusal| {
        let (code, detail) = match refusal.kind {
            RefusalKind::InvalidJson => (Code::InvalidJson, "The body is not a valid JSON object."),
            RefusalKind::DuplicateMember => (Code::DuplicateMember, "An object of the body names a member twice."),
            RefusalKind::NumberNotExact => (Code::NumberNotExact, "A number of the body would be rounded."),
        };
        Problem::at(code, detail, vec![Fault::at(refusal.pointer, refusal.detail)])
    })
}

fn too_large() -> Problem {
    Problem::new(Code::BodyTooLarge, format!("The body is larger than {BODY_LIMIT_BYTES} bytes."))
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Problem::new(Code::UnsupportedMediaType, "Send the body as it is, without Content-Encoding."));
    }
    let mut lines = headers.get_all(header::CONTENT_TYPE).iter();
    // Two lines say two things; API Gateway would join them, and neither may be picked.
    let only = lines.next().filter(|_| lines.next().is_none());
    let json = only.and_then(|value| value.to_str().ok()).is_some_and(is_json);
    if json {
        Ok(())
    } else {
        Err(Problem::new(Code::UnsupportedMediaType, "Send the body as `Content-Type: application/json`, in UTF-8."))
    }
}

/// `application/json`, in any case, with no charset other than utf-8 (RFC 9110 section 8.3.1).
fn is_json(content_type: &str) -> bool {
    let mut parts = split_outside_quotes(content_type).into_iter().map(str::trim);
    let json = parts.next().is_some_and(|media| media.eq_ignore_ascii_case("application/json"));
    json && parts.filter(|parameter| !parameter.is_empty()).all(|parameter| match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        Some(_) => true,
        None => false,
    })
}

/// The parts between semicolons; a semicolon in a quoted string is text.
fn split_outside_quotes(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ';' if !quoted => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

#[cfg(test)]
mod tests {
    use super::is_json;

    #[test]
    fn json_in_utf_8_is_the_only_type() {
        for yes in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/json;charset=\"utf-8\"",
            "application/json; x=\"a;charset=latin1\"",
            "application/json;",
        ] {
            assert!(is_json(yes), "{yes}");
        }
        for no in [
            "",
            "text/json",
            "application/json; charset=latin1",
            "application/problem+json",
            "application/json; charset",
            "application/json, text/plain",
        ] {
            assert!(!is_json(no), "{no}");
        }
    }
}
