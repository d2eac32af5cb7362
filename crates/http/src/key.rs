//! The idempotency key of a request: from the body, from the header, or from both if they agree.

use crate::{
    Code, Fault, Problem,
    query::NotUtf8,
    strict::{Json, Object},
};
use axum::http::HeaderMap;

/// Longest key, in bytes after decoding (article; design section 3).
pub const KEY_LEN_MAX: usize = 128;
/// The header of draft-ietf-httpapi-idempotency-key-header.
pub const HEADER: &str = "idempotency-key";
/// The body's member.
pub const MEMBER: &str = "idempotency_key";

/// The key of a request.
///
/// # Errors
/// 400 idempotency_key_missing, idempotency_key_conflict or idempotency_key_invalid.
pub fn idempotency_key(headers: &HeaderMap, body: &Object<'_>) -> Result<String, Problem> {
    let from_header = header(headers)?;
    let from_body = match body.get(MEMBER) {
        None => None,
        Some(Json::String(key)) => {
            let key = check(key).map_err(|rule| invalid(rule, true))?;
            Some(key.to_owned())
        }
        Some(_) => return Err(invalid("it must be a string", true)),
    };
    match (from_header, from_body) {
        (Some(header), Some(body)) if header != body => {
            let fault = Fault::at("/idempotency_key", "It differs from the Idempotency-Key header.");
            let detail = "The body and the Idempotency-Key header name different keys.";
            Err(Problem::at(Code::IdempotencyKeyConflict, detail, vec![fault]))
        }
        (Some(key), _) | (None, Some(key)) => Ok(key),
        (None, None) => {
            let fault = Fault::at("/idempotency_key", "Name the event, for example order-1042-shipped.");
            let detail = "Give an idempotency key, as this member or as the Idempotency-Key header.";
            Err(Problem::at(Code::IdempotencyKeyMissing, detail, vec![fault]))
        }
    }
}

/// A key given as a query parameter.
///
/// # Errors
/// 400 idempotency_key_invalid.
pub fn from_query(key: Result<String, NotUtf8>) -> Result<String, Problem> {
    let key = key.map_err(|NotUtf8| invalid("it is not percent-encoded UTF-8", false))?;
    check(&key).map_err(|rule| invalid(rule, false))?;
    Ok(key)
}

fn invalid(rule: &str, in_body: bool) -> Problem {
    let faults =
        if in_body { vec![Fault::at("/idempotency_key", format!("The key is invalid: {rule}."))] } else { vec![] };
    Problem::at(Code::IdempotencyKeyInvalid, format!("The idempotency key is invalid: {rule}."), faults)
}

fn check(key: &str) -> Result<&str, &'static str> {
    if key.is_empty() {
        Err("it is empty")
    } else if key.len() > KEY_LEN_MAX {
        Err("it is longer than 128 bytes")
    } else if key.chars().any(char::is_control) {
        Err("it holds a control character")
    } else if key.chars().all(char::is_whitespace) {
        Err("it is only white space")
    } else {
        Ok(key)
    }
}

/// The header's key. An empty header is a missing one.
fn header(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut lines = headers.get_all(HEADER).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    if lines.next().is_some() {
        // API Gateway would join them with a comma; neither form says which one is meant.
        return Err(invalid("the Idempotency-Key header is repeated", false));
    }
    let text = line.to_str().map_err(|_| invalid("the Idempotency-Key header is not ASCII", false))?;
    let text = text.trim_matches([' ', '\t']);
    if text.is_empty() {
        return Ok(None);
    }
    let key = match text.strip_prefix('"') {
        Some(quoted) => unquote(quoted).map_err(|rule| invalid(rule, false))?,
        None if text.contains([',', '"', ' ', '\t']) => {
            return Err(invalid("unquoted, it may not hold a comma, a quote or white space", false));
        }
        None => text.to_owned(),
    };
    check(&key).map_err(|rule| invalid(rule, false))?;
    Ok(Some(key))
}

/// The rest of a quoted string (RFC 8941 section 3.3.3: `\"` and `\\` are the only escapes).
fn unquote(text: &str) -> Result<String, &'static str> {
    let mut key = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' => {
                return if rest.as_str().is_empty() { Ok(key) } else { Err("text follows the closing quote") };
            }
            '\\' => match rest.next() {
                Some(escaped @ ('"' | '\\')) => key.push(escaped),
                _ => return Err(r#"only \" and \\ are escapes"#),
            },
            c => key.push(c),
        }
    }
    Err("the closing quote is missing")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strict::read;
    use axum::http::HeaderValue;
    use serde_json::{Value, json};

    fn key(header: Option<&'static str>, body: Value) -> Result<String, &'static str> {
        let mut headers = HeaderMap::new();
        if let Some(text) = header {
            headers.insert(HEADER, HeaderValue::from_static(text));
        }
        let text = body.to_string();
        idempotency_key(&headers, &read(text.as_bytes()).unwrap()).map_err(|problem| problem.code())
    }

    #[test]
    fn body_and_header_name_the_same_key_in_every_spelling() {
        for header in [r#""a\"b\\c""#, r#"  "a\"b\\c"  "#] {
            assert_eq!(key(Some(header), json!({})).unwrap(), r#"a"b\c"#);
        }
        assert_eq!(key(Some("abc"), json!({"idempotency_key": "abc"})).unwrap(), "abc");
        assert_eq!(key(Some(r#""abc""#), json!({"idempotency_key": "abc"})).unwrap(), "abc");
        assert_eq!(key(None, json!({"idempotency_key": "ключ-1"})).unwrap(), "ключ-1");
    }

    #[test]
    fn what_is_no_key_is_refused_by_its_own_code() {
        assert_eq!(key(None, json!({})), Err("idempotency_key_missing"));
        assert_eq!(key(Some(""), json!({"idempotency_key": null})), Err("idempotency_key_missing"));
        assert_eq!(key(Some("a"), json!({"idempotency_key": "b"})), Err("idempotency_key_conflict"));
        for header in ["a,b", "a b", r#""a"#, r#""a";x"#, r#""\n""#, r#"a"b"#] {
            assert_eq!(key(Some(header), json!({})), Err("idempotency_key_invalid"), "{header}");
        }
        for body in [json!(7), json!(""), json!("  "), json!("a\u{7}"), json!("é".repeat(65))] {
            assert_eq!(key(None, json!({"idempotency_key": body})), Err("idempotency_key_invalid"), "{body}");
        }
        assert!(key(None, json!({"idempotency_key": "é".repeat(64)})).is_ok());
    }
}
