//! The numbers of steps that docs/DESIGN.md names are those of the shortest traces.

use crate::once::once;
use model::{messages, refunds, trace::Trace};
use std::path::Path;

/// Every `code, N steps` in the square brackets of a text; codes are those of the seeded mistakes.
fn named(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for bracket in text.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(bracket, _)| bracket) {
        for part in bracket.split([';', ':']) {
            let words: Vec<&str> = part.split([',', ' ']).filter(|word| !word.is_empty()).collect();
            let Some(at) = words.iter().position(|word| ["step", "steps"].contains(word)) else { continue };
            let (code, steps) = (words[at - 2], words[at - 1]);
            found.push((code.to_owned(), steps.parse().unwrap_or_else(|_| panic!("{bracket:?} names no number"))));
        }
    }
    found
}

#[test]
fn every_number_of_steps_in_the_design_is_the_shortest() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/DESIGN.md");
    let text = std::fs::read_to_string(path).unwrap();
    let named = named(&text);
    assert!(named.len() >= 23, "{named:?}");
    for (code, steps) in named {
        let of_messages = messages::SEEDED.into_iter().find(|seeded| seeded.code == code);
        let of_refunds = refunds::SEEDED.into_iter().find(|seeded| seeded.code == code);
        let caught: Option<Trace> = match (of_messages, of_refunds) {
            (Some(seeded), None) => once(code.clone(), || seeded.caught()),
            (None, Some(seeded)) => once(code.clone(), || seeded.caught()),
            _ => panic!("DESIGN.md names {code}, which is no seeded mistake"),
        };
        let found = caught.unwrap_or_else(|| panic!("{code} is not caught")).steps.len();
        assert_eq!(found, steps, "{code}: DESIGN.md says {steps} steps");
    }
}
