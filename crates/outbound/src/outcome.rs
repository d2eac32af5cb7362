//! What every provider's adapter needs to put an answer into words: cut and masked reasons, and `Retry-After`.

use crate::transport::Answered;
use http::{HeaderMap, header::RETRY_AFTER};
use protocol::{answer::Reason, timing::Timing};
use std::time::UNIX_EPOCH;

/// Longest detail that is kept, in characters.
pub const DETAIL_MAX_CHARS: usize = 200;
/// Longest code that is kept, in bytes.
const CODE_MAX_BYTES: usize = 64;
/// The code of a reason whose own code was a secret.
const MASKED_CODE: &str = "masked";
/// A provider's sentence is looked at no further than this, so that masking stays cheap.
const SCANNED_MAX_CHARS: usize = 2_000;
/// A run of this many characters of a secret counts as the secret: providers quote the start of a long token.
const RUN_CHARS: usize = 12;

/// A reason with its code and detail masked, free of control characters, and cut. `secrets` are the texts that must not show:
/// the device token, the access token, an assertion.
#[must_use]
pub fn reason(code: &str, detail: &str, secrets: &[&str]) -> Reason {
    let masked = mask(detail, secrets);
    let detail = masked.chars().map(|c| if c.is_control() { ' ' } else { c }).take(DETAIL_MAX_CHARS).collect();
    // A code is the provider's word, and a word can be a token. A text too short for one is in many words by chance.
    let long = secrets
        .iter()
        .copied()
        .filter(|secret| secret.eq_ignore_ascii_case(code) || secret.len() >= RUN_CHARS)
        .collect::<Vec<_>>();
    let code = if mask(code, &long) == code { code } else { MASKED_CODE };
    Reason { code: code.to_owned(), detail }
}

/// A provider's code, if it is one word of the kind that providers use; anything else is not repeated.
#[must_use]
pub fn provider_code(text: &str) -> Option<&str> {
    let word = !text.is_empty() && text.len() <= CODE_MAX_BYTES;
    (word && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')).then_some(text)
}

/// The text of an answer that is not in the provider's own form, for a person to read. [`reason`] masks and cuts it.
#[must_use]
pub fn raw(answered: &Answered) -> String {
    let text = String::from_utf8_lossy(answered.body.as_deref().unwrap_or_default());
    text.chars().take(SCANNED_MAX_CHARS).collect::<String>().trim().to_owned()
}

/// Replaces every secret, and every run of [`RUN_CHARS`] or more characters of one, by "…", in whatever case it is quoted:
/// a hex token means the same in both.
fn mask(detail: &str, secrets: &[&str]) -> String {
    let mut text: String = detail.chars().take(SCANNED_MAX_CHARS).collect();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        text = mask_runs(&text, &secret.to_ascii_lowercase());
    }
    text
}

/// `secret` in lower case.
fn mask_runs(text: &str, secret: &str) -> String {
    let least = secret.chars().count().min(RUN_CHARS);
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let mut run = String::new();
        let mut length = 0;
        for c in &chars[at..] {
            run.push(c.to_ascii_lowercase());
            if !secret.contains(&run) {
                break;
            }
            length += 1;
        }
        if length >= least {
            out.push('…');
            at += length;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

/// How long `Retry-After` asks to wait, in milliseconds: seconds or an HTTP date (RFC 9110, section 10.2.3), a date
/// against `now_ms`. A date that is past is 0; nothing beyond the longest time a message is delivered for is kept.
#[must_use]
pub fn retry_after_ms(headers: &HeaderMap, now_ms: u64) -> Option<u64> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let asked = if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than fit is still "very long".
        text.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(1_000)
    } else {
        let at = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
        u64::try_from(at.as_millis()).unwrap_or(u64::MAX).saturating_sub(now_ms)
    };
    Some(asked.min(Timing::DELIVER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry_after(value: &str, now_ms: u64) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, value.parse().unwrap());
        retry_after_ms(&headers, now_ms)
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        // RFC 9110's own example date, in all three forms that a recipient must accept (section 5.6.7).
        let date_ms = 784_111_777_000;
        for date in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(retry_after(date, date_ms - 90_000), Some(90_000), "{date}");
            assert_eq!(retry_after(date, date_ms + 1), Some(0), "{date}");
        }
        assert_eq!(retry_after("120", 0), Some(120_000));
        assert_eq!(retry_after(" 0 ", 0), Some(0));
        assert_eq!(retry_after("99999999999999999999999", 0), Some(Timing::DELIVER_MAX));
        for nonsense in ["", "-5", "1.5", "soon", "5 s"] {
            assert_eq!(retry_after(nonsense, 0), None, "{nonsense}");
        }
        assert_eq!(retry_after_ms(&HeaderMap::new(), 0), None);
    }

    #[test]
    fn secrets_are_masked_even_in_part_and_details_are_cut() {
        let token = "dQw4w9WgXcQ:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx";
        let quoted = format!("bad token '{token}', starts {}…, ends {}", &token[..20], &token[token.len() - 15..]);
        assert_eq!(reason("X", &quoted, &[token]).detail, "bad token '…', starts ……, ends …");
        assert_eq!(reason("X", "short abc", &["abc"]).detail, "short …");
        assert_eq!(reason("X", "a\nb\u{7f}", &[""]).detail, "a b ");
        // In another case, too: an ios token is hex.
        let hex = "c0ffee00112233445566778899aabbccddeeff";
        let shouted = hex.to_ascii_uppercase();
        assert_eq!(reason(&shouted, &shouted, &[hex]), Reason { code: "masked".to_owned(), detail: "…".to_owned() });
        assert_eq!(
            reason("ABC", "Abc, ABCD", &["aBc"]),
            Reason { code: "masked".to_owned(), detail: "…, …D".to_owned() }
        );
        // Also as the code, which is one word.
        assert_eq!(reason(&token[12..], "x", &[token]).code, "masked");
        assert_eq!(reason("UNREGISTERED", "x", &[token]).code, "UNREGISTERED");
        assert_eq!(reason("UNREGISTERED", "x", &["E", "REGISTER"]).code, "UNREGISTERED");
        assert_eq!(reason("E", "x", &["E"]).code, "masked");
        // A token that straddles the cut is masked before it is cut.
        let long = format!("{}{token}", "x".repeat(190));
        assert_eq!(reason("X", &long, &[token]).detail, format!("{}…", "x".repeat(190)));
        assert_eq!(reason("X", &"é".repeat(500), &[]).detail.chars().count(), DETAIL_MAX_CHARS);
    }

    #[test]
    fn only_a_word_is_repeated_as_a_code() {
        assert_eq!(provider_code("UNREGISTERED"), Some("UNREGISTERED"));
        for other in ["", "two words", "<html>", &"A".repeat(65)] {
            assert_eq!(provider_code(other), None);
        }
    }
}
