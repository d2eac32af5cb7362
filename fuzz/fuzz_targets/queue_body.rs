//! Any text as a queue message: no panic, and what is taken is written again as the same envelope, in ASCII.

#![no_main]

use libfuzzer_sys::fuzz_target;
use queue::Envelope;

fuzz_target!(|body: &str| {
    if let Ok(envelope) = Envelope::parse(body) {
        let again = envelope.to_body().unwrap();
        assert!(again.is_ascii());
        assert_eq!(Envelope::parse(&again).unwrap(), envelope);
    }
});
