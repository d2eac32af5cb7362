//! Reading the members of a stored credential: each fault names the member and the rule, never the value.
//!
//! Used by each provider's `key`.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::Uri;
use serde_json::{Map, Value};

/// A credential's JSON object.
pub(crate) type Members = Map<String, Value>;

/// What is wrong with a stored credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyFault {
    #[error("it is not a JSON object")]
    NotAnObject,
    #[error("member {0} is missing")]
    Missing(&'static str),
    #[error("member {0} must be a text that is not empty")]
    NotText(&'static str),
    #[error("member {0} must be an https URL (http only to this machine)")]
    Url(&'static str),
    /// Any other rule, in words.
    #[error("member {0} {1}")]
    Rule(&'static str, &'static str),
}

pub(crate) fn members(text: &str) -> Result<Members, KeyFault> {
    serde_json::from_str(text).map_err(|_| KeyFault::NotAnObject)
}

pub(crate) fn optional<'a>(members: &'a Members, name: &'static str) -> Result<Option<&'a str>, KeyFault> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
        Some(_) => Err(KeyFault::NotText(name)),
    }
}

pub(crate) fn required<'a>(members: &'a Members, name: &'static str) -> Result<&'a str, KeyFault> {
    optional(members, name)?.ok_or(KeyFault::Missing(name))
}

/// Tokens go to these addresses, so they are encrypted unless they stay on this machine. Without slashes at the end.
pub(crate) fn url<'a>(name: &'static str, text: &'a str) -> Result<&'a str, KeyFault> {
    let uri: Uri = text.parse().map_err(|_| KeyFault::Url(name))?;
    let local = uri.host().is_some_and(|host| ["127.0.0.1", "localhost", "[::1]"].contains(&host));
    match (uri.scheme_str(), uri.host()) {
        (Some("https"), Some(_)) => Ok(text.trim_end_matches('/')),
        (Some("http"), Some(_)) if local => Ok(text.trim_end_matches('/')),
        _ => Err(KeyFault::Url(name)),
    }
}

/// The bytes of the first PEM block (RFC 7468) of PKCS#8.
pub(crate) fn pkcs8(pem: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (body, _) = rest.split_once("-----END PRIVATE KEY-----")?;
    STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
}
