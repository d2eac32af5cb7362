//! Reading the members of a stored credential: each fault names the member and the rule, never the value.
//!
//! Used by each provider's `key`.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::Uri;
use platform::Address;
use serde_json::{Map, Value};

/// Longest word of a credential; an address of mail has at most as many (RFC 5321, as RFC 3696's erratum 1690 counts).
const WORD_MAX: usize = 254;

/// A credential's JSON object.
pub type Members = Map<String, Value>;

/// What is wrong with a stored credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// JSON, and no object.
    #[error("it is not a JSON object")]
    NotAnObject,
    /// Nothing, or white space.
    #[error("it is not a JSON object: it is empty")]
    Empty,
    /// Text in an editor's own form.
    #[error("it is not a JSON object: it begins with a byte order mark; save it as UTF-8 without one")]
    ByteOrderMark,
    /// Text of another kind.
    #[error("it is not a JSON object: it is not JSON at all")]
    NotJson,
    /// A member is missing.
    #[error("member {0} is missing")]
    Missing(&'static str),
    /// A member is no text.
    #[error("member {0} must be a text that is not empty")]
    NotText(&'static str),
    /// A member is no address that credentials may go to.
    #[error("member {0} must be an https URL (http only to this machine) without user, password and fragment")]
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
    if text.starts_with('\u{feff}') {
        return Err(KeyFault::ByteOrderMark);
    }
    if text.trim().is_empty() {
        return Err(KeyFault::Empty);
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(KeyFault::NotAnObject),
        Err(_) => Err(KeyFault::NotJson),
    }
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

/// A text that must be there, one word of printable ASCII and no longer than any of its kind: it goes into headers, tokens
/// and paths.
///
/// # Errors
/// When it is something else.
pub fn word<'a>(members: &'a Members, name: &'static str) -> Result<&'a str, KeyFault> {
    optional_word(members, name)?.ok_or(KeyFault::Missing(name))
}

/// The same of a text that may be absent or `null`.
///
/// # Errors
/// When it is something else.
pub fn optional_word<'a>(members: &'a Members, name: &'static str) -> Result<Option<&'a str>, KeyFault> {
    match optional(members, name)? {
        Some(text) if text.len() > WORD_MAX || !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err(KeyFault::Rule(name, "must be one word of at most 254 printable ASCII characters"))
        }
        text => Ok(text),
    }
}

/// Tokens go to these addresses, so they are encrypted unless they stay on this machine. Without slashes at the end.
///
/// # Errors
/// When it is no such address.
pub fn url<'a>(name: &'static str, text: &'a str) -> Result<&'a str, KeyFault> {
    let address = Address::of(text).ok_or(KeyFault::Url(name))?;
    // What no request can carry.
    let _: Uri = text.parse().map_err(|_| KeyFault::Url(name))?;
    let safe = address.scheme == "https" || (address.scheme == "http" && address.is_this_machine());
    // A fragment would be dropped in silence.
    if safe && !address.rest.contains('#') { Ok(text.trim_end_matches('/')) } else { Err(KeyFault::Url(name)) }
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
        for bad in [
            "http://a.example",
            "ftp://a.example",
            "a.example",
            "",
            "https://user:word@a.example",
            "https://user@a.example",
            "https://a.example:99999",
            "https://a.example/#f",
            "https://...",
        ] {
            assert_eq!(base_url("base_url", bad), Err(KeyFault::Url("base_url")), "{bad}");
            assert_eq!(url("token_uri", bad), Err(KeyFault::Url("token_uri")), "{bad}");
        }
    }

    #[test]
    fn what_is_no_object_is_told_apart() {
        for (text, fault) in [
            ("", KeyFault::Empty),
            (" \n", KeyFault::Empty),
            ("\u{feff}{}", KeyFault::ByteOrderMark),
            ("word", KeyFault::NotJson),
            ("{\"a\": 1", KeyFault::NotJson),
            ("[]", KeyFault::NotAnObject),
            ("\"a\"", KeyFault::NotAnObject),
        ] {
            assert_eq!(members(text), Err(fault), "{text:?}");
            assert!(fault.to_string().starts_with("it is not a JSON object"));
        }
        assert!(members("{}").is_ok());
    }

    #[test]
    fn a_word_is_one_and_not_without_end() {
        let with = |text: &str| members(&serde_json::json!({"w": text}).to_string()).unwrap();
        assert_eq!(word(&with("push@acme.example"), "w"), Ok("push@acme.example"));
        assert_eq!(word(&with(&"a".repeat(254)), "w").map(str::len), Ok(254));
        for bad in ["a b", "a\nb", "a\u{0}b", "\u{e4}", &"a".repeat(255)] {
            assert!(matches!(word(&with(bad), "w"), Err(KeyFault::Rule("w", _))), "{bad:?}");
        }
        assert_eq!(word(&with(""), "w"), Err(KeyFault::NotText("w")));
        assert_eq!(word(&with("a"), "x"), Err(KeyFault::Missing("x")));
    }
}
