//! Where the reader is, as an RFC 6901 JSON pointer.

use std::{borrow::Cow, fmt::Write};

/// A member name as a pointer's reference token: `~` and `/` escaped (RFC 6901 section 3).
#[must_use]
pub fn escape(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) { Cow::Owned(name.replace('~', "~0").replace('/', "~1")) } else { Cow::Borrowed(name) }
}

/// The way from the root to a value.
#[derive(Debug, Default)]
pub(crate) struct Path<'a> {
    steps: Vec<Step<'a>>,
}

#[derive(Debug)]
enum Step<'a> {
    Member(Cow<'a, str>),
    Element(usize),
}

impl<'a> Path<'a> {
    pub(crate) fn member(&mut self, name: Cow<'a, str>) {
        self.steps.push(Step::Member(name));
    }

    pub(crate) fn element(&mut self, index: usize) {
        self.steps.push(Step::Element(index));
    }

    /// Leaves the last step; gives its member name back.
    pub(crate) fn leave(&mut self) -> Option<Cow<'a, str>> {
        match self.steps.pop() {
            Some(Step::Member(name)) => Some(name),
            Some(Step::Element(_)) | None => None,
        }
    }

    pub(crate) fn pointer(&self) -> String {
        self.steps.iter().fold(String::new(), |mut out, step| {
            // Writing to a string cannot fail.
            let _ = match step {
                Step::Member(name) => write!(out, "/{}", escape(name)),
                Step::Element(index) => write!(out, "/{index}"),
            };
            out
        })
    }
}
