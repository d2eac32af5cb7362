//! One consumer with a payout copy: protocol's machine, and everything that can become of its effects.
//!
//! Reading and preparing belong to the step before the effect that others can see; a release ends the run, and the copy
//! shows again at any time.

use super::{
    Refunds,
    config::{AMOUNT, NOW, TIMING, payout},
    mutation::Mutation,
    provider::refused,
    world::{Held, HeldWrite, Run, Window, World, number, state},
};
use crate::{faults::Fault, shared::Shared, trace::Do};
use protocol::{
    answer::Reason,
    expect::Expect,
    machine::{
        Machine, Step,
        payout::{Answer, Effect, Outcome, Payout, Purpose, Receive, Verdict},
    },
    refund::{
        Refund,
        payout::{Finding, State},
        step::Listed,
        terms::Terms,
    },
};

type Next = Step<Payout, Effect, Verdict>;

fn later(untouched: bool) -> Outcome {
    let reason = Reason { code: String::new(), detail: String::new() };
    Outcome::Called(Answer::Later { reason, after_ms: None, untouched })
}

impl Refunds {
    /// The clock that a consumer is told.
    fn clock(&self, world: &World) -> u64 {
        match world.window {
            _ if self.has(Mutation::NoWindow) => NOW,
            Window::Over if self.has(Mutation::ReviewAtOnce) => TIMING.payout_busy_until(world.now()),
            Window::Open | Window::Over | Window::Settled => world.now(),
        }
    }

    /// A copy is received.
    pub(super) fn receive(&self, world: &mut World, at: usize) {
        let number = world.queue.remove(at);
        let stored = &world.item;
        if self.has(Mutation::AckBecauseStamped) && stored.payout.as_ref().is_some_and(|p| p.first_call_ms.is_some()) {
            return;
        }
        let copy = payout(stored, number);
        let token = world.fresh_token();
        let receive = Receive { copy, token, receives: 1, jitter_permille: 0, invocation_ends_ms: u64::MAX };
        let machine = Payout::new(receive, TIMING);
        let run = Run {
            token,
            number,
            machine: Shared::new(machine.clone()),
            pending: Shared::new(Effect::Read),
            early: false,
            cleared: false,
        };
        let step = machine.step(Outcome::Start, self.clock(world));
        self.goes_on(world, run, step);
    }

    /// The run goes on to its next effect that others can see, or ends.
    fn goes_on(&self, world: &mut World, run: Run, mut step: Next) {
        loop {
            let (machine, effect) = match step {
                Step::Done(Verdict::Ack(_)) => return,
                Step::Done(Verdict::Keep) => return world.enqueue(run.number),
                Step::Go(machine, mut effects) => match effects.pop() {
                    Some(effect) if effects.is_empty() => (machine, effect),
                    _ => {
                        world.broken.machine = true;
                        return;
                    }
                },
            };
            let outcome = match &effect {
                Effect::Read => Outcome::Read(Some(Box::new(world.item.take()))),
                Effect::Prepare => Outcome::Prepared,
                Effect::Release { .. } => Outcome::Released,
                Effect::Look { .. } if self.skips_look(world) => Outcome::Listed(Vec::new()),
                Effect::Write { .. } | Effect::Call { .. } | Effect::Look { .. } => {
                    let run = Run { machine: Shared::new(machine), pending: Shared::new(effect), ..run };
                    world.runs.push(run);
                    return;
                }
            };
            step = machine.step(outcome, self.clock(world));
        }
    }

    fn skips_look(&self, world: &World) -> bool {
        let first = world.item.payout.as_ref().is_some_and(|payout| payout.first_call_ms.is_none());
        let refused = !first && world.window == Window::Open && state(&world.item) == Some(State::Due);
        (first && self.has(Mutation::NoLookBefore)) || (refused && self.has(Mutation::RefusalBelieved))
    }

    /// The provider gets a request under the key of this payout.
    pub(super) fn pay(&self, world: &mut World, number: u8, refuse: bool) -> Finding {
        let amount = if self.has(Mutation::AmountOfCall) { 1 } else { AMOUNT };
        self.request(world, number, amount, refuse)
    }

    fn request(&self, world: &mut World, number: u8, amount: u64, refuse: bool) -> Finding {
        let key = !self.has(Mutation::KeyPerAttempt);
        if self.config.counts {
            world.met.calls = (world.met.calls + 1).min(3);
        }
        world.provider.call(number, key, amount, self.config.later, refuse, self.config.events)
    }

    fn called(&self, world: &mut World, number: u8, amount: u64, what: Do) -> Option<Outcome> {
        let amount = if self.has(Mutation::AmountOfCall) { 1 } else { amount };
        let heard = |finding| Some(Outcome::Called(Answer::Heard(finding)));
        match what {
            Do::Apply => {
                let finding = self.request(world, number, amount, false);
                heard(finding)
            }
            Do::RefuseForGood => {
                let finding = self.request(world, number, amount, true);
                heard(finding)
            }
            // Before keys are looked at: nothing is remembered.
            Do::Error => heard(refused()),
            Do::ApplyDropResponse => {
                self.request(world, number, amount, false);
                world.unheard = true;
                Some(later(false))
            }
            Do::CrashAfter => {
                self.request(world, number, amount, false);
                world.unheard = true;
                None
            }
            Do::Hold => {
                world.network.push(Held::Call(number));
                Some(later(false))
            }
            Do::CrashBefore => None,
            // Before it was looked at.
            Do::RefuseForNow => Some(later(true)),
            _ => Some(later(false)),
        }
    }

    fn looked(&self, world: &mut World, run: &mut Run, what: Do) -> Option<Outcome> {
        let copy = payout(&world.item, run.number);
        match what {
            Do::CrashBefore => None,
            // For good, whatever the provider has.
            Do::RefuseForGood => Some(Outcome::LookRefused(Reason { code: String::new(), detail: String::new() })),
            Do::ReadStale => {
                run.cleared = true;
                if world.window == Window::Settled && self.has(Mutation::BlindReissue) {
                    let finding = self.pay(world, run.number, false);
                    return Some(Outcome::Called(Answer::Heard(finding)));
                }
                Some(Outcome::Listed(Vec::new()))
            }
            _ => {
                run.cleared = !world.provider.has(run.number);
                Some(Outcome::Listed(world.provider.list(copy)))
            }
        }
    }

    /// ry12: what is only marked is written as failed.
    fn believed(&self, item: &Refund) -> Option<Refund> {
        let marked = item.payout.as_ref().filter(|payout| payout.refused().is_some());
        let payout = marked.filter(|_| self.has(Mutation::RefusalOfMany))?;
        let failed = protocol::refund::payout::Payout { state: State::Failed, ..payout.clone() };
        Some(Refund { payout: Some(failed), ..item.clone() })
    }

    /// ry13: the announcement of a repeated call, which is not written.
    fn unannounced(&self, purpose: Purpose, item: &Refund) -> bool {
        let repeats = item.payout.as_ref().is_some_and(|payout| payout.calls > 1);
        purpose == Purpose::Stamp && repeats && self.has(Mutation::RepeatUnannounced)
    }

    /// A consumer's write: whether it happened.
    fn write(&self, world: &mut World, purpose: Purpose, item: &Refund, expect: Expect, cleared: bool) -> bool {
        let unfenced = purpose == Purpose::Record && self.has(Mutation::RecordUnfenced);
        let wrote = world.write(item, (!unfenced).then_some(expect));
        if wrote && purpose == Purpose::Record && state(item) == Some(State::Failed) {
            let of = number(item);
            let others = world.runs.iter().any(|other| other.number == of);
            world.broken.lied |= world.provider.has(of) && !others && !cleared;
        }
        wrote
    }

    /// A held write arrives, when its sender has long given up: its condition alone decides.
    pub(super) fn write_arrives(&self, world: &mut World, held: &HeldWrite) {
        self.write(world, held.purpose, &held.item, held.expect, held.cleared);
    }

    /// One effect of a run.
    pub(super) fn run_step(&self, world: &mut World, at: usize, what: Do) {
        let mut run = world.runs.remove(at);
        let effect = run.pending.clone();
        let outcome = match &*effect {
            Effect::Write { purpose, item, expect } => {
                let keeps = *purpose == Purpose::Record
                    && self.has(Mutation::FailedIsFinal)
                    && state(&world.item) == Some(State::Failed);
                let keeps = keeps || self.unannounced(*purpose, item);
                let believed = self.believed(item);
                let item = believed.as_ref().unwrap_or(item);
                let apply = !matches!(what, Do::CrashBefore | Do::DropRequest | Do::Hold) && !keeps;
                let wrote = apply && self.write(world, *purpose, item, *expect, run.cleared);
                if what == Do::Hold && !keeps {
                    world.network.push(Held::Write(HeldWrite::new(*purpose, item, *expect, run.cleared)));
                }
                match what {
                    Do::CrashBefore | Do::CrashAfter => None,
                    Do::DropRequest | Do::ApplyDropResponse | Do::Hold => Some(Outcome::WriteUnknown),
                    _ if keeps => Some(Outcome::Written),
                    Do::ApplyAndRepeat => Some(Outcome::Conflict(Some(Box::new(world.item.take())))),
                    _ if wrote => Some(Outcome::Written),
                    _ => Some(Outcome::Conflict(Some(Box::new(world.item.take())))),
                }
            }
            Effect::Call { key, amount, .. } => {
                let number = u8::try_from(key.number).unwrap_or(u8::MAX);
                self.called(world, number, *amount, what)
            }
            Effect::Look { .. } => self.looked(world, &mut run, what),
            Effect::Read | Effect::Prepare | Effect::Release { .. } => None,
        };
        match outcome {
            None => {
                // What it would have recorded is heard of no more.
                world.unheard |= matches!(*effect, Effect::Write { purpose: Purpose::Record, .. });
                world.enqueue(run.number);
            }
            Some(Outcome::Called(Answer::Heard(finding))) if matches!(*effect, Effect::Look { .. }) => {
                // rx5: called instead of looked; the machine hears of it as if the listing had shown it.
                let copy = payout(&world.item, run.number);
                let listed = Listed { payout: copy, finding, terms: Terms::default() };
                let step = run.machine.take().step(Outcome::Listed(vec![listed]), self.clock(world));
                self.goes_on(world, run, step);
            }
            Some(outcome) => {
                let step = run.machine.take().step(outcome, self.clock(world));
                self.goes_on(world, run, step);
            }
        }
    }

    /// What may become of a run's effect, and the fault that it is.
    pub(super) fn run_choices(&self, run: &Run) -> Vec<(Do, Option<Fault>)> {
        let mut all = vec![(Do::Apply, None), (Do::CrashBefore, Some(Fault::Crash))];
        match &*run.pending {
            Effect::Write { .. } => all.extend([
                (Do::CrashAfter, Some(Fault::Crash)),
                (Do::ApplyDropResponse, Some(Fault::Lost)),
                (Do::ApplyAndRepeat, Some(Fault::Lost)),
                (Do::DropRequest, Some(Fault::Lost)),
                (Do::Hold, Some(Fault::Late)),
            ]),
            Effect::Call { .. } => all.extend([
                (Do::CrashAfter, Some(Fault::Crash)),
                (Do::ApplyDropResponse, Some(Fault::ProviderLost)),
                (Do::DropRequest, Some(Fault::ProviderLost)),
                (Do::RefuseForNow, Some(Fault::NotNow)),
                (Do::RefuseForGood, Some(Fault::Permanent)),
                (Do::Error, Some(Fault::Permanent)),
                (Do::Hold, Some(Fault::Late)),
            ]),
            Effect::Look { .. } => {
                all.extend([(Do::ReadStale, Some(Fault::Duplicate)), (Do::RefuseForGood, Some(Fault::Permanent))]);
            }
            Effect::Read | Effect::Prepare | Effect::Release { .. } => {}
        }
        all
    }
}
