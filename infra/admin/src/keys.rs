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
use protocol::{refund::actor, timing::Timing};
use sendonce_http::{READ_SCOPES, SCOPES};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::{ApiKey, ListedApiKey, ReplaceOutcome, RevokeOutcome, SeedOutcome, Store};

/// What every API key begins with.
const KEY_PREFIX: &str = "sendonce_";
/// What every id of an API key begins with.
const ID_PREFIX: &str = "key_";
/// Hexadecimal digits of the hash in an id: 64 bits tell the keys of a project apart.
const ID_DIGITS: usize = 16;
/// How far this machine's clock may be ahead of AWS's while AWS takes its requests, in ms: a quarter of an hour at most
/// (AWS IAM user guide, "Troubleshoot signed AWS API requests"; five minutes for most services, fifteen for some). An end
/// that lies so far back has come on every clock that the functions go by.
const CLOCK_AHEAD_MAX: u64 = 15 * 60 * 1_000;

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
            if let Some(fault) = actor::fault(&name) {
                return Err(said(format!("--name {name:?}: a key's name {fault}")));
            }
            existing(place, &store, &project).await?;
            let key = ApiKey { project, name, scopes, revoked_at_ms: None };
            let made = make(place, &store, &key).await?;
            let text = format!("{}\nIts id is {}. {ONCE}", made.secret, made.id);
            Ok(Answer::new(created(&made, &key), text).if_unread(unread(&made, &key.project)))
        }
        Keys::List { project } => list(place, &store, &project).await,
        Keys::Rotate { key, overlap_hours } => rotate(place, &store, &key, overlap_hours).await,
        Keys::Revoke(key) => {
            let (hash, _) = find(place, &store, &key).await?;
            let (at_ms, earlier) = revoke(place, &store, &hash, at_once(place.clock.now_ms())).await?;
            let at = rfc3339_ms(at_ms);
            let text = if earlier {
                format!("{} was revoked before: since {at}.", key.id)
            } else {
                // Whatever durations the deployment has: none has a longer memory than this.
                let within_ms = place.timing.key_cache.max(Timing::PRODUCTION.key_cache);
                format!("Revoked {}. It opens nothing anywhere within {} s.", key.id, within_ms.div_ceil(1_000))
            };
            Ok(Answer::new(json!({"id": key.id, "revoked_at": at, "already_revoked": earlier}), text))
        }
    }
}

const ONCE: &str = "Keep the key: it is not stored and cannot be shown again.";

/// The end of a key that is to open nothing from now on, whatever this machine's clock says.
fn at_once(now_ms: u64) -> u64 {
    now_ms.saturating_sub(CLOCK_AHEAD_MAX)
}

/// What to do with a key that nobody has seen.
fn unread(made: &Made, project: &str) -> String {
    let id = &made.id;
    format!("The new key {id} was made and nobody has seen it: `sendonce keys revoke {id} --project {project}` ends it")
}

/// A key that was just made.
struct Made {
    secret: String,
    hash: [u8; 32],
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
        SeedOutcome::Stored | SeedOutcome::AlreadyThere => Ok(Made { secret, hash, id }),
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
    let at_ms = match overlap_hours {
        0 => at_once(now_ms),
        hours => now_ms.saturating_add(hours.saturating_mul(3_600_000)),
    };
    let at = rfc3339_ms(at_ms);
    let mut value = created(&made, &successor);
    value["replaces"] = json!(key.id);
    let shown = format!("{}\nIts id is {}. {ONCE}", made.secret, made.id);
    let unseen = unread(&made, &key.project);
    match store.replace_api_key(&hash, at_ms, &made.hash).await {
        ReplaceOutcome::Replaced => {
            value["old_revoked_at"] = json!(at);
            let end = if overlap_hours == 0 { "has ended".to_owned() } else { format!("works until {at}") };
            let unread = format!("{unseen}. The old one, {}, {end}", key.id);
            Ok(Answer::new(value, format!("{shown}\nThe old one, {}, {end}.", key.id)).if_unread(unread))
        }
        // Somebody else was first. A second successor would be one too many, and nobody has seen it.
        ReplaceOutcome::EndsAlready { at_ms } => {
            let at = rfc3339_ms(at_ms);
            let lost = format!(
                "somebody rotated or revoked {} at the same time: it ends at {at}, and `sendonce keys list` shows its \
                 successor",
                key.id
            );
            Err(not_needed(place, store, &made, &lost, &unseen).await)
        }
        ReplaceOutcome::NoSuchKey => {
            Err(not_needed(place, store, &made, "there is no such API key any more", &unseen).await)
        }
        // The new key is shown whatever came of ending the old one: it is valid and nobody could ever see it again.
        ReplaceOutcome::Unknown(error) => {
            value["old_revoked_at"] = Value::Null;
            let failure = place.failed(error);
            let works = format!("The old one, {}, may still work: {failure}", key.id);
            let answer = Answer::new(value, format!("{shown}\n{works}. Revoke it."));
            Ok(answer.if_unread(format!("{unseen}. {works}")).found())
        }
    }
}

/// Ends a successor that came too late, and says so.
async fn not_needed(place: &Place, store: &Store, made: &Made, why: &str, unseen: &str) -> Failure {
    match revoke(place, store, &made.hash, at_once(place.clock.now_ms())).await {
        Ok(_) => {
            said(format!("{why}. The key that this command had made, {}, was ended before anybody saw it", made.id))
        }
        Err(failure) => said(format!("{why}. {unseen}; this command could not: {failure}")),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_at_once_has_come_on_every_clock_that_aws_lets_through() {
        let true_ms = 1_790_000_000_000;
        for ahead in [0, 1, 60_000, CLOCK_AHEAD_MAX] {
            assert!(at_once(true_ms + ahead) <= true_ms, "{ahead}");
        }
        assert_eq!(at_once(0), 0);
    }
}
