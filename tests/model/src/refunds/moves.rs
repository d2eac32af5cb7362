//! Every step that a state allows, and what it makes of it.

use super::{
    Refunds,
    config::payout,
    mutation::Mutation,
    provider::Stands,
    world::{Desk, Held, Window, World, number, state},
};
use crate::{faults::Fault, trace::Do};
use protocol::{
    machine::decide_refund::Effect,
    refund::{
        payout::State,
        step::{Dead, dead},
    },
};

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A person's decision goes on.
    Desk(u8, Do),
    /// The relay handles the first record of the stream.
    Relay(Do),
    /// A consumer receives this copy of the queue.
    Receive(u8),
    /// SQS delivers this copy once more.
    Duplicate(u8),
    /// SQS gives up on this copy.
    Bury(u8),
    /// The dead-letter function receives this letter.
    Exhume(u8, Do),
    /// A consumer goes on.
    Run(u8, Do),
    /// What the network held arrives.
    Arrive(u8),
    /// The provider decides about this object.
    Provider(u8, Stands),
    /// An event is delivered; `true`: and will be again.
    Event(u8, bool),
    /// A person retries the failed payout.
    Retry(Do),
    /// A person ends the review.
    Resolve,
    /// The window of the current payout's key ends.
    Window,
    /// Everybody who found it open is gone.
    Settle,
    /// The provider forgets the keys.
    Forget,
    /// The waiting time after a refusal or a failure passes.
    Wait,
}

fn index(at: usize) -> u8 {
    u8::try_from(at).unwrap_or(u8::MAX)
}

impl Refunds {
    pub(super) fn moves(&self, world: &World, actions: &mut Vec<Action>) {
        let budget = world.budget;
        let mut fault = |may: bool, fault: Fault, action: Action| {
            if may && budget.has(fault) {
                actions.push(action);
            }
        };
        for (who, desk) in world.desks.iter().enumerate() {
            let Desk::Asking(_, effect) = desk else { continue };
            let (who, deciding) = (index(who), matches!(**effect, Effect::Decide { .. }));
            fault(true, Fault::Crash, Action::Desk(who, Do::CrashBefore));
            fault(deciding, Fault::Crash, Action::Desk(who, Do::CrashAfter));
            fault(true, Fault::Lost, Action::Desk(who, Do::DropRequest));
            fault(deciding, Fault::Lost, Action::Desk(who, Do::ApplyDropResponse));
            fault(deciding, Fault::Lost, Action::Desk(who, Do::ApplyAndRepeat));
            fault(deciding, Fault::Late, Action::Desk(who, Do::Hold));
        }
        let streaming = !world.stream.is_empty();
        fault(streaming, Fault::Lost, Action::Relay(Do::DropRequest));
        fault(streaming, Fault::Lost, Action::Relay(Do::ApplyDropResponse));
        fault(streaming, Fault::Crash, Action::Relay(Do::CrashAfter));
        fault(streaming, Fault::Duplicate, Action::Relay(Do::Duplicate));
        for at in 0..world.queue.len() {
            fault(true, Fault::Duplicate, Action::Duplicate(index(at)));
        }
        for at in 0..world.dead.len() {
            fault(true, Fault::Crash, Action::Exhume(index(at), Do::CrashBefore));
            fault(true, Fault::Crash, Action::Exhume(index(at), Do::CrashAfter));
            // A letter that is deleted without a send has nothing to lose.
            let sends = dead(&world.item, payout(&world.item, world.dead[at])) == Dead::Redrive;
            fault(sends, Fault::Lost, Action::Exhume(index(at), Do::DropRequest));
            fault(sends, Fault::Lost, Action::Exhume(index(at), Do::ApplyDropResponse));
        }
        for at in 0..world.provider.events.len() {
            fault(true, Fault::Duplicate, Action::Event(index(at), true));
        }
        for (at, object) in world.provider.objects.iter().enumerate() {
            let back = self.config.events && object.stands == Stands::Succeeded;
            fault(back, Fault::Permanent, Action::Provider(index(at), Stands::Failed));
        }
        let failed = state(&world.item) == Some(State::Failed);
        let retries = failed && world.retries > 0 && (world.waited || self.has(Mutation::NoWait));
        fault(retries, Fault::Crash, Action::Retry(Do::CrashAfter));
        for (at, run) in world.runs.iter().enumerate() {
            for (what, _) in self.run_choices(run).into_iter().filter(|(_, f)| f.is_none_or(|f| budget.has(f))) {
                actions.push(Action::Run(index(at), what));
            }
        }
        let desks = world.desks.iter().enumerate().filter(|(_, desk)| matches!(desk, Desk::Asking(..)));
        actions.extend(desks.map(|(who, _)| Action::Desk(index(who), Do::Apply)));
        actions.extend(streaming.then_some(Action::Relay(Do::Apply)));
        let copies = || (0..world.queue.len()).filter(|at| *at == 0 || world.queue[at - 1] != world.queue[*at]);
        if world.runs.len() < self.config.consumers {
            actions.extend(copies().map(|at| Action::Receive(index(at))));
        }
        actions.extend(copies().map(|at| Action::Bury(index(at))));
        actions.extend((0..world.dead.len()).map(|at| Action::Exhume(index(at), Do::Apply)));
        actions.extend((0..world.network.len()).map(|at| Action::Arrive(index(at))));
        for (at, object) in world.provider.objects.iter().enumerate() {
            if object.stands == Stands::Pending {
                actions.push(Action::Provider(index(at), Stands::Succeeded));
                actions.push(Action::Provider(index(at), Stands::Failed));
            }
        }
        actions.extend((0..world.provider.events.len()).map(|at| Action::Event(index(at), false)));
        actions.extend(retries.then_some(Action::Retry(Do::Apply)));
        // A person waits for a provider that has not decided.
        let decided = world.provider.objects.iter().all(|object| object.stands != Stands::Pending);
        actions.extend((decided && state(&world.item) == Some(State::Review)).then_some(Action::Resolve));
        self.time(world, actions);
    }

    /// What may pass, by the inequalities of `Timing`.
    fn time(&self, world: &World, actions: &mut Vec<Action>) {
        let Some(payout) = world.item.payout.as_ref() else { return };
        let calling = world.network.iter().any(|held| matches!(held, Held::Call(_)));
        if payout.state.is_open() && payout.first_call_ms.is_some() && world.window == Window::Open {
            actions.push(Action::Window);
        }
        // Whoever found the window open has been ended, and its call has arrived.
        let settles = !calling && world.runs.iter().all(|run| !run.early);
        if world.window == Window::Over && settles {
            actions.push(Action::Settle);
        }
        // A day after the first call, which is later.
        if world.window == Window::Settled && world.provider.keys.iter().any(Option::is_some) {
            actions.push(Action::Forget);
        }
        // The same holds for whoever read the payout before it was refused or failed.
        let current = number(&world.item);
        let old = world.runs.iter().any(|run| run.number == current);
        let failed = payout.state == State::Failed && !world.waited && world.retries > 0;
        if (failed || world.refused_and_busy()) && !calling && !old {
            actions.push(Action::Wait);
        }
    }

    /// The fault that a step is, if it is one.
    fn fault_of(&self, world: &World, action: Action) -> Option<Fault> {
        match action {
            Action::Desk(_, what) | Action::Relay(what) | Action::Exhume(_, what) | Action::Retry(what) => match what {
                Do::CrashBefore | Do::CrashAfter => Some(Fault::Crash),
                Do::DropRequest | Do::ApplyDropResponse | Do::ApplyAndRepeat => Some(Fault::Lost),
                Do::Hold => Some(Fault::Late),
                Do::Duplicate => Some(Fault::Duplicate),
                _ => None,
            },
            Action::Duplicate(_) | Action::Event(_, true) => Some(Fault::Duplicate),
            Action::Run(at, what) => {
                let run = world.runs.get(usize::from(at))?;
                self.run_choices(run).into_iter().find(|(choice, _)| *choice == what).and_then(|(_, fault)| fault)
            }
            Action::Provider(at, _) => {
                let taken_back = world.provider.objects.get(usize::from(at))?.stands == Stands::Succeeded;
                taken_back.then_some(Fault::Permanent)
            }
            _ => None,
        }
    }

    pub(super) fn apply(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        // Of the step alone.
        (next.met.corrected, next.met.taken_back) = (false, false);
        if let Some(fault) = self.fault_of(world, action) {
            next.budget.spend(fault);
        }
        match action {
            Action::Desk(who, what) => self.desk_step(&mut next, usize::from(who), what),
            Action::Relay(what) => self.relay(&mut next, 0, what),
            Action::Receive(at) => self.receive(&mut next, usize::from(at)),
            Action::Duplicate(at) => next.enqueue(*world.queue.get(usize::from(at))?),
            Action::Bury(at) => {
                next.dead.push(next.queue.remove(usize::from(at)));
                next.dead.sort_unstable();
            }
            Action::Exhume(at, what) => self.exhume(&mut next, usize::from(at), what),
            Action::Run(at, what) => self.run_step(&mut next, usize::from(at), what),
            Action::Arrive(at) => self.arrives(&mut next, usize::from(at)),
            Action::Provider(at, stands) => next.provider.moves(usize::from(at), stands, self.config.events),
            Action::Event(at, again) => self.event(&mut next, usize::from(at), again),
            Action::Retry(what) => self.retry(&mut next, what),
            Action::Resolve => self.resolve(&mut next),
            Action::Window => {
                next.window = Window::Over;
                next.runs.iter_mut().for_each(|run| run.early = true);
            }
            Action::Settle => next.window = Window::Settled,
            Action::Forget => next.provider.keys = [None; 2],
            Action::Wait => next.callers_gone(),
        }
        if self.has(Mutation::FailureForgotten) {
            next.forget_failures();
        }
        next.runs.sort_unstable_by_key(|run| run.token);
        next.forget();
        (next != *world).then_some(next)
    }
}
