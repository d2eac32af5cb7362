//! What a command answers: the same facts for people and for programs, and the exit code.

use serde_json::Value;

/// Done, and nothing more to do.
pub const EXIT_OK: u8 = 0;
/// Not done.
pub const EXIT_FAILED: u8 = 1;
/// The command line cannot be read.
pub const EXIT_USAGE: u8 = 2;
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
    /// Why not all was done, for stderr: an answer that tells of it is no reason to say nothing there.
    pub(crate) not_done: Option<String>,
    /// What to do if nobody gets to read this answer, and it cannot be asked for again.
    pub(crate) unread: Option<String>,
}

impl Answer {
    /// Done.
    pub(crate) fn new(value: Value, text: impl Into<String>) -> Self {
        let mut text: String = text.into();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        Self { value, text, exit: EXIT_OK, not_done: None, unread: None }
    }

    /// What was found needs a person.
    pub(crate) fn found(self) -> Self {
        Self { exit: EXIT_FOUND, ..self }
    }

    /// Not all was done, and why.
    pub(crate) fn not_done(self, why: impl Into<String>) -> Self {
        Self { exit: EXIT_FAILED, not_done: Some(why.into()), ..self }
    }

    /// With what to do if nobody gets to read it.
    pub(crate) fn if_unread(self, unread: String) -> Self {
        Self { unread: Some(unread), ..self }
    }
}
