//! An error with its causes as one sentence, for logs.
//!
//! Used where an AWS SDK's error is kept. The SDK's own way of showing one ends with everything it holds, the body of a
//! response that it could not read among it, and in a response are people's messages.

use std::{error::Error, fmt::Write};

/// Causes that are followed; a chain that is longer is a loop.
const CAUSES_MAX: usize = 16;

/// What each error of the chain says of itself, the outermost first.
#[must_use]
pub fn causes(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    for _ in 0..CAUSES_MAX {
        let Some(error) = cause else { break };
        // Writing to a string cannot fail.
        let _ = write!(said, ": {error}");
        cause = error.source();
    }
    said
}

#[cfg(test)]
mod tests {
    use super::causes;

    #[derive(Debug, thiserror::Error)]
    #[error("outside")]
    struct Outside {
        body: &'static str,
        source: std::num::ParseIntError,
    }

    #[test]
    fn causes_are_told_and_what_they_hold_is_not() {
        let source = "x".parse::<u8>().unwrap_err();
        let error = Outside { body: "secret", source };
        assert_eq!(error.body, "secret");
        assert_eq!(causes(&error), "outside: invalid digit found in string");
    }
}
