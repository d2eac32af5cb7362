//! POST /v1/messages after validation: claim the key, enqueue, answer.
//!
//! The write is the acceptance: from then on the relay delivers the message even if this invocation dies. The inline
//! send after it only saves time, so its outcome does not change the answer.

use crate::{
    accept::{Conflict, Prior, on_conflict},
    content::SendRequest,
    ids::MessageId,
    machine::{Machine, Named, Step},
    message::Message,
};
use alloc::{boxed::Box, vec, vec::Vec};

/// The order of steps of one accepted send.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Accept {
    message: Box<Message>,
    request: Box<SendRequest>,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    New,
    Putting,
    Sending,
}

/// What the machine asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Claim the key: write the message if the key is free or its validity is over.
    Put(Box<Message>),
    /// Enqueue every chunk, once, within the inline budget.
    Send(Box<Message>),
}

/// The names of all effects: crash points are "after_" and one of these.
pub const EFFECTS: [&str; 2] = ["put", "send"];

impl Named for Effect {
    fn name(&self) -> &'static str {
        match self {
            Self::Put(_) => "put",
            Self::Send(_) => "send",
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
    /// The inline send ended, one way or the other.
    Sent,
}

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Accepted by this request.
    Queued(MessageId),
    /// Accepted before, under this id.
    Duplicate(MessageId),
    /// The key belongs to another request.
    Reused,
    /// The store cannot say: the client's retry resolves it.
    Unavailable,
}

impl Accept {
    /// A request that is valid.
    #[must_use]
    pub fn new(message: Message, request: SendRequest) -> Self {
        Self { message: Box::new(message), request: Box::new(request), phase: Phase::New }
    }

    fn send(self) -> Step<Self, Effect, Verdict> {
        let effect = Effect::Send(self.message.clone());
        Step::Go(Self { phase: Phase::Sending, ..self }, vec![effect])
    }
}

impl Machine for Accept {
    type Effect = Effect;
    type Outcome = Outcome;
    type Verdict = Verdict;

    fn step(self, outcome: Outcome, _now_ms: u64) -> Step<Self, Effect, Verdict> {
        match (&self.phase, outcome) {
            (Phase::New, Outcome::Start) => {
                let effect = Effect::Put(self.message.clone());
                Step::Go(Self { phase: Phase::Putting, ..self }, vec![effect])
            }
            (Phase::Putting, Outcome::Written) => self.send(),
            (Phase::Putting, Outcome::Taken(prior)) => match on_conflict(&prior, &self.message, &self.request) {
                // The SDK's own repeat lost against its first try. Only this invocation enqueues inline.
                Conflict::Mine => self.send(),
                Conflict::Duplicate(id) => Step::Done(Verdict::Duplicate(id)),
                Conflict::Reused => Step::Done(Verdict::Reused),
                Conflict::Undecidable => Step::Done(Verdict::Unavailable),
            },
            (Phase::Putting, Outcome::Unknown) => Step::Done(Verdict::Unavailable),
            (Phase::Sending, Outcome::Sent) => Step::Done(Verdict::Queued(self.message.id)),
            // An outcome that answers no effect of ours is ignored.
            (Phase::New | Phase::Putting | Phase::Sending, _) => Step::Go(self, Vec::new()),
        }
    }

    fn stuck(self) -> Verdict {
        match self.phase {
            Phase::Sending => Verdict::Queued(self.message.id),
            Phase::New | Phase::Putting => Verdict::Unavailable,
        }
    }
}
