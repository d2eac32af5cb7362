//! Strings: escapes resolved, surrogates paired (RFC 8259 section 7).

use std::borrow::Cow;

/// What is wrong with a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadText(pub(crate) &'static str);

/// Reads the string whose opening quote precedes `text`. Gives its value and how many bytes it took, the closing quote
/// included. Borrows where there is no escape.
pub(crate) fn string(text: &str) -> Result<(Cow<'_, str>, usize), BadText> {
    let bytes = text.as_bytes();
    let mut owned: Option<String> = None;
    let mut start = 0;
    let mut at = 0;
    loop {
        match bytes.get(at) {
            None => return Err(BadText("a string is not closed")),
            Some(b'"') => {
                let rest = text.get(start..at).unwrap_or_default();
                let value = match owned {
                    None => Cow::Borrowed(rest),
                    Some(mut value) => {
                        value.push_str(rest);
                        Cow::Owned(value)
                    }
                };
                return Ok((value, at + 1));
            }
            Some(b'\\') => {
                let value = owned.get_or_insert_default();
                value.push_str(text.get(start..at).unwrap_or_default());
                let (c, taken) = escape(bytes.get(at + 1..).unwrap_or_default())?;
                value.push(c);
                at += 1 + taken;
                start = at;
            }
            Some(0..=0x1f) => return Err(BadText("a control character in a string must be escaped")),
            Some(_) => at += 1,
        }
    }
}

/// The character of an escape whose backslash precedes `rest`, and how many bytes it took.
fn escape(rest: &[u8]) -> Result<(char, usize), BadText> {
    let simple = match rest.first() {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(rest),
        _ => return Err(BadText("an escape is none of JSON's")),
    };
    Ok((simple, 1))
}

fn unicode(rest: &[u8]) -> Result<(char, usize), BadText> {
    const LONE: BadText = BadText("a surrogate stands alone");
    let first = hex4(rest.get(1..5))?;
    match first {
        0xd800..=0xdbff => {
            if rest.get(5..7) != Some(b"\\u") {
                return Err(LONE);
            }
            let second = hex4(rest.get(7..11))?;
            if !(0xdc00..=0xdfff).contains(&second) {
                return Err(LONE);
            }
            let scalar = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            char::from_u32(scalar).map(|c| (c, 11)).ok_or(LONE)
        }
        _ => char::from_u32(first).map(|c| (c, 5)).ok_or(LONE),
    }
}

fn hex4(digits: Option<&[u8]>) -> Result<u32, BadText> {
    let digits = digits.ok_or(BadText("a \\u escape has four hexadecimal digits"))?;
    digits.iter().try_fold(0, |value, digit| {
        char::from(*digit)
            .to_digit(16)
            .map(|digit| value * 16 + digit)
            .ok_or(BadText("a \\u escape has four hexadecimal digits"))
    })
}
