//! More than one object of the provider's for one payout, which no way of ours leads to: what a finding about one says of
//! the others, and what the trail still knows of them.
//!
//! Used by [`super::payout`] and [`super::webhook`]. A payout keeps one reference: that of the object which made its state,
//! or the one that a person named.

use super::{
    payout::{EARLIER_FOUND, Finding, Payout, State},
    trail::{By, Line, Trail, What},
};

/// The code of a trail line that tells of a second object that pays one payout. An alarm.
pub const DOUBLED: &str = "payout_doubled";
/// The code of a trail line that tells that an object failed which is not the one that a person named as paid: it may be
/// the one that was meant. An alarm.
pub const OTHER_FAILED: &str = "other_failed";
/// The code of a review: the object that paid failed, but another one paid too.
pub const OTHER_PAID: &str = "other_paid";
/// What an event said, where its line tells of no alarm.
pub(crate) const FAILED: &str = "failed";

/// Whether a finding is about another object than the one that is stored.
pub(crate) fn is_another(stored: &Payout, finding: &Finding) -> bool {
    stored.reference.as_deref().zip(finding.reference()).is_some_and(|(stored, found)| stored != found)
}

/// Whether this finding says that the provider paid, by another object than the stored one, which paid or may have: one
/// payout was paid twice, or nearly.
#[must_use]
pub fn doubles(stored: &Payout, finding: &Finding) -> bool {
    let alive = matches!(stored.state, State::Submitted | State::Paid | State::Review);
    alive && is_another(stored, finding) && matches!(finding, Finding::Succeeded { .. })
}

impl Line {
    /// Whether this line is an alarm that somebody has to look into.
    pub(crate) fn alarms(&self) -> bool {
        let alarms = [EARLIER_FOUND, DOUBLED, OTHER_FAILED];
        self.what == What::Event && self.about.code.as_deref().is_some_and(|code| alarms.contains(&code))
    }

    fn is_of(&self, reference: &str) -> bool {
        self.about.reference.as_deref() == Some(reference)
    }

    /// Whether it tells that the object which it is about failed.
    fn tells_of_failure(&self) -> bool {
        let told = matches!(self.about.code.as_deref(), Some(FAILED | OTHER_FAILED));
        self.what == What::Failed || (self.what == What::Event && told)
    }
}

impl Trail {
    /// Whether this object failed, which is its end: an event that says otherwise comes late.
    pub(crate) fn tells_that_failed(&self, reference: &str) -> bool {
        self.0.iter().any(|line| line.is_of(reference) && line.tells_of_failure())
    }

    /// Whether this object is known to have paid besides another one.
    pub(crate) fn tells_that_doubled(&self, reference: &str) -> bool {
        self.0.iter().any(|line| line.is_of(reference) && line.about.code.as_deref() == Some(DOUBLED))
    }

    /// Whether another object of this payout paid, and did not fail since.
    pub(crate) fn tells_that_paid_otherwise(&self, payout: u16, reference: &str) -> bool {
        let paid = |line: &&Line| {
            line.about.payout == Some(payout)
                && (line.what == What::Paid || line.about.code.as_deref() == Some(DOUBLED))
        };
        let mut others = self.0.iter().filter(paid).filter_map(|line| line.about.reference.as_deref());
        others.any(|other| other != reference && !self.tells_that_failed(other))
    }

    /// Whether it was a person who said that this payout was paid, and by which object.
    pub(crate) fn tells_that_person_paid(&self, payout: u16) -> bool {
        let mut ends = self.0.iter().rev().filter(|line| line.what == What::Paid && line.about.payout == Some(payout));
        ends.next().is_some_and(|line| matches!(line.by, By::Actor(_)))
    }
}
