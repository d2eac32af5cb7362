//! A rule of a request's body, and the table that a function makes of its rules.
//!
//! Used by validation, which breaks a request against them, and by the OpenAPI document and the HTTP reference, which
//! show them. [`rules!`](crate::rules!) declares each rule and the table, so no rule of validation can be left out of
//! it.

use crate::{Code, Fault};

/// The source of a limit that is ours.
pub const OURS: &str = "Sendonce";

/// One rule about one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The member, as a JSON pointer with `*` for any element or name.
    pub pointer: &'static str,
    /// What a request that breaks it is refused with.
    pub code: Code,
    /// The rule, with `{min}` and `{max}` for its limits.
    pub says: &'static str,
    /// The least and the most, in the unit that the rule names.
    pub limit: Option<(usize, usize)>,
    /// Where its limit comes from.
    pub source: &'static str,
}

impl Rule {
    /// The rule, as the caller reads it.
    #[must_use]
    pub fn text(&self) -> String {
        match self.limit {
            None => self.says.to_owned(),
            Some((min, max)) => self.says.replace("{min}", &min.to_string()).replace("{max}", &max.to_string()),
        }
    }

    /// Whether a length, a count or a number keeps the limit.
    #[must_use]
    pub fn allows(&self, size: usize) -> bool {
        self.limit.is_none_or(|(min, max)| (min..=max).contains(&size))
    }

    /// The rule, broken at a place.
    pub fn broken(&self, pointer: impl Into<String>) -> Fault {
        Fault::at(pointer, self.text())
    }

    /// The rule, broken at the only place it is about.
    #[must_use]
    pub fn broken_here(&self) -> Fault {
        self.broken(self.pointer)
    }
}

/// Declares rules, `NAME = pointer, words, limit, source;` each, and `RULES`, the table of them in the order in which
/// they are checked.
#[macro_export]
macro_rules! rules {
    ($($name:ident = $pointer:literal, $says:literal, $limit:expr, $source:expr;)*) => {
        $(#[doc = $says] pub const $name: $crate::Rule = $crate::Rule {
            pointer: $pointer,
            code: $crate::Code::ValidationFailed,
            says: $says,
            limit: $limit,
            source: $source,
        };)*
        /// Every rule, in the order in which they are checked.
        pub const RULES: &[$crate::Rule] = &[$($name),*];
    };
}
