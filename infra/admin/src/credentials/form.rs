//! Whether a text can be a provider's credentials, before it takes the place of those that work.
//!
//! Stricter than the provider's own reader, which must go on reading whatever was stored before: here a person has just
//! typed it, and a member that nobody reads is one that they meant otherwise. A fault names the member and the rule, never
//! the value.

use crate::args::ProviderName;
use push::Provider;
use sendonce_http::strict;
use serde_json::Value;

/// The members of Apple's credentials, in our own form.
const APNS: [&str; 6] = ["key", "key_id", "team_id", "environment", "apps", "base_url"];
/// The members of Stripe's.
const STRIPE: [&str; 2] = ["api_key", "webhook_secrets"];
/// Longest name of a member that a fault names. Ours: twice the longest that there is, and shorter than a key.
const NAME_MAX: usize = 30;
/// The member of Google's key file that is ours, and what it begins with. Its others are Google's own, who may add some.
const FCM: (&str, &str) = ("fcm_base_url", "fcm");
/// Characters of Apple's ids ("Establishing a token-based connection to APNs").
const APPLE_ID: usize = 10;
/// What Stripe's keys begin with that may pay: secret and restricted ones (<https://docs.stripe.com/keys>).
const STRIPE_KEYS: [&str; 2] = ["sk_", "rk_"];
/// What the secret of a webhook endpoint begins with (<https://docs.stripe.com/webhooks>).
const WEBHOOK_SECRETS: &str = "whsec_";

/// Why these cannot be credentials, if they cannot.
pub(super) fn fault(provider: ProviderName, text: &str) -> Option<String> {
    let unreadable = match provider {
        ProviderName::Apns => push::malformed(Provider::Apns, text),
        ProviderName::Fcm => push::malformed(Provider::Fcm, text),
        ProviderName::Stripe => payments::malformed(text),
    };
    // Of two members with one name a reader takes one in silence.
    let ambiguous = || strict::read(text.as_bytes()).err().map(|refused| place(&refused.pointer, &refused.detail));
    unreadable.or_else(ambiguous).or_else(|| typed(provider, &serde_json::from_str(text).unwrap_or_default()))
}

fn place(pointer: &str, detail: &str) -> String {
    format!("member {}: {detail}", pointer.trim_start_matches('/'))
}

fn typed(provider: ProviderName, secret: &Value) -> Option<String> {
    let text = |name: &str| secret[name].as_str().unwrap_or_default();
    match provider {
        ProviderName::Apns => unknown(secret, &APNS).or_else(|| {
            let is_id = |text: &str| {
                text.len() == APPLE_ID && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            };
            let bad = ["key_id", "team_id"].into_iter().find(|name| !is_id(text(name)))?;
            Some(format!("member {bad} must be {APPLE_ID} capital letters and digits, as Apple's portal shows it"))
        }),
        ProviderName::Fcm => {
            let (ours, beginning) = FCM;
            let wrong = names(secret).find(|name| name.starts_with(beginning) && *name != ours)?;
            let wrong = shown(wrong);
            Some(format!("there is no member {wrong}; an address of FCM's other than the usual one is {ours}"))
        }
        ProviderName::Stripe => unknown(secret, &STRIPE).or_else(|| {
            if !STRIPE_KEYS.iter().any(|beginning| text("api_key").starts_with(beginning)) {
                return Some("member api_key must be a secret key (sk_…) or a restricted one (rk_…)".to_owned());
            }
            let secrets = secret["webhook_secrets"].as_array().into_iter().flatten();
            let signs = |one: &Value| one.as_str().is_some_and(|text| text.starts_with(WEBHOOK_SECRETS));
            let bad = secrets.into_iter().any(|one| !signs(one));
            bad.then(|| format!("member webhook_secrets must list an endpoint's signing secrets ({WEBHOOK_SECRETS}…)"))
        }),
    }
}

fn names(secret: &Value) -> impl Iterator<Item = &str> {
    secret.as_object().into_iter().flatten().map(|(name, _)| name.as_str())
}

/// A member's name, where it can be no value that stands in the wrong place.
fn shown(name: &str) -> &str {
    let is_word = name.len() <= NAME_MAX && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_word { name } else { "of that name" }
}

fn unknown(secret: &Value, known: &[&str]) -> Option<String> {
    let wrong = shown(names(secret).find(|name| !known.contains(name))?);
    Some(format!("there is no member {wrong}; there are {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stripe(text: &str) -> Option<String> {
        fault(ProviderName::Stripe, text)
    }

    #[test]
    fn what_stripe_s_keys_cannot_be_is_named_without_its_value() {
        for good in [
            json!({"api_key": "sk_test_1"}),
            json!({"api_key": "rk_live_1", "webhook_secrets": ["whsec_1", "whsec_2"]}),
            json!({"api_key": "sk_live_1", "webhook_secrets": null}),
        ] {
            assert_eq!(stripe(&good.to_string()), None, "{good}");
        }
        for (bad, why) in [
            (r#"{"api_key":"sk_s3cret","webhook_secret":["whsec_s3cret"]}"#, "there is no member webhook_secret;"),
            (r#"{"api_key":"whsec_s3cret","webhook_secrets":["whsec_1"]}"#, "member api_key must be a secret key"),
            (r#"{"api_key":"sk_1","whsec_s3cret":1}"#, "there is no member of that name; there are"),
            (r#"{"api_key":"pk_live_s3cret"}"#, "member api_key must be a secret key"),
            (r#"{"api_key":"sk_1","webhook_secrets":["whsec_1","sk_s3cret"]}"#, "member webhook_secrets must list"),
            (r#"{"api_key":"sk_s3cret","api_key":"sk_2"}"#, "member api_key: "),
            (r#"{"api_key":"sk_1","webhook_secrets":[{"a":1,"a":"s3cret"}]}"#, "member webhook_secrets"),
        ] {
            let fault = stripe(bad).unwrap();
            assert!(fault.contains(why) && !fault.contains("s3cret"), "{bad}: {fault}");
        }
    }

    #[test]
    fn what_apple_s_and_google_s_cannot_be_is_named() {
        let apple = json!({"key_id": "ABC123DEFG", "team_id": "DEF123GHIJ", "apps": [], "environment": "sandbox"});
        assert_eq!(typed(ProviderName::Apns, &apple), None);
        for (name, bad, why) in [
            ("key_id", "short", "member key_id must be 10 capital letters"),
            ("team_id", "def123ghij", "member team_id must be 10 capital letters"),
            ("keyid", "ABC123DEFG", "there is no member keyid; there are key, key_id,"),
        ] {
            let mut other = apple.clone();
            other[name] = json!(bad);
            assert!(typed(ProviderName::Apns, &other).unwrap().starts_with(why), "{other}");
        }
        let google = json!({"type": "service_account", "universe_domain": "googleapis.com", "later": 1});
        assert_eq!(typed(ProviderName::Fcm, &google), None);
        let typo = json!({"fcm_baseurl": "https://fcm.googleapis.com"});
        assert!(typed(ProviderName::Fcm, &typo).unwrap().starts_with("there is no member fcm_baseurl"));
    }
}
