//! The provider token: a JWT that all instances share through one item, because Apple allows a new one only every 20
//! minutes and refuses one that is an hour old.
//!
//! Called by the client when the token in memory has grown old. Whoever signs writes with the condition that nobody
//! else did; the loser uses the winner's. It never signs because APNs complained about too many tokens. Sources:
//! Apple, "Establishing a token-based connection to APNs"; RFC 7515, RFC 7518.

use crate::{NotPrepared, apns::key::Key};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use platform::{Clock, Random};
use serde::Deserialize;
use serde_json::json;
use std::{fmt, sync::Arc};
use store::{ProviderToken, ProviderTokenId, ProviderTokenWrite, Store, StoredProviderToken};

/// A token this old is replaced, in seconds: 40 minutes, and up to 10 more so that not all instances try at once.
const REFRESH_S: u64 = 2_400;
const REFRESH_JITTER_S: u64 = 600;
/// One that APNs refused is replaced when it is this old: Apple's shortest time between two tokens.
const REFUSED_REFRESH_S: u64 = 1_200;
/// No call is made with an older one: Apple's hour, less what an invocation may still take after it has prepared.
const USABLE_S: u64 = 3_600 - 120;
/// How far a token may come from the future: two machines' clocks differ by seconds at most (`Timing`'s skew). Apple
/// does not say how much it bears; one that comes from further ahead was signed by a clock that is wrong, and would be
/// refused.
const AHEAD_S: u64 = 60;
/// Lost writes in a row before giving up: one is a race, several are a fault.
const TRIES_MAX: u8 = 3;

/// The token that an instance knows.
#[derive(Clone)]
pub(crate) struct Known {
    jwt: Arc<str>,
    issued_s: u64,
    /// The age at which this instance looks for a newer one, in seconds.
    refresh_s: u64,
    /// APNs refused it.
    refused: bool,
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").field("issued_s", &self.issued_s).finish_non_exhaustive()
    }
}

impl Known {
    /// The token, whatever its age.
    pub(crate) fn value(&self) -> Arc<str> {
        Arc::clone(&self.jwt)
    }

    /// The token, until it is to be refreshed.
    pub(crate) fn fresh(&self, now_ms: u64) -> Option<Arc<str>> {
        let fresh = !self.refused && age_s(self.issued_s, now_ms).is_some_and(|age| age < self.refresh_s);
        fresh.then(|| Arc::clone(&self.jwt))
    }

    /// The token, as long as APNs takes it: for when no newer one can be had.
    fn usable(&self, now_ms: u64) -> bool {
        !self.refused && age_s(self.issued_s, now_ms).is_some_and(|age| age < USABLE_S)
    }

    /// APNs refused this token. Says whether it is the one at hand.
    pub(crate) fn refuse(&mut self, jwt: &str) -> bool {
        let mine = &*self.jwt == jwt;
        self.refused |= mine;
        mine
    }
}

/// `None` for one from too far in the future: some machine's clock is wrong, and APNs refuses it.
fn age_s(issued_s: u64, now_ms: u64) -> Option<u64> {
    let now_s = now_ms / 1_000;
    (issued_s <= now_s + AHEAD_S).then(|| now_s.saturating_sub(issued_s))
}

/// What it takes to get a token.
pub(crate) struct Source<'a> {
    pub(crate) store: &'a Store,
    pub(crate) clock: &'a Clock,
    pub(crate) random: &'a Random,
    pub(crate) key: &'a Key,
}

impl Source<'_> {
    /// The shared token; a new one if that has grown old. `known` is what this instance had so far.
    pub(crate) async fn fetch(&self, known: Option<Known>) -> Result<Known, NotPrepared> {
        match self.shared(known.as_ref()).await {
            Ok(token) => Ok(token),
            // The table does not answer, but APNs would still take the token.
            Err(error) => match known.filter(|known| known.usable(self.clock.now_ms())) {
                Some(known) => {
                    tracing::warn!(error = %error, "the provider token could not be refreshed; the old one is used");
                    Ok(known)
                }
                None => Err(error),
            },
        }
    }

    async fn shared(&self, known: Option<&Known>) -> Result<Known, NotPrepared> {
        let id = ProviderTokenId {
            environment: self.key.environment.as_str(),
            team: &self.key.team_id,
            key_id: &self.key.key_id,
            fingerprint: &self.key.fingerprint,
        };
        let refresh_s = REFRESH_S + REFRESH_JITTER_S * u64::from(self.random.permille()) / 1_000;
        let mut stored = self.read(id).await?;
        for _ in 0..TRIES_MAX {
            match &stored {
                StoredProviderToken::Token(token) => {
                    if let Some(issued_s) = self.good(token, known, refresh_s) {
                        return Ok(learned(&token.jwt, issued_s, refresh_s));
                    }
                }
                StoredProviderToken::Unreadable(item) => {
                    tracing::warn!(error = %item, "the shared provider token cannot be read; it is replaced");
                }
                StoredProviderToken::Absent => {}
            }
            let token = self.sign(stored.next_version())?;
            match self.store.write_provider_token(id, &token, &stored).await {
                ProviderTokenWrite::Written => return Ok(learned(&token.jwt, token.issued_s, refresh_s)),
                ProviderTokenWrite::Conflict(winner) => stored = winner,
                ProviderTokenWrite::Unknown(error) => {
                    // It may be there: what is there counts.
                    tracing::warn!(error = %error, "nobody knows whether a provider token was stored");
                    stored = self.read(id).await?;
                }
            }
        }
        Err(unavailable("others kept changing the shared provider token"))
    }

    async fn read(&self, id: ProviderTokenId<'_>) -> Result<StoredProviderToken, NotPrepared> {
        self.store.provider_token(id).await.map_err(|error| {
            tracing::error!(error = %error, "the shared provider token was not read");
            unavailable("the shared provider token could not be read")
        })
    }

    /// When it was issued, of a token that is young enough and signed by our key: credentials under the same ids may
    /// have been replaced since. The token's own claim counts, as it does for APNs, and not what is written beside it.
    fn good(&self, token: &ProviderToken, known: Option<&Known>, refresh_s: u64) -> Option<u64> {
        let refused = known.is_some_and(|known| known.refused && known.jwt == token.jwt);
        let limit_s = if refused { REFUSED_REFRESH_S } else { refresh_s };
        let issued_s = issued_s(self.key, &token.jwt)?;
        age_s(issued_s, self.clock.now_ms()).is_some_and(|age| age < limit_s).then_some(issued_s)
    }

    fn sign(&self, version: u32) -> Result<ProviderToken, NotPrepared> {
        let issued_s = self.clock.now_ms() / 1_000;
        let jwt = jwt(self.key, issued_s).ok_or_else(|| unavailable("the provider token could not be signed"))?;
        Ok(ProviderToken { jwt: jwt.into(), issued_s, version })
    }
}

fn learned(jwt: &Arc<str>, issued_s: u64, refresh_s: u64) -> Known {
    Known { jwt: Arc::clone(jwt), issued_s, refresh_s, refused: false }
}

fn unavailable(detail: &str) -> NotPrepared {
    NotPrepared::TokenUnavailable { detail: detail.to_owned() }
}

/// The signed token, as of `issued_s` seconds since the Unix epoch.
fn jwt(key: &Key, issued_s: u64) -> Option<String> {
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = part(json!({"alg": "ES256", "kid": key.key_id}));
    let claims = part(json!({"iss": key.team_id, "iat": issued_s}));
    let signed = format!("{header}.{claims}");
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes())?);
    Some(format!("{signed}.{signature}"))
}

/// What we read of the claims.
#[derive(Deserialize)]
struct Claims {
    iat: u64,
}

/// When a token was issued, in whole seconds since the Unix epoch, by its own claim; `None` of one that our key did not
/// sign.
fn issued_s(key: &Key, jwt: &str) -> Option<u64> {
    let (signed, signature) = jwt.rsplit_once('.')?;
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    if !key.signed(signed.as_bytes(), &signature) {
        return None;
    }
    let (_, claims) = signed.split_once('.')?;
    serde_json::from_slice::<Claims>(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok().map(|claims| claims.iat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apns::key::tests::secret;
    use serde_json::Value;

    #[test]
    fn the_token_is_a_signed_jwt_with_apples_members_only() {
        let key = Key::parse(&secret().to_string()).unwrap();
        let jwt = jwt(&key, 1_700_000_000).unwrap();
        assert_eq!(issued_s(&key, &jwt), Some(1_700_000_000));
        for other in [&jwt[..jwt.len() - 2], "", "a.b.c"] {
            assert_eq!(issued_s(&key, other), None);
        }
        let parts: Vec<Value> = jwt
            .split('.')
            .take(2)
            .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap())
            .collect();
        assert_eq!(parts[0], json!({"alg": "ES256", "kid": "ABC123DEFG"}));
        assert_eq!(parts[1], json!({"iss": "DEF123GHIJ", "iat": 1_700_000_000}));
    }

    #[test]
    fn a_token_is_fresh_by_its_own_age() {
        let mut known = Known { jwt: "j".into(), issued_s: 10_000, refresh_s: 2_400, refused: false };
        let ms = |after_s: u64| (10_000 + after_s) * 1_000;
        assert!(known.fresh(ms(2_399)).is_some() && known.fresh(ms(2_400)).is_none());
        assert!(known.usable(ms(3_479)) && !known.usable(ms(3_480)));
        // A clock behind the one that issued it, a little and too much.
        assert!(known.fresh(9_940_000).is_some() && known.fresh(9_939_000).is_none());
        known.refuse("other");
        assert!(known.fresh(ms(0)).is_some());
        known.refuse("j");
        assert!(known.fresh(ms(0)).is_none() && !known.usable(ms(0)));
    }
}
