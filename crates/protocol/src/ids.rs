//! Keys and ids: what makes two requests the same one, and what names a message.
//!
//! A key hash is injective over (operation, project, key): each field is preceded by its length, so no separator can
//! be forged (`("a#b","c")` and `("a","b#c")` differ). An id carries the key hash, so GET by id needs no index, and a
//! nonce, so that a key reused after its validity makes a different id.

use alloc::{string::String, vec::Vec};
use core::fmt;
use data_encoding::BASE32_NOPAD;
use sha2::{Digest, Sha256};

/// Bytes of a key hash: 160 bits of SHA-256, collision-resistant to 2^80.
pub const KEY_HASH_BYTES: usize = 20;
/// Bytes of a nonce (40 bits, 8 characters).
pub const NONCE_BYTES: usize = 5;
/// Length of an id in bytes. Fits `apns-collapse-id` (at most 64 bytes, Apple's "Sending notification requests").
pub const ID_LEN: usize = 44;

/// What an idempotency key was given for. Keys of different operations never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// POST /v1/messages.
    Message,
    /// POST /v1/refunds.
    Refund,
}

impl Operation {
    /// The word in hashes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Refund => "refund",
        }
    }

    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Message => "msg_",
            Self::Refund => "rf_",
        }
    }
}

/// Lower-case base32 without padding (RFC 4648 section 6).
fn base32(bytes: &[u8]) -> String {
    BASE32_NOPAD.encode(bytes).to_ascii_lowercase()
}

pub(crate) fn unbase32<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.bytes().any(|b| b.is_ascii_uppercase()) {
        return None;
    }
    BASE32_NOPAD.decode(text.to_ascii_uppercase().as_bytes()).ok()?.try_into().ok()
}

/// The hash of (operation, project, key).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyHash([u8; KEY_HASH_BYTES]);

/// What is hashed for a key: each field behind its length in two big-endian bytes. Public so that a test can show that
/// it is injective.
#[must_use]
pub fn key_preimage(operation: Operation, project: &str, key: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for field in [operation.as_str(), project, key] {
        // Projects and keys are at most 128 bytes long; a longer field (never reached) is still unambiguous, since its
        // length is then written in full behind the marker 0xFFFF.
        match u16::try_from(field.len()) {
            Ok(len) if len < u16::MAX => out.extend_from_slice(&len.to_be_bytes()),
            _ => {
                out.extend_from_slice(&u16::MAX.to_be_bytes());
                out.extend_from_slice(&(field.len() as u64).to_be_bytes());
            }
        }
        out.extend_from_slice(field.as_bytes());
    }
    out
}

impl KeyHash {
    /// The hash under which a key is claimed.
    #[must_use]
    pub fn of(operation: Operation, project: &str, key: &str) -> Self {
        let digest = Sha256::digest(key_preimage(operation, project, key));
        let mut hash = [0; KEY_HASH_BYTES];
        hash.copy_from_slice(&digest[..KEY_HASH_BYTES]);
        Self(hash)
    }

    /// 32 characters, lower-case base32.
    #[must_use]
    pub fn to_base32(self) -> String {
        base32(&self.0)
    }

    /// The hash that [`KeyHash::to_base32`] writes as this text.
    pub(crate) fn from_base32(text: &str) -> Option<Self> {
        Some(Self(unbase32(text)?))
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_base32())
    }
}

/// 40 random bits, fresh for each HTTP request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nonce(pub [u8; NONCE_BYTES]);

impl Nonce {
    /// 8 characters, lower-case base32.
    #[must_use]
    pub fn to_base32(self) -> String {
        base32(&self.0)
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_base32())
    }
}

/// A message's id: `msg_`, the key hash, the nonce.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId {
    /// Which key it was accepted under.
    pub key: KeyHash,
    /// Which acceptance under that key.
    pub nonce: Nonce,
}

impl MessageId {
    /// Parses an id exactly as [`fmt::Display`] writes it; anything else is no id of ours.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != ID_LEN || !text.is_ascii() {
            return None;
        }
        let rest = text.strip_prefix(Operation::Message.prefix())?;
        let (key, nonce) = rest.split_at_checked(32)?;
        Some(Self { key: KeyHash(unbase32(key)?), nonce: Nonce(unbase32(nonce)?) })
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", Operation::Message.prefix(), self.key.to_base32(), self.nonce.to_base32())
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The owner token of a claim, or of a payout's call: 128 fresh random bits per receive. Never the request, the instance, the message id or
/// the receive count: each of those repeats, and a repeated token resumes a call that was already made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnerToken(pub [u8; 16]);

impl fmt::Debug for OwnerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base32(&self.0))
    }
}
