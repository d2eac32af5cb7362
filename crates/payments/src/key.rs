//! A project's payment credentials as they are stored in its secret:
//! `{"api_key": "sk_…", "webhook_secrets"?: ["whsec_…", …]}`.
//!
//! Read by the client once per [`outbound::credentials::CREDENTIALS_FRESH_MS`]. Errors name the member, never its value.
//! While a webhook secret is rolled the old and the new one are both listed (Stripe signs with each that is alive, for up
//! to 24 hours).

use outbound::members::{KeyFault, members, required};
use serde_json::Value;
use std::fmt;

/// Webhook secrets of a project at most: each is one more HMAC for every webhook that arrives.
const WEBHOOK_SECRETS_MAX: usize = 8;

/// Longest API key: Stripe's have some hundred characters and may grow (<https://docs.stripe.com/keys>), and each call
/// carries it in a header.
const API_KEY_MAX: usize = 512;

/// Usable credentials.
pub(crate) struct Key {
    /// The secret API key; restricted ones (`rk_…`) that may write refunds will do.
    pub(crate) api_key: String,
    /// Each is the whole `whsec_…` text. None: webhooks of this project are refused.
    pub(crate) webhook_secrets: Vec<String>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("webhook_secrets", &self.webhook_secrets.len()).finish_non_exhaustive()
    }
}

impl Key {
    /// Reads the text of a secret.
    pub(crate) fn parse(text: &str) -> Result<Self, KeyFault> {
        let secret = members(text)?;
        let api_key = required(&secret, "api_key")?;
        if api_key.len() > API_KEY_MAX || !api_key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(KeyFault::Rule("api_key", "must be one word of ASCII"));
        }
        let rule = KeyFault::Rule("webhook_secrets", "must be a list of 1 to 8 texts that are not empty");
        let webhook_secrets = match secret.get("webhook_secrets") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(list)) if (1..=WEBHOOK_SECRETS_MAX).contains(&list.len()) => {
                let text = |entry: &Value| entry.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
                list.iter().map(|entry| text(entry).ok_or(rule)).collect::<Result<_, _>>()?
            }
            Some(_) => return Err(rule),
        };
        Ok(Self { api_key: api_key.to_owned(), webhook_secrets })
    }
}

/// What is wrong with credentials before they are stored, without asking anybody: which member breaks which rule, and never
/// its value. `None`: they have the form that calls and webhooks need.
#[must_use]
pub fn malformed(text: &str) -> Option<String> {
    Key::parse(text).err().map(|fault| fault.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fault(secret: &Value) -> String {
        Key::parse(&secret.to_string()).unwrap_err().to_string()
    }

    #[test]
    fn a_secret_is_read_and_shows_nothing_of_itself() {
        let key = Key::parse(r#"{"api_key":"sk_test_1","webhook_secrets":["whsec_old","whsec_new"]}"#).unwrap();
        assert_eq!((key.api_key.as_str(), key.webhook_secrets.len()), ("sk_test_1", 2));
        assert_eq!(format!("{key:?}"), "Key { webhook_secrets: 2, .. }");
        assert!(Key::parse(r#"{"api_key":"sk_test_1"}"#).unwrap().webhook_secrets.is_empty());
    }

    #[test]
    fn a_fault_names_the_member_and_not_its_value() {
        assert_eq!(fault(&json!({})), "member api_key is missing");
        assert_eq!(fault(&json!({"api_key": "sk s3cret"})), "member api_key must be one word of ASCII");
        let nine = vec!["s3cret"; 9];
        for secrets in [json!("s3cret"), json!([]), json!([""]), json!(["s3cret", 7]), json!(nine)] {
            let wrong = fault(&json!({"api_key": "sk_1", "webhook_secrets": secrets}));
            assert!(wrong.starts_with("member webhook_secrets must be") && !wrong.contains("s3cret"), "{wrong}");
        }
        assert_eq!(Key::parse("s3cret").unwrap_err(), KeyFault::NotJson);
        assert_eq!(malformed("{}").as_deref(), Some("member api_key is missing"));
        assert_eq!(malformed(r#"{"api_key":"sk_test_1"}"#), None);
    }
}
