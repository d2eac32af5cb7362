//! Commands about API keys.
//!
//! A key is 256 random bits behind a word that scanners for leaked secrets can look for. What is stored is its SHA-256;
//! the id by which people name it is the beginning of that.

use crate::{
    answer::Answer,
    args::{Keys, OneKey},
    failure::{Failure, said},
    place::Place,
    projects::existing,
    table::table,
};
use data_encoding::{BASE32_NOPAD, HEXLOWER};
use platform::{Random, rfc3339_ms};
use sendonce_http::{READ_SCOPES, SCOPES};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::{ApiKey, ListedApiKey, RevokeOutcome, SeedOutcome, Store};

/// What every API key begins with.
const KEY_PREFIX: &str = "sendonce_";
/// What every id of an API key begins with.
const ID_PREFIX: &str = "key_";
/// Hexadecimal digits of the hash in an id: 64 bits tell the keys of a project apart.
const ID_DIGITS: usize = 16;
/// Longest name of an actor.
const NAME_MAX: usize = 128;

pub(crate) async fn run(place: &Place, command: Keys) -> Result<Answer, Failure> {
    let store = place.store().await?;
    match command {
        Keys::Create { project, name, scopes, all_scopes, read_only } => {
            let scopes = if all_scopes {
                SCOPES.iter().map(ToString::to_string).collect()
            } else if read_only {
                READ_SCOPES.iter().map(ToString::to_string).collect()
            } else {
                checked_scopes(scopes)?
            };
            check_actor(&name)?;
            existing(place, &store, &project).await?;
            let key = ApiKey { project, name, scopes, revoked_at_ms: None };
            let made = make(place, &store, &key).await?;
            let text = format!("{}\nIts id is {}. {ONCE}", made.secret, made.id);
            Ok(Answer::new(created(&made, &key), text))
        }
        Keys::List { project } => list(place, &store, &project).await,
        Keys::Rotate { key, overlap_hours } => rotate(place, &store, &key, overlap_hours).await,
        Keys::Revoke(key) => {
            let (hash, _) = find(place, &store, &key).await?;
            let (at_ms, earlier) = revoke(place, &store, &hash, place.clock.now_ms()).await?;
            let at = rfc3339_ms(at_ms);
            let text = if earlier {
                format!("{} was revoked before: since {at}.", key.id)
            } else {
                format!(
                    "Revoked {}. It opens nothing anywhere within {} s.",
                    key.id,
                    place.timing.key_cache.div_ceil(1_000)
                )
            };
            Ok(Answer::new(json!({"id": key.id, "revoked_at": at, "already_revoked": earlier}), text))
        }
    }
}

const ONCE: &str = "Keep the key: it is not stored and cannot be shown again.";

/// A key that was just made.
struct Made {
    secret: String,
    id: String,
}

fn created(made: &Made, key: &ApiKey) -> Value {
    json!({"api_key": made.secret, "id": made.id, "project": key.project, "name": key.name, "scopes": key.scopes})
}

fn id_of(hash: &[u8; 32]) -> String {
    format!("{ID_PREFIX}{}", &HEXLOWER.encode(hash)[..ID_DIGITS])
}

async fn make(place: &Place, store: &Store, key: &ApiKey) -> Result<Made, Failure> {
    let secret = format!("{KEY_PREFIX}{}", BASE32_NOPAD.encode(&Random::system().bytes::<32>()?).to_ascii_lowercase());
    let hash: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
    let id = id_of(&hash);
    match store.create_api_key(&hash, key, Some(place.clock.now_ms())).await {
        // 256 random bits that are there already are this command's: the SDK repeated a write whose answer was lost.
        SeedOutcome::Stored | SeedOutcome::AlreadyThere => Ok(Made { secret, id }),
        SeedOutcome::Unknown(error) => {
            let failure = place.failed(error);
            Err(said(format!(
                "{failure}. Nobody knows whether a key was stored; nobody knows the key either. `sendonce keys list` \
                 shows it as {id} if it was, and it may be revoked."
            )))
        }
    }
}

async fn list(place: &Place, store: &Store, project: &str) -> Result<Answer, Failure> {
    existing(place, store, project).await?;
    let keys = store.api_keys(project, "").await.map_err(|error| place.failed(error))?;
    let now_ms = place.clock.now_ms();
    let rows: Vec<_> = keys
        .iter()
        .map(|listed| {
            let created = listed.created_at_ms.map_or_else(|| "-".to_owned(), rfc3339_ms);
            let (name, scopes) = match &listed.key {
                Some(key) => (key.name.clone(), key.scopes.join(" ")),
                None => ("-".to_owned(), "-".to_owned()),
            };
            [id_of(&listed.hash), name, state(listed, now_ms), created, scopes]
        })
        .collect();
    let text = if rows.is_empty() {
        format!("{project} has no API key.")
    } else {
        table(["ID", "NAME", "STATE", "CREATED", "SCOPES"], &rows)
    };
    let value = keys.iter().map(|listed| {
        let key = listed.key.as_ref();
        json!({
            "id": id_of(&listed.hash),
            "name": key.map(|key| &key.name),
            "scopes": key.map(|key| &key.scopes),
            "created_at": listed.created_at_ms.map(rfc3339_ms),
            "revoked_at": key.and_then(|key| key.revoked_at_ms).map(rfc3339_ms),
            "valid": key.is_some_and(|key| key.revoked_at_ms.is_none_or(|at_ms| now_ms < at_ms)),
        })
    });
    Ok(Answer::new(json!({"project": project, "keys": value.collect::<Vec<_>>()}), text))
}

fn state(listed: &ListedApiKey, now_ms: u64) -> String {
    match listed.key.as_ref().map(|key| key.revoked_at_ms) {
        None => "never finished".to_owned(),
        Some(None) => "valid".to_owned(),
        Some(Some(at_ms)) if now_ms < at_ms => format!("valid until {}", rfc3339_ms(at_ms)),
        Some(Some(at_ms)) => format!("revoked {}", rfc3339_ms(at_ms)),
    }
}

/// The key of an id.
async fn find(place: &Place, store: &Store, key: &OneKey) -> Result<([u8; 32], ApiKey), Failure> {
    let digits = key.id.strip_prefix(ID_PREFIX).filter(|digits| {
        digits.len() == ID_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    });
    let digits = digits.ok_or_else(|| {
        said(format!("an id of an API key is {ID_PREFIX} and {ID_DIGITS} hexadecimal digits, as `keys list` shows it"))
    })?;
    existing(place, store, &key.project).await?;
    let mut found = store.api_keys(&key.project, digits).await.map_err(|error| place.failed(error))?.into_iter();
    match (found.next(), found.next()) {
        (Some(ListedApiKey { hash, key: Some(key), .. }), None) => Ok((hash, key)),
        (Some(_), Some(_)) => Err(said(format!("more than one API key of {} has the id {}", key.project, key.id))),
        _ => Err(said(format!("the project {} has no API key {}", key.project, key.id))),
    }
}

async fn rotate(place: &Place, store: &Store, key: &OneKey, overlap_hours: u64) -> Result<Answer, Failure> {
    let (hash, old) = find(place, store, key).await?;
    let now_ms = place.clock.now_ms();
    if let Some(at_ms) = old.revoked_at_ms {
        let at = rfc3339_ms(at_ms);
        return Err(said(format!(
            "{} is revoked since {at}, or will be then: it has a successor, or should have none. Create a key instead.",
            key.id
        )));
    }
    let successor = ApiKey { revoked_at_ms: None, ..old };
    let made = make(place, store, &successor).await?;
    // The new key is shown whatever comes of ending the old one: it is valid and nobody could ever see it again.
    let ended = revoke(place, store, &hash, now_ms.saturating_add(overlap_hours.saturating_mul(3_600_000))).await;
    let mut value = created(&made, &successor);
    value["replaces"] = json!(key.id);
    let shown = format!("{}\nIts id is {}. {ONCE}", made.secret, made.id);
    match ended {
        Ok((at_ms, _)) => {
            let at = rfc3339_ms(at_ms);
            value["old_revoked_at"] = json!(at);
            Ok(Answer::new(value, format!("{shown}\nThe old one, {}, works until {at}.", key.id)))
        }
        Err(failure) => {
            value["old_revoked_at"] = Value::Null;
            let text = format!("{shown}\nThe old one, {}, still works: {failure}. Revoke it.", key.id);
            Ok(Answer::new(value, text).exit(crate::EXIT_FOUND))
        }
    }
}

/// From when on the key is revoked, and whether it was before.
async fn revoke(place: &Place, store: &Store, hash: &[u8; 32], at_ms: u64) -> Result<(u64, bool), Failure> {
    match store.revoke_api_key(hash, at_ms).await {
        RevokeOutcome::Revoked => Ok((at_ms, false)),
        RevokeOutcome::AlreadyRevoked { at_ms } => Ok((at_ms, true)),
        RevokeOutcome::NoSuchKey => Err(said("there is no such API key any more")),
        RevokeOutcome::Unknown(error) => Err(place.failed(error)),
    }
}

fn checked_scopes(scopes: Vec<String>) -> Result<Vec<String>, Failure> {
    for (index, scope) in scopes.iter().enumerate() {
        if !SCOPES.contains(&scope.as_str()) {
            return Err(said(format!("there is no scope {scope}; there are {}", SCOPES.join(", "))));
        }
        if scopes[..index].contains(scope) {
            return Err(said(format!("the scope {scope} is named twice")));
        }
    }
    Ok(scopes)
}

/// A refund's trail says by one word who did what: the name of a key, `payout` for the function that pays, or the
/// provider's id of an event. A key must not look like the others.
fn check_actor(name: &str) -> Result<(), Failure> {
    if name == "payout" || name.starts_with("evt_") {
        return Err(said(format!("--name {name} would look like no person's in a refund's trail; choose another one")));
    }
    if name.trim().is_empty() || name.len() > NAME_MAX || name.chars().any(char::is_control) {
        return Err(said(format!("--name has 1 to {NAME_MAX} bytes and no control characters")));
    }
    Ok(())
}
