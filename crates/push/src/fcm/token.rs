//! The service-account grant: a JWT signed with the key file's key, exchanged for an access token.
//!
//! Called by the client when its cached token is about to expire. Sources: RFC 7523; Google, "Using OAuth 2.0 for
//! server to server applications"; RFC 6749, section 5, for the answers.

use crate::{
    NotPrepared,
    credentials::Held,
    fcm::key::Key,
    outcome::{provider_code, reason},
    transport::{Answered, Transport},
};
use aws_lc_rs::{rand::SystemRandom, signature::RSA_PKCS1_SHA256};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{Method, Request, StatusCode, header::CONTENT_TYPE};
use platform::Clock;
use protocol::answer::Reason;
use serde::Deserialize;
use serde_json::json;
use std::{fmt, sync::Arc, time::Duration};

/// The one permission that sending needs.
const SCOPE: &str = "https://www.googleapis.com/auth/firebase.messaging";
/// Longest life of an assertion that Google accepts, in seconds.
const ASSERTION_SECONDS: u64 = 3_600;
/// A token this close to its end is replaced: longer than any invocation lasts after it has prepared.
const REFRESH_BEFORE_MS: u64 = 120_000;

/// A bearer token.
#[derive(Clone)]
pub(crate) struct AccessToken {
    pub(crate) value: Arc<str>,
    /// From then on a new one is fetched, in milliseconds since the Unix epoch.
    pub(crate) refresh_at_ms: u64,
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessToken").field("refresh_at_ms", &self.refresh_at_ms).finish_non_exhaustive()
    }
}

/// The signed assertion (RFC 7523, section 2.1), as of `now_s` seconds since the Unix epoch.
fn assertion(key: &Key, now_s: u64) -> Result<String, NotPrepared> {
    let mut header = json!({"alg": "RS256", "typ": "JWT"});
    if let Some(id) = &key.key_id {
        header["kid"] = json!(id);
    }
    let claims = json!({
        "iss": key.client_email, "scope": SCOPE, "aud": key.token_uri, "iat": now_s, "exp": now_s + ASSERTION_SECONDS,
    });
    let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let mut jwt = format!("{}.{}", part(&header), part(&claims));
    let mut signature = vec![0; key.pair.public_modulus_len()];
    key.pair
        .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), jwt.as_bytes(), &mut signature)
        .map_err(|_| NotPrepared::TokenUnavailable { detail: "the assertion could not be signed".to_owned() })?;
    jwt.push('.');
    jwt.push_str(&URL_SAFE_NO_PAD.encode(signature));
    Ok(jwt)
}

/// One request to the key file's `token_uri`. Its age counts from before the request, so it is never overestimated.
pub(crate) async fn fetch(
    transport: &Transport,
    clock: &Clock,
    held: &Held<Key>,
    limit: Duration,
) -> Result<AccessToken, NotPrepared> {
    let asked_ms = clock.now_ms();
    let key = &held.key;
    let assertion = assertion(key, asked_ms / 1_000)?;
    // The grant type's colons escaped; base64url and dots need no escaping.
    let form = format!("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion={assertion}");
    let request = Request::builder()
        .method(Method::POST)
        .uri(&key.token_uri)
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(form.into())
        .map_err(|_| NotPrepared::TokenUnavailable { detail: "token_uri cannot be called".to_owned() })?;
    let answered = transport
        .call(request, limit)
        .await
        .map_err(|failed| NotPrepared::TokenUnavailable { detail: failed.to_string() })?;
    read(&answered, asked_ms, &assertion, &held.version)
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Refused {
    error: String,
    error_description: String,
}

/// `version` is that of the secret that the assertion was signed with.
fn read(answered: &Answered, asked_ms: u64, assertion: &str, version: &Arc<str>) -> Result<AccessToken, NotPrepared> {
    let body = answered.body.as_deref().unwrap_or_default();
    if answered.status == StatusCode::OK {
        let granted: Granted = serde_json::from_slice(body).map_err(|_| NotPrepared::TokenUnavailable {
            detail: "the token endpoint's answer has no token".to_owned(),
        })?;
        if granted.access_token.is_empty() || !granted.access_token.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(NotPrepared::TokenUnavailable { detail: "the access token is not one word".to_owned() });
        }
        let lives_ms = granted.expires_in.saturating_mul(1_000);
        // A token that lives for less than the margin serves this one preparation.
        let refresh_at_ms = asked_ms.saturating_add(lives_ms.saturating_sub(REFRESH_BEFORE_MS));
        return Ok(AccessToken { value: granted.access_token.into(), refresh_at_ms });
    }
    let refused: Refused = serde_json::from_slice(body).unwrap_or_default();
    match provider_code(&refused.error) {
        Some(code) if matches!(answered.status.as_u16(), 400 | 401 | 403) => {
            // Both are logged, and a word can be a part of the assertion as well as a sentence can quote it.
            let Reason { code, detail } = reason(code, &refused.error_description, &[assertion]);
            Err(NotPrepared::GrantRefused { code, detail, version: Arc::clone(version) })
        }
        _ => Err(NotPrepared::TokenUnavailable {
            detail: format!("the token endpoint answered {}", answered.status.as_u16()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
    use http::HeaderMap;
    use serde_json::Value;

    fn read(answered: &Answered, asked_ms: u64, assertion: &str) -> Result<AccessToken, NotPrepared> {
        super::read(answered, asked_ms, assertion, &"v1".into())
    }

    fn answer(status: u16, body: &str) -> Answered {
        let body = Some(body.to_owned().into());
        Answered { status: StatusCode::from_u16(status).unwrap(), headers: HeaderMap::new(), body }
    }

    #[test]
    fn the_assertion_is_a_signed_jwt() {
        let key = Key::parse(&crate::fcm::key::tests::file().to_string()).unwrap();
        let jwt = assertion(&key, 1_700_000_000).unwrap();
        let (signed, signature) = jwt.rsplit_once('.').unwrap();
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.pair.public_key().as_ref())
            .verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap())
            .unwrap();
        let (header, claims) = signed.split_once('.').unwrap();
        let json = |part| serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        assert_eq!(json(header), json!({"alg": "RS256", "typ": "JWT", "kid": "k1"}));
        let expected = json!({
            "iss": "push@acme-app.iam.gserviceaccount.com", "scope": SCOPE,
            "aud": "https://oauth2.googleapis.com/token", "iat": 1_700_000_000, "exp": 1_700_003_600,
        });
        assert_eq!(json(claims), expected);
    }

    #[test]
    fn a_token_is_replaced_before_it_ends() {
        let token = read(&answer(200, r#"{"access_token":"ya29.x","expires_in":3600}"#), 1_000, "").unwrap();
        assert_eq!(token.refresh_at_ms, 1_000 + 3_600_000 - REFRESH_BEFORE_MS);
        assert!(!format!("{token:?}").contains("ya29"));
        let short = read(&answer(200, r#"{"access_token":"ya29.x","expires_in":30}"#), 1_000, "").unwrap();
        assert_eq!(short.refresh_at_ms, 1_000);
    }

    #[test]
    fn refusals_are_told_from_failures() {
        let refused = read(&answer(400, r#"{"error":"invalid_grant","error_description":"Bad a.b.c."}"#), 0, "a.b.c");
        let grant_refused = |code: &str, detail: &str| NotPrepared::GrantRefused {
            code: code.to_owned(),
            detail: detail.to_owned(),
            version: "v1".into(),
        };
        assert_eq!(refused.unwrap_err(), grant_refused("invalid_grant", "Bad …."));
        // A part of the assertion that is one word, as the code.
        let word = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9";
        let quoting = json!({"error": word, "error_description": "no"}).to_string();
        let refused = read(&answer(400, &quoting), 0, &format!("{word}.e30.c2lnbmF0dXJl"));
        assert_eq!(refused.unwrap_err(), grant_refused("masked", "no"));
        let not_tokens = [
            (200, "{}"),
            (200, r#"{"access_token":"a b","expires_in":1}"#),
            (400, "<html>"),
            (429, r#"{"error":"slow_down"}"#),
            (503, r#"{"error":"backend_error"}"#),
        ];
        for (status, body) in not_tokens {
            let error = read(&answer(status, body), 0, "").unwrap_err();
            assert_eq!(error.code(), "token_unavailable", "{status} {body}");
        }
    }
}
