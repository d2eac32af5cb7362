//! The canonical JSON of RFC 8785 (JCS) for the values a typed request can hold.
//!
//! Called by [`crate::fingerprint`]. Members are sorted by their UTF-16 code units (section 3.2.3) and strings escaped
//! as section 3.2.2.2 says, so two texts are equal exactly when the values are. Numbers are integers within
//! ±(2^53−1), where every JSON number form has one spelling; a request holds no others.

use alloc::{string::String, vec::Vec};
use core::fmt::Write;

/// A JSON value of a typed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An integer within ±(2^53−1).
    Integer(i64),
    /// A string of Unicode scalar values.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object whose names are all different, in any order.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The canonical text.
    #[must_use]
    pub fn to_canonical(&self) -> String {
        let mut out = String::new();
        write_value(&mut out, self);
        out
    }
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Integer(number) => {
            let _ = write!(out, "{number}");
        }
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<&(String, Value)> = members.iter().collect();
            sorted.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
            out.push('{');
            for (i, (name, item)) in sorted.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_string(out, name);
                out.push(':');
                write_value(out, item);
            }
            out.push('}');
        }
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
