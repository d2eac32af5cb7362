//! POST /v1/refunds after validation: claim the key for ever, answer.
//!
//! The write is everything: a pending refund is nobody's work yet, so nothing is enqueued.

use crate::{
    machine::{Machine, Named, Step},
    refund::{
        Refund,
        create::{Conflict, Prior, on_conflict},
        id::RefundId,
    },
};
use alloc::{boxed::Box, vec, vec::Vec};

/// The order of steps of one create.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateRefund {
    refund: Box<Refund>,
    putting: bool,
}

/// What the machine asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Write the refund if there is none ([`crate::expect::Expect::Absent`]).
    Put(Box<Refund>),
}

/// The names of all effects: crash points are "after_" and one of these.
pub const EFFECTS: [&str; 1] = ["put"];

impl Named for Effect {
    fn name(&self) -> &'static str {
        match self {
            Self::Put(_) => "put",
        }
    }
}

/// What the world answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Begin.
    Start,
    /// The key is claimed.
    Written,
    /// The key is taken; this is the winner.
    Taken(Prior),
    /// Nobody knows whether the write happened.
    Unknown,
}

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Created by this request.
    Created(RefundId),
    /// Created before, under this id.
    Duplicate(RefundId),
    /// The key belongs to another refund.
    Reused,
    /// The store cannot say: the client's retry resolves it.
    Unavailable,
}

impl CreateRefund {
    /// A request that is valid, as the refund that it would make ([`Refund::new`]).
    #[must_use]
    pub fn new(refund: Refund) -> Self {
        Self { refund: Box::new(refund), putting: false }
    }
}

impl Machine for CreateRefund {
    type Effect = Effect;
    type Outcome = Outcome;
    type Verdict = Verdict;

    fn step(self, outcome: Outcome, _now_ms: u64) -> Step<Self, Effect, Verdict> {
        match (self.putting, outcome) {
            (false, Outcome::Start) => {
                let effect = Effect::Put(self.refund.clone());
                Step::Go(Self { putting: true, ..self }, vec![effect])
            }
            (true, Outcome::Written) => Step::Done(Verdict::Created(self.refund.id)),
            (true, Outcome::Taken(prior)) => Step::Done(match on_conflict(&prior, &self.refund) {
                Conflict::Mine => Verdict::Created(self.refund.id),
                Conflict::Duplicate(id) => Verdict::Duplicate(id),
                Conflict::Reused => Verdict::Reused,
                Conflict::Undecidable => Verdict::Unavailable,
            }),
            (true, Outcome::Unknown) => Step::Done(Verdict::Unavailable),
            // An outcome that answers no effect of ours is ignored.
            (false | true, _) => Step::Go(self, Vec::new()),
        }
    }

    fn stuck(self) -> Verdict {
        Verdict::Unavailable
    }
}
