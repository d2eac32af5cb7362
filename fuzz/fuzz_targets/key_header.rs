//! Any bytes as the Idempotency-Key header: no panic, and a key that is taken is within its rules.

#![no_main]

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderValue},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    let Ok(value) = HeaderValue::from_bytes(line) else { return };
    let headers = HeaderMap::from_iter([("idempotency-key".parse().unwrap(), value)]);
    let body = Bytes::from_static(br#"{"to":[{"platform":"web","token":"t"}],"data":{"a":"b"}}"#);
    if let Ok((key, _)) = api::read_send(&headers, &body, &[]) {
        assert!((1..=128).contains(&key.len()) && !key.chars().any(char::is_control));
        assert!(!key.chars().all(char::is_whitespace) && key.is_ascii());
    }
});
