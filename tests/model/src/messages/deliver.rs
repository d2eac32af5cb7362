//! The deliver function's machine in the model's world: consumers with a copy in hand.
//!
//! Receiving a copy, preparing and reading is one step, and a release is part of the step before it: nobody else sees
//! them. What others see (a write, a call, a successor) is a step of its own. An outcome is heard in the same step:
//! hearing it later is the same as the time between passing before the effect, since no effect depends on the clock.

use super::{
    Messages,
    config::{AT, TIMING},
    mutation::Mutation,
    world::{Copy, Held, HeldItem, Phase, Run, World, leased, seen},
};
use crate::{faults::Fault, shared::Shared, trace::Do};
use protocol::{
    answer::{Answer, Reason},
    delivery::{Delivery, State},
    expect::Expect,
    hold::HeldDevices,
    ids::OwnerToken,
    letter::Letter as Word,
    machine::{
        Machine, Step,
        deliver::{Deliver, Effect, Outcome, Purpose, Receive, Verdict},
    },
};

type Next = Step<Deliver, Effect, Verdict>;

fn token(number: u8) -> OwnerToken {
    OwnerToken([number; 16])
}

/// All reasons are alike: they are shown, and decide nothing.
fn reason() -> Reason {
    Reason { code: "refused".to_owned(), detail: String::new() }
}

impl Messages {
    /// What can happen to the pending effect of a run, or to the run there.
    pub(super) fn run_moves(&self, world: &World, run: &Run, effect: &Effect, can: impl Fn(Fault) -> bool) -> Vec<Do> {
        let mut moves = vec![Do::Apply];
        match effect {
            Effect::Write { purpose, item, expect } => {
                let holds = self.write_holds(world, run, *purpose, item, *expect);
                if can(Fault::Lost) {
                    moves.push(Do::DropRequest);
                    if holds {
                        moves.extend([Do::ApplyDropResponse, Do::ApplyAndRepeat]);
                    }
                }
                if can(Fault::Late) {
                    moves.push(Do::Hold);
                }
                if can(Fault::Crash) && holds && *purpose != Purpose::Claim {
                    moves.push(Do::CrashAfter);
                }
            }
            Effect::Call { .. } => {
                if can(Fault::Permanent) {
                    moves.push(Do::RefuseForGood);
                }
                if can(Fault::NotNow) {
                    moves.push(Do::RefuseForNow);
                }
                if can(Fault::ProviderLost) {
                    moves.extend([Do::ApplyDropResponse, Do::DropRequest, Do::AcceptAndFail, Do::RefuseAndFail]);
                }
            }
            Effect::Successor { .. } => {
                if can(Fault::Lost) {
                    moves.extend([Do::ApplyDropResponse, Do::DropRequest]);
                }
                if can(Fault::Crash) {
                    moves.push(Do::CrashAfter);
                }
            }
            Effect::Prepare | Effect::Read | Effect::Release { .. } => {}
        }
        moves
    }

    /// Whether a stall of this run matters: it holds a lease, or is about to.
    pub(super) fn may_stall(run: &Run) -> bool {
        let leaseholder = |effect: &Effect| match effect {
            Effect::Write { purpose, .. } => *purpose != Purpose::Settle,
            Effect::Call { .. } => true,
            _ => false,
        };
        !run.late && run.pending.iter().any(leaseholder)
    }

    /// A consumer receives the copy; `error` when its credentials or its read fail.
    pub(super) fn receive(&self, world: &mut World, at: usize, error: bool) {
        let copy = world.queue.remove(at);
        let message = copy.message;
        if copy.marked && !error && self.item(world, message, copy.chunk).is_some() {
            world.take_away(copy.twin);
            return;
        }
        let number = self.fresh_token(world, copy);
        let now = self.now(world, message, false);
        let receive = Receive {
            facts: self.requests[usize::from(message)].facts,
            token: token(number),
            jitter_permille: 0,
            invocation_ends_ms: now + TIMING.function,
            read_first: copy.read_first,
        };
        let machine = Deliver::new(receive, TIMING);
        let run = Run {
            token: number,
            copy,
            gone: false,
            machine: Shared::new(machine.clone()),
            pending: Shared::new(Vec::new()),
            early: world.life(message).phase == Phase::Open,
            late: false,
            unrecorded: false,
            counted: false,
            refused: 0,
            acking: false,
        };
        let step = machine.step(Outcome::Start, now);
        self.goes_on(world, run, step, None, error);
    }

    /// A token that nobody in this world knows: fresh, up to renaming.
    fn fresh_token(&self, world: &World, copy: Copy) -> u8 {
        if self.has(Mutation::TokenOfReceiveCount) {
            return if copy.read_first { 2 } else { 1 };
        }
        let held = |held: &Held, number| matches!(held, Held::Item(held) if held.item.owner == Some(token(number)));
        let stored = |number| {
            let mut items = world.lives.iter().flat_map(|life| &life.chunks).filter_map(|chunk| chunk.item.as_ref());
            items.any(|item| item.owner == Some(token(number)))
        };
        let used = |number: u8| {
            world.runs.iter().any(|run| run.token == number)
                || (!self.has(Mutation::TokenOfConsumer)
                    && (stored(number) || world.network.iter().any(|write| held(write, number))))
        };
        (1..u8::MAX).find(|number| !used(*number)).unwrap_or(u8::MAX)
    }

    /// The run's next effects, after those that nobody else sees. `heard` is what its machine just heard, if it was a
    /// write's conflict.
    fn goes_on(&self, world: &mut World, mut run: Run, mut step: Next, mut met: Option<bool>, error: bool) {
        let (message, chunk) = (run.copy.message, run.copy.chunk);
        let now = self.now(world, message, run.late);
        let mut local = Vec::new();
        loop {
            let machine = match step {
                Step::Done(verdict) => return self.ends(world, run, &verdict),
                Step::Go(machine, effects) => {
                    if let [only @ (Effect::Prepare | Effect::Read | Effect::Release { .. })] = &effects[..] {
                        local.push(only.clone());
                    } else if !effects.is_empty() {
                        let mut pending = run.pending.take();
                        pending.extend(effects);
                        run.pending = Shared::new(pending);
                    }
                    machine
                }
            };
            let outcome = match local.pop() {
                None => break run.machine = Shared::new(machine),
                Some(Effect::Prepare) if error && !run.copy.read_first => Outcome::NotPrepared,
                Some(Effect::Prepare) if world.held => {
                    Outcome::Held(HeldDevices::new(0..self.config.devices, now.saturating_add(TIMING.hold_look_max)))
                }
                Some(Effect::Prepare) => Outcome::Prepared,
                Some(Effect::Read) if error => Outcome::ReadFailed,
                Some(Effect::Read) => {
                    let stored = self.item(world, message, chunk);
                    met = Some(stored.is_some_and(|item| leased(item)));
                    Outcome::Read(stored.map(Shared::take))
                }
                Some(_) if met == Some(true) && self.has(Mutation::AckOnBusy) => {
                    world.take_away(run.copy.twin);
                    return;
                }
                Some(_) => Outcome::Released,
            };
            step = machine.step(outcome, now);
        }
        if run.pending.is_empty() {
            world.broken.machine = true;
            return;
        }
        if self.has(Mutation::AckBeforeSuccessor) && matches!(run.pending[..], [Effect::Successor { .. }]) {
            world.take_away(run.copy.twin);
            run.gone = true;
        }
        world.runs.push(run);
    }

    /// The run is over: its copy is deleted, or shows again.
    fn ends(&self, world: &mut World, run: Run, verdict: &Verdict) {
        match verdict {
            Verdict::Ack(_) => {
                if !run.gone {
                    world.take_away(run.copy.twin);
                }
                self.dies(world, run, true);
            }
            Verdict::Keep => self.dies(world, run, false),
        }
    }

    /// The run is over, whatever its machine thinks of it.
    fn dies(&self, world: &mut World, mut run: Run, acknowledged: bool) {
        if run.unrecorded {
            self.count_window(world, &mut run);
        }
        if !acknowledged && !run.gone {
            world.give_back(run.copy);
        }
    }

    /// From here on a second call is allowed.
    fn count_window(&self, world: &mut World, run: &mut Run) {
        if !run.counted {
            run.counted = true;
            world.chunk_mut(run.copy.message, run.copy.chunk).windows += 1;
        }
    }

    /// The run dies here.
    pub(super) fn crash_run(&self, world: &mut World, at: usize) {
        let run = world.runs.remove(at);
        world.chunk_mut(run.copy.message, run.copy.chunk).unrecorded = true;
        self.dies(world, run, false);
    }

    /// The run sleeps past the end of its lease.
    pub(super) fn stall(&self, world: &mut World, at: usize) {
        let mut run = world.runs.remove(at);
        let (message, chunk) = (run.copy.message, run.copy.chunk);
        run.late = true;
        world.chunk_mut(message, chunk).unrecorded = true;
        if self.item(world, message, chunk).is_some_and(|item| item.owner == Some(token(run.token))) {
            self.end_lease(world, message, chunk);
        }
        // It looked at its lease before the call that it now makes, or made: the margin is gone.
        if run.unrecorded || run.pending.iter().any(|effect| matches!(effect, Effect::Call { .. })) {
            self.count_window(world, &mut run);
        }
        world.runs.insert(at, run);
    }

    /// Whether a run's write would happen.
    fn write_holds(&self, world: &World, run: &Run, purpose: Purpose, item: &Delivery, expect: Expect) -> bool {
        let stored = self.item(world, run.copy.message, run.copy.chunk);
        if purpose == Purpose::Record && self.has(Mutation::RecordUnfenced) {
            return true;
        }
        if purpose == Purpose::Record && self.has(Mutation::RecordWholeVector) {
            let mine = |old: &Delivery| old.owner == item.owner && old.attempt == item.attempt;
            return stored.is_some_and(|old| old.state == State::InFlight && mine(old));
        }
        expect.holds(stored.map(|item| seen(item)).as_ref())
    }

    /// Performs one pending effect of a run, and lets it hear of that.
    pub(super) fn run(&self, world: &mut World, at: usize, effect: usize, what: Do) {
        let mut run = world.runs.remove(at);
        if run.acking {
            world.take_away(run.copy.twin);
            return self.dies(world, run, true);
        }
        let mut pending = run.pending.take();
        let todo = pending.remove(effect);
        run.pending = Shared::new(pending);
        let (message, chunk) = (run.copy.message, run.copy.chunk);
        let mut claimed = false;
        let outcome = match todo {
            Effect::Write { purpose, item, expect } => {
                claimed = purpose == Purpose::Claim;
                self.write(world, &mut run, purpose, item, expect, what)
            }
            Effect::Call { device } => self.call(world, &mut run, device, what),
            Effect::Successor { .. } => {
                let alike = |copy: &Copy| (copy.message, copy.chunk) == (message, chunk);
                let others = world.queue.iter().any(alike) || world.runs.iter().any(|r| alike(&r.copy) && !r.gone);
                if self.has(Mutation::SuccessorSkipped) && others {
                    run.acking = true;
                    return world.runs.push(run);
                }
                if what != Do::DropRequest {
                    world.enqueue(message, chunk, true, false);
                }
                if what == Do::Apply { Outcome::SuccessorConfirmed } else { Outcome::SuccessorUnconfirmed }
            }
            Effect::Prepare | Effect::Read | Effect::Release { .. } => return world.broken.machine = true,
        };
        if what == Do::CrashAfter {
            world.chunk_mut(message, chunk).unrecorded = true;
            return self.dies(world, run, false);
        }
        let met = match &outcome {
            Outcome::Conflict(stored) => Some(stored.as_ref().is_some_and(leased)),
            _ => None,
        };
        let blind = claimed && outcome == Outcome::Written && self.has(Mutation::NoLeaseCheck);
        let now = if blind { AT } else { self.now(world, message, run.late) };
        let step = run.machine.take().step(outcome, now);
        if let Step::Go(_, effects) = &step {
            // G5: no call is asked for that cannot end before the lease does.
            let calls = effects.iter().any(|effect| matches!(effect, Effect::Call { .. }));
            let open = world.life(message).phase == Phase::Open && !run.late;
            world.broken.machine |= calls && !open;
        }
        self.goes_on(world, run, step, met, false);
    }

    fn write(
        &self,
        world: &mut World,
        run: &mut Run,
        purpose: Purpose,
        item: Delivery,
        expect: Expect,
        what: Do,
    ) -> Outcome {
        let (message, chunk) = (run.copy.message, run.copy.chunk);
        let mut item = item;
        if purpose == Purpose::Record && self.has(Mutation::FailedAfterLost) {
            for (at, device) in item.devices.iter_mut().enumerate() {
                if device.letter == Word::Unknown && run.refused & (1 << at) != 0 {
                    device.letter = Word::Failed;
                }
            }
        }
        match what {
            Do::DropRequest | Do::Hold => {
                world.chunk_mut(message, chunk).unrecorded = true;
                if what == Do::Hold {
                    let (claim, early, item) = (purpose == Purpose::Claim, run.early, Shared::new(item));
                    world.network.push(Held::Item(HeldItem { message, chunk, claim, early, item, expect }));
                }
                return Outcome::WriteUnknown;
            }
            _ => {}
        }
        let holds = self.write_holds(world, run, purpose, &item, expect);
        if holds {
            if matches!(self.config.mutation, Some(Mutation::RecordUnfenced | Mutation::RecordWholeVector)) {
                item.version = self.item(world, message, chunk).map_or(0, |old| old.version) + 1;
            }
            self.store(world, message, chunk, &item, (purpose == Purpose::Claim).then_some(run.late));
            run.unrecorded &= purpose != Purpose::Record;
        }
        match what {
            Do::Apply if holds => Outcome::Written,
            Do::ApplyDropResponse => {
                world.chunk_mut(message, chunk).unrecorded = true;
                Outcome::WriteUnknown
            }
            _ => Outcome::Conflict(self.item(world, message, chunk).map(Shared::take)),
        }
    }

    fn call(&self, world: &mut World, run: &mut Run, device: usize, what: Do) -> Outcome {
        run.unrecorded = true;
        let truth = &mut world.chunk_mut(run.copy.message, run.copy.chunk).truth[device];
        truth.called = true;
        truth.accepted += u8::from(matches!(what, Do::Apply | Do::AcceptAndFail | Do::ApplyDropResponse));
        truth.maybe += u8::from(!matches!(what, Do::RefuseForGood | Do::RefuseForNow));
        if matches!(what, Do::AcceptAndFail | Do::RefuseAndFail | Do::ApplyDropResponse | Do::DropRequest) {
            self.count_window(world, run);
        }
        let answer = match what {
            Do::Apply => Answer::Accepted { provider_id: "id".to_owned() },
            Do::RefuseForGood => {
                if self.has(Mutation::FailedAfterLost) {
                    run.refused |= 1 << device;
                }
                Answer::Permanent(reason())
            }
            Do::RefuseForNow if self.has(Mutation::RefusalCountsAsLost) => Answer::Lost(reason()),
            Do::RefuseForNow => Answer::NotNow { reason: reason(), after_ms: None },
            Do::AcceptAndFail | Do::RefuseAndFail => Answer::Ambiguous { reason: reason(), after_ms: None },
            _ => Answer::Lost(reason()),
        };
        Outcome::Called { device, answer }
    }

    /// A held write of a delivery item arrives.
    pub(super) fn item_arrives(&self, world: &mut World, held: &HeldItem) {
        let HeldItem { message, chunk, claim, ref item, expect, .. } = *held;
        if expect.holds(self.item(world, message, chunk).map(|item| seen(item)).as_ref()) {
            debug_assert!(!claim || item.state == State::InFlight);
            self.store(world, message, chunk, item, claim.then_some(false));
        }
    }
}
