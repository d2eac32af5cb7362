//! The delivery item: the stored progress of one chunk of at most 20 devices.
//!
//! Made by the first claim, changed only by compare-and-set on its version. It says who may call the provider and
//! until when (a lease), and what is known about each device (its letter).

use crate::{answer::Reason, ids::OwnerToken, letter::Letter};
use alloc::{string::String, vec, vec::Vec};

/// Calls per device are counted up to this (one digit).
pub const CALLS_COUNTED: u8 = 9;

/// Where a chunk stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Claimed: until the lease ends its owner alone may call.
    InFlight,
    /// Recorded, with open devices: the next receive after `not_before_ms` claims again.
    Retry,
    /// Every device is final.
    Done,
}

/// What is stored of one device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceState {
    /// What is known.
    pub letter: Letter,
    /// Calls that were or may have been made, counted to 9.
    pub calls: u8,
    /// The id that the provider gave, exactly.
    pub provider_id: Option<String>,
    /// The last error.
    pub error: Option<Reason>,
}

impl DeviceState {
    /// A device nothing is known about.
    pub const NEW: Self = Self { letter: Letter::Pending, calls: 0, provider_id: None, error: None };
}

/// The delivery item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Delivery {
    /// Where it stands.
    pub state: State,
    /// Attempts (claims that may have called) so far.
    pub attempt: u16,
    /// Who claimed last; kept by the record. `None` when it was settled without any claim.
    pub owner: Option<OwnerToken>,
    /// When the last claim's lease ends, in ms.
    pub lease_ms: u64,
    /// Not to be claimed before, in ms.
    pub not_before_ms: u64,
    /// Counts writes; every write is conditional on it.
    pub version: u32,
    /// One per device of the chunk, in order.
    pub devices: Vec<DeviceState>,
    /// When it was last written, in ms.
    pub updated_ms: u64,
    /// When it may be deleted, in whole seconds.
    pub expires_s: u64,
}

impl Delivery {
    /// How many devices have this letter.
    #[must_use]
    pub fn devices_at(&self, letter: Letter) -> u64 {
        let devices = self.devices.iter().filter(|device| device.letter == letter).count();
        u64::try_from(devices).unwrap_or(u64::MAX)
    }

    /// An item that does not exist yet, as what the first write starts from.
    #[must_use]
    pub fn unwritten(devices: usize, expires_s: u64) -> Self {
        Self {
            state: State::Retry,
            attempt: 0,
            owner: None,
            lease_ms: 0,
            not_before_ms: 0,
            version: 0,
            devices: vec![DeviceState::NEW; devices],
            updated_ms: 0,
            expires_s,
        }
    }

    /// Whether every device is final.
    #[must_use]
    pub fn all_final(&self) -> bool {
        self.devices.iter().all(|device| device.letter.is_final())
    }

    /// The devices a call may still be made for.
    pub fn open(&self) -> impl Iterator<Item = usize> + '_ {
        self.devices.iter().enumerate().filter(|(_, device)| device.letter.is_open()).map(|(index, _)| index)
    }
}

/// Proof that a chunk is done: made only from an item whose every device is final. The only thing, besides a confirmed
/// successor copy, for which a copy may be acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finished(());

impl Finished {
    /// The proof, if the item is done.
    #[must_use]
    pub fn of(delivery: &Delivery) -> Option<Self> {
        (delivery.state == State::Done && delivery.all_final()).then_some(Self(()))
    }
}
