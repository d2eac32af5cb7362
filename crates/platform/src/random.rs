//! The one source of randomness of a process: claim tokens, id nonces, jitter.
//!
//! Backed by the operating system through aws-lc-rs. A machine that cannot give random bytes cannot promise unique
//! tokens, so the caller gets an error and refuses the work instead of guessing.

use aws_lc_rs::rand::{SecureRandom, SystemRandom};

/// The operating system gave no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no random bytes")]
pub struct RandomError;

/// A handle on the system's random number generator. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Random {
    inner: SystemRandom,
}

impl Default for Random {
    fn default() -> Self {
        Self::system()
    }
}

impl Random {
    /// The operating system's generator.
    #[must_use]
    pub fn system() -> Self {
        Self { inner: SystemRandom::new() }
    }

    /// `N` fresh random bytes.
    ///
    /// # Errors
    /// When the operating system's generator fails.
    pub fn bytes<const N: usize>(&self) -> Result<[u8; N], RandomError> {
        let mut out = [0; N];
        self.inner.fill(&mut out).map_err(|_| RandomError)?;
        Ok(out)
    }

    /// A number from 0 to 1,000, for jitter: a failing generator gives 0, since jitter is a courtesy, not a promise.
    #[must_use]
    pub fn permille(&self) -> u16 {
        self.bytes::<4>().map_or(0, |b| u16::try_from(u32::from_be_bytes(b) % 1_001).unwrap_or(0))
    }
}
