//! The audit trail of a refund: what happened, when, and who did it.
//!
//! Written by the same conditional write as the change it tells of, so it can neither miss one nor invent one. Bounded:
//! an item has a size limit, and a provider may send any number of events. It holds names of API keys and ids of
//! events, no person's data.

use super::{objects::FAILED, payout::Payout};
use alloc::{string::String, vec::Vec};

/// Lines kept. A line is at most about 800 bytes (two ids of the provider's and a code), so a full trail is 40 KB of the
/// item's 400 KB (Amazon DynamoDB Developer Guide, quotas); the usual one is a tenth of that.
pub const TRAIL_MAX: usize = 50;
/// The first lines, which are never dropped: created, decided.
const KEPT: usize = 2;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// The refund was created.
    Created,
    /// It was approved, and its first payout created.
    Approved,
    /// It was rejected.
    Rejected,
    /// A payout is about to be called for, the first time.
    FirstCall,
    /// A call was refused, and another one may have been taken, or no listing was got: nobody calls again.
    Refused,
    /// The provider has it and has not decided.
    Submitted,
    /// The provider paid.
    Paid,
    /// The payout failed.
    Failed,
    /// A person has to look.
    Review,
    /// A failed payout got a successor.
    Retried,
    /// An event of the provider that changed no state.
    Event,
}

impl What {
    /// The word in answers and in the stored item.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::FirstCall => "payout_called",
            Self::Refused => "payout_refused",
            Self::Submitted => "payout_submitted",
            Self::Paid => "payout_paid",
            Self::Failed => "payout_failed",
            Self::Review => "payout_review",
            Self::Retried => "payout_retried",
            Self::Event => "event",
        }
    }

    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Created,
        Self::Approved,
        Self::Rejected,
        Self::FirstCall,
        Self::Refused,
        Self::Submitted,
        Self::Paid,
        Self::Failed,
        Self::Review,
        Self::Retried,
        Self::Event,
    ];

    /// What a word says, exactly as [`What::as_str`] writes it.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.as_str() == word)
    }
}

/// Who did it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// A person or program, by the name of its API key.
    Actor(String),
    /// The payout function, on what the provider answered.
    Payout,
    /// An event of the provider, by its id.
    Event(String),
}

/// Which payout a line is about, and what was found about it: a refund shows one payout, and its trail tells of those
/// before it too. Lines that were written before this was kept have none of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct About {
    /// The payout's number, from 1; none of a refund that has no payout.
    pub payout: Option<u16>,
    /// The provider's id of it; of a line that tells of a state, once the provider has an object for it; of an event, the
    /// object that it is about.
    pub reference: Option<String>,
    /// Why it failed, is in review or was refused, in one word; of an event, what it said.
    pub code: Option<String>,
    /// When the provider made the event that says so, in whole seconds.
    pub created_s: Option<u64>,
}

impl About {
    /// What a line says of a payout as it is after it. Reference and code go with the states that the provider or a
    /// person gave it, so that each is told where it was found.
    pub(crate) fn payout(payout: &Payout, what: What) -> Self {
        let found = matches!(what, What::Refused | What::Submitted | What::Paid | What::Failed | What::Review);
        Self {
            payout: Some(payout.number),
            reference: payout.reference.clone().filter(|_| found),
            code: payout.reason.as_ref().filter(|_| found).map(|reason| reason.code.clone()),
            created_s: None,
        }
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// When, in ms.
    pub at_ms: u64,
    /// What.
    pub what: What,
    /// Who.
    pub by: By,
    /// About which payout.
    pub about: About,
}

impl Line {
    /// Whether it tells of an event that changed nothing, that nobody has to look into, and on which nothing rests.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.what == What::Event && !self.alarms() && self.about.code.as_deref() != Some(FAILED)
    }
}

impl Line {
    /// Whether another line says the same of the same object, by an event.
    fn says_the_same(&self, other: &Self) -> bool {
        let said = |line: &Self| (line.about.payout, line.about.reference.clone(), line.about.code.clone());
        self.what == What::Event && other.what == What::Event && said(self) == said(other)
    }
}

/// The lines, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Trail(pub Vec<Line>);

impl Trail {
    /// Adds a line. When the trail is full, the oldest line of an event goes that said nothing new, and without one the
    /// oldest of an event that said what a later line says again of the same object, so that nothing is forgotten on which
    /// a decision rests; and without that the oldest that tells neither of the creation nor of the decision.
    pub fn push(&mut self, line: Line) {
        self.0.push(line);
        while self.0.len() > TRAIL_MAX {
            let last = self.0.len().saturating_sub(1);
            let before = self.0.get(..last).unwrap_or_default();
            let idle = before.iter().position(Line::is_idle);
            let said_later =
                |(at, line): (usize, &Line)| self.0.iter().skip(at).skip(1).any(|later| line.says_the_same(later));
            let again = || before.iter().enumerate().position(said_later);
            let goes = idle.or_else(again).unwrap_or(KEPT);
            self.0.remove(goes);
        }
    }

    /// Whether a line tells that this payout is about to be called for.
    pub(crate) fn tells_of_call(&self, number: u16) -> bool {
        self.0.iter().any(|line| line.what == What::FirstCall && line.about.payout == Some(number))
    }
}
