//! Keys and ids: no two keys meet, and an id has one spelling.

use crate::common::text;
use proptest::{array, collection, prelude::*};
use protocol::ids::{ID_LEN, KeyHash, MessageId, Nonce, Operation, key_preimage};
use std::collections::HashMap;

const OPERATIONS: [Operation; 2] = [Operation::Message, Operation::Refund];

/// Reads a preimage back, so that two keys with one preimage cannot exist.
fn parse_preimage(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut rest = bytes;
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let (short, tail) = rest.split_at_checked(2)?;
        let short = u16::from_be_bytes(short.try_into().ok()?);
        let (len, tail) = if short == u16::MAX {
            let (long, tail) = tail.split_at_checked(8)?;
            (usize::try_from(u64::from_be_bytes(long.try_into().ok()?)).ok()?, tail)
        } else {
            (usize::from(short), tail)
        };
        let (field, tail) = tail.split_at_checked(len)?;
        fields.push(field.to_vec());
        rest = tail;
    }
    Some(fields)
}

fn assert_reads_back(operation: Operation, project: &str, key: &str) {
    let fields = parse_preimage(&key_preimage(operation, project, key)).expect("a preimage reads back");
    assert_eq!(fields, [operation.as_str().as_bytes(), project.as_bytes(), key.as_bytes()]);
}

/// Every string of up to three of the characters that a separator or a length could be mistaken for.
fn nasty_fields() -> Vec<String> {
    let alphabet = ["a", "#", "\0", "\u{1}", "m", "é"];
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..3 {
        last = last.iter().flat_map(|start| alphabet.iter().map(move |c| format!("{start}{c}"))).collect();
        all.extend(last.iter().cloned());
    }
    all
}

#[test]
fn no_two_of_the_nasty_keys_have_one_preimage() {
    let fields = nasty_fields();
    let mut seen: HashMap<Vec<u8>, (Operation, &str, &str)> = HashMap::new();
    for operation in OPERATIONS {
        for project in &fields {
            for key in &fields {
                let here = (operation, project.as_str(), key.as_str());
                let before = seen.insert(key_preimage(operation, project, key), here);
                assert_eq!(before, None, "the same preimage as {here:?}");
            }
        }
    }
}

#[test]
fn a_field_longer_than_two_bytes_can_say_still_reads_back() {
    for len in [65_533, 65_534, 65_535, 65_536, 70_000] {
        let long = "x".repeat(len);
        assert_reads_back(Operation::Message, &long, "");
        assert_reads_back(Operation::Refund, "", &long);
        assert_reads_back(Operation::Message, &long, &long);
    }
}

#[test]
fn moving_a_byte_between_project_and_key_makes_another_hash() {
    let hash = |project, key| KeyHash::of(Operation::Message, project, key);
    assert_ne!(hash("a", "bc"), hash("ab", "c"));
    assert_ne!(hash("a#b", "c"), hash("a", "b#c"));
    assert_ne!(hash("", "abc"), hash("abc", ""));
    assert_ne!(hash("a\0", "b"), hash("a", "\0b"));
    assert_ne!(hash("a", "é"), hash("a", "e\u{301}"), "Unicode forms are different keys");
    assert_ne!(hash("a", "Key"), hash("a", "key"));
    assert_ne!(hash("a", "b"), KeyHash::of(Operation::Refund, "a", "b"));
}

#[test]
fn the_key_hash_of_a_known_key_never_changes() {
    // 20 bytes of SHA-256 of 0007"message" 0004"acme" 0012"order-1042-shipped". Stored items live under it.
    let hash = KeyHash::of(Operation::Message, "acme", "order-1042-shipped");
    assert_eq!(hash.to_base32(), "weqv5675gi23gfmyq2gerfucid3czvjn");
}

#[test]
fn every_altered_spelling_of_an_id_is_refused() {
    let id = MessageId { key: KeyHash::of(Operation::Message, "acme", "k"), nonce: Nonce([1, 2, 3, 4, 5]) };
    let text = id.to_string();
    assert_eq!(text.len(), ID_LEN);
    assert!(text.len() <= 64, "fits apns-collapse-id");
    for len in 0..ID_LEN {
        assert_eq!(MessageId::parse(&text[..len]), None, "cut to {len}");
    }
    let wrong = [
        text.to_ascii_uppercase(),
        text.replacen("msg_", "MSG_", 1),
        text.replacen("msg_", "rf_", 1),
        text.replacen("msg_", "rf__", 1),
        format!("{text}a"),
        format!("{text}="),
        format!("{}=", &text[..ID_LEN - 1]),
        format!(" {}", &text[1..]),
        format!("{text}\n"),
        format!("{}é", &text[..ID_LEN - 2]),
    ];
    for wrong in wrong {
        assert_eq!(MessageId::parse(&wrong), None, "{wrong:?}");
    }
    // Each place of the body, with each byte that is no digit of lower-case base32.
    for place in 4..ID_LEN {
        for byte in 0..=127_u8 {
            let mut bytes = text.clone().into_bytes();
            bytes[place] = byte;
            let spelling = String::from_utf8(bytes).unwrap();
            let digit = byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte);
            assert_eq!(MessageId::parse(&spelling).is_some(), digit, "{spelling:?}");
        }
    }
}

proptest! {
    #[test]
    fn a_preimage_reads_back_as_its_key(message in any::<bool>(), project in text(), key in text()) {
        assert_reads_back(OPERATIONS[usize::from(message)], &project, &key);
    }

    #[test]
    fn an_id_reads_back_and_has_no_second_spelling(
        project in text(),
        key in text(),
        nonce in any::<[u8; 5]>(),
        flips in collection::vec(0..ID_LEN, 1..4),
    ) {
        let id = MessageId { key: KeyHash::of(Operation::Message, &project, &key), nonce: Nonce(nonce) };
        let text = id.to_string();
        prop_assert_eq!(MessageId::parse(&text), Some(id));
        let mut other = text.clone().into_bytes();
        for at in flips {
            other[at] ^= 0x20;
        }
        let other = String::from_utf8(other).unwrap();
        prop_assume!(other != text);
        prop_assert!(MessageId::parse(&other).is_none_or(|parsed| parsed != id), "{} is {}", other, text);
    }

    #[test]
    fn whatever_parses_is_written_the_same_way(text in "msg_[a-z2-7A-Z0189]{38,42}|msg_[a-z2-7]{40}") {
        if let Some(id) = MessageId::parse(&text) {
            prop_assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn different_hashes_and_nonces_have_different_base32(a in array::uniform5(any::<u8>()), b in array::uniform5(any::<u8>())) {
        prop_assert_eq!(Nonce(a).to_base32() == Nonce(b).to_base32(), a == b);
        let hash = KeyHash::of(Operation::Message, "acme", &Nonce(a).to_base32());
        let id = format!("msg_{}{}", hash.to_base32(), Nonce(b).to_base32());
        let parsed = MessageId::parse(&id).unwrap();
        prop_assert_eq!((parsed.key, parsed.nonce), (hash, Nonce(b)));
    }
}
