//! Approve and reject: one conditional write, a payout copy, the answer.
//!
//! The write decides and creates the payout. The copy after it only saves time: the relay enqueues what is missing, so
//! its outcome does not change the answer.

use crate::{
    machine::{Machine, Named, Step},
    refund::{
        Refund,
        decide::{Conflict, Decision, on_conflict, payout_of},
        id::{PayoutId, RefundId},
    },
};
use alloc::{boxed::Box, string::String, vec, vec::Vec};

/// The order of steps of one decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DecideRefund {
    project: String,
    id: RefundId,
    decision: Decision,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    New,
    Deciding,
    Sending,
}

/// What the machine asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Write what [`crate::refund::decide::decided`] makes of the refund, if it is pending
    /// ([`crate::expect::Expect::RefundPending`]) and is this one of this project. Nothing is read before.
    Decide {
        /// The caller's project.
        project: String,
        /// The refund that the caller named.
        id: RefundId,
        /// The decision, with a fresh nonce.
        decision: Decision,
    },
    /// Send a copy of the payout, once.
    Send(PayoutId),
}

/// The names of all effects: crash points are "after_" and one of these.
pub const EFFECTS: [&str; 2] = ["decide", "send"];

impl Named for Effect {
    fn name(&self) -> &'static str {
        match self {
            Self::Decide { .. } => "decide",
            Self::Send(_) => "send",
        }
    }
}

/// What the world answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Begin.
    Start,
    /// The decision is stored.
    Written,
    /// It is not: this is the stored refund, or none.
    Conflict(Option<Box<Refund>>),
    /// Nobody knows whether the write happened.
    Unknown,
    /// The send ended, one way or the other.
    Sent,
}

/// How it ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Decided as asked.
    Decided {
        /// The stored decision.
        decision: Decision,
        /// The first payout, if it was approved.
        payout: Option<PayoutId>,
        /// Whether another request decided it so before.
        already: bool,
    },
    /// Decided the other way, by this.
    NotPending(Decision),
    /// There is no such refund of this project.
    NotFound,
    /// The store cannot say: the client's retry resolves it.
    Unavailable,
}

type Next = Step<DecideRefund, Effect, Verdict>;

impl DecideRefund {
    /// A decision by a caller that may decide. `id` is as the caller named it, and is not trusted.
    #[must_use]
    pub fn new(project: &str, id: RefundId, decision: Decision) -> Self {
        Self { project: String::from(project), id, decision, phase: Phase::New }
    }

    fn end(self) -> Verdict {
        let payout = payout_of(self.id, self.decision.verdict);
        Verdict::Decided { decision: self.decision, payout, already: false }
    }

    /// The decision is stored, and is this request's.
    fn won(self) -> Next {
        match payout_of(self.id, self.decision.verdict) {
            Some(payout) => Step::Go(Self { phase: Phase::Sending, ..self }, vec![Effect::Send(payout)]),
            None => Step::Done(self.end()),
        }
    }
}

impl Machine for DecideRefund {
    type Effect = Effect;
    type Outcome = Outcome;
    type Verdict = Verdict;

    fn step(self, outcome: Outcome, _now_ms: u64) -> Next {
        match (self.phase, outcome) {
            (Phase::New, Outcome::Start) => {
                let effect =
                    Effect::Decide { project: self.project.clone(), id: self.id, decision: self.decision.clone() };
                Step::Go(Self { phase: Phase::Deciding, ..self }, vec![effect])
            }
            (Phase::Deciding, Outcome::Written) => self.won(),
            (Phase::Deciding, Outcome::Conflict(stored)) => {
                match on_conflict(stored.as_deref(), &self.project, self.id, &self.decision) {
                    // The SDK's own repeat lost against its first try.
                    Conflict::Mine => self.won(),
                    Conflict::Already(decision) => {
                        let payout = payout_of(self.id, decision.verdict);
                        Step::Done(Verdict::Decided { decision, payout, already: true })
                    }
                    Conflict::Other(decision) => Step::Done(Verdict::NotPending(decision)),
                    Conflict::NotFound => Step::Done(Verdict::NotFound),
                    Conflict::Undecidable => Step::Done(Verdict::Unavailable),
                }
            }
            (Phase::Deciding, Outcome::Unknown) => Step::Done(Verdict::Unavailable),
            (Phase::Sending, Outcome::Sent) => Step::Done(self.end()),
            // An outcome that answers no effect of ours is ignored.
            (Phase::New | Phase::Deciding | Phase::Sending, _) => Step::Go(self, Vec::new()),
        }
    }

    fn stuck(self) -> Verdict {
        match self.phase {
            Phase::Sending => self.end(),
            Phase::New | Phase::Deciding => Verdict::Unavailable,
        }
    }
}
