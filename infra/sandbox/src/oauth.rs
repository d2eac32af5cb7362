//! Google's token endpoint for service accounts.
//!
//! Checks what Google checks of an assertion: grant type, form, algorithm, issuer, signature, audience, times and
//! scope. Source: Google, "Using OAuth 2.0 for server to server applications"; RFC 7523, section 3; RFC 6749, 5.2.

use crate::{Sandbox, key::SigningKey, respond::json};
use axum::{
    extract::{State, rejection::FormRejection},
    response::Response,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use std::{collections::HashMap, sync::Arc};

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const SCOPES: [&str; 2] =
    ["https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform"];
/// Longest life of an assertion, and the life of an access token, in seconds.
const HOUR: u64 = 3_600;
/// How far an assertion's `iat` may be ahead of our clock, in seconds.
const SKEW: u64 = 60;
/// Access tokens that are kept; when full, those that have ended make room.
const TOKENS_MAX: usize = 10_000;

/// A service account.
#[derive(Clone)]
pub(crate) struct Account {
    pub(crate) project_id: String,
    pub(crate) key: Arc<SigningKey>,
}

/// Access tokens handed out.
#[derive(Default)]
pub(crate) struct Tokens {
    by_value: HashMap<String, Granted>,
    issued: u64,
}

struct Granted {
    project_id: String,
    ends_ms: u64,
}

impl Tokens {
    fn issue(&mut self, value: String, project_id: String, now_ms: u64) {
        if self.by_value.len() >= TOKENS_MAX {
            self.by_value.retain(|_, granted| now_ms < granted.ends_ms);
        }
        if self.by_value.len() >= TOKENS_MAX {
            self.by_value.clear();
        }
        self.issued += 1;
        self.by_value.insert(value, Granted { project_id, ends_ms: now_ms + HOUR * 1_000 });
    }

    /// The project that a token is good for at this time.
    pub(crate) fn project_of(&self, value: &str, now_ms: u64) -> Option<&str> {
        self.by_value.get(value).filter(|granted| now_ms < granted.ends_ms).map(|granted| granted.project_id.as_str())
    }

    pub(crate) fn issued(&self) -> u64 {
        self.issued
    }
}

#[derive(Deserialize)]
pub(crate) struct Form {
    #[serde(default)]
    grant_type: String,
    #[serde(default)]
    assertion: String,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    scope: String,
    aud: String,
    iat: u64,
    exp: u64,
}

struct Refused(&'static str, &'static str);

pub(crate) async fn handle(State(sandbox): State<Sandbox>, form: Result<axum::Form<Form>, FormRejection>) -> Response {
    let form = form.map_err(|_| Refused("invalid_request", "The body is not a form."));
    match form.and_then(|axum::Form(form)| grant(&sandbox, &form)) {
        Ok(token) => {
            let body = json!({"access_token": token, "expires_in": HOUR, "token_type": "Bearer"});
            json(StatusCode::OK, &body)
        }
        Err(Refused(error, why)) => json(StatusCode::BAD_REQUEST, &json!({"error": error, "error_description": why})),
    }
}

fn grant(sandbox: &Sandbox, form: &Form) -> Result<String, Refused> {
    if form.grant_type != GRANT_TYPE {
        return Err(Refused("unsupported_grant_type", "Invalid grant_type"));
    }
    let malformed = Refused("invalid_grant", "Invalid JWT: it has not the form of one.");
    let (signed, signature) = form.assertion.rsplit_once('.').ok_or(malformed)?;
    let (header, claims) = signed.split_once('.').ok_or(Refused("invalid_grant", "Invalid JWT: two parts."))?;
    let header: Header = part(header).ok_or(Refused("invalid_grant", "Invalid JWT: its header cannot be read."))?;
    let claims: Claims = part(claims).ok_or(Refused("invalid_grant", "Invalid JWT: its claims cannot be read."))?;
    if header.alg != "RS256" {
        return Err(Refused("invalid_grant", "Invalid JWT: alg must be RS256."));
    }
    let shared = &sandbox.shared;
    let account = sandbox.state().accounts.get(&claims.iss).cloned();
    let Account { project_id, key } = account.ok_or(Refused("invalid_grant", "Invalid grant: account not found"))?;
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap_or_default();
    if !key.signed(signed.as_bytes(), &signature) {
        return Err(Refused("invalid_grant", "Invalid JWT Signature."));
    }
    if claims.aud != format!("{}/token", shared.base_url) {
        return Err(Refused("invalid_grant", "Invalid JWT: aud is not this endpoint."));
    }
    let now_ms = shared.clock.now_ms();
    let now_s = now_ms / 1_000;
    if claims.exp <= now_s || claims.iat > now_s + SKEW || claims.exp > claims.iat.saturating_add(HOUR) {
        let why = "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. \
                   Check your iat and exp values in the JWT claim.";
        return Err(Refused("invalid_grant", why));
    }
    if !claims.scope.split(' ').any(|scope| SCOPES.contains(&scope)) {
        return Err(Refused("invalid_scope", "Invalid OAuth scope or ID token audience provided."));
    }
    let random = shared.random.bytes::<32>().map_err(|_| Refused("internal_failure", "No random bytes."))?;
    let token = format!("ya29.{}", URL_SAFE_NO_PAD.encode(random));
    sandbox.state().tokens.issue(token.clone(), project_id, now_ms);
    Ok(token)
}

fn part<T: for<'a> Deserialize<'a>>(text: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}
