//! Reading the members of a stored credential: each fault names the member and the rule, never the value.
//!
//! Used by each provider's `key`.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::Uri;
use serde_json::{Map, Value};

/// A credential's JSON object.
pub type Members = Map<String, Value>;

/// What is wrong with a stored credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// Not JSON, or no object.
    #[error("it is not a JSON object")]
    NotAnObject,
    /// A member is missing.
    #[error("member {0} is missing")]
    Missing(&'static str),
    /// A member is no text.
    #[error("member {0} must be a text that is not empty")]
    NotText(&'static str),
    /// A member is no address that credentials may go to.
    #[error("member {0} must be an https URL (http only to this machine)")]
    Url(&'static str),
    /// A member is an address with a path.
    #[error("member {0} must be an address without a path: https, a host and perhaps a port")]
    Path(&'static str),
    /// A private key of another kind than the one that is needed, and what it is.
    #[error("member {0} must be {1}: {2}")]
    Key(&'static str, &'static str, &'static str),
    /// Any other rule, in words.
    #[error("member {0} {1}")]
    Rule(&'static str, &'static str),
}

/// The members of a credential.
///
/// # Errors
/// When it is no JSON object.
pub fn members(text: &str) -> Result<Members, KeyFault> {
    serde_json::from_str(text).map_err(|_| KeyFault::NotAnObject)
}

/// A text that may be absent or `null`.
///
/// # Errors
/// When it is something else, or empty.
pub fn optional<'a>(members: &'a Members, name: &'static str) -> Result<Option<&'a str>, KeyFault> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
        Some(_) => Err(KeyFault::NotText(name)),
    }
}

/// A text that must be there.
///
/// # Errors
/// When it is absent, something else, or empty.
pub fn required<'a>(members: &'a Members, name: &'static str) -> Result<&'a str, KeyFault> {
    optional(members, name)?.ok_or(KeyFault::Missing(name))
}

/// Tokens go to these addresses, so they are encrypted unless they stay on this machine. Without slashes at the end.
///
/// # Errors
/// When it is no such address.
pub fn url<'a>(name: &'static str, text: &'a str) -> Result<&'a str, KeyFault> {
    let uri: Uri = text.parse().map_err(|_| KeyFault::Url(name))?;
    let local = uri.host().is_some_and(|host| ["127.0.0.1", "localhost", "[::1]"].contains(&host));
    match (uri.scheme_str(), uri.host()) {
        (Some("https"), Some(_)) => Ok(text.trim_end_matches('/')),
        (Some("http"), Some(_)) if local => Ok(text.trim_end_matches('/')),
        _ => Err(KeyFault::Url(name)),
    }
}

/// The same, of an address that paths are put behind: one with a path or a query of its own would only make every call's
/// path one that the provider does not have.
///
/// # Errors
/// When it is no such address.
pub fn base_url<'a>(name: &'static str, text: &'a str) -> Result<&'a str, KeyFault> {
    let text = url(name, text)?;
    let uri: Uri = text.parse().map_err(|_| KeyFault::Url(name))?;
    if uri.path() == "/" && uri.query().is_none() { Ok(text) } else { Err(KeyFault::Path(name)) }
}

/// The bytes of the first PEM block (RFC 7468) of PKCS#8.
#[must_use]
pub fn pkcs8(pem: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (body, _) = rest.split_once("-----END PRIVATE KEY-----")?;
    STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_paths_are_put_behind_has_none() {
        for good in ["https://a.example", "https://a.example:2197/", "http://127.0.0.1:8090", "http://[::1]:1/"] {
            assert_eq!(base_url("base_url", good), Ok(good.trim_end_matches('/')));
        }
        for bad in
            ["https://a.example/3/device", "https://a.example/v1/", "https://a.example?k=v", "https://a.example/?k"]
        {
            assert_eq!(base_url("base_url", bad), Err(KeyFault::Path("base_url")), "{bad}");
        }
        for bad in ["http://a.example", "ftp://a.example", "a.example", ""] {
            assert_eq!(base_url("base_url", bad), Err(KeyFault::Url("base_url")), "{bad}");
        }
    }
}
