//! What the processes say, read line by line: nothing that a test sends is in it, and no credential.
//!
//! Every request of [`crate::World`] plants its secrets here, and [`crate::process::Process`] hands each line of a
//! process over, those of one that is about to be killed too. A world that stops fails if anybody's was found. In
//! `tests/it` the same is done within one process (`support/logs.rs`); this is for those that die, freeze and restart.

use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

/// What a private key, a JWT and one of Google's access tokens look like, whoever made it.
const MARKS: [&str; 4] = ["PRIVATE KEY", "eyJhbGciOi", "ya29.", "Bearer "];
/// Shorter texts are words that may stand in any line; this many bytes of a secret find it.
const WINDOW: usize = 8;

/// Texts that no line may hold, by their first bytes.
static PLANTED: RwLock<Option<HashMap<[u8; WINDOW], Vec<String>>>> = RwLock::new(None);
/// Lines that hold one.
static LEAKS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Lines of events so far.
static EVENTS: AtomicUsize = AtomicUsize::new(0);
/// Those about states of payouts.
static STATES: Mutex<Vec<Value>> = Mutex::new(Vec::new());

/// No line may hold this text from now on.
pub(crate) fn plant(text: &str) {
    let Some(start) = text.as_bytes().first_chunk::<WINDOW>() else { return };
    let mut planted = PLANTED.write().unwrap_or_else(PoisonError::into_inner);
    let known = planted.get_or_insert_default().entry(*start).or_default();
    if !known.iter().any(|known| known == text) {
        known.push(text.to_owned());
    }
}

/// What a send or a refund holds is secret: its key, its device tokens, and what the phone shows; the order, the payment and
/// the note.
pub(crate) fn plant_all(body: &str) {
    let Ok(body) = serde_json::from_str::<Value>(body) else { return };
    let tokens = body["to"].as_array().into_iter().flatten().map(|to| &to["token"]);
    let data = body["data"].as_object().into_iter().flat_map(serde_json::Map::values);
    let shown = ["title", "body", "image"].into_iter().map(|name| &body["notification"][name]);
    let own = ["idempotency_key", "order_id", "payment_id", "note"].into_iter().map(|name| &body[name]);
    for text in tokens.chain(data).chain(shown).chain(own).filter_map(Value::as_str) {
        plant(text);
    }
}

fn leaked(line: &str) -> Option<String> {
    if let Some(mark) = MARKS.iter().find(|mark| line.contains(**mark)) {
        return Some((*mark).to_owned());
    }
    let planted = PLANTED.read().unwrap_or_else(PoisonError::into_inner);
    let by_start = planted.as_ref()?;
    line.as_bytes().windows(WINDOW).enumerate().find_map(|(at, start)| {
        let known = by_start.get(start.first_chunk::<WINDOW>()?)?;
        known.iter().find(|text| line.as_bytes()[at..].starts_with(text.as_bytes())).cloned()
    })
}

/// Looks at a line of a process.
pub(crate) fn look(function: &str, line: &str) {
    if line.contains("\"event\":") {
        EVENTS.fetch_add(1, Ordering::Relaxed);
    }
    if line.contains("\"event\":\"payout_state\"")
        && let Ok(state) = serde_json::from_str(line)
    {
        STATES.lock().unwrap_or_else(PoisonError::into_inner).push(state);
    }
    if let Some(text) = leaked(line) {
        LEAKS.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{function}: {text:?} leaked: {line}"));
    }
}

/// Events that processes have logged so far.
#[must_use]
pub fn events_seen() -> usize {
    EVENTS.load(Ordering::Relaxed)
}

/// The states of a payout that processes have told so far, oldest first, each with who found it.
#[must_use]
pub fn states_told(payout_id: &str) -> Vec<(String, String)> {
    let states = STATES.lock().unwrap_or_else(PoisonError::into_inner);
    let of = states.iter().filter(|state| state["payout_id"] == payout_id);
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    of.map(|state| (word(&state["state"]), word(&state["by"]))).collect()
}

/// Fails if any line so far held what it must not.
#[track_caller]
pub(crate) fn clean() {
    let leaks = LEAKS.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(leaks.is_empty(), "{} lines of processes leaked, among them\n{}", leaks.len(), leaks[0]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::push;

    #[test]
    fn what_a_refund_holds_is_found() {
        let body = serde_json::json!({"order_id": "order-of-a-canary", "payment_id": "pi_of_a_canary",
            "note": "A word of a canary."});
        plant_all(&body.to_string());
        for text in ["order-of-a-canary", "pi_of_a_canary", "A word of a canary."] {
            assert!(leaked(&format!("{{\"message\":\"said {text}\"}}")).is_some(), "{text}");
        }
    }

    #[test]
    fn what_a_send_holds_is_found_wherever_it_stands() {
        plant_all(&push("key-of-a-canary", "device-of-a-canary").to_string());
        for line in [
            r#"{"message":"the key key-of-a-canary"}"#,
            r#"{"message":"device-of-a-canary"}"#,
            "panicked at Order 1042 is on its way.",
            r#"{"authorization":"Bearer x"}"#,
        ] {
            assert!(leaked(line).is_some(), "{line}");
        }
        assert_eq!(leaked(r#"{"message":"…canary of a key"}"#), None);
    }
}
