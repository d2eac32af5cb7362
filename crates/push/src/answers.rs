//! What a provider's answers mean, as data: the form of both tables, and how a row is found.
//!
//! The tables are [`crate::apns::ANSWERS`] and [`crate::fcm::ANSWERS`]. They are total: every status and reason has a row,
//! the first that covers it counts, and none can be left out without changing what some answer means (a test takes each
//! one away). docs/PUSH.md shows them to people and is held to them.

use crate::{outcome::reason, transport::Answered};
pub use platform::events::Class;
use protocol::answer::{Answer, Reason};
use std::ops::RangeInclusive;

/// Longest id of a provider's that is kept, in bytes. Ours: FCM's names are `projects/`, a project id of at most 30
/// characters and an id of some 40, APNs' ids are UUIDs, and twenty of this length with all that is kept of errors are
/// far from what an item may hold.
pub const PROVIDER_ID_MAX_BYTES: usize = 256;

/// What a row asks for besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Also {
    /// Nothing.
    Nothing,
    /// Without `Retry-After`, wait this long at least, in milliseconds.
    WaitMs(u64),
    /// The access or provider token is not worth keeping. The first time it is only replaced ([`Class::NotNow`]); if the
    /// provider refuses the new one too, the class counts.
    RenewToken,
    /// The connection is not worth keeping.
    Reconnect,
}

/// One row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// HTTP statuses.
    pub status: RangeInclusive<u16>,
    /// The provider's reasons that are documented for it. `UNREGISTERED` and its like.
    pub reasons: &'static [&'static str],
    /// Whether the row also covers these statuses with any other reason, or none.
    pub others: bool,
    /// What it means.
    pub class: Class,
    /// What else is to be done.
    pub also: Also,
    /// Where this is from.
    pub source: &'static str,
}

impl Row {
    pub(crate) const fn of(
        status: RangeInclusive<u16>,
        reasons: &'static [&'static str],
        class: Class,
        source: &'static str,
    ) -> Self {
        Self { status, reasons, others: false, class, also: Also::Nothing, source }
    }

    /// … and with any other reason, or none.
    pub(crate) const fn or_any(self) -> Self {
        Self { others: true, ..self }
    }

    pub(crate) const fn also(self, also: Also) -> Self {
        Self { also, ..self }
    }

    fn covers(&self, status: u16, reason: Option<&str>) -> bool {
        self.status.contains(&status) && (self.others || reason.is_some_and(|reason| self.reasons.contains(&reason)))
    }
}

/// The first of these rows that covers an answer.
pub fn look_up<'a>(rows: impl IntoIterator<Item = &'a Row>, status: u16, reason: Option<&str>) -> Option<&'a Row> {
    rows.into_iter().find(|row| row.covers(status, reason))
}

/// Whether a provider refused, and what it said of it is lost: the body broke off, came too late or was far too long. An
/// empty body is not lost.
pub(crate) fn is_reason_lost(answered: &Answered) -> bool {
    answered.status.is_client_error() && answered.body.is_none()
}

/// The class and the rest for an answer. A table has a row for everything; without one, nothing is known.
///
/// Most refusals are told apart by their body alone: a 404 of FCM's may be about the device or about the whole project. So
/// one whose body is lost ends nothing and holds nobody; it is asked again.
pub(crate) fn means(rows: &[Row], answered: &Answered, reason: Option<&str>) -> (Class, Also) {
    let row = look_up(rows, answered.status.as_u16(), reason);
    let (class, also) = row.map_or((Class::Ambiguous, Also::Nothing), |row| (row.class, row.also));
    if !is_reason_lost(answered) || class == Class::Ambiguous {
        return (class, also);
    }
    let waits = matches!(also, Also::WaitMs(_));
    (Class::NotNow, if waits { also } else { Also::Nothing })
}

/// What a call says of the credentials that it was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// The provider looked past them.
    Taken,
    /// It refused them.
    Refused,
    /// Nothing.
    Unknown,
}

/// What came of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// In the protocol's words.
    pub answer: Answer,
    /// In one word.
    pub class: Class,
    /// With [`Class::TokenDead`]: since when the provider knows that the token is gone, in milliseconds since the Unix
    /// epoch, if it said so. An app that registered later has a good token.
    pub dead_since_ms: Option<u64>,
    /// What it says of the credentials.
    pub credentials: Credentials,
    /// The answer has the provider's own form. What stands between, a proxy, answers with the same statuses: those count
    /// for the message, and are no word on a token.
    pub own: bool,
}

impl Heard {
    /// An id that no provider gives is left out, since it would keep the record of the whole chunk from being written. It is
    /// an acceptance all the same.
    pub(crate) fn accepted(provider_id: String) -> Self {
        let provider_id = if provider_id.len() <= PROVIDER_ID_MAX_BYTES { provider_id } else { String::new() };
        let answer = Answer::Accepted { provider_id };
        Self { answer, class: Class::Accepted, dead_since_ms: None, credentials: Credentials::Taken, own: true }
    }

    pub(crate) fn not_sent(code: &str, detail: &str, secrets: &[&str]) -> Self {
        Self::unanswered(Class::NotSent, Answer::NotSent(reason(code, detail, secrets)))
    }

    /// Nobody was called, and this is why.
    pub(crate) fn not_called(reason: Reason) -> Self {
        Self::unanswered(Class::NotSent, Answer::NotCalled(reason))
    }

    pub(crate) fn failed(failed: &crate::transport::Failed, secrets: &[&str]) -> Self {
        use crate::transport::Failed::{Lost, NotSent};
        match failed {
            NotSent { code, detail } => Self::not_sent(code, detail, secrets),
            Lost { code, detail } => Self::unanswered(Class::Lost, Answer::Lost(reason(code, detail, secrets))),
        }
    }

    fn unanswered(class: Class, answer: Answer) -> Self {
        Self { answer, class, dead_since_ms: None, credentials: Credentials::Unknown, own: false }
    }

    /// Whether the provider says that the device's token is dead. A class alone does not: see [`Heard::own`].
    #[must_use]
    pub fn is_token_dead(&self) -> bool {
        self.own && self.class == Class::TokenDead
    }

    /// A refusal of this class, in the provider's own form or not.
    pub(crate) fn refused(class: Class, reason: Reason, after_ms: Option<u64>, own: bool) -> Self {
        let (answer, credentials) = match class {
            Class::Permanent | Class::TokenDead | Class::OurBug => {
                // Whoever else answered did not look at the credentials.
                (Answer::Permanent(reason), if own { Credentials::Taken } else { Credentials::Unknown })
            }
            Class::NotNow => (Answer::NotNow { reason, after_ms }, Credentials::Unknown),
            Class::Hold => (Answer::NotNow { reason, after_ms }, Credentials::Refused),
            Class::Accepted | Class::Ambiguous | Class::NotSent | Class::Lost => {
                (Answer::Ambiguous { reason, after_ms }, Credentials::Unknown)
            }
        };
        Self { answer, class, dead_since_ms: None, credentials, own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{apns, fcm};

    /// Every status, with each reason that any row names, with one that none names, and without.
    fn probes(rows: &[Row]) -> impl Iterator<Item = (u16, Option<&'static str>)> {
        let reasons: Vec<Option<&'static str>> =
            rows.iter().flat_map(|row| row.reasons).map(|reason| Some(*reason)).chain([Some("NEW"), None]).collect();
        (100..=600).flat_map(move |status| reasons.clone().into_iter().map(move |reason| (status, reason)))
    }

    #[test]
    fn each_row_has_a_source_and_changes_what_some_answer_means() {
        for rows in [apns::ANSWERS, fcm::ANSWERS] {
            for (at, row) in rows.iter().enumerate() {
                assert!(row.source.len() > 10, "row {at} has no source");
                let rest = || rows.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, row)| row);
                let found = |row: Option<&Row>| row.map(|row| (row.class, row.also));
                let changed = probes(rows).any(|(status, reason)| {
                    found(look_up(rows, status, reason)) != found(look_up(rest(), status, reason))
                });
                assert!(changed, "row {at} says nothing that the others do not: {row:?}");
            }
        }
    }

    #[test]
    fn there_is_a_row_for_everything() {
        for rows in [apns::ANSWERS, fcm::ANSWERS] {
            assert!(probes(rows).all(|(status, reason)| look_up(rows, status, reason).is_some()));
        }
    }
}
