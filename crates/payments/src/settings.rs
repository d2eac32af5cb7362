//! What whoever makes a [`crate::Payments`] decides.

use outbound::{credentials::SECRET_NAME, members};
use platform::EnvReader;

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
        let usual = Self::default();
        let allowed = "a name that holds {project} and {provider}";
        let secret_name = env.or("SECRET_NAME", usual.secret_name, allowed, |name: &String| {
            name.contains("{project}") && name.contains("{provider}")
        });
        let allowed = "an https URL (http only to this machine)";
        let base_url = env.or("STRIPE_URL", usual.base_url, allowed, |url: &String| Self::is_base_url(url));
        Self { secret_name, base_url }
    }

    /// Whether a text is a base URL that API keys may be sent to.
    #[must_use]
    pub fn is_base_url(text: &str) -> bool {
        members::url("base_url", text).is_ok()
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
        for bad in ["http://api.stripe.com", "ftp://127.0.0.1", "api.stripe.com", ""] {
            assert!(!PaymentsSettings::is_base_url(bad), "{bad}");
        }
    }
}
