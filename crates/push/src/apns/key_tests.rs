//! The secret's members, and every shape that a signing key comes in.

use super::*;
use aws_lc_rs::encoding::{AsBigEndian, EcPrivateKeyBin};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;
use std::sync::OnceLock;

/// `SEQUENCE { ecPublicKey, prime256v1 }` (RFC 5480, section 2.1.1).
const ALGORITHM: [u8; 21] = [
    0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03,
    0x01, 0x07,
];

fn pem(der: &[u8]) -> String {
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der))
}

fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    let mut out = if length < 0x80 { vec![tag, length] } else { vec![tag, 0x81, length] };
    out.extend(content);
    out
}

/// PKCS#8 (RFC 5208) around an ECPrivateKey (RFC 5915), with and without its optional parts.
fn der(secret: &[u8], public: Option<&[u8]>, curve: bool) -> Vec<u8> {
    let mut key = vec![0x02, 0x01, 0x01];
    key.extend(tagged(0x04, secret));
    if curve {
        key.extend(tagged(0xa0, &ALGORITHM[11..]));
    }
    if let Some(public) = public {
        let bits = [&[0][..], public].concat();
        key.extend(tagged(0xa1, &tagged(0x03, &bits)));
    }
    let key = tagged(0x04, &tagged(0x30, &key));
    tagged(0x30, &[&[0x02, 0x01, 0x00][..], &ALGORITHM, &key].concat())
}

/// A complete secret; the key is made once per test process.
pub(crate) fn secret() -> Value {
    static PEM: OnceLock<String> = OnceLock::new();
    let key = PEM.get_or_init(|| {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        pem(pair.to_pkcs8v1().unwrap().as_ref())
    });
    json!({
        "key": key, "key_id": "ABC123DEFG", "team_id": "DEF123GHIJ", "environment": "production",
        "apps": ["com.example.app", "com.example.other"],
    })
}

fn fault(change: impl FnOnce(&mut Value)) -> String {
    let mut secret = secret();
    change(&mut secret);
    Key::parse(&secret.to_string()).unwrap_err().to_string()
}

#[test]
fn a_complete_secret_is_read() {
    let key = Key::parse(&secret().to_string()).unwrap();
    assert_eq!((key.base_url.as_str(), key.topic(None)), ("https://api.push.apple.com", Some("com.example.app")));
    assert_eq!(key.topic(Some("com.example.other")), Some("com.example.other"));
    for unknown in ["", "com.example", "com.example.App", "com.example.app.x"] {
        assert_eq!(key.topic(Some(unknown)), None, "{unknown}");
    }
    let identity = format!("production#DEF123GHIJ#ABC123DEFG#{}#https://api.push.apple.com", key.fingerprint);
    assert_eq!(key.identity(), identity);
    assert_eq!(key.fingerprint.len(), 16);
    assert_eq!(format!("{key:?}"), r#"Key { team_id: "DEF123GHIJ", key_id: "ABC123DEFG", .. }"#);
    let mut other = secret();
    other["environment"] = json!("sandbox");
    assert_eq!(Key::parse(&other.to_string()).unwrap().base_url, "https://api.sandbox.push.apple.com");
    other["base_url"] = json!("http://127.0.0.1:8090/");
    let local = Key::parse(&other.to_string()).unwrap();
    assert_eq!(local.base_url, "http://127.0.0.1:8090");
    assert_eq!(local.device(&Token("c0ffee".to_owned())).unwrap(), "http://127.0.0.1:8090/3/device/c0ffee");
}

#[test]
fn every_key_shape_signs() {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let private: EcPrivateKeyBin<'_> = pair.private_key().as_be_bytes().unwrap();
    let (private, public) = (private.as_ref().to_vec(), pair.public_key().as_ref().to_vec());
    let shapes = [
        // As openssl writes it, without the public part, and as Apple's portal hands it out.
        (der(&private, Some(&public), false), 138),
        (der(&private, None, false), 67),
        (der(&private, Some(&public), true), 150),
    ];
    for (der, length) in shapes {
        assert_eq!(der.len(), length);
        let mut with = secret();
        with["key"] = json!(pem(&der));
        let key = Key::parse(&with.to_string()).unwrap();
        let signature = key.sign(b"text").unwrap();
        assert_eq!(signature.len(), 64);
        let verifier = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &public);
        verifier.verify(b"text", &signature).unwrap();
        assert!(key.signed(b"text", &signature) && !key.signed(b"other", &signature));
    }
}

#[test]
fn a_fault_names_the_member_and_not_its_value() {
    for name in ["key", "key_id", "team_id", "environment", "apps"] {
        let missing = fault(|secret| {
            secret.as_object_mut().unwrap().remove(name);
        });
        assert_eq!(missing, format!("member {name} is missing"));
        let wrong = fault(|secret| secret[name] = json!([["s3cret"]]));
        assert!(wrong.contains(name) && !wrong.contains("s3cret"), "{wrong}");
    }
    let cases = [
        ("key", json!("-----BEGIN PRIVATE KEY-----\ns3cret\n-----END PRIVATE KEY-----")),
        ("key_id", json!("s3cret#")),
        ("team_id", json!("s3cret/")),
        ("environment", json!("s3cret")),
        ("apps", json!([])),
        ("apps", json!(["com.example.s3cret app"])),
        ("base_url", json!("http://s3cret.example")),
        ("base_url", json!("https://user:s3cret@api.push.apple.com")),
        ("base_url", json!("https://api.push.apple.com/3/s3cret")),
    ];
    for (name, value) in cases {
        let wrong = fault(|secret| secret[name] = value);
        assert!(wrong.contains(name) && !wrong.contains("s3cret"), "{wrong}");
    }
    assert_eq!(Key::parse("s3cret").unwrap_err(), KeyFault::NotJson);
}
