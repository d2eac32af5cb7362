//! One received copy of a payout: read, announce the call, call the provider, record, acknowledge.
//!
//! Every call of a payout carries its id as the Idempotency-Key and the amount that was frozen at approval. Each call is
//! announced by a conditional write before it (the stamp), so that a refusal is known to be of the only call or not; past
//! the window of the key only a listing is asked for. A copy is acknowledged only when its payout is settled
//! ([`Settled`]); everything else keeps it.

use crate::{
    answer::Reason,
    expect::Expect,
    ids::OwnerToken,
    machine::{Machine, Named, Step},
    refund::{
        Refund,
        id::PayoutId,
        payout::Finding,
        step::{
            Found, Listed, Look, Next as Decision, Nothing, Settled, announced, listed, listing_failed,
            listing_refused, mark, next, nothing_done, record, unprepared,
        },
    },
    timing::{SQS_VISIBILITY_MAX_MS, Timing},
};
use alloc::{boxed::Box, vec, vec::Vec};

/// Lost writes in a row before a copy is put back: two consumers and an event at most meet on one refund, so more means
/// that something is wrong.
const LOST_WRITES_MAX: u8 = 8;

/// What one receive knows from the start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Receive {
    /// The payout that the copy names.
    pub copy: PayoutId,
    /// Fresh for this receive: who announced a call.
    pub token: OwnerToken,
    /// How often SQS showed this copy, from 1: the step of the backoff. Nothing rests on it.
    pub receives: u16,
    /// 0 to 1,000, for the backoff.
    pub jitter_permille: u16,
    /// When this invocation is ended, in ms.
    pub invocation_ends_ms: u64,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The provider said something about the payout. Another request's parameters under the same key are
    /// [`Finding::Unclear`], and an alarm.
    Heard(Finding),
    /// It said nothing that can be relied on: lost, not sent, a 5xx, 409 (the first call under this key still runs),
    /// 429, a refused credential. The call is repeated under the same key.
    Later {
        /// What was said, or ours ("timeout").
        reason: Reason,
        /// How long the provider asked us to wait, in milliseconds.
        after_ms: Option<u64>,
        /// Whether it is certain that this call did nothing, whatever other calls did: it was not sent, or it was refused
        /// before it was looked at.
        untouched: bool,
    },
}

/// The order of steps for one copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Payout {
    receive: Receive,
    timing: Timing,
    lost_writes: u8,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    New,
    Reading,
    Preparing(Box<Refund>),
    /// The stamped refund is being written.
    Stamping(Box<Refund>),
    Calling(Box<Refund>),
    Looking {
        stored: Box<Refund>,
        look: Look,
    },
    Recording {
        word: Word,
        item: Box<Refund>,
        expect: Expect,
    },
    /// A call that did nothing is being taken back.
    Withdrawing {
        after_ms: Option<u64>,
    },
    Releasing,
}

/// What is being recorded. It says how a write goes on that another one came before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Word {
    /// An answer, or an object of the provider's: it holds whatever was written meanwhile, and what it makes of that is
    /// decided again.
    Said(Finding),
    /// A listing showed nothing. A call that was announced meanwhile is not waited for yet: begin again.
    Silent(Finding),
    /// A call was refused, and no listing was got.
    Refused(Reason),
    /// Nothing could be asked. Whoever wrote meanwhile may have asked: the next receive finds out.
    Unasked(Finding),
}

/// Why a refund is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A call is about to be made.
    Stamp,
    /// Keep what was found.
    Record,
    /// Take back the announcement of a call that did nothing.
    Withdraw,
}

/// What the machine asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Read the refund, consistently.
    Read,
    /// Get the project's credentials.
    Prepare,
    /// Write the refund if it is as expected.
    Write {
        /// Why.
        purpose: Purpose,
        /// The whole item.
        item: Box<Refund>,
        /// The condition.
        expect: Expect,
    },
    /// Ask the provider to pay, once.
    Call {
        /// The Idempotency-Key, and our metadata.
        key: PayoutId,
        /// What is paid, in minor units.
        amount: u64,
        /// The payment, the currency and the reason are here.
        refund: Box<Refund>,
    },
    /// List all of the payment's refunds (every page) that carry this refund's metadata.
    Look {
        /// The refund.
        refund: Box<Refund>,
    },
    /// Keep this copy and show it again after the delay.
    Release {
        /// In ms, at most SQS's longest visibility timeout.
        delay_ms: u64,
    },
}

/// The names of all effects: crash points are "after_" and one of these.
pub const EFFECTS: [&str; 8] = ["read", "prepare", "stamp", "call", "withdraw", "look", "record", "release"];

impl Named for Effect {
    fn name(&self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Prepare => "prepare",
            Self::Write { purpose: Purpose::Stamp, .. } => "stamp",
            Self::Write { purpose: Purpose::Record, .. } => "record",
            Self::Write { purpose: Purpose::Withdraw, .. } => "withdraw",
            Self::Call { .. } => "call",
            Self::Look { .. } => "look",
            Self::Release { .. } => "release",
        }
    }
}

/// What the world answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Begin.
    Start,
    /// The refund, or none.
    Read(Option<Box<Refund>>),
    /// The store did not answer a read.
    ReadFailed,
    /// Credentials are there.
    Prepared,
    /// They are not; nothing was stamped.
    NotPrepared,
    /// The write happened.
    Written,
    /// It did not: this is the stored refund, or none.
    Conflict(Option<Box<Refund>>),
    /// Nobody knows whether the write happened.
    WriteUnknown,
    /// What came of the call.
    Called(Answer),
    /// The payouts of this refund that the provider lists, of any number.
    Listed(Vec<Listed>),
    /// There is no whole listing now: asked for again later.
    LookFailed,
    /// The provider refuses the listing for good, and says why.
    LookRefused(Reason),
    /// The copy's visibility was changed, or the attempt to change it failed: it comes back either way.
    Released,
}

/// How a receive ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The copy may be deleted.
    Ack(Settled),
    /// It must come back.
    Keep,
}

type Next = Step<Payout, Effect, Verdict>;

impl Payout {
    /// A fresh receive.
    #[must_use]
    pub fn new(receive: Receive, timing: Timing) -> Self {
        Self { receive, timing, lost_writes: 0, phase: Phase::New }
    }

    fn go(self, phase: Phase, effect: Effect) -> Next {
        Step::Go(Self { phase, ..self }, vec![effect])
    }

    /// Comes back after the schedule's wait.
    fn release(self, asked_ms: Option<u64>) -> Next {
        let wait = self.timing.retry_delay(self.receive.receives, self.receive.jitter_permille, asked_ms);
        self.go(Phase::Releasing, Effect::Release { delay_ms: wait.min(SQS_VISIBILITY_MAX_MS) })
    }

    fn may_ask(&self, now_ms: u64) -> bool {
        self.timing.payout_may_start(now_ms, self.receive.invocation_ends_ms)
    }

    /// Too little time is left to ask and record: the next receive has more.
    fn out_of_time(self) -> Next {
        self.go(Phase::Releasing, Effect::Release { delay_ms: 0 })
    }

    /// Decides from the stored refund; `prepared` once credentials are there.
    fn decide(self, stored: Box<Refund>, prepared: bool, now_ms: u64) -> Next {
        let decision = next(&stored, self.receive.copy, self.receive.token, now_ms, &self.timing);
        match decision {
            Decision::Ack(settled) => Step::Done(Verdict::Ack(settled)),
            // Before the stamp, so that a refused credential does not start the window.
            _ if !prepared => self.go(Phase::Preparing(stored), Effect::Prepare),
            // A stamp that leaves no time to call would only start the window.
            _ if !self.may_ask(now_ms) => self.out_of_time(),
            Decision::Stamp(item, expect) => self.stamp(item, expect),
            Decision::Look(look) => self.look(stored, look, now_ms),
        }
    }

    fn stamp(self, item: Box<Refund>, expect: Expect) -> Next {
        let effect = Effect::Write { purpose: Purpose::Stamp, item: item.clone(), expect };
        self.go(Phase::Stamping(item), effect)
    }

    fn call(self, stored: Box<Refund>, now_ms: u64) -> Next {
        let Some(amount) = stored.payout.as_ref().map(|payout| payout.amount).filter(|_| self.may_ask(now_ms)) else {
            return self.out_of_time();
        };
        let effect = Effect::Call { key: self.receive.copy, amount, refund: stored.clone() };
        self.go(Phase::Calling(stored), effect)
    }

    fn look(self, stored: Box<Refund>, look: Look, now_ms: u64) -> Next {
        if !self.may_ask(now_ms) {
            return self.out_of_time();
        }
        let effect = Effect::Look { refund: stored.clone() };
        self.go(Phase::Looking { stored, look }, effect)
    }

    /// A call did nothing: nobody need reckon with it. What is stored when that write fails is stricter, and right too.
    fn withdraw(self, stored: &Refund, why: &Reason, after_ms: Option<u64>, now_ms: u64) -> Next {
        if !self.timing.record_may_start(now_ms, self.receive.invocation_ends_ms) {
            return self.release(after_ms);
        }
        match nothing_done(stored, self.receive.copy, self.receive.token, why, now_ms, &self.timing) {
            Nothing::Withdraw(item, expect) => {
                self.go(Phase::Withdrawing { after_ms }, Effect::Write { purpose: Purpose::Withdraw, item, expect })
            }
            Nothing::GiveUp(finding) => self.record(stored, Word::Silent(finding), now_ms),
            Nothing::Wait => self.release(after_ms),
        }
    }

    /// Writes what was found over `stored`, or goes on if that says it all already.
    fn record(self, stored: &Refund, word: Word, now_ms: u64) -> Next {
        let copy = self.receive.copy;
        let write = match &word {
            Word::Said(finding) | Word::Silent(finding) | Word::Unasked(finding) => {
                record(stored, copy, finding, now_ms)
            }
            Word::Refused(reason) => mark(stored, copy, reason, now_ms),
        };
        match write {
            Some((item, expect)) => {
                let effect = Effect::Write { purpose: Purpose::Record, item: item.clone(), expect };
                self.go(Phase::Recording { word, item, expect }, effect)
            }
            None => self.follow(stored),
        }
    }

    /// Another write came before that of `word`: this is the stored refund.
    fn overtaken(self, stored: Box<Refund>, word: Word, now_ms: u64) -> Next {
        match word {
            Word::Silent(_) => self.decide(stored, true, now_ms),
            Word::Unasked(_) => self.release(None),
            word => self.record(&stored, word, now_ms),
        }
    }

    /// What follows from a listing, or from there being none.
    fn found(self, stored: &Refund, found: Found, now_ms: u64) -> Next {
        match found {
            Found::Record(finding @ (Finding::Unclear { reference: None, .. } | Finding::Earlier { .. })) => {
                self.record(stored, Word::Silent(finding), now_ms)
            }
            Found::Record(finding) => self.record(stored, Word::Said(finding), now_ms),
            Found::Mark(reason) => self.record(stored, Word::Refused(reason), now_ms),
            Found::Wait => self.release(None),
            Found::Stamp(item, expect) if self.may_ask(now_ms) => self.stamp(item, expect),
            Found::Stamp(..) => self.out_of_time(),
        }
    }

    /// The refund is stored: settled, or to be asked about again.
    fn follow(self, stored: &Refund) -> Next {
        match Settled::of(stored, self.receive.copy) {
            Some(settled) => Step::Done(Verdict::Ack(settled)),
            None => self.release(None),
        }
    }

    /// Another write came first: decide again, a bounded number of times.
    fn lost(mut self) -> Option<Self> {
        self.lost_writes = self.lost_writes.saturating_add(1);
        (self.lost_writes < LOST_WRITES_MAX).then_some(self)
    }
}

impl Machine for Payout {
    type Effect = Effect;
    type Outcome = Outcome;
    type Verdict = Verdict;

    fn step(mut self, outcome: Outcome, now_ms: u64) -> Next {
        let phase = core::mem::replace(&mut self.phase, Phase::New);
        match (phase, outcome) {
            (Phase::New, Outcome::Start) => self.go(Phase::Reading, Effect::Read),
            (Phase::Reading, Outcome::Read(Some(stored))) => self.decide(stored, false, now_ms),
            // A refund is never deleted, so a copy without one is kept until a person finds it among the dead letters.
            (Phase::Reading, Outcome::Read(None) | Outcome::ReadFailed) => self.release(None),

            (Phase::Preparing(stored), Outcome::Prepared) => self.decide(stored, true, now_ms),
            (Phase::Preparing(stored), Outcome::NotPrepared) => {
                let (copy, mine) = (self.receive.copy, self.receive.token);
                match unprepared(&stored, copy, mine, now_ms, &self.timing) {
                    Some(finding) => self.record(&stored, Word::Unasked(finding), now_ms),
                    None => self.release(None),
                }
            }

            (Phase::Stamping(item), Outcome::Written) => self.call(item, now_ms),
            // This very write came first, its answer was lost, and the SDK repeated it.
            (Phase::Stamping(item), Outcome::Conflict(Some(stored))) if announced(&stored, &item) => {
                self.call(stored, now_ms)
            }
            // Another one came first.
            (Phase::Stamping(_), Outcome::Conflict(Some(stored))) => match self.clone().lost() {
                Some(machine) => machine.decide(stored, true, now_ms),
                None => self.release(None),
            },

            // A refusal says nothing about another call of this payout, whose answer was lost or is another consumer's.
            (Phase::Calling(stored), Outcome::Called(Answer::Heard(Finding::Refused(reason)))) => {
                if self.may_ask(now_ms) {
                    self.look(stored, Look::Refused(reason), now_ms)
                } else {
                    // Not heard of any more, it would be asked for again.
                    self.record(&stored, Word::Refused(reason), now_ms)
                }
            }
            (Phase::Calling(stored), Outcome::Called(Answer::Heard(finding))) => {
                self.record(&stored, Word::Said(finding), now_ms)
            }
            (Phase::Calling(stored), Outcome::Called(Answer::Later { reason, after_ms, untouched: true })) => {
                self.withdraw(&stored, &reason, after_ms, now_ms)
            }
            (Phase::Calling(_), Outcome::Called(Answer::Later { after_ms, untouched: false, .. })) => {
                self.release(after_ms)
            }
            (Phase::Withdrawing { after_ms }, Outcome::Written | Outcome::Conflict(_) | Outcome::WriteUnknown) => {
                self.release(after_ms)
            }

            (Phase::Looking { stored, look }, Outcome::Listed(list)) => {
                let (copy, mine) = (self.receive.copy, self.receive.token);
                let found = listed(&stored, copy, mine, &look, &list, now_ms, &self.timing);
                self.found(&stored, found, now_ms)
            }
            (Phase::Looking { stored, look }, Outcome::LookFailed) => {
                let found = listing_failed(&stored, &look, now_ms, &self.timing);
                self.found(&stored, found, now_ms)
            }
            // Asked for again it would be refused again, and the payout never come to an end.
            (Phase::Looking { stored, look }, Outcome::LookRefused(reason)) => {
                let found = listing_refused(&stored, &look, &reason, now_ms, &self.timing);
                self.found(&stored, found, now_ms)
            }

            (Phase::Recording { item, .. }, Outcome::Written) => self.follow(&item),
            (Phase::Recording { word, .. }, Outcome::Conflict(Some(stored))) => match self.clone().lost() {
                Some(machine) => machine.overtaken(stored, word, now_ms),
                None => self.release(None),
            },
            // What was found is written again while there is time. If the first try did happen, the second meets its own
            // item and goes on from there.
            (Phase::Recording { word, item, expect }, Outcome::WriteUnknown)
                if self.timing.record_may_start(now_ms, self.receive.invocation_ends_ms) =>
            {
                match self.clone().lost() {
                    Some(machine) => {
                        let effect = Effect::Write { purpose: Purpose::Record, item: item.clone(), expect };
                        machine.go(Phase::Recording { word, item, expect }, effect)
                    }
                    None => self.release(None),
                }
            }

            // Nobody knows whether the write happened (or the item is gone): the copy comes back and finds out.
            (Phase::Stamping(_) | Phase::Recording { .. }, Outcome::WriteUnknown | Outcome::Conflict(None)) => {
                self.release(None)
            }

            (Phase::Releasing, Outcome::Released) => Step::Done(Verdict::Keep),
            // An outcome that answers no effect of ours is ignored.
            (phase, _) => Step::Go(Self { phase, ..self }, Vec::new()),
        }
    }

    fn stuck(self) -> Verdict {
        Verdict::Keep
    }
}
