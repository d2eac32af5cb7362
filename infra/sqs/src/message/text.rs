//! The characters that SQS carries.
//!
//! Called for bodies and for text attributes. Amazon refuses the rest, or replaces it; refusing shows the fault where
//! it was made. Source: API reference, SendMessage, "Important" (the XML 1.0 character set).

use crate::SqsError;

/// Checks that every character is allowed. `place` says in words where the text stood.
///
/// # Errors
/// `InvalidMessageContents` with the first character that is not.
pub(super) fn check(text: &str, place: impl Fn() -> String) -> Result<(), SqsError> {
    match text.chars().find(|c| !allowed(*c)) {
        None => Ok(()),
        Some(c) => Err(SqsError::InvalidMessageContents { character: u32::from(c), place: place() }),
    }
}

fn allowed(c: char) -> bool {
    // A `char` is never a surrogate, so only the controls and the two last points of the first plane are left out.
    matches!(c, '\u{9}' | '\u{a}' | '\u{d}' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edges_of_each_range() {
        for good in [
            "\t\n\r",
            " ",
            "\u{7f}",
            "\u{d7ff}\u{e000}",
            "\u{fffd}",
            "\u{10000}",
            "\u{1f4a5}",
            "\u{10ffff}",
            "\u{1ffff}",
        ] {
            assert_eq!(check(good, String::new), Ok(()), "{good:?}");
        }
        for bad in ['\0', '\u{8}', '\u{b}', '\u{c}', '\u{e}', '\u{1f}', '\u{fffe}', '\u{ffff}'] {
            let found = check(&format!("a{bad}b"), || "message body".to_owned());
            assert!(
                matches!(found, Err(SqsError::InvalidMessageContents { character, .. }) if character == u32::from(bad))
            );
        }
    }
}
