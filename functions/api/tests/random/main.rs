//! Random sends against the reader, the validation and the fingerprint (G2, G3).
//!
//! The same meaning in any spelling has one fingerprint; any single change of meaning has another; what is no send is
//! refused without a panic. Each test runs `PROPTEST_CASES` cases (256 unless set), so a long run is
//!
//!     PROPTEST_CASES=1000000 cargo test --release -p api --test random

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod meaning;
mod spelling;

use api::read_send;
use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderValue},
};
use meaning::{Change, Meaning, change, meaning};
use proptest::prelude::*;
use protocol::fingerprint::Fingerprint;
use spelling::{Spelling, spelling};

/// What the API makes of a body and a key header: the key and the fingerprint, or the code of the refusal.
fn read(header: Option<&str>, body: &[u8]) -> Result<(String, Fingerprint), &'static str> {
    let mut headers = HeaderMap::new();
    if let Some(key) = header {
        headers.insert("idempotency-key", HeaderValue::from_str(key).unwrap());
    }
    let apps = meaning::APPS.map(str::to_owned);
    let (key, request) = read_send(&headers, &Bytes::copy_from_slice(body), &apps).map_err(|problem| problem.code())?;
    let fingerprint = Fingerprint::of_send("acme", &key, &request);
    Ok((key, fingerprint))
}

fn spelled(meaning: &Meaning, how: &Spelling) -> (Option<String>, String) {
    spelling::write(meaning, how)
}

proptest! {
    #[test]
    fn one_meaning_has_one_fingerprint_in_every_spelling(m in meaning(), a in spelling(), b in spelling()) {
        let (header_a, text_a) = spelled(&m, &a);
        let (header_b, text_b) = spelled(&m, &b);
        let first = read(header_a.as_deref(), text_a.as_bytes());
        let second = read(header_b.as_deref(), text_b.as_bytes());
        prop_assert!(first.is_ok(), "{first:?}\n{header_a:?}\n{text_a}");
        prop_assert_eq!(first, second, "\n{}\n{}", text_a, text_b);
    }

    #[test]
    fn any_single_change_of_meaning_has_another_fingerprint(m in meaning(), c in change(), a in spelling(), b in spelling()) {
        let Some(other) = c.apply(&m) else { return Ok(()) };
        let (header_a, text_a) = spelled(&m, &a);
        let (header_b, text_b) = spelled(&other, &b);
        let first = read(header_a.as_deref(), text_a.as_bytes());
        let second = read(header_b.as_deref(), text_b.as_bytes());
        prop_assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}\n{text_a}\n{text_b}");
        prop_assert_ne!(first, second, "\n{:?}\n{}\n{}", c, text_a, text_b);
    }

    #[test]
    fn a_damaged_body_is_refused_or_means_something_and_never_panics(
        m in meaning(), a in spelling(), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..4))
    {
        let (header, text) = spelled(&m, &a);
        let mut bytes = text.into_bytes();
        for (place, byte, kind) in damage {
            let at = place.index(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
            match kind {
                0 if !bytes.is_empty() => bytes[at] = byte,
                1 if !bytes.is_empty() => { bytes.remove(at); }
                _ => bytes.insert(at, byte),
            }
        }
        match read(header.as_deref(), &bytes) {
            // It is still JSON for everybody else too.
            Ok(_) => prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok()),
            Err(code) => prop_assert!(sendonce_http::CODES.iter().any(|row| row.word == code)),
        }
    }

    #[test]
    fn random_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(None, &body);
    }

    #[test]
    fn random_key_headers_never_panic_and_read_like_the_body_member(key in "[ -~]{0,140}") {
        let send = r#"{"to":[{"platform":"web","token":"t"}],"data":{"a":"b"}}"#;
        if let Ok((read_key, _)) = read(Some(&key), send.as_bytes()) {
            let quoted = format!("\"{}\"", read_key.replace('\\', r"\\").replace('"', "\\\""));
            prop_assert_eq!(read(Some(&quoted), send.as_bytes()).unwrap().0, read_key.clone());
            let member = serde_json::json!({"idempotency_key": read_key, "to": [{"platform": "web", "token": "t"}], "data": {"a": "b"}});
            prop_assert_eq!(read(Some(&key), member.to_string().as_bytes()), read(None, member.to_string().as_bytes()));
        }
    }
}

/// Every kind of change is tried, or the test above shows less than it says.
#[test]
fn every_kind_of_change_applies_to_some_meaning() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut applied = std::collections::BTreeSet::new();
    for _ in 0..2_000 {
        let m = meaning().new_tree(&mut runner).unwrap().current();
        let c: Change = change().new_tree(&mut runner).unwrap().current();
        if c.apply(&m).is_some() {
            applied.insert(c.kind());
        }
    }
    assert_eq!(applied.len(), Change::KINDS, "{applied:?}");
}
