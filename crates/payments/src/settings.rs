//! What whoever makes a [`crate::Payments`] decides.

use outbound::{
    credentials::{SECRET_NAME, secret_name},
    members,
};
use platform::{Address, EnvReader};

/// Where Stripe is.
pub const STRIPE_URL: &str = "https://api.stripe.com";

/// Settings of this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentsSettings {
    /// The name of a secret, with `{project}` and `{provider}` ("stripe") in the places of theirs.
    pub secret_name: String,
    /// Where the provider's API is: Stripe's address, or a stand-in's on this machine. All calls of a payout must go to the
    /// same one, since the idempotency keys are there.
    pub base_url: String,
}

impl Default for PaymentsSettings {
    fn default() -> Self {
        Self { secret_name: SECRET_NAME.to_owned(), base_url: STRIPE_URL.to_owned() }
    }
}

impl PaymentsSettings {
    /// Reads `SECRET_NAME` and `STRIPE_URL`, which both have defaults.
    pub fn read(env: &mut EnvReader<'_>) -> Self {
        let allowed = "an https URL (http only to this machine) without user, query or fragment";
        let base_url = env.or("STRIPE_URL", Self::default().base_url, allowed, |url: &String| Self::is_base_url(url));
        Self { secret_name: secret_name(env), base_url }
    }

    /// Whether a text is a base URL that API keys may be sent to, and that paths can be put behind.
    #[must_use]
    pub fn is_base_url(text: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._~/-".contains(&byte);
        let path = Address::of(text).is_some_and(|address| address.rest.bytes().all(plain));
        path && members::url("base_url", text).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_keys_go_to_https_or_this_machine() {
        for good in [STRIPE_URL, "https://stripe.example/", "http://127.0.0.1:8090"] {
            assert!(PaymentsSettings::is_base_url(good), "{good}");
        }
        for bad in [
            "http://api.stripe.com",
            "ftp://127.0.0.1",
            "api.stripe.com",
            "",
            "https://stripe.example:99999",
            "https://stripe.example?k=v",
            "https://stripe.example/#f",
            "https://user:word@stripe.example",
            "https://...",
            "https://stripe.example/a b",
        ] {
            assert!(!PaymentsSettings::is_base_url(bad), "{bad}");
        }
    }
}
