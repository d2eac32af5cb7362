//! JSON as it was written: a strict reader into a borrowed tree.
//!
//! Used for every JSON body. It refuses what two readers could understand differently (RFC 7493, I-JSON, and more):
//! duplicate members, integers that a double cannot hold, numbers beyond a double, lone surrogates, invalid UTF-8, a
//! byte order mark, deep nesting. So two bodies that differ in meaning can never become one value, and no later step
//! can round or drop anything. Noncharacters such as U+FFFF are ordinary text here: a message may hold them.
//!
//! Linear in the body's size; memory is bounded by it too.

mod number;
mod pointer;
mod reader;
mod text;

pub use number::Number;
pub use pointer::escape;
pub use reader::{DEPTH_MAX, read};

use std::borrow::Cow;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, by its text.
    Number(Number<'a>),
    /// A string, escapes resolved.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object, its members in the order of the text, no two of the same name.
    Object(Object<'a>),
}

/// The members of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object<'a> {
    pub(crate) members: Vec<(Cow<'a, str>, Json<'a>)>,
}

impl<'a> Object<'a> {
    /// The value of a member. `null` counts as absent: serializers write it for "nothing".
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        self.members
            .iter()
            .find(|(member, _)| member == name)
            .map(|(_, value)| value)
            .filter(|value| **value != Json::Null)
    }

    /// The members, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json<'a>)> {
        self.members.iter().map(|(name, value)| (name.as_ref(), value))
    }
}

impl<'a> Json<'a> {
    /// The text, if it is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

/// Why a text is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which rule.
    pub kind: RefusalKind,
    /// Where, as an RFC 6901 pointer to the value (or member) that breaks it.
    pub pointer: String,
    /// The rule in a sentence.
    pub detail: String,
}

/// The rule that a text breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// Not JSON, or not I-JSON.
    InvalidJson,
    /// An object names a member twice.
    DuplicateMember,
    /// A number that a double cannot hold exactly as an integer, or not at all.
    NumberNotExact,
}

#[cfg(test)]
mod tests;
