//! Names under which people and programs act: the names of API keys.
//!
//! A refund's trail says by one word who did what: the name of a key, `payout` for the function that pays, or the
//! provider's id of an event. A person who reads it must never take a key for one of the others, so a name that only
//! looks like theirs is refused where keys are made.

use alloc::string::String;
use core::ops::RangeInclusive;

/// Longest name, in bytes.
pub const ACTOR_MAX: usize = 128;

/// Characters that show as nothing, or change how those around them are shown: format characters, separators of lines and
/// paragraphs, and what a font may leave out (Unicode 16, General_Category Cf, Zl and Zp, Default_Ignorable_Code_Point), the
/// blank of Braille, and what marks nothing of its own.
const UNSEEN: [RangeInclusive<u32>; 26] = [
    0xad..=0xad,
    0x34f..=0x34f,
    0x600..=0x605,
    0x61c..=0x61c,
    0x6dd..=0x6dd,
    0x70f..=0x70f,
    0x890..=0x891,
    0x8e2..=0x8e2,
    0x115f..=0x1160,
    0x17b4..=0x17b5,
    0x180b..=0x180f,
    0x200b..=0x200f,
    0x2028..=0x202e,
    0x2060..=0x206f,
    0x2800..=0x2800,
    0x3164..=0x3164,
    0xfe00..=0xfe0f,
    0xfeff..=0xfeff,
    0xffa0..=0xffa0,
    0xfff0..=0xfffb,
    0x110bd..=0x110bd,
    0x110cd..=0x110cd,
    0x13430..=0x1343f,
    0x1bca0..=0x1bca3,
    0x1d173..=0x1d17a,
    0xe0000..=0xe0fff,
];

/// Why a name is none that a key may have, in words that follow the name of the option or member.
#[must_use]
pub fn fault(name: &str) -> Option<&'static str> {
    if name.is_empty() || name.len() > ACTOR_MAX {
        return Some("has 1 to 128 bytes");
    }
    if name.trim() != name {
        return Some("has no white space at its beginning or end");
    }
    let unseen = |letter: char| UNSEEN.iter().any(|range| range.contains(&u32::from(letter)));
    if name.chars().any(|letter| letter.is_control() || unseen(letter)) {
        return Some("has no control characters, and none that cannot be seen or turn the text around");
    }
    // As it is read, not as it is spelt: `Pay-Out` is payout too.
    let letters: String = name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let event = name.to_lowercase();
    if letters == "payout" || event.starts_with("evt_") || event == "evt" {
        return Some("would look like no person's in a refund's trail; choose another one");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_programs_have_names() {
        for good in [
            "ada@acme.example",
            "Ada Lovelace",
            "backend",
            "payout-team",
            "payout@acme.example",
            "event_1",
            "\u{c9}mile \u{b7} \u{5317}\u{4eac}",
            &"a".repeat(128),
        ] {
            assert_eq!(fault(good), None, "{good:?}");
        }
    }

    #[test]
    fn what_looks_like_the_service_or_an_event_is_refused() {
        for bad in ["payout", "Payout", "PAYOUT", "pay-out", "pay out", "payout.", "evt_1", "EVT_1", "Evt_", "evt"] {
            assert!(fault(bad).is_some_and(|fault| fault.starts_with("would look like")), "{bad:?}");
        }
        for bad in [" payout", "payout ", "\u{a0}ada", "ada\u{2003}", "\tada", "ada\n", " "] {
            assert!(fault(bad).is_some_and(|fault| fault.contains("white space")), "{bad:?}");
        }
        for unseen in
            ['\u{0}', '\u{7f}', '\u{ad}', '\u{200b}', '\u{200d}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{e0041}']
        {
            let name = alloc::format!("pay{unseen}out");
            assert!(fault(&name).is_some_and(|fault| fault.contains("cannot be seen")), "{name:?}");
        }
        for bad in ["", &"a".repeat(129)] {
            assert!(fault(bad).is_some_and(|fault| fault.contains("128 bytes")), "{bad:?}");
        }
    }

    #[test]
    fn the_unseen_are_in_order() {
        assert!(UNSEEN.windows(2).all(|pair| pair[0].end() < pair[1].start()));
    }
}
