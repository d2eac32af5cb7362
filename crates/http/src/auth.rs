//! Who is calling: the API key, its project and its scopes.
//!
//! Keys are looked up by their SHA-256, so the table never holds one. Answers, also "no such key", are cached for
//! `Timing::key_cache`, so a revoked key stops within that time and a flood of wrong keys costs few reads.

use crate::{Code, Problem};
use axum::http::{HeaderMap, header};
use platform::{Clock, Remembered, same_secret};
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{ApiKey, Store};

/// Longest API key that is looked at, in bytes; a longer one cannot be ours.
const KEY_LEN_MAX: usize = 256;
/// API keys remembered at once. At some 300 bytes each they stay below 3 MB.
const KEYS_MAX: usize = 10_000;

/// What was found by the hash of a key: the key, or that there is none.
type KeyCache = Remembered<[u8; 32], Option<ApiKey>>;

/// What a route asks of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Send messages.
    MessagesSend,
    /// Read messages.
    MessagesRead,
    /// Create refunds.
    RefundsCreate,
    /// Decide on refunds, and on what a payout's trouble leads to.
    RefundsDecide,
    /// Read refunds.
    RefundsRead,
}

impl Scope {
    /// The word in an API key's item.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MessagesSend => "messages:send",
            Self::MessagesRead => "messages:read",
            Self::RefundsCreate => "refunds:create",
            Self::RefundsDecide => "refunds:decide",
            Self::RefundsRead => "refunds:read",
        }
    }
}

/// An authenticated caller.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The project that everything it does belongs to.
    pub project: String,
    /// Who it is.
    pub actor: String,
}

/// Authenticates callers. One per process.
#[derive(Clone, Debug)]
pub struct Auth {
    store: Store,
    clock: Clock,
    remembered: Arc<Mutex<KeyCache>>,
}

impl Auth {
    /// Looks keys up in `store` and remembers them for `cache_ms`.
    #[must_use]
    pub fn new(store: Store, clock: Clock, cache_ms: u64) -> Self {
        Self { store, clock, remembered: Arc::new(Mutex::new(Remembered::new(KEYS_MAX, cache_ms))) }
    }

    fn remembered(&self) -> MutexGuard<'_, KeyCache> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The caller of a request, if its key is valid and has the scope.
    ///
    /// # Errors
    /// 401 without a valid key, 403 without the scope, 503 when the table does not answer.
    pub async fn caller(&self, headers: &HeaderMap, scope: Scope) -> Result<Caller, Problem> {
        let key = bearer(headers).ok_or_else(unauthorized)?;
        let hash: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        let remembered = self.remembered().get(&hash, self.clock.now_ms());
        let found = match remembered {
            Some(found) => found,
            None => {
                let found = self.store.api_key(&hash).await.map_err(|error| {
                    tracing::error!(error = %error, "an API key could not be looked up");
                    Problem::unavailable()
                })?;
                // The look-up is by hash, so its time tells nothing of the key. What came back is held to the hash once
                // more, in constant time: whatever a table answers, only the key's own item lets anybody in.
                let found = found.filter(|(_, stored)| same_secret(stored, &hash)).map(|(key, _)| key);
                self.remembered().put(hash, found.clone(), found.is_some(), self.clock.now_ms());
                found
            }
        };
        // A key that is being rotated is valid until its time comes, however long ago it was looked up.
        let now_ms = self.clock.now_ms();
        let valid = |key: &ApiKey| key.revoked_at_ms.is_none_or(|at_ms| now_ms < at_ms);
        let key = found.filter(valid).ok_or_else(unauthorized)?;
        if key.scopes.iter().any(|has| has == scope.as_str()) {
            Ok(Caller { project: key.project, actor: key.name })
        } else {
            Err(Problem::new(Code::Forbidden, format!("This API key lacks the scope {}.", scope.as_str())))
        }
    }
}

fn unauthorized() -> Problem {
    Problem::new(Code::Unauthorized, "Send a valid API key as `Authorization: Bearer <api key>`.")
}

/// The key of `Authorization: Bearer …` (RFC 6750 section 2.1; the scheme in any case, RFC 9110 section 11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut lines = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return None };
    let (scheme, key) = line.to_str().ok()?.split_once(' ')?;
    let key = key.trim_matches(' ');
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty() && key.len() <= KEY_LEN_MAX).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(lines: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::AUTHORIZATION, HeaderValue::from_static(line));
        }
        headers
    }

    #[test]
    fn one_bearer_line_is_a_key_and_nothing_else_is() {
        assert_eq!(bearer(&headers(&["Bearer abc"])), Some("abc"));
        assert_eq!(bearer(&headers(&["bearer  abc"])), Some("abc"));
        for wrong in [&[][..], &["abc"], &["Basic abc"], &["Bearer "], &["Bearer a", "Bearer a"]] {
            assert_eq!(bearer(&headers(wrong)), None, "{wrong:?}");
        }
    }
}
