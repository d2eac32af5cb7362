//! Any bytes as the body of a send: no panic, and what is taken is JSON to everybody else and means the same when it
//! is written again by another writer.

#![no_main]

use axum::{body::Bytes, http::HeaderMap};
use libfuzzer_sys::fuzz_target;
use protocol::fingerprint::Fingerprint;

fuzz_target!(|body: &[u8]| {
    let headers = HeaderMap::new();
    let apps = ["a".to_owned(), "b".to_owned()];
    if let Ok((key, request)) = api::read_send(&headers, &Bytes::copy_from_slice(body), &apps) {
        let value: serde_json::Value = serde_json::from_slice(body).expect("taken, but not JSON");
        let (again_key, again) =
            api::read_send(&headers, &Bytes::from(value.to_string()), &apps).expect("taken, but not when written again");
        assert_eq!(key, again_key);
        assert_eq!(Fingerprint::of_send("p", &key, &request), Fingerprint::of_send("p", &key, &again));
    }
});
