//! The seeded mistakes: each must be caught, by the property that it offends, and not without the mistake.

use crate::once::once;
use model::{messages::SEEDED, trace::Trace};
use std::path::Path;

#[test]
fn every_seeded_mistake_is_caught() {
    let mut missed = Vec::new();
    for seeded in SEEDED {
        let (code, mutation) = (seeded.code, seeded.mutation);
        let Some(trace) = once(code.to_owned(), || seeded.caught()) else {
            missed.push(format!("{code} {mutation:?} was not caught by {:?}", seeded.property));
            continue;
        };
        println!("{code} {mutation:?}, faults {:?}: {trace}", seeded.faults);
        let json = serde_json::to_string_pretty(&trace).unwrap();
        assert_eq!(serde_json::from_str::<Trace>(&json).unwrap(), trace, "a trace is read back as it was written");
        // For whoever wants to replay them: one file each.
        if let Some(folder) = std::env::var_os("MODEL_TRACES") {
            std::fs::write(Path::new(&folder).join(format!("{}.json", code.replace(' ', "_"))), json).unwrap();
        }
        if let Some(trace) = once(format!("messages, {}", seeded.place()), || seeded.control()) {
            missed.push(format!("{code} is caught without the mistake: {trace}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
