//! JSON whose every character is ASCII.
//!
//! SQS refuses or replaces control characters, U+FFFE and U+FFFF (Amazon SQS API reference, SendMessage); escaping all
//! that is not printable ASCII keeps a message's text exactly as its sender wrote it.

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};
use std::io::{self, Write};

struct AsciiFormatter(CompactFormatter);

impl Formatter for AsciiFormatter {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        if fragment.is_ascii() && !fragment.contains('\u{7f}') {
            return self.0.write_string_fragment(writer, fragment);
        }
        let mut units = [0; 2];
        for c in fragment.chars() {
            if matches!(c, ' '..='~') {
                writer.write_all(&[c as u8])?;
            } else {
                for unit in c.encode_utf16(&mut units) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

/// Writes `value` as ASCII JSON.
pub(crate) fn to_ascii_json<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    let mut out = Vec::with_capacity(256);
    value.serialize(&mut Serializer::with_formatter(&mut out, AsciiFormatter(CompactFormatter)))?;
    // Every byte written above is ASCII.
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_survives_as_printable_ascii(text in any::<String>()) {
            let json = super::to_ascii_json(&text).unwrap();
            prop_assert!(json.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{json:?}");
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }

    #[test]
    fn what_sqs_would_replace_is_escaped() {
        let json = super::to_ascii_json(&"a\u{0}\u{fffe}\u{ffff}é😀\u{7f}").unwrap();
        assert_eq!(json, r#""a\u0000\ufffe\uffff\u00e9\ud83d\ude00\u007f""#);
    }
}
