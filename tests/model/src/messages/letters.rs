//! The dead-letter handler's machine in the model's world: one letter at a time.
//!
//! Receiving a letter, reading its item and deciding is one step: only the effect that follows is seen by others.

use super::{
    Messages,
    mutation::Mutation,
    world::{Copy, Held, HeldItem, Letter, World, seen},
};
use crate::{faults::Fault, shared::Shared, trace::Do};
use protocol::{
    claim::{Claim, settle},
    expect::Expect,
    letter::Letter as Word,
    machine::{
        Machine, Step,
        dead_letter::{DeadLetter, Effect, Outcome, Verdict},
    },
};

type Next = Step<DeadLetter, Effect, Verdict>;

impl Messages {
    /// What can happen to the letter in hand.
    pub(super) fn letter_moves(&self, world: &World, letter: &Letter, can: impl Fn(Fault) -> bool) -> Vec<Do> {
        let mut moves = vec![Do::Apply];
        if can(Fault::Lost) {
            moves.push(Do::DropRequest);
            match &*letter.pending {
                Effect::Settle { expect, .. } if self.holds(world, letter.copy, *expect) => {
                    moves.extend([Do::ApplyDropResponse, Do::ApplyAndRepeat]);
                }
                Effect::Settle { .. } => {}
                Effect::Redrive | Effect::Read => moves.push(Do::ApplyDropResponse),
            }
        }
        if can(Fault::Late) && matches!(*letter.pending, Effect::Settle { .. }) {
            moves.push(Do::Hold);
        }
        if can(Fault::Crash) {
            moves.extend([Do::CrashBefore, Do::CrashAfter]);
        }
        moves
    }

    fn holds(&self, world: &World, copy: Copy, expect: Expect) -> bool {
        expect.holds(self.item(world, copy.message, copy.chunk).map(|item| seen(item)).as_ref())
    }

    /// The handler receives a letter, reads and decides. A letter that it leaves changes nothing.
    pub(super) fn exhume(&self, world: &mut World, at: usize) {
        let copy = world.dead.remove(at);
        let now = self.now(world, copy.message, false);
        let facts = self.requests[usize::from(copy.message)].facts;
        let stored = self.item(world, copy.message, copy.chunk).map(Shared::take);
        let step = match DeadLetter::new(facts).step(Outcome::Start, now) {
            Step::Go(machine, _) => machine.step(Outcome::Read(stored), now),
            done @ Step::Done(_) => done,
        };
        self.letter_goes_on(world, copy, step);
    }

    fn letter_goes_on(&self, world: &mut World, copy: Copy, step: Next) {
        match step {
            Step::Done(Verdict::Leave) => world.dead.push(copy),
            Step::Done(Verdict::Delete(_) | Verdict::Redriven) => {}
            Step::Go(machine, mut effects) => match effects.pop() {
                Some(effect) => {
                    let pending = Shared::new(self.mutated_letter(world, copy, effect));
                    world.letter = Some(Letter { copy, machine: Shared::new(machine), pending });
                }
                None => world.broken.machine = true,
            },
        }
    }

    /// x7 and x15: a settling write in the place of a re-drive.
    fn mutated_letter(&self, world: &World, copy: Copy, effect: Effect) -> Effect {
        let fails = self.has(Mutation::DeadLetterFails);
        if !(fails || self.has(Mutation::NoRedrive) && effect == Effect::Redrive) {
            return effect;
        }
        let stored = self.item(world, copy.message, copy.chunk).map(Shared::take);
        let facts = self.requests[usize::from(copy.message)].facts;
        match settle(stored.as_ref(), &facts, self.now(world, copy.message, false)) {
            Claim::Settle(mut item, expect) => {
                let open = |at: usize| stored.as_ref().is_none_or(|item| item.devices[at].letter.is_open());
                for (at, device) in item.devices.iter_mut().enumerate() {
                    if fails && open(at) {
                        device.letter = Word::Failed;
                    }
                }
                Effect::Settle { item, expect }
            }
            _ => effect,
        }
    }

    pub(super) fn letter(&self, world: &mut World, what: Do) {
        let Some(Letter { copy, machine, pending }) = world.letter.take() else { return };
        if what == Do::CrashBefore {
            world.dead.push(copy);
            return;
        }
        let (message, chunk) = (copy.message, copy.chunk);
        let outcome = match &*pending {
            Effect::Read => Outcome::ReadFailed,
            Effect::Redrive => {
                if what != Do::DropRequest {
                    world.enqueue(message, chunk, true, false);
                }
                if what == Do::Apply { Outcome::Redriven } else { Outcome::NotRedriven }
            }
            Effect::Settle { item, expect } => match what {
                Do::DropRequest => Outcome::WriteUnknown,
                Do::Hold => {
                    let (item, expect) = (Shared::new(item.clone()), *expect);
                    // Settled after the deadline by whoever saw it pass.
                    let held = HeldItem { message, chunk, claim: false, early: false, item, expect };
                    world.network.push(Held::Item(held));
                    Outcome::WriteUnknown
                }
                _ => {
                    let holds = self.holds(world, copy, *expect);
                    if holds {
                        self.store(world, message, chunk, item, None);
                    }
                    match what {
                        Do::ApplyDropResponse => Outcome::WriteUnknown,
                        Do::Apply if holds => Outcome::Written,
                        _ => Outcome::Conflict(self.item(world, message, chunk).map(Shared::take)),
                    }
                }
            },
        };
        if what == Do::CrashAfter {
            world.dead.push(copy);
            return;
        }
        let seeded = self.has(Mutation::NoRedrive) || self.has(Mutation::DeadLetterFails);
        match (outcome, seeded) {
            // The machine waits for a re-drive: what it hears of the write in its place is that.
            (Outcome::Written, true) => {}
            (Outcome::Conflict(_) | Outcome::WriteUnknown, true) => world.dead.push(copy),
            (outcome, _) => {
                let step = machine.take().step(outcome, self.now(world, message, false));
                self.letter_goes_on(world, copy, step);
            }
        }
    }
}
