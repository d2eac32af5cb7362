//! A payout: its states, and what a finding about it makes of them.
//!
//! [`hear`] is the only way in which what a provider said reaches a stored payout, whether it came as an answer to a
//! call, from a listing or by webhook, and in whatever order. It never goes back, except that a provider may take a
//! success back. Only a person ([`super::person`]) ends a review otherwise.

use crate::answer::Reason;
use alloc::string::String;

/// Where a payout stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// To be called for.
    Due,
    /// The provider has it and has not decided.
    Submitted,
    /// The provider paid.
    Paid,
    /// The provider refused it, or took it back, or a person said that it was not paid.
    Failed,
    /// Nobody can know without looking: a person ends it.
    Review,
}

/// All states.
pub const STATES: [State; 5] = [State::Due, State::Submitted, State::Paid, State::Failed, State::Review];

impl State {
    /// The word in answers and in the stored item.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Submitted => "submitted",
            Self::Paid => "paid",
            Self::Failed => "failed",
            Self::Review => "review",
        }
    }

    /// The state of a word, exactly as [`State::as_str`] writes it.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        STATES.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether a copy must stay in the queue for it.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Due | Self::Submitted)
    }
}

/// The current payout of an approved refund.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Payout {
    /// Which one, from 1.
    pub number: u16,
    /// What is paid, in minor units: as it was when the refund was approved.
    pub amount: u64,
    /// Where it stands.
    pub state: State,
    /// When it became due, in ms.
    pub due_ms: u64,
    /// When the first call for it was about to be made, in ms. Written before that call, so without it none was made.
    pub first_call_ms: Option<u64>,
    /// When it was recorded as failed, in ms.
    pub failed_ms: Option<u64>,
    /// The provider's id of it: there once the provider has an object for it.
    pub reference: Option<String>,
    /// Why it failed or is in review.
    pub reason: Option<Reason>,
    /// The last provider event applied.
    pub applied: Option<super::webhook::Order>,
}

impl Payout {
    /// A payout that nobody has called for.
    #[must_use]
    pub fn due(number: u16, amount: u64, now_ms: u64) -> Self {
        Self {
            number,
            amount,
            state: State::Due,
            due_ms: now_ms,
            first_call_ms: None,
            failed_ms: None,
            reference: None,
            reason: None,
            applied: None,
        }
    }
}

/// What is found out about one payout.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Finding {
    /// The provider has it and has not decided (Stripe: `pending`, `requires_action`).
    Pending {
        /// The provider's id of it.
        reference: String,
    },
    /// The provider paid.
    Succeeded {
        /// The provider's id of it.
        reference: String,
    },
    /// The provider had it, and it failed (Stripe: `failed`, `canceled`).
    Failed {
        /// The provider's id of it.
        reference: String,
        /// Why.
        reason: Reason,
    },
    /// The provider refused to make it, for good.
    Refused(Reason),
    /// Nobody can know without looking: the key was used with other parameters, the window is over and a listing does
    /// not show it or is refused, or what the provider made is not what was asked for.
    Unclear {
        /// The provider's id of what it made, if there is such an object.
        reference: Option<String>,
        /// Why.
        reason: Reason,
    },
}

impl Finding {
    /// Unclear, for this reason, and without an object of the provider's.
    #[must_use]
    pub fn unclear(code: &str, detail: &str) -> Self {
        Self::Unclear { reference: None, reason: Reason { code: String::from(code), detail: String::from(detail) } }
    }

    /// The provider's id of the object that was found.
    #[must_use]
    pub fn reference(&self) -> Option<&str> {
        match self {
            Self::Pending { reference } | Self::Succeeded { reference } | Self::Failed { reference, .. } => {
                Some(reference)
            }
            Self::Refused(_) => None,
            Self::Unclear { reference, .. } => reference.as_deref(),
        }
    }

    /// Whether money was given back, or may still be, by what was found.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        matches!(self, Self::Pending { .. } | Self::Succeeded { .. })
    }
}

/// The payout that `stored` becomes, or `None` if it says all of this already.
///
/// | stored | pending | succeeded | failed | refused | unclear | unclear, an object |
/// |---|---|---|---|---|---|---|
/// | due | submitted | paid | failed | failed | review | review |
/// | submitted | = | paid | failed | = | review | review |
/// | paid | = | = | failed | = | = | = |
/// | review | = | paid | failed | = | = | =, or review with the object |
/// | failed, the provider had it | = | = | = | = | = | = |
/// | failed, refused or a person's word | review | paid | failed | = | = | review |
///
/// The provider's own order is pending, succeeded, failed, and each of the three names an object of the provider's. A
/// refusal or a person's word is weaker than an object: a call that was on its way when another was refused may still
/// have been taken, and saying `failed` then would invite a second payment. That object, pending, is a person's to
/// look at, since no copy may be left in the queue for it; and so is one that is not what was asked for
/// ([`super::terms`]), which the last column is about.
#[must_use]
pub fn hear(stored: &Payout, finding: &Finding, now_ms: u64) -> Option<Payout> {
    let had = stored.reference.is_some();
    let state = match (stored.state, finding) {
        (State::Due, Finding::Pending { .. }) => State::Submitted,
        (State::Due | State::Submitted | State::Review, Finding::Succeeded { .. }) => State::Paid,
        (State::Due | State::Submitted | State::Review | State::Paid, Finding::Failed { .. }) => State::Failed,
        (State::Due, Finding::Refused(_)) => State::Failed,
        (State::Due | State::Submitted, Finding::Unclear { .. }) => State::Review,
        (State::Review | State::Failed, Finding::Unclear { reference: Some(_), .. }) if !had => State::Review,
        (State::Failed, Finding::Pending { .. }) if !had => State::Review,
        (State::Failed, Finding::Succeeded { .. }) if !had => State::Paid,
        (State::Failed, Finding::Failed { .. }) if !had => State::Failed,
        _ => return None,
    };
    let reason = match finding {
        Finding::Pending { .. } | Finding::Succeeded { .. } => None,
        Finding::Failed { reason, .. } | Finding::Refused(reason) | Finding::Unclear { reason, .. } => Some(reason),
    };
    Some(Payout {
        state,
        failed_ms: (state == State::Failed).then_some(now_ms),
        reference: stored.reference.clone().or_else(|| finding.reference().map(String::from)),
        // What put a payout in review is kept when it is an object that turned up after a refusal.
        reason: reason.cloned().or_else(|| stored.reason.clone().filter(|_| state == State::Review)),
        ..stored.clone()
    })
}
