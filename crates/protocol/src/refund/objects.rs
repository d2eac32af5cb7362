//! More than one object of the provider's for one payout, which no way of ours leads to, and objects of payouts that have
//! a successor: what a finding about one says of the others, and what the trail still knows of them.
//!
//! Used by [`super::payout`], [`super::step`] and [`super::webhook`]. A payout keeps one reference: that of the object which
//! made its state, or the one that a person named.

use super::{
    Refund,
    payout::{EARLIER_FOUND, Finding, Payout, State, earlier_found, hear},
    trail::{About, By, Line, Trail, What},
};
use crate::answer::Reason;
use alloc::{string::String, vec::Vec};

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

/// What a finding makes of a payout ([`hear`]), as far as it does not invite another payment: one that failed may be
/// retried, and while the payer has the money by another object of it, or may have it by an earlier payout, a person looks
/// first. `None` if the stored one says all of this already.
#[must_use]
pub(crate) fn heard(trail: &Trail, stored: &Payout, finding: &Finding, now_ms: u64) -> Option<Payout> {
    let object = finding.reference();
    // Said before the object failed, and heard after somebody, or something, has ended the payout for that.
    let ended = matches!(stored.state, State::Failed | State::Review) && finding.is_alive();
    if ended && object.is_some_and(|object| trail.tells_that_failed(object)) {
        return None;
    }
    let heard = hear(stored, finding, now_ms)?;
    if heard.state != State::Failed {
        return Some(heard);
    }
    let failed = object;
    let reason = if failed.is_some_and(|object| trail.paid_otherwise(heard.number, object).is_some()) {
        let detail = "the provider's object that paid failed, but another one of this payout paid too";
        Reason { code: String::from(OTHER_PAID), detail: String::from(detail) }
    } else if let Some(object) = trail.earlier_alive(heard.number, failed) {
        earlier_found(object)
    } else {
        return Some(heard);
    };
    let review = heard.in_review(reason);
    let said =
        |payout: &Payout| (payout.state, payout.reference.clone(), payout.reason.clone(), payout.failed_ms.is_some());
    let same = said(stored) == said(&review);
    (!same).then_some(review)
}

/// The object that a person has to look at now: the one that casts doubt on the name of what paid, or the one that put the
/// payout in review, or its own. `None` where the provider shows none.
#[must_use]
pub fn looked_at(stored: &Refund) -> Option<&str> {
    let (payout, trail) = (stored.payout.as_ref()?, &stored.trail);
    let (number, own) = (payout.number, payout.reference.as_deref());
    let besides = match (payout.state, payout.reason.as_ref().map(|why| why.code.as_str())) {
        (State::Paid, _) => return trail.doubts_the_name(number),
        (State::Review, Some(EARLIER_FOUND)) => trail.earlier_alive(number, None),
        (State::Review, Some(OTHER_PAID)) => own.and_then(|own| trail.paid_otherwise(number, own)),
        _ => None,
    };
    besides.or(own)
}

/// What a finding says besides the state that it makes, for a line of its own: an earlier payout's object that is news, or
/// that the payout's own object failed, though it is in review for another reason.
pub(crate) fn besides(trail: &Trail, heard: &Payout, finding: &Finding) -> Vec<About> {
    let about = |payout: u16, object: &str, code: &str| About {
        payout: Some(payout),
        reference: Some(String::from(object)),
        code: Some(String::from(code)),
        created_s: None,
    };
    let mut all = Vec::new();
    match finding {
        Finding::Earlier { payout, object, failed } => {
            // Also where it had failed: the provider's list says now that it has not.
            if trail.last_word(object).is_none_or(Line::tells_of_failure) {
                all.push(about(*payout, object, EARLIER_FOUND));
            }
            all.extend(failed.as_deref().map(|own| about(heard.number, own, FAILED)));
        }
        Finding::Failed { reference, .. } if heard.state == State::Review => {
            all.push(about(heard.number, reference, FAILED));
        }
        _ => {}
    }
    all
}

/// What a finding says of a second object that pays the stored payout, where the trail does not tell of it yet.
pub(crate) fn doubled(trail: &Trail, stored: &Payout, finding: &Finding) -> Option<About> {
    let object = finding.reference().filter(|_| doubles(stored, finding))?;
    (!trail.tells_that_doubled(object)).then(|| About {
        payout: Some(stored.number),
        reference: Some(String::from(object)),
        code: Some(String::from(DOUBLED)),
        created_s: None,
    })
}

impl Line {
    /// Whether this line is an alarm that somebody has to look into.
    #[must_use]
    pub fn alarms(&self) -> bool {
        let alarms = [EARLIER_FOUND, DOUBLED, OTHER_FAILED];
        self.what == What::Event && self.about.code.as_deref().is_some_and(|code| alarms.contains(&code))
    }

    fn is_of(&self, reference: &str) -> bool {
        self.about.reference.as_deref() == Some(reference)
    }

    /// Whether it tells that the object which it is about failed.
    pub(crate) fn tells_of_failure(&self) -> bool {
        let told = matches!(self.about.code.as_deref(), Some(FAILED | OTHER_FAILED));
        self.what == What::Failed || (self.what == What::Event && told)
    }
}

impl Trail {
    /// Whether this object failed, which is its end: an event that says otherwise comes late.
    pub(crate) fn tells_that_failed(&self, reference: &str) -> bool {
        self.0.iter().any(|line| line.is_of(reference) && line.tells_of_failure())
    }

    /// The last that is known of an object of a payout that has a successor: that it failed, or that it did not.
    pub(crate) fn last_word(&self, reference: &str) -> Option<&Line> {
        let told = |line: &&Line| {
            let found = line.what == What::Event && line.about.code.as_deref() == Some(EARLIER_FOUND);
            line.is_of(reference) && (found || line.tells_of_failure())
        };
        self.0.iter().rev().find(told)
    }

    /// Whether this object is known to have paid besides another one.
    pub(crate) fn tells_that_doubled(&self, reference: &str) -> bool {
        self.0.iter().any(|line| line.is_of(reference) && line.about.code.as_deref() == Some(DOUBLED))
    }

    /// Another object of this payout that paid, and did not fail since.
    pub(crate) fn paid_otherwise(&self, payout: u16, reference: &str) -> Option<&str> {
        let paid = |line: &&Line| {
            line.about.payout == Some(payout)
                && (line.what == What::Paid || line.about.code.as_deref() == Some(DOUBLED))
        };
        let mut others = self.0.iter().filter(paid).filter_map(|line| line.about.reference.as_deref());
        others.find(|other| *other != reference && !self.tells_that_failed(other))
    }

    /// An object of an earlier payout than this one that paid, or may, and is not known to have failed since. `failed` is
    /// the object that is just said to have failed.
    pub(crate) fn earlier_alive(&self, payout: u16, failed: Option<&str>) -> Option<&str> {
        let earlier = |line: &&Line| {
            let found = line.what == What::Event && line.about.code.as_deref() == Some(EARLIER_FOUND);
            found && line.about.payout.is_some_and(|number| number < payout)
        };
        let mut found = self.0.iter().enumerate().filter(|(_, line)| earlier(line));
        found.find_map(|(at, line)| {
            let object = line.about.reference.as_deref().filter(|object| failed != Some(*object))?;
            let ended = self.0.iter().skip(at).any(|line| line.is_of(object) && line.tells_of_failure());
            (!ended).then_some(object)
        })
    }

    /// The object that failed after a person had said that this payout was paid by another one.
    pub(crate) fn doubts_the_name(&self, payout: u16) -> Option<&str> {
        let of = |line: &&Line| line.about.payout == Some(payout);
        let since = self.0.iter().filter(of).rev().take_while(|line| line.what != What::Paid);
        let failed =
            since.filter(|line| line.what == What::Event && line.about.code.as_deref() == Some(OTHER_FAILED)).last();
        failed.filter(|_| self.tells_that_person_paid(payout)).and_then(|line| line.about.reference.as_deref())
    }

    /// Whether a person has said what became of this payout.
    pub(crate) fn tells_of_person(&self, payout: u16) -> bool {
        let ends = |line: &&Line| matches!(line.what, What::Paid | What::Failed) && line.about.payout == Some(payout);
        self.0.iter().filter(ends).any(|line| matches!(line.by, By::Actor(_)))
    }

    /// Whether it was a person who said that this payout was paid, and by which object.
    pub(crate) fn tells_that_person_paid(&self, payout: u16) -> bool {
        let mut ends = self.0.iter().rev().filter(|line| line.what == What::Paid && line.about.payout == Some(payout));
        ends.next().is_some_and(|line| matches!(line.by, By::Actor(_)))
    }
}
