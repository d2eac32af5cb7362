//! Teams, and the provider tokens that they sign: what APNs checks of `authorization`.
//!
//! Sources: Apple, "Establishing a token-based connection to APNs" (members, an hour at most, a new one every 20
//! minutes at most), "Sending notification requests to APNs" (one team per connection).

use super::refusal::Refusal;
use crate::{http2::Connection, key::ProviderKey, state::State};
use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, header::AUTHORIZATION};
use serde::Deserialize;
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

/// How old a token may be, in seconds.
const AGE_MAX: u64 = 3_600;
/// How far its `iat` may be ahead of our clock, in seconds. A guess: Apple only says that clocks must agree.
const SKEW: u64 = 60;
/// How soon after a new token the next one may come, in ms.
const UPDATE_MIN_MS: u64 = 1_200_000;
/// Tokens of one key that are remembered.
const REMEMBERED: usize = 16;
/// Characters of a team's or a key's id.
const ID: usize = 10;

/// A team: its keys by id, oldest first, and its bundle ids.
#[derive(Clone)]
pub(crate) struct Team {
    pub(crate) keys: Vec<(String, Arc<ProviderKey>)>,
    pub(crate) apps: Vec<String>,
}

/// Letters and digits that are a project's own, ten for each number.
fn id(project: &str, number: usize) -> String {
    let hash = data_encoding::BASE32.encode(digest(&SHA256, format!("{project}/{number}").as_bytes()).as_ref());
    hash[..ID].to_owned()
}

/// The id of a project's team.
pub(crate) fn team_id(project: &str) -> String {
    id(project, 0)
}

/// The id of its key with this index.
pub(crate) fn key_id(project: &str, index: usize) -> String {
    id(project, index + 1)
}

/// The apps of a team that nobody gave others.
pub(crate) fn usual_apps(project: &str) -> Vec<String> {
    let word: String = project.chars().filter(char::is_ascii_alphanumeric).collect();
    vec![format!("com.example.{word}"), format!("com.example.{word}.beta")]
}

/// The tokens of each key. Apple does not say what exactly it counts; by key, so that a new key can be used at once.
#[derive(Default)]
pub(crate) struct ProviderTokens {
    by_key: HashMap<String, Updates>,
    seen: u64,
}

#[derive(Default)]
struct Updates {
    known: VecDeque<String>,
    last_ms: Option<u64>,
}

impl ProviderTokens {
    /// Different tokens that were taken.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// False if this one is new and comes too soon after the last new one.
    fn take(&mut self, key_id: &str, token: &str, now_ms: u64) -> bool {
        let updates = self.by_key.entry(key_id.to_owned()).or_default();
        if updates.known.iter().any(|known| known == token) {
            return true;
        }
        if updates.last_ms.is_some_and(|last_ms| now_ms < last_ms + UPDATE_MIN_MS) {
            return false;
        }
        updates.last_ms = Some(now_ms);
        updates.known.push_back(token.to_owned());
        if updates.known.len() > REMEMBERED {
            updates.known.pop_front();
        }
        self.seen += 1;
        true
    }
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: String,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    iat: u64,
}

/// Checks the token; gives the team's bundle ids.
pub(super) fn check(
    state: &mut State,
    connection: &Connection,
    headers: &HeaderMap,
    now_ms: u64,
) -> Result<Vec<String>, Refusal> {
    let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token)
    });
    let token = token.ok_or(Refusal::new(403, "MissingProviderToken"))?;
    let invalid = || Refusal::new(403, "InvalidProviderToken");
    let (signed, signature) = token.rsplit_once('.').ok_or_else(invalid)?;
    let (header, claims) = signed.split_once('.').ok_or_else(invalid)?;
    let header: Header = part(header).ok_or_else(invalid)?;
    let claims: Claims = part(claims).ok_or_else(invalid)?;
    let team = state.teams.get(&claims.iss).cloned().ok_or_else(invalid)?;
    let (_, key) = team.keys.iter().find(|(id, _)| *id == header.kid).ok_or_else(invalid)?;
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap_or_default();
    if header.alg != "ES256" || !key.signed(signed.as_bytes(), &signature) {
        return Err(invalid());
    }
    let now_s = now_ms / 1_000;
    if claims.iat > now_s + SKEW {
        return Err(invalid());
    }
    if now_s.saturating_sub(claims.iat) > AGE_MAX {
        return Err(Refusal::new(403, "ExpiredProviderToken"));
    }
    let (holder, holders_key) = connection.holder(&claims.iss, &header.kid);
    if holder != claims.iss {
        return Err(invalid());
    }
    if holders_key != header.kid {
        return Err(Refusal::new(403, "UnrelatedKeyIdInToken"));
    }
    if !state.provider_tokens.take(&header.kid, token, now_ms) {
        return Err(Refusal::new(429, "TooManyProviderTokenUpdates"));
    }
    connection.prove();
    Ok(team.apps)
}

fn part<T: for<'a> Deserialize<'a>>(text: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_token_every_20_minutes_and_the_old_ones_beside_it() {
        let mut tokens = ProviderTokens::default();
        assert!(tokens.take("T", "a", 0) && tokens.take("T", "a", 1));
        assert!(!tokens.take("T", "b", UPDATE_MIN_MS - 1) && tokens.take("U", "b", 1));
        assert!(tokens.take("T", "b", UPDATE_MIN_MS) && tokens.take("T", "a", UPDATE_MIN_MS));
        assert_eq!(tokens.seen(), 3);
    }

    #[test]
    fn every_project_has_a_team_and_keys_of_its_own() {
        let ids = [team_id("acme"), key_id("acme", 0), key_id("acme", 1), team_id("globex"), key_id("globex", 0)];
        assert!(ids.iter().all(|id| id.len() == ID), "{ids:?}");
        let different: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(different.len(), ids.len(), "{ids:?}");
        assert_eq!(usual_apps("acme")[0], "com.example.acme");
    }
}
