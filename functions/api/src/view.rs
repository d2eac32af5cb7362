//! A message as GET shows it: words derived from its items and the clock.
//!
//! Used by the routes, and by the admin command, which shows every project's alike.

use crate::held::{Held, held};
use platform::rfc3339_ms;
use protocol::{
    DEVICES_PER_CHUNK,
    hold::Provider,
    ids::MessageId,
    status::{DeviceWord, device_words, message_word},
    timing::Timing,
};
use serde::Serialize;
use store::{Store, StoreError, StoredMessage};

/// The answer to a send.
#[derive(Debug, Serialize)]
pub(crate) struct Accepted {
    status: &'static str,
    id: String,
}

impl Accepted {
    /// `status` is `queued` or `duplicate_ignored`.
    pub(crate) fn new(status: &'static str, id: MessageId) -> Self {
        Self { status, id: id.to_string() }
    }
}

/// A message, its members in the order in which people read them.
#[derive(Debug, Serialize)]
pub struct Shown<'a> {
    id: String,
    idempotency_key: &'a str,
    request_hash: String,
    status: &'static str,
    delivery: &'static str,
    created_at: String,
    deliver_by: String,
    expires_at: String,
    /// Why its open devices wait, if their provider is held.
    held: Option<Held>,
    counts: Counts,
    deliveries: Vec<ShownDevice<'a>>,
}

#[derive(Debug, Default, Serialize)]
struct Counts {
    pending: usize,
    sending: usize,
    sent: usize,
    failed: usize,
    unknown: usize,
    expired: usize,
}

#[derive(Debug, Serialize)]
struct ShownDevice<'a> {
    index: usize,
    platform: &'static str,
    token: String,
    status: &'static str,
    provider_id: Option<&'a str>,
    attempts: u8,
    last_error: Option<LastError<'a>>,
    updated_at: Option<String>,
}

#[derive(Debug, Serialize)]
struct LastError<'a> {
    code: &'a str,
    detail: &'a str,
}

impl Counts {
    fn of(words: &[DeviceWord]) -> Self {
        let mut counts = Self::default();
        for word in words {
            match word {
                DeviceWord::Pending => counts.pending += 1,
                DeviceWord::Sending => counts.sending += 1,
                DeviceWord::Sent => counts.sent += 1,
                DeviceWord::Failed => counts.failed += 1,
                DeviceWord::Unknown => counts.unknown += 1,
                DeviceWord::Expired => counts.expired += 1,
            }
        }
        counts
    }
}

/// A message's device words at one moment.
struct Words<'a> {
    stored: &'a StoredMessage,
    words: Vec<DeviceWord>,
}

impl<'a> Words<'a> {
    /// A message at `now_ms`.
    fn new(stored: &'a StoredMessage, now_ms: u64, timing: &Timing) -> Self {
        let message = &stored.message;
        let words = device_words(message.devices.len(), &stored.deliveries, message.deliver_by_ms, now_ms, timing);
        Self { stored, words }
    }

    /// The providers of the devices that are still to be reached.
    fn open(&self) -> Vec<Provider> {
        let open = |word: &DeviceWord| matches!(word, DeviceWord::Pending | DeviceWord::Sending);
        let devices = self.stored.message.devices.iter().zip(&self.words).filter(|(_, word)| open(word));
        devices.map(|(device, _)| Provider::of(device.platform)).collect()
    }
}

impl<'a> Shown<'a> {
    /// A message in these words.
    fn new(of: Words<'a>, held: Option<Held>) -> Self {
        let Words { stored, words } = of;
        let message = &stored.message;
        Self {
            id: message.id.to_string(),
            idempotency_key: &message.key,
            request_hash: message.fingerprint.to_string(),
            status: message_word(&words).as_str(),
            delivery: message.policy.as_str(),
            created_at: rfc3339_ms(message.at_ms),
            deliver_by: rfc3339_ms(message.deliver_by_ms),
            expires_at: rfc3339_ms(message.expires_ms),
            held,
            counts: Counts::of(&words),
            deliveries: words.iter().enumerate().map(|(index, word)| device(stored, index, *word)).collect(),
        }
    }
}

/// A message as it reads at `now_ms`, whoever asks.
///
/// # Errors
/// When the table does not say whether its provider is held.
pub async fn shown<'a>(
    store: &Store,
    stored: &'a StoredMessage,
    now_ms: u64,
    timing: &Timing,
) -> Result<Shown<'a>, StoreError> {
    let words = Words::new(stored, now_ms, timing);
    let held = held(store, &stored.message.project, &words.open()).await?;
    Ok(Shown::new(words, held))
}

fn device(stored: &StoredMessage, index: usize, word: DeviceWord) -> ShownDevice<'_> {
    let device = &stored.message.devices[index];
    let item = stored.deliveries.get(index / DEVICES_PER_CHUNK).and_then(Option::as_ref);
    let state = item.and_then(|item| item.devices.get(index % DEVICES_PER_CHUNK));
    let error = state.and_then(|state| state.error.as_ref());
    ShownDevice {
        index,
        platform: device.platform.as_str(),
        token: device.token.masked(),
        status: word.as_str(),
        provider_id: state.and_then(|state| state.provider_id.as_deref()),
        attempts: state.map_or(0, |state| state.calls),
        last_error: error.map(|error| LastError { code: &error.code, detail: &error.detail }),
        updated_at: item.map(|item| rfc3339_ms(item.updated_ms)),
    }
}
