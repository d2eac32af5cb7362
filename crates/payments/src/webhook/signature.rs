//! Stripe's webhook signature: `Stripe-Signature: t=<unix>,v1=<hex>[,v1=<hex>…]`, HMAC-SHA256 of `t "." body`.
//!
//! Source: stripe-python, `_webhook.py`. The key is the whole `whsec_…` text. Any `v1` that matches will do: while a secret
//! is rolled there is one for each (arlyon/async-stripe pull 985 is what happens when only the last one counts).

use aws_lc_rs::{constant_time::verify_slices_are_equal, hmac};
use data_encoding::HEXLOWER;

/// How far `t` may be from now, either way, in seconds (Stripe's libraries: 300).
const TOLERANCE_S: u64 = 300;
/// Signatures that are looked at; Stripe sends one for each secret that is alive.
const SIGNATURES_MAX: usize = 16;

/// The header, read.
pub(super) struct Signed {
    /// As it was written: it is a part of what is signed.
    at: String,
    at_s: u64,
    v1: Vec<Vec<u8>>,
}

impl Signed {
    /// Reads the header; none if it is no signature. Schemes other than `v1` are left out.
    pub(super) fn read(header: &str) -> Option<Self> {
        let parts = || header.split(',').filter_map(|part| part.trim().split_once('='));
        let at = parts().find(|(name, _)| *name == "t")?.1;
        if at.is_empty() || !at.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let v1: Vec<Vec<u8>> = parts()
            .filter(|(name, _)| *name == "v1")
            .filter_map(|(_, hex)| HEXLOWER.decode(hex.as_bytes()).ok())
            .take(SIGNATURES_MAX)
            .collect();
        (!v1.is_empty()).then_some(Self { at: at.to_owned(), at_s: at.parse().ok()?, v1 })
    }

    /// Whether it was made within the tolerance. Each attempt of the provider's is signed anew, so a late one passes too.
    pub(super) fn is_recent(&self, now_s: u64) -> bool {
        self.at_s.abs_diff(now_s) <= TOLERANCE_S
    }

    /// Whether any of its signatures is of this body by any of these secrets. Compared in constant time.
    pub(super) fn by_any(&self, secrets: &[String], body: &[u8]) -> bool {
        secrets.iter().any(|secret| {
            let mut made = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()));
            [self.at.as_bytes(), b".", body].iter().for_each(|part| made.update(part));
            // Made once for each secret, however many signatures anybody writes into the header.
            let made = made.sign();
            self.v1.iter().any(|signature| verify_slices_are_equal(made.as_ref(), signature).is_ok())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_S: u64 = 1_800_000_000;
    const BODY: &[u8] = br#"{ "id":"evt_1",  "b":1, "a":2 }"#;

    fn sign(secret: &str, at: u64, body: &[u8]) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let text = [at.to_string().as_bytes(), b".", body].concat();
        HEXLOWER.encode(hmac::sign(&key, &text).as_ref())
    }

    fn passes(header: &str, secrets: &[&str], body: &[u8]) -> bool {
        let secrets: Vec<String> = secrets.iter().map(|secret| (*secret).to_owned()).collect();
        Signed::read(header).is_some_and(|signed| signed.is_recent(NOW_S) && signed.by_any(&secrets, body))
    }

    /// Made with OpenSSL: `printf '1700000000.{}' | openssl dgst -sha256 -hmac whsec_test`.
    #[test]
    fn a_signature_made_elsewhere_is_taken() {
        let header = "t=1700000000,v1=35495024f4ef3f94e5a93e22221544c4b75e9a42300cd965ab81cb85cd994e91";
        let signed = Signed::read(header).unwrap();
        assert!(
            signed.is_recent(1_700_000_300) && !signed.is_recent(1_700_000_301) && !signed.is_recent(1_699_999_699)
        );
        assert!(signed.by_any(&["whsec_test".to_owned()], b"{}"));
        assert!(
            !signed.by_any(&["whsec_tesu".to_owned()], b"{}") && !signed.by_any(&["whsec_test".to_owned()], b"{ }")
        );
    }

    #[test]
    fn the_tolerance_is_five_minutes_either_way() {
        for (at, good) in [(NOW_S - 300, true), (NOW_S - 301, false), (NOW_S + 300, true), (NOW_S + 301, false)] {
            let header = format!("t={at},v1={}", sign("whsec_a", at, BODY));
            assert_eq!(passes(&header, &["whsec_a"], BODY), good, "{at}");
        }
    }

    #[test]
    fn any_v1_by_any_secret_will_do() {
        let (a, b) = (sign("whsec_a", NOW_S, BODY), sign("whsec_b", NOW_S, BODY));
        for header in
            [format!("t={NOW_S},v1={a},v1={b}"), format!("t={NOW_S},v1={b},v1={a},v0={b}"), format!("v1={a},t={NOW_S}")]
        {
            assert!(passes(&header, &["whsec_a"], BODY), "{header}");
        }
        let header = format!("t={NOW_S},v1={a}");
        assert!(passes(&header, &["whsec_new", "whsec_a"], BODY));
        assert!(!passes(&header, &["whsec_new"], BODY) && !passes(&header, &[], BODY));
    }

    #[test]
    fn anything_else_is_refused() {
        let good = sign("whsec_a", NOW_S, BODY);
        let broken = [
            String::new(),
            "t=".to_owned(),
            format!("t={NOW_S}"),
            format!("v1={good}"),
            format!("t={NOW_S},v0={good}"),
            format!("t={NOW_S},v1={}", good.to_uppercase()),
            format!("t={NOW_S},v1={}", &good[2..]),
            format!("t={NOW_S},v1="),
            format!("t=+{NOW_S},v1={good}"),
            format!("t={NOW_S}0,v1={good}"),
            format!("t={},v1={good}", NOW_S - 1),
        ];
        for header in broken {
            assert!(!passes(&header, &["whsec_a"], BODY), "{header}");
        }
        // The bytes as they came, not as they would be written again.
        let header = format!("t={NOW_S},v1={good}");
        assert!(
            passes(&header, &["whsec_a"], BODY) && !passes(&header, &["whsec_a"], br#"{"id":"evt_1","b":1,"a":2}"#)
        );
    }
}
