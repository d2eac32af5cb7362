//! The message item: one accepted send. Written once, by accept, and never changed.

use crate::{
    DEVICES_PER_CHUNK,
    content::{Content, Device, Policy},
    fingerprint::Fingerprint,
    ids::MessageId,
};
use alloc::{string::String, vec::Vec};

/// An accepted send.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// What counts as the same request.
    pub fingerprint: Fingerprint,
    /// Whose it is.
    pub project: String,
    /// The idempotency key, as the caller wrote it.
    pub key: String,
    /// When it was accepted, in ms.
    pub at_ms: u64,
    /// When delivery is given up, in ms.
    pub deliver_by_ms: u64,
    /// What the provider is told as the end of its life, in ms.
    pub expires_ms: u64,
    /// End of the key's validity, in whole seconds.
    pub valid_until_s: u64,
    /// What happens when an answer is lost.
    pub policy: Policy,
    /// To whom.
    pub devices: Vec<Device>,
    /// What.
    pub content: Content,
}

impl Message {
    /// How many chunks its devices make.
    #[must_use]
    pub fn chunks(&self) -> u16 {
        chunks_of(self.devices.len())
    }

    /// The devices of a chunk; empty beyond the last.
    #[must_use]
    pub fn chunk(&self, chunk: u16) -> &[Device] {
        self.devices.chunks(DEVICES_PER_CHUNK).nth(usize::from(chunk)).unwrap_or(&[])
    }
}

/// How many chunks so many devices make.
#[must_use]
pub fn chunks_of(devices: usize) -> u16 {
    u16::try_from(devices.div_ceil(DEVICES_PER_CHUNK)).unwrap_or(u16::MAX)
}
