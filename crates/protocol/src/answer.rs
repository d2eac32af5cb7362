//! What came of one provider call, in the protocol's own words.
//!
//! Each provider's adapter turns its statuses and transport errors into one of these; the join table of
//! [`crate::letter`] decides what they mean for a device.

use alloc::string::String;

/// A provider's reason, or ours, as it is kept on the device and shown to the caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reason {
    /// A short stable word: the provider's own code where it gave one ("UNREGISTERED"), else ours ("timeout").
    pub code: String,
    /// A sentence, cut and free of device tokens.
    pub detail: String,
}

/// What came of one provider call for one device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The provider took it.
    Accepted {
        /// The id that the provider gave, exactly.
        provider_id: String,
    },
    /// The provider refused it for good.
    Permanent(Reason),
    /// The provider refused it for the time being, and certainly did not take it.
    NotNow {
        /// What it said.
        reason: Reason,
        /// How long it asked us to wait, in milliseconds.
        after_ms: Option<u64>,
    },
    /// The request never reached the provider, or the provider certainly did not process it.
    NotSent(Reason),
    /// The provider answered, but may have taken it all the same (a 5xx).
    Ambiguous {
        /// What it said.
        reason: Reason,
        /// How long it asked us to wait, in milliseconds.
        after_ms: Option<u64>,
    },
    /// No answer: it may have taken it.
    Lost(Reason),
    /// Nobody was called: what a call needs was not there. It counts as no call.
    NotCalled(Reason),
}

impl Answer {
    /// How long the provider asked us to wait, in milliseconds.
    #[must_use]
    pub fn asked_ms(&self) -> Option<u64> {
        match self {
            Self::NotNow { after_ms, .. } | Self::Ambiguous { after_ms, .. } => *after_ms,
            Self::Accepted { .. } | Self::Permanent(_) | Self::NotSent(_) | Self::Lost(_) | Self::NotCalled(_) => None,
        }
    }

    /// Whether a provider was called, or may have been.
    #[must_use]
    pub fn was_called(&self) -> bool {
        !matches!(self, Self::NotCalled(_))
    }

    /// What is shown as the device's last error.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Accepted { .. } => None,
            Self::Permanent(reason)
            | Self::NotSent(reason)
            | Self::Lost(reason)
            | Self::NotCalled(reason)
            | Self::NotNow { reason, .. }
            | Self::Ambiguous { reason, .. } => Some(reason),
        }
    }
}
