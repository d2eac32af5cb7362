//! The keys of this sandbox, an RSA key for each Google account and an EC key for each of Apple's teams: the private
//! halves are in the secrets handed out, the public halves check what was signed. Made when a project is seeded, so no
//! private key is kept in the repository.

use aws_lc_rs::{
    encoding::AsDer,
    rsa::{KeyPair, KeySize},
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
        RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    },
};
use base64::{Engine, engine::general_purpose::STANDARD};

/// Characters in a line of PEM (RFC 7468, section 2).
const PEM_LINE: usize = 64;

pub(crate) struct SigningKey {
    pem: String,
    public: Vec<u8>,
}

impl SigningKey {
    pub(crate) fn generate() -> Option<Self> {
        let pair = KeyPair::generate(KeySize::Rsa2048).ok()?;
        let der = pair.as_der().ok()?;
        Some(Self { pem: pem(der.as_ref()), public: pair.public_key().as_ref().to_vec() })
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// Whether `signature` is RS256 of `text` by this key.
    pub(crate) fn signed(&self, text: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.public).verify(text, signature).is_ok()
    }
}

/// Apple's side of a signing key.
pub(crate) struct ProviderKey {
    pem: String,
    public: Vec<u8>,
}

impl ProviderKey {
    pub(crate) fn generate() -> Option<Self> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).ok()?;
        let der = pair.to_pkcs8v1().ok()?;
        Some(Self { pem: pem(der.as_ref()), public: pair.public_key().as_ref().to_vec() })
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// Whether `signature` is ES256 of `text` by this key.
    pub(crate) fn signed(&self, text: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &self.public).verify(text, signature).is_ok()
    }
}

fn pem(der: &[u8]) -> String {
    let mut pem = String::from("-----BEGIN PRIVATE KEY-----\n");
    for (at, c) in STANDARD.encode(der).chars().enumerate() {
        if at > 0 && at % PEM_LINE == 0 {
            pem.push('\n');
        }
        pem.push(c);
    }
    pem.push_str("\n-----END PRIVATE KEY-----\n");
    pem
}
