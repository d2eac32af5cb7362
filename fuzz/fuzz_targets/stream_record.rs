//! Any JSON as a stream record: no panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    if let Ok(record) = serde_json::from_slice::<serde_json::Value>(text) {
        let _ = store::read_stream_record(&record);
    }
});
