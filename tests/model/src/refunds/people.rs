//! People: who approves and rejects, and, later, who retries and resolves; the relay and the dead-letter function.
//!
//! The last four are run to their end at once. Each is one write that decides from what is stored at that moment (a
//! lost condition decides again), or only adds a copy, so what comes between their steps makes no other world.

use super::{
    Refunds,
    config::{NOW, TIMING, decision, payout},
    mutation::Mutation,
    provider::{Sent, finding, reference},
    world::{Desk, Held, World, number, state},
};
use crate::{shared::Shared, trace::Do};
use protocol::{
    expect::Expect,
    ids::OwnerToken,
    machine::{
        Machine, Step,
        change_payout::{self, Ask, ChangePayout},
        decide_refund::{DecideRefund, Effect, Outcome},
        payout_dead_letter::{self, PayoutDeadLetter},
        relay::{self, Record, Relay},
    },
    refund::{
        Refund,
        decide::{Verdict, decided},
        objects::looked_at,
        payout::{Payout, State},
        person::Seen,
        step::wants_copy,
        terms::Terms,
        webhook::Event,
    },
};

/// The token of whoever changes a payout: each change is one step here, so nobody asks whose write it was.
const ANYBODY: OwnerToken = OwnerToken([0; 16]);

impl Refunds {
    pub(super) fn sits_down(&self, item: &Refund, who: usize) -> Desk {
        let verdict = if who < usize::from(self.config.approvers) { Verdict::Approve } else { Verdict::Reject };
        let machine = DecideRefund::new(&item.project, item.id, decision(who, verdict));
        Self::desk(machine.step(Outcome::Start, NOW)).unwrap_or(Desk::Gone)
    }

    fn desk(step: Step<DecideRefund, Effect, protocol::machine::decide_refund::Verdict>) -> Option<Desk> {
        match step {
            Step::Done(verdict) => Some(Desk::Answered(Shared::new(verdict))),
            Step::Go(machine, mut effects) => {
                Some(Desk::Asking(Shared::new(machine), Shared::new(effects.pop().filter(|_| effects.is_empty())?)))
            }
        }
    }

    /// The decision's write: whether it happened.
    fn decide(&self, world: &mut World, effect: &Effect) -> bool {
        let Effect::Decide { decision, .. } = effect else { return false };
        let mut next = decided(&world.item, decision);
        if self.has(Mutation::PayoutInSecondWrite) {
            next.payout = None;
        }
        if self.has(Mutation::ReadThenWrite) {
            // Everybody has read a pending refund before.
            let next = decided(&super::config::pending(), decision);
            return world.write(&next, None);
        }
        world.write(&next, Some(Expect::RefundPending))
    }

    /// One effect of a person's decision.
    pub(super) fn desk_step(&self, world: &mut World, who: usize, what: Do) {
        let Some(Desk::Asking(machine, effect)) = world.desks.get(who).cloned() else { return };
        let deciding = matches!(*effect, Effect::Decide { .. });
        let wrote = match what {
            Do::CrashBefore | Do::DropRequest | Do::Hold => false,
            _ if deciding => self.decide(world, &effect),
            _ => {
                if self.has(Mutation::PayoutInSecondWrite) && world.item.payout.is_none() {
                    let item =
                        Refund { payout: Some(Payout::due(1, world.item.request.amount, NOW)), ..world.item.take() };
                    world.write(&item, None);
                }
                world.enqueue(1);
                true
            }
        };
        let lost = || Outcome::Conflict(Some(Box::new(world.item.take())));
        let outcome = match what {
            Do::CrashBefore | Do::CrashAfter => None,
            Do::Hold => {
                world.network.push(Held::Decide(effect.clone()));
                Some(Outcome::Unknown)
            }
            _ if !deciding => Some(Outcome::Sent),
            Do::DropRequest | Do::ApplyDropResponse => Some(Outcome::Unknown),
            // The client's repeat meets what its first try has stored, or whoever came first.
            Do::ApplyAndRepeat => Some(lost()),
            _ if wrote => Some(Outcome::Written),
            _ => Some(lost()),
        };
        world.desks[who] = match outcome.map(|outcome| Self::desk(machine.take().step(outcome, NOW))) {
            None => Desk::Gone,
            Some(Some(desk)) => desk,
            Some(None) => {
                world.broken.machine = true;
                Desk::Gone
            }
        };
    }

    /// What the network held arrives.
    pub(super) fn arrives(&self, world: &mut World, at: usize) {
        match world.network.remove(at) {
            Held::Call(number) => {
                self.pay(world, number, false);
                world.unheard = true;
            }
            Held::Decide(effect) => {
                self.decide(world, &effect);
            }
            Held::Write(held) => self.write_arrives(world, &held),
        }
    }

    /// The relay's batch of one record. `confirmed`: the checkpoint passes it.
    pub(super) fn relay(&self, world: &mut World, at: usize, what: Do) {
        let of = world.stream[at];
        let id = payout(&world.item, of);
        let mut machine = Relay::new(vec![Record::Payout { at_ms: NOW }], TIMING.grace);
        let mut outcome = relay::Outcome::Start;
        let verdict = loop {
            match machine.step(outcome, NOW) {
                Step::Done(verdict) => break verdict,
                Step::Go(next, effects) => {
                    machine = next;
                    outcome = match &effects[..] {
                        [relay::Effect::Look(record)] => {
                            let wanted = wants_copy(Some(&world.item), id) && !self.has(Mutation::NoRelay);
                            let present = if wanted { Vec::new() } else { vec![0] };
                            relay::Outcome::Looked { record: *record, present }
                        }
                        [relay::Effect::Send(_)] if what == Do::DropRequest => {
                            relay::Outcome::Sent(vec![relay::Sent::Unconfirmed])
                        }
                        [relay::Effect::Send(_)] => {
                            world.enqueue(of);
                            let confirmed = what != Do::ApplyDropResponse;
                            relay::Outcome::Sent(vec![if confirmed {
                                relay::Sent::Confirmed
                            } else {
                                relay::Sent::Unconfirmed
                            }])
                        }
                        _ => break Relay::new(Vec::new(), 0).stuck(),
                    };
                }
            }
        };
        // A crash, or a batch delivered again, is a checkpoint that did not move.
        if verdict.failed_from.is_none() && !matches!(what, Do::CrashAfter | Do::Duplicate) {
            world.stream.remove(at);
        }
    }

    /// A dead letter, to its end.
    pub(super) fn exhume(&self, world: &mut World, at: usize, what: Do) {
        let of = world.dead[at];
        if self.has(Mutation::DeadLettersLost) {
            world.dead.remove(at);
            return;
        }
        if what == Do::CrashBefore {
            return;
        }
        let mut machine = PayoutDeadLetter::new(payout(&world.item, of));
        let mut outcome = payout_dead_letter::Outcome::Start;
        loop {
            match machine.step(outcome, NOW) {
                Step::Done(payout_dead_letter::Verdict::Leave) => return,
                Step::Done(_) if what == Do::CrashAfter => return,
                Step::Done(_) => {
                    world.dead.remove(at);
                    return;
                }
                Step::Go(next, effects) => {
                    machine = next;
                    outcome = match effects.first() {
                        Some(payout_dead_letter::Effect::Read) => {
                            payout_dead_letter::Outcome::Read(Some(Box::new(world.item.take())))
                        }
                        _ => {
                            if what != Do::DropRequest {
                                world.enqueue(of);
                            }
                            let lost = matches!(what, Do::DropRequest | Do::ApplyDropResponse);
                            if lost && !self.has(Mutation::RedriveBelieved) {
                                payout_dead_letter::Outcome::NotRedriven
                            } else {
                                payout_dead_letter::Outcome::Redriven
                            }
                        }
                    };
                }
            }
        }
    }

    /// A change by a person or an event, to its end. `sent`: the copy after it is sent.
    fn change(&self, world: &mut World, ask: Ask, sent: bool) {
        let now = world.later();
        let mut machine = ChangePayout::new(ask, ANYBODY, TIMING);
        let mut outcome = change_payout::Outcome::Start;
        while let Step::Go(next, effects) = machine.step(outcome, now) {
            machine = next;
            outcome = match effects.first() {
                Some(change_payout::Effect::Read) => change_payout::Outcome::Read(Some(Box::new(world.item.take()))),
                Some(change_payout::Effect::Write { item, expect }) => {
                    if !world.write(item, Some(*expect)) {
                        world.broken.machine = true;
                        return;
                    }
                    change_payout::Outcome::Written
                }
                Some(change_payout::Effect::Send(payout)) => {
                    if sent {
                        world.enqueue(u8::try_from(payout.number).unwrap_or(u8::MAX));
                    }
                    change_payout::Outcome::Sent
                }
                None => {
                    world.broken.machine = true;
                    return;
                }
            };
        }
    }

    /// A person retries the failed payout.
    pub(super) fn retry(&self, world: &mut World, what: Do) {
        let before = number(&world.item);
        if self.has(Mutation::NoWait) {
            world.waited = true;
        }
        let ask = Ask::Retry { named: payout(&world.item, before), actor: String::new() };
        self.change(world, ask, what == Do::Apply);
        if number(&world.item) > before {
            world.retries -= 1;
        }
    }

    /// A person ends the review of the current payout, by what the provider shows of this refund.
    pub(super) fn resolve(&self, world: &mut World) {
        let paid = world.provider.alive().next().map(|object| Seen::Paid { reference: reference(object.number) });
        let shown = looked_at(&world.item).map(String::from);
        let seen = paid.unwrap_or(Seen::NotPaid { reference: shown });
        let named = Some(payout(&world.item, number(&world.item)));
        self.change(world, Ask::Resolve { named, seen, actor: String::new() }, true);
    }

    /// An event is delivered.
    pub(super) fn event(&self, world: &mut World, at: usize, again: bool) {
        let sent = world.provider.events[at];
        if !again {
            world.provider.events.remove(at);
        }
        let Sent { number: of, stands } = sent;
        if self.has(Mutation::EventsUnordered) {
            let mut item = world.item.take();
            if let Some(payout) = item.payout.as_mut().filter(|payout| payout.number == u16::from(of)) {
                payout.state = match stands {
                    super::provider::Stands::Pending => State::Submitted,
                    super::provider::Stands::Succeeded => State::Paid,
                    super::provider::Stands::Failed => State::Failed,
                };
                item.version += 1;
                world.write(&item, None);
            }
            return;
        }
        let id = sent.id();
        let finding = finding(of, stands);
        let event = Event { id, created_s: 1, payout: payout(&world.item, of), finding, terms: Terms::default() };
        let before = state(&world.item);
        self.change(world, Ask::Event(event), true);
        world.met.taken_back |= before == Some(State::Paid) && state(&world.item) == Some(State::Failed);
    }
}
