//! What a private key that cannot be used is instead, in words and without any of its bytes.
//!
//! Used by each provider's `key` when parsing failed, so that whoever stored the credential knows what to store.

use crate::members::pkcs8;

/// How much of a key is looked at for the names of its algorithm and curve: they come first (RFC 5208, section 5).
const HEAD_BYTES: usize = 48;

/// Algorithms and curves as they are named in a key, DER (RFC 8017 appendix A, RFC 5480 section 2.1.1, RFC 8410). The
/// first that is found counts, so curves come before EC itself.
const NAMED: [(&[u8], &str); 8] = [
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01], "it is an RSA key, perhaps damaged or of another size"),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07], "it is an EC key on P-256, perhaps damaged"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x22], "it is an EC key on another curve, P-384"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x23], "it is an EC key on another curve, P-521"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x0a], "it is an EC key on another curve, secp256k1"),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01], "it is an EC key on another curve"),
    (&[0x2b, 0x65, 0x70], "it is an Ed25519 key"),
    (&[0x2b, 0x65, 0x6e], "it is an X25519 key, which cannot sign"),
];

/// What this text is.
pub(crate) fn of(pem: &str) -> &'static str {
    let labels = || pem.split("-----BEGIN ").skip(1).filter_map(|rest| Some(rest.split_once("-----")?.0));
    // A certificate may stand before its key: what is wrong is the key then.
    let Some(label) = labels().find(|label| label.ends_with("PRIVATE KEY")).or_else(|| labels().next()) else {
        return "it is not PEM";
    };
    match label {
        "PRIVATE KEY" => {}
        "EC PRIVATE KEY" => return "it is an EC key in the SEC1 form; `openssl pkcs8 -topk8 -nocrypt` converts it",
        "RSA PRIVATE KEY" => return "it is an RSA key in the PKCS#1 form; `openssl pkcs8 -topk8 -nocrypt` converts it",
        "ENCRYPTED PRIVATE KEY" => return "it is encrypted with a passphrase",
        "PUBLIC KEY" | "RSA PUBLIC KEY" => return "it is a public key",
        "CERTIFICATE" => return "it is a certificate",
        _ => return "it is PEM of something else",
    }
    if pem.contains("\\n") {
        return "its line breaks are written as a backslash and an n";
    }
    let Some(der) = pkcs8(pem) else { return "it is cut off, or its base64 is damaged" };
    let head = der.get(..HEAD_BYTES).unwrap_or(&der);
    let named = NAMED.iter().find(|(oid, _)| head.windows(oid.len()).any(|part| part == *oid));
    named.map_or("its algorithm is unknown", |(_, what)| what)
}

#[cfg(test)]
mod tests {
    use super::of;
    use aws_lc_rs::{
        encoding::AsDer,
        rsa::{KeyPair as RsaKeyPair, KeySize},
        signature::{
            ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED_SIGNING,
            EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair,
        },
    };
    use base64::{Engine, engine::general_purpose::STANDARD};

    fn pem(der: &[u8]) -> String {
        format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der))
    }

    fn ec(on: &'static EcdsaSigningAlgorithm) -> String {
        pem(EcdsaKeyPair::generate(on).unwrap().to_pkcs8v1().unwrap().as_ref())
    }

    #[test]
    fn every_wrong_key_is_named() {
        let p256 = ec(&ECDSA_P256_SHA256_FIXED_SIGNING);
        let rsa = pem(RsaKeyPair::generate(KeySize::Rsa2048).unwrap().as_der().unwrap().as_ref());
        let ed25519 = pem(Ed25519KeyPair::generate().unwrap().to_pkcs8v1().unwrap().as_ref());
        let labelled = |label: &str| p256.replace(" PRIVATE KEY", &format!(" {label}"));
        for (text, what) in [
            (p256.clone(), "it is an EC key on P-256, perhaps damaged"),
            (ec(&ECDSA_P384_SHA384_FIXED_SIGNING), "it is an EC key on another curve, P-384"),
            (ec(&ECDSA_P521_SHA512_FIXED_SIGNING), "it is an EC key on another curve, P-521"),
            (rsa, "it is an RSA key, perhaps damaged or of another size"),
            (ed25519, "it is an Ed25519 key"),
            (String::new(), "it is not PEM"),
            ("MIGHAgEAMBMGByqGSM49".to_owned(), "it is not PEM"),
            (labelled("PUBLIC KEY"), "it is a public key"),
            (labelled("CERTIFICATE"), "it is a certificate"),
            (labelled("OPENSSH PRIVATE KEY"), "it is PEM of something else"),
            (labelled("ENCRYPTED PRIVATE KEY"), "it is encrypted with a passphrase"),
            (
                labelled("EC PRIVATE KEY"),
                "it is an EC key in the SEC1 form; `openssl pkcs8 -topk8 -nocrypt` converts it",
            ),
            (
                labelled("RSA PRIVATE KEY"),
                "it is an RSA key in the PKCS#1 form; `openssl pkcs8 -topk8 -nocrypt` converts it",
            ),
            (p256.replace('\n', "\\n"), "its line breaks are written as a backslash and an n"),
            (
                format!("{}{}", labelled("CERTIFICATE"), ec(&ECDSA_P384_SHA384_FIXED_SIGNING)),
                "it is an EC key on another curve, P-384",
            ),
            (format!("{p256}{}", labelled("CERTIFICATE")), "it is an EC key on P-256, perhaps damaged"),
            (p256[..60].to_owned(), "it is cut off, or its base64 is damaged"),
            (p256.replace("\nMI", "\n**"), "it is cut off, or its base64 is damaged"),
            (pem(b"no key at all"), "its algorithm is unknown"),
        ] {
            assert_eq!(of(&text), what);
        }
    }
}
