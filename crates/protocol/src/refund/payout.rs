//! A payout: its states, and what a finding about it makes of them.
//!
//! [`hear`] is the only way in which what a provider said reaches a stored payout, whether it came as an answer to a
//! call, from a listing or by webhook, and in whatever order. It never goes back, except that a provider may take a
//! success back. Only a person ([`super::person`]) ends a review otherwise.

use super::objects::is_another;
use crate::{answer::Reason, ids::OwnerToken};
use alloc::{format, string::String};

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
    /// When the first call for it was about to be made that may have been taken, in ms. Written before that call, so
    /// without it there was none.
    pub first_call_ms: Option<u64>,
    /// How many calls were announced: each by a write before it, so none was made beyond them. An only call that is certain
    /// to have done nothing is taken back ([`super::step::nothing_done`]). A payout that was stamped before calls were
    /// counted has 2: nobody knows.
    pub calls: u32,
    /// Who announced the last one: "was it me?". Neither the count nor the time can say that, since two consumers may
    /// write the same. There while the payout is due.
    pub caller: Option<OwnerToken>,
    /// When it was refused or recorded as failed, in ms. Of a payout that is due it says that a call was refused, and
    /// that none may follow ([`Payout::refused`]); of one in review with a reference, that this object failed, which is its
    /// end, though another one paid or may have.
    pub failed_ms: Option<u64>,
    /// The provider's id of it: there once the provider has an object for it.
    pub reference: Option<String>,
    /// Why it failed, is in review, or was refused; of one that is due and not called for, what kept the last call from
    /// doing anything.
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
            calls: 0,
            caller: None,
            failed_ms: None,
            reference: None,
            reason: None,
            applied: None,
        }
    }

    /// Of a payout that is due, when and why a call of it was refused while another one may have been taken, or before
    /// a listing was got. It is never called for again.
    #[must_use]
    pub fn refused(&self) -> Option<(u64, &Reason)> {
        self.failed_ms.zip(self.reason.as_ref()).filter(|_| self.state == State::Due)
    }

    /// This payout in review, for this reason: nobody calls for it, and nobody may retry it. That its object failed stays
    /// known.
    #[must_use]
    pub(crate) fn in_review(self, reason: Reason) -> Self {
        Self { state: State::Review, caller: None, reason: Some(reason), ..self }
    }

    /// This payout, due, with the mark that a call of it was refused; `None` if it has that already.
    #[must_use]
    pub fn marked(&self, reason: &Reason, now_ms: u64) -> Option<Self> {
        let marks = self.state == State::Due && self.refused().is_none();
        marks.then(|| Self { failed_ms: Some(now_ms), reason: Some(reason.clone()), ..self.clone() })
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
    /// Nobody can know without looking: the key was used with other parameters, a listing that had time to show it does
    /// not, or is not to be had, or what the provider made is not what was asked for.
    Unclear {
        /// The provider's id of what it made, if there is such an object.
        reference: Option<String>,
        /// Why.
        reason: Reason,
    },
    /// The provider has an earlier payout of this refund, which is not known to have failed: another one would pay a second
    /// time.
    Earlier {
        /// Which, from 1.
        payout: u16,
        /// The provider's id of it.
        object: String,
        /// The provider's id of the current payout's own object, if that is there and failed.
        failed: Option<String>,
    },
}

/// The code of a review for which the provider has an earlier payout of the same refund.
pub const EARLIER_FOUND: &str = "earlier_payout_found";

/// The reason of such a review.
pub(crate) fn earlier_found(object: &str) -> Reason {
    let detail =
        format!("the provider has an earlier payout of this refund ({object}), which is not known to have failed");
    Reason { code: String::from(EARLIER_FOUND), detail }
}

/// The reason of such a review once that object failed.
pub(crate) fn earlier_failed(object: &str) -> Reason {
    let detail = format!("the provider had an earlier payout of this refund ({object}), which has failed since");
    Reason { code: String::from(EARLIER_FOUND), detail }
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
            Self::Refused(_) | Self::Earlier { .. } => None,
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
/// | due, called for once | submitted | paid | failed | failed | review | review |
/// | due, called for again | submitted | paid | failed | due, marked | review | review |
/// | submitted | = | paid | failed | = | review | review |
/// | paid | = | = | failed | = | = | = |
/// | review | =, or with the object | paid | failed | = | = | =, or review with the object |
/// | review, its object failed | = | =, or paid if another | failed | = | = | = |
/// | failed, the provider had it | =, or review if another | =, or paid if another | = | = | = | =, or review if another |
/// | failed, refused or a person's word | review | paid | failed | = | = | review |
///
/// A refusal says nothing of another call: one whose answer was lost, or that another consumer is just making, may have
/// been taken, and a refusal is not always kept under the key. So it is the end of a payout only if its call was the only
/// one, which the count says and the write's condition holds to. Else it is a mark: nobody calls again, and whoever was
/// at it is waited for before a person is asked.
///
/// The provider's own order is pending, succeeded, failed, and each of the three names an object of the provider's. A
/// refusal or a person's word is weaker than an object, should one turn up after all. That the provider has an earlier payout
/// counts as unclear. That object, pending, is a
/// person's to look at, since no copy may be left in the queue for it; and so is one that is not what was asked for
/// ([`super::terms`]), which the last column is about.
///
/// The stored reference is that of the object which made the state, or the one that a person saw. That another object
/// failed says nothing of that one (=, in every row): who cancels the second of two payments has not undone the first.
#[must_use]
pub fn hear(stored: &Payout, finding: &Finding, now_ms: u64) -> Option<Payout> {
    if let Finding::Refused(reason) = finding
        && stored.calls > 1
    {
        return stored.marked(reason, now_ms);
    }
    let (none, another) = (stored.reference.is_none(), is_another(stored, finding));
    let state = match (stored.state, finding) {
        (_, Finding::Failed { .. }) if another => return None,
        // An answer from before it failed comes late.
        (State::Review, Finding::Succeeded { .. }) if stored.failed_ms.is_some() && !none && !another => return None,
        (State::Due, Finding::Pending { .. }) => State::Submitted,
        (State::Due | State::Submitted | State::Review, Finding::Succeeded { .. }) => State::Paid,
        (State::Due | State::Submitted | State::Review | State::Paid, Finding::Failed { .. }) => State::Failed,
        (State::Due, Finding::Refused(_)) => State::Failed,
        (State::Due | State::Submitted, Finding::Unclear { .. } | Finding::Earlier { .. }) => State::Review,
        (State::Review, Finding::Unclear { reference: Some(_), .. } | Finding::Pending { .. }) if none => State::Review,
        (State::Failed, Finding::Unclear { reference: Some(_), .. } | Finding::Pending { .. }) if none || another => {
            State::Review
        }
        (State::Failed, Finding::Succeeded { .. }) if none || another => State::Paid,
        (State::Failed, Finding::Failed { .. }) if none => State::Failed,
        _ => return None,
    };
    let reason = match finding {
        Finding::Pending { .. } | Finding::Succeeded { .. } => None,
        Finding::Failed { reason, .. } | Finding::Refused(reason) | Finding::Unclear { reason, .. } => {
            Some(reason.clone())
        }
        Finding::Earlier { object, .. } => Some(earlier_found(object)),
    };
    let (own, own_failed) = match finding {
        Finding::Earlier { failed, .. } => (failed.as_deref(), failed.is_some()),
        other => (other.reference(), state == State::Failed),
    };
    Some(Payout {
        state,
        // Nobody calls any more.
        caller: None,
        failed_ms: own_failed.then_some(now_ms),
        reference: own.map(String::from).or_else(|| stored.reference.clone()),
        // It was about that object.
        applied: stored.applied.filter(|_| !another),
        // What put a payout in review is kept when it is an object that turned up after a refusal.
        reason: reason.or_else(|| stored.reason.clone().filter(|_| state == State::Review)),
        ..stored.clone()
    })
}
