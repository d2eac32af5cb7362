//! Webhooks of the payment provider: is it signed by it, and what does it say?
//!
//! Called by `functions/refunds` with the raw body: first [`crate::Payments::verify`], then [`read`]. A project without a
//! usable secret is told the same as a bad signature, so that nobody can try out which projects there are.

mod event;
mod signature;

pub use event::{Said, read};

use crate::{NotPrepared, Payments};
use std::sync::PoisonError;

/// A bad signature makes the secret be read again if it is older than this, in ms of the clock: it may have been rolled
/// since. Not sooner, since anybody may send bad signatures.
const READ_AGAIN_MS: u64 = 60_000;
/// Longest name of a project that is looked for, in bytes. Its characters are those of a secret's name
/// (AWS Secrets Manager API reference, CreateSecret), without the slash that separates the parts.
const PROJECT_MAX_BYTES: usize = 128;

/// Why a webhook is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    /// No signature of the project's secrets, or one that is too old: refused for good.
    #[error("the signature is missing, old or by another secret")]
    Signature,
    /// The project's secrets cannot be had now: the provider sends it again.
    #[error(transparent)]
    Unavailable(NotPrepared),
}

impl Payments {
    /// Whether `body`, byte for byte as it came, is signed with one of the project's secrets. `header` is Stripe-Signature.
    ///
    /// # Errors
    /// When it is not, or nobody can say.
    pub async fn verify(&self, project: &str, header: Option<&str>, body: &[u8]) -> Result<(), Unverified> {
        let shared = &self.shared;
        let now_ms = shared.clock.now_ms();
        let known_missing = || shared.missing.lock().unwrap_or_else(PoisonError::into_inner).get(project, now_ms);
        let signed = header.and_then(signature::Signed::read).filter(|signed| signed.is_recent(now_ms / 1_000));
        let (Some(signed), true, None) = (signed, is_name(project), known_missing()) else {
            return Err(Unverified::Signature);
        };
        let slot = shared.slot(project);
        let held = match shared.credentials(project, &slot).await {
            Ok(held) => held,
            Err(error) if error.lasts() => {
                let mut missing = shared.missing.lock().unwrap_or_else(PoisonError::into_inner);
                missing.put(project.to_owned(), (), false, now_ms);
                return Err(Unverified::Signature);
            }
            Err(error) => return Err(Unverified::Unavailable(error)),
        };
        if signed.by_any(&held.key.webhook_secrets, body) {
            return Ok(());
        }
        let read_ms = slot.state().as_ref().map_or(0, |known| known.read_ms());
        if now_ms.saturating_sub(read_ms) < READ_AGAIN_MS {
            return Err(Unverified::Signature);
        }
        match shared.within(shared.read(project, &slot)).await {
            Ok(held) if signed.by_any(&held.key.webhook_secrets, body) => Ok(()),
            Ok(_) => Err(Unverified::Signature),
            Err(error) if error.lasts() => Err(Unverified::Signature),
            Err(error) => Err(Unverified::Unavailable(error)),
        }
    }
}

/// Whether a text may be a project's name: such a name can be looked for, and nothing else can be one.
#[must_use]
pub fn is_name(project: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_+=.@-".contains(&b);
    (1..=PROJECT_MAX_BYTES).contains(&project.len()) && project.bytes().all(allowed)
}
