//! What a caller is told about a message: derived from its items and the clock, never stored.
//!
//! The clock rule makes it impossible for a lost copy or a purged queue to leave a message "sending" for ever: a chunk
//! that is unfinished long after its last lease could have ended reads as expired or unknown.

use crate::{
    DEVICES_PER_CHUNK,
    delivery::{Delivery, State},
    letter::Letter,
    timing::Timing,
};
use alloc::vec::Vec;

/// The word for one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeviceWord {
    /// No delivery item yet.
    Pending,
    /// A delivery item, and this device is open.
    Sending,
    /// A provider accepted it.
    Sent,
    /// A provider refused it for good.
    Failed,
    /// Nobody can know.
    Unknown,
    /// Too late, and never accepted.
    Expired,
}

/// All device words, in the order in which counts are shown.
pub const DEVICE_WORDS: [DeviceWord; 6] = [
    DeviceWord::Pending,
    DeviceWord::Sending,
    DeviceWord::Sent,
    DeviceWord::Failed,
    DeviceWord::Unknown,
    DeviceWord::Expired,
];

impl DeviceWord {
    /// The word in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Expired => "expired",
        }
    }
}

/// The word for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageWord {
    /// Accepted; no delivery has begun.
    Queued,
    /// Under way.
    Sending,
    /// Every device was accepted.
    Sent,
    /// Some devices were accepted.
    Partial,
    /// None accepted; of at least one nobody can know.
    Unknown,
    /// None accepted; at least one was refused for good.
    Failed,
    /// None accepted; it is too late.
    Expired,
}

/// All message words.
pub const MESSAGE_WORDS: [MessageWord; 7] = [
    MessageWord::Queued,
    MessageWord::Sending,
    MessageWord::Sent,
    MessageWord::Partial,
    MessageWord::Unknown,
    MessageWord::Failed,
    MessageWord::Expired,
];

impl MessageWord {
    /// The word in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Partial => "partial",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
            Self::Expired => "expired",
        }
    }
}

fn device_word(item: Option<&Delivery>, index: usize, too_late: bool) -> DeviceWord {
    let letter = item.and_then(|item| item.devices.get(index)).map_or(Letter::Pending, |device| device.letter);
    match letter {
        Letter::Sent => DeviceWord::Sent,
        Letter::Failed => DeviceWord::Failed,
        Letter::Unknown => DeviceWord::Unknown,
        Letter::Expired => DeviceWord::Expired,
        Letter::Pending if too_late && item.is_none_or(|item| item.state == State::Retry) => DeviceWord::Expired,
        Letter::Pending | Letter::Lost1 | Letter::Lost2 if too_late => DeviceWord::Unknown,
        Letter::Pending | Letter::Lost1 | Letter::Lost2 => {
            if item.is_some() {
                DeviceWord::Sending
            } else {
                DeviceWord::Pending
            }
        }
    }
}

/// The words for a message's devices, in order. `items[c]` is the delivery item of chunk `c`, if there is one.
#[must_use]
pub fn device_words(
    devices: usize,
    items: &[Option<Delivery>],
    deliver_by_ms: u64,
    now_ms: u64,
    timing: &Timing,
) -> Vec<DeviceWord> {
    let too_late = now_ms > deliver_by_ms.saturating_add(timing.lease).saturating_add(timing.skew);
    (0..devices)
        .map(|device| {
            let item = items.get(device / DEVICES_PER_CHUNK).and_then(Option::as_ref);
            device_word(item, device % DEVICES_PER_CHUNK, too_late)
        })
        .collect()
}

/// The word for a message whose devices have these words.
#[must_use]
pub fn message_word(words: &[DeviceWord]) -> MessageWord {
    let has = |word| words.contains(&word);
    let all = |word| words.iter().all(|w| *w == word);
    if all(DeviceWord::Pending) {
        MessageWord::Queued
    } else if has(DeviceWord::Pending) || has(DeviceWord::Sending) {
        MessageWord::Sending
    } else if all(DeviceWord::Sent) {
        MessageWord::Sent
    } else if has(DeviceWord::Sent) {
        MessageWord::Partial
    } else if has(DeviceWord::Unknown) {
        MessageWord::Unknown
    } else if has(DeviceWord::Failed) {
        MessageWord::Failed
    } else {
        MessageWord::Expired
    }
}
