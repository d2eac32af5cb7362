//! The signing key as it is stored in the secret, with the ids that Apple's developer portal shows beside it.
//!
//! The secret is `{"key": PKCS#8 PEM, "key_id", "team_id", "environment": "sandbox" | "production", "apps": [bundle ids,
//! the first is the default], "base_url"?}`. Read by the client once per [`outbound::credentials::CREDENTIALS_FRESH_MS`]. Errors name the member, never its value.

use crate::{
    members::{KeyFault, Members, base_url, members, optional, pkcs8, required},
    shape,
};
use aws_lc_rs::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey},
};
use http::Uri;
use protocol::content::Token;
use serde_json::Value;
use std::fmt::{self, Write};

/// Longest key or team id; Apple's have 10 characters.
const ID_MAX: usize = 64;
/// Longest bundle id (App Store Connect's limit).
const BUNDLE_ID_MAX: usize = 155;

/// Apple's two worlds. A device token belongs to one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Environment {
    Sandbox,
    Production,
}

impl Environment {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Production => "production",
        }
    }

    /// Apple, "Sending notification requests to APNs": the two hosts.
    fn base_url(self) -> &'static str {
        match self {
            Self::Sandbox => "https://api.sandbox.push.apple.com",
            Self::Production => "https://api.push.apple.com",
        }
    }
}

/// A usable signing key.
pub(crate) struct Key {
    pub(crate) key_id: String,
    pub(crate) team_id: String,
    pub(crate) environment: Environment,
    /// Bundle ids; never empty. The first is the default.
    pub(crate) apps: Vec<String>,
    /// Without a slash at the end.
    pub(crate) base_url: String,
    /// The same, parsed.
    pub(crate) address: Uri,
    /// Of the public key. Ids are what somebody typed; only this says whose signatures they are.
    pub(crate) fingerprint: String,
    pair: EcdsaKeyPair,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("team_id", &self.team_id).field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

impl Key {
    /// Reads the text of the secret. `base_url` is optional: the sandbox's address, or Apple's other port.
    pub(crate) fn parse(text: &str) -> Result<Self, KeyFault> {
        let members = members(text)?;
        let environment = match required(&members, "environment")? {
            "sandbox" => Environment::Sandbox,
            "production" => Environment::Production,
            _ => return Err(KeyFault::Rule("environment", "must be sandbox or production")),
        };
        let base_url = base_url("base_url", optional(&members, "base_url")?.unwrap_or(environment.base_url()))?;
        let pair = pair(required(&members, "key")?)?;
        Ok(Self {
            fingerprint: fingerprint(pair.public_key().as_ref()),
            key_id: id(&members, "key_id")?,
            team_id: id(&members, "team_id")?,
            environment,
            apps: apps(&members)?,
            address: base_url.parse().map_err(|_| KeyFault::Url("base_url"))?,
            base_url: base_url.to_owned(),
            pair,
        })
    }

    /// The app that a message goes to: the one it names, else the first. `None` if it names one that is not listed.
    pub(crate) fn topic(&self, named: Option<&str>) -> Option<&str> {
        let mut apps = self.apps.iter().map(String::as_str);
        match named {
            None => apps.next(),
            Some(named) => apps.find(|app| *app == named),
        }
    }

    /// Where a device is called.
    pub(crate) fn device(&self, token: &Token) -> Result<Uri, http::Error> {
        let mut parts = self.address.clone().into_parts();
        parts.path_and_query = Some(format!("/3/device/{}", token.0).parse()?);
        Ok(Uri::from_parts(parts)?)
    }

    /// What connections and provider tokens are shared by.
    pub(crate) fn identity(&self) -> String {
        let Self { team_id, key_id, fingerprint, base_url, .. } = self;
        format!("{}#{team_id}#{key_id}#{fingerprint}#{base_url}", self.environment.as_str())
    }

    /// ES256: the fixed form of 64 bytes (RFC 7518, section 3.4).
    pub(crate) fn sign(&self, text: &[u8]) -> Option<Vec<u8>> {
        self.pair.sign(&SystemRandom::new(), text).ok().map(|signature| signature.as_ref().to_vec())
    }

    /// Whether this key made the signature.
    pub(crate) fn signed(&self, text: &[u8], signature: &[u8]) -> bool {
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key());
        public.verify(text, signature).is_ok()
    }
}

/// The first 64 bits of a SHA-256, in hexadecimal: enough to tell the keys of one key id apart.
fn fingerprint(public_key: &[u8]) -> String {
    let hash = digest(&SHA256, public_key);
    hash.as_ref().iter().take(8).fold(String::new(), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn id(members: &Members, name: &'static str) -> Result<String, KeyFault> {
    let text = required(members, name)?;
    if text.len() > ID_MAX || !text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
        return Err(KeyFault::Rule(name, "may hold at most 64 letters, digits, '-' and '_'"));
    }
    Ok(text.to_owned())
}

fn apps(members: &Members) -> Result<Vec<String>, KeyFault> {
    let fault = KeyFault::Rule("apps", "must be an array of bundle ids that is not empty");
    let listed = match members.get("apps") {
        None | Some(Value::Null) => return Err(KeyFault::Missing("apps")),
        Some(Value::Array(listed)) if !listed.is_empty() => listed,
        Some(_) => return Err(fault),
    };
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    let bundle_id = |value: &Value| match value.as_str() {
        Some(text) if (1..=BUNDLE_ID_MAX).contains(&text.len()) && text.bytes().all(allowed) => Ok(text.to_owned()),
        _ => Err(fault),
    };
    listed.iter().map(bundle_id).collect()
}

/// Every shape of PKCS#8 for P-256: with the public part (openssl), without it, and with the curve named twice (Apple).
fn pair(pem: &str) -> Result<EcdsaKeyPair, KeyFault> {
    let fault = || KeyFault::Key("key", "an EC key on P-256 as PKCS#8 PEM", shape::of(pem));
    let der = pkcs8(pem).ok_or_else(fault)?;
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der).map_err(|_| fault())
}

#[cfg(test)]
#[path = "key_tests.rs"]
pub(crate) mod tests;
