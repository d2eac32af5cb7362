//! What a request is told when its key is already claimed.
//!
//! The loser of the conditional write decides from the item that came back with the failure and never reads again. It
//! asks "was it me?" first: the SDK repeats a write whose answer was lost, and then loses against itself.

use crate::{content::SendRequest, fingerprint::Fingerprint, ids::MessageId, message::Message};

/// What the loser sees of the winner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Prior {
    /// The stored message's id.
    pub id: MessageId,
    /// The stored request's fingerprint, under the rule of its time.
    pub fingerprint: Fingerprint,
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conflict {
    /// The stored item is this very request's own write.
    Mine,
    /// The same request was accepted before.
    Duplicate(MessageId),
    /// The key was used for another request.
    Reused,
    /// The stored hash was made by a rule that this code does not know: answering would be a guess.
    Undecidable,
}

/// Decides from the winner.
#[must_use]
pub fn on_conflict(prior: &Prior, mine: &Message, request: &SendRequest) -> Conflict {
    if prior.id == mine.id {
        return Conflict::Mine;
    }
    match Fingerprint::matches(&prior.fingerprint, &mine.project, &mine.key, request) {
        Some(true) => Conflict::Duplicate(prior.id),
        Some(false) => Conflict::Reused,
        None => Conflict::Undecidable,
    }
}
