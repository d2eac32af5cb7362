//! What a command answers: the same facts for people and for programs, and the exit code.

use serde_json::Value;

/// Done, and nothing more to do.
pub const EXIT_OK: u8 = 0;
/// Not done.
pub const EXIT_FAILED: u8 = 1;
/// Done, and what was found needs a person.
pub const EXIT_FOUND: u8 = 3;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// For `--json`: one line.
    pub(crate) value: Value,
    /// For people: lines, each ended.
    pub(crate) text: String,
    /// The exit code.
    pub(crate) exit: u8,
}

impl Answer {
    /// Done.
    pub(crate) fn new(value: Value, text: impl Into<String>) -> Self {
        let mut text: String = text.into();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        Self { value, text, exit: EXIT_OK }
    }

    /// With another exit code.
    pub(crate) fn exit(self, exit: u8) -> Self {
        Self { exit, ..self }
    }
}
