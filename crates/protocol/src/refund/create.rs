//! Creating a refund: the new item, and what a request is told when its key is already claimed.
//!
//! As for messages the loser decides from the item that came back with the failed condition and asks "was it me?"
//! first. Unlike a message's, a refund's key never expires: money must not be given back twice because a client
//! repeated itself a year later.

use super::{
    Refund,
    id::RefundId,
    request::RefundRequest,
    trail::{About, By, Line, Trail, What},
};
use crate::{fingerprint::Fingerprint, ids::Nonce};
use alloc::{string::String, vec, vec::Vec};

impl Refund {
    /// A refund that waits for its decision. `nonce` is fresh for this request.
    #[must_use]
    pub fn new(project: &str, key: &str, actor: &str, nonce: Nonce, request: RefundRequest, now_ms: u64) -> Self {
        let hash = crate::ids::KeyHash::of(crate::ids::Operation::Refund, project, key);
        let by = By::Actor(String::from(actor));
        let created = Line { at_ms: now_ms, what: What::Created, by, about: About::default() };
        Self {
            id: RefundId { key: hash, nonce },
            fingerprint: Fingerprint::of_refund(project, key, &request),
            project: String::from(project),
            key: String::from(key),
            at_ms: now_ms,
            created_by: String::from(actor),
            request,
            decision: None,
            payout: None,
            events: Vec::new(),
            trail: Trail(vec![created]),
            writer: None,
            version: 1,
        }
    }
}

/// What the loser sees of the winner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Prior {
    /// The stored refund's id.
    pub id: RefundId,
    /// The stored request's fingerprint, under the rule of its time.
    pub fingerprint: Fingerprint,
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conflict {
    /// The stored item is this very request's own write.
    Mine,
    /// The same refund was created before.
    Duplicate(RefundId),
    /// The key was used for another refund.
    Reused,
    /// The stored hash was made by a rule that this code does not know: answering would be a guess.
    Undecidable,
}

/// Decides from the winner.
#[must_use]
pub fn on_conflict(prior: &Prior, mine: &Refund) -> Conflict {
    if prior.id == mine.id {
        return Conflict::Mine;
    }
    match Fingerprint::matches_refund(&prior.fingerprint, &mine.project, &mine.key, &mine.request) {
        Some(true) => Conflict::Duplicate(prior.id),
        Some(false) => Conflict::Reused,
        None => Conflict::Undecidable,
    }
}
