//! The state of one device, as one letter, and the table by which evidence changes it.
//!
//! [`join`] is the only way a letter changes. It never goes back, and joining the same evidence twice changes nothing,
//! so a record may be written again after a lost answer and two owners may record in any order.

use crate::{answer::Answer, content::Policy};

/// What is known about one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Letter {
    /// No call may have been accepted so far.
    Pending,
    /// One answer was lost, or was ambiguous.
    Lost1,
    /// Two answers were lost.
    Lost2,
    /// Nobody can know; only a late acceptance changes it.
    Unknown,
    /// A provider accepted it.
    Sent,
    /// A provider refused it for good.
    Failed,
    /// Too late, and every call so far was refused for the time being.
    Expired,
}

/// All letters, in the order of their ranks.
pub const LETTERS: [Letter; 7] =
    [Letter::Pending, Letter::Lost1, Letter::Lost2, Letter::Unknown, Letter::Sent, Letter::Failed, Letter::Expired];

impl Letter {
    /// No further call is made for this device.
    #[must_use]
    pub fn is_final(self) -> bool {
        !self.is_open()
    }

    /// A call may still be made for this device.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Lost1 | Self::Lost2)
    }

    /// The letter as it is stored.
    #[must_use]
    pub fn as_char(self) -> char {
        match self {
            Self::Pending => 'P',
            Self::Lost1 => 'A',
            Self::Lost2 => 'B',
            Self::Unknown => 'U',
            Self::Sent => 'S',
            Self::Failed => 'F',
            Self::Expired => 'E',
        }
    }

    /// The letter of a stored character.
    #[must_use]
    pub fn parse(c: char) -> Option<Self> {
        LETTERS.into_iter().find(|letter| letter.as_char() == c)
    }

    /// How much is known: a join never lowers it.
    #[must_use]
    pub fn rank(self) -> u8 {
        match self {
            Self::Pending => 0,
            Self::Lost1 => 1,
            Self::Lost2 => 2,
            Self::Unknown => 3,
            Self::Sent | Self::Failed | Self::Expired => 4,
        }
    }
}

/// What is learned about a device: a column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// A provider accepted it.
    Accepted,
    /// A provider refused it for good.
    Permanent,
    /// Refused for now, not sent, not processed, held: nothing was accepted.
    NotNow,
    /// The answer to a call is lost, or the claim under which it may have been made was stolen. `held` is the letter
    /// at that claim, so that the same loss told twice counts once.
    Lost {
        /// The letter when the claim was made.
        held: Letter,
    },
    /// Answered, but may have been accepted.
    Ambiguous,
    /// Too late, and the last claim was recorded (or there was none).
    Deadline,
    /// Too late, and the last claim's lease ran out unrecorded.
    DeadlineUnrecorded,
}

impl Evidence {
    /// The column of an answer to a call made while the device's letter was `held`.
    #[must_use]
    pub fn of(answer: &Answer, held: Letter) -> Self {
        match answer {
            Answer::Accepted { .. } => Self::Accepted,
            Answer::Permanent(_) => Self::Permanent,
            Answer::NotNow { .. } | Answer::NotSent(_) | Answer::NotCalled(_) => Self::NotNow,
            Answer::Ambiguous { .. } => Self::Ambiguous,
            Answer::Lost(_) => Self::Lost { held },
        }
    }
}

/// The one table: the letter that `stored` becomes under `evidence`.
///
/// Rows and columns are design section 4. Failed, expired and sent are final. Unknown becomes sent only.
#[must_use]
pub fn join(stored: Letter, evidence: Evidence, policy: Policy) -> Letter {
    use Letter::{Expired, Failed, Lost1, Lost2, Pending, Sent, Unknown};
    let joined = match (stored, evidence) {
        (Sent | Failed | Expired, _) => stored,
        (_, Evidence::Accepted) => Sent,
        (Unknown, _) => Unknown,

        (Pending, Evidence::Permanent) => Failed,
        // An earlier call may have been accepted: "failed" would lie.
        (Lost1 | Lost2, Evidence::Permanent) => Unknown,

        (_, Evidence::NotNow) => stored,

        (_, Evidence::Lost { held }) => stored.max(match held {
            Pending => Lost1,
            Lost1 => Lost2,
            // Two repeats were made already.
            Lost2 => Unknown,
            // No call is made for a final device.
            Unknown | Sent | Failed | Expired => stored,
        }),

        (Pending, Evidence::Ambiguous) => Lost1,
        (Lost1 | Lost2, Evidence::Ambiguous) => stored,

        (Pending, Evidence::Deadline) => Expired,
        (Pending, Evidence::DeadlineUnrecorded) => Unknown,
        (Lost1 | Lost2, Evidence::Deadline | Evidence::DeadlineUnrecorded) => Unknown,
    };
    match (policy, joined) {
        // Never twice: what may have been accepted once is not tried again.
        (Policy::AtMostOnce, Lost1 | Lost2) => Unknown,
        _ => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Letter::{Expired, Failed, Lost1, Lost2, Pending, Sent, Unknown};

    /// The matrix of design section 4, row by row, at_least_once; a lost answer is held at the stored letter.
    #[test]
    fn the_table_is_the_design_s() {
        let row = |stored| {
            [
                Evidence::Accepted,
                Evidence::Permanent,
                Evidence::NotNow,
                Evidence::Lost { held: stored },
                Evidence::Ambiguous,
                Evidence::Deadline,
                Evidence::DeadlineUnrecorded,
            ]
            .map(|e| join(stored, e, Policy::AtLeastOnce))
        };
        assert_eq!(row(Pending), [Sent, Failed, Pending, Lost1, Lost1, Expired, Unknown]);
        assert_eq!(row(Lost1), [Sent, Unknown, Lost1, Lost2, Lost1, Unknown, Unknown]);
        assert_eq!(row(Lost2), [Sent, Unknown, Lost2, Unknown, Lost2, Unknown, Unknown]);
        assert_eq!(row(Unknown), [Sent, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown]);
        for last in [Sent, Failed, Expired] {
            assert_eq!(row(last), [last; 7]);
        }
    }

    #[test]
    fn at_most_once_never_keeps_a_lost_letter() {
        for stored in LETTERS {
            for evidence in [Evidence::Lost { held: Pending }, Evidence::Ambiguous, Evidence::NotNow] {
                let joined = join(stored, evidence, Policy::AtMostOnce);
                assert!(!matches!(joined, Lost1 | Lost2), "{stored:?} {evidence:?} gave {joined:?}");
            }
        }
    }

    #[test]
    fn letters_are_stored_and_read_back() {
        for letter in LETTERS {
            assert_eq!(Letter::parse(letter.as_char()), Some(letter));
        }
        assert_eq!(Letter::parse('x'), None);
    }
}
