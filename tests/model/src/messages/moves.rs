//! What can happen next, and what it does.

use super::{
    Messages,
    mutation::Mutation,
    world::{Api, Copy, Held, HeldItem, Phase, World},
};
use crate::{faults::Fault, trace::Do};

/// One step of the world. Numbers are places in the world's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A request's pending effect.
    Api(u8, Do),
    /// The relay starts on a batch, or its send goes one way or another.
    Relay(Do),
    /// A consumer receives this copy.
    Receive(u8, Do),
    /// A run's pending effect.
    Run(u8, u8, Do),
    /// SQS shows a copy that a run holds once more.
    Duplicate(u8),
    /// SQS gives up on this copy.
    Bury(u8),
    /// The dead-letter handler receives this letter.
    Exhume(u8),
    /// Its pending effect.
    Letter(Do),
    /// A held write arrives.
    Arrive(u8),
    /// A lease ends: message, chunk.
    Lease(u8, u8),
    /// A message's deadline passes, or the clock rule begins.
    Phase(u8),
    /// A key's validity ends.
    Key(u8),
    /// The project is held, or is not any more.
    Hold(bool),
    /// The audit adds a copy: message, chunk.
    Audit(u8, u8),
    /// Seeded: the dead-letter queue is emptied.
    LoseDead,
    /// Seeded: a finished delivery item is deleted.
    LoseItem(u8, u8),
}

fn small(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// The places of a sorted list, alike ones once.
fn distinct(copies: &[Copy]) -> impl Iterator<Item = u8> + '_ {
    (0..copies.len()).filter(|at| *at == 0 || copies[at - 1] != copies[*at]).map(small)
}

impl Messages {
    pub(super) fn moves(&self, world: &World, moves: &mut Vec<Action>) {
        let can = |fault| world.budget.has(fault);
        for (request, api) in world.apis.iter().enumerate() {
            if let Api::Asking(_, effect) = api {
                let request = small(request);
                moves.extend(self.api_moves(world, request, effect, can).into_iter().map(|d| Action::Api(request, d)));
            }
        }
        moves.extend(self.relay_moves(world, can).into_iter().map(Action::Relay));
        for copy in distinct(&world.queue) {
            let of = world.queue[usize::from(copy)];
            if world.runs.len() < self.config.consumers {
                moves.push(Action::Receive(copy, Do::Start));
                if can(Fault::Lost) && !of.read_first {
                    moves.push(Action::Receive(copy, Do::Error));
                }
            }
            // SQS gives up on what was received before.
            if of.read_first {
                moves.push(Action::Bury(copy));
            }
        }
        for (at, run) in world.runs.iter().enumerate() {
            let place = small(at);
            if run.acking {
                moves.push(Action::Run(place, 0, Do::Apply));
                continue;
            }
            for (which, effect) in run.pending.iter().enumerate() {
                let ways = self.run_moves(world, run, effect, can);
                moves.extend(ways.into_iter().map(|d| Action::Run(place, small(which), d)));
            }
            if can(Fault::Crash) {
                moves.push(Action::Run(place, 0, Do::CrashBefore));
            }
            if can(Fault::Stall) && Self::may_stall(run) {
                moves.push(Action::Run(place, 0, Do::Stall));
            }
            if can(Fault::Duplicate) && run.copy.twin == 0 && !run.gone {
                moves.push(Action::Duplicate(place));
            }
        }
        match &world.letter {
            Some(letter) => moves.extend(self.letter_moves(world, letter, can).into_iter().map(Action::Letter)),
            None => moves.extend(distinct(&world.dead).map(Action::Exhume)),
        }
        moves.extend((0..world.network.len()).map(|write| Action::Arrive(small(write))));
        self.time_moves(world, moves);
        if world.held || world.holds > 0 {
            moves.push(Action::Hold(!world.held));
        }
        moves.extend(self.audited(world).map(|(message, chunk)| Action::Audit(message, chunk)));
        if self.has(Mutation::DeadLettersLost) && !world.dead.is_empty() {
            moves.push(Action::LoseDead);
        }
    }

    fn time_moves(&self, world: &World, moves: &mut Vec<Action>) {
        for message in 0..small(world.lives.len()) {
            for chunk in 0..self.config.chunks {
                if self.lease_may_end(world, message, chunk) {
                    moves.push(Action::Lease(message, chunk));
                }
                if self.has(Mutation::ItemExpiresEarly) && world.done(message, chunk) {
                    moves.push(Action::LoseItem(message, chunk));
                }
            }
            if self.phase_may_end(world, message) {
                moves.push(Action::Phase(message));
            }
        }
        moves
            .extend((0..world.keys.len()).filter(|slot| self.key_may_end(world, *slot)).map(|s| Action::Key(small(s))));
    }

    /// The fault that an action is, if it is one.
    fn cost(action: Action) -> Option<Fault> {
        match action {
            Action::Api(_, what)
            | Action::Relay(what)
            | Action::Receive(_, what)
            | Action::Run(_, _, what)
            | Action::Letter(what) => match what {
                Do::CrashBefore | Do::CrashAfter => Some(Fault::Crash),
                Do::ApplyDropResponse | Do::DropRequest if matches!(action, Action::Run(..)) => None,
                Do::ApplyDropResponse | Do::ApplyAndRepeat | Do::ApplyInPart | Do::DropRequest | Do::Error => {
                    Some(Fault::Lost)
                }
                Do::Hold => Some(Fault::Late),
                Do::RefuseForGood => Some(Fault::Permanent),
                Do::RefuseForNow => Some(Fault::NotNow),
                Do::AcceptAndFail | Do::RefuseAndFail => Some(Fault::ProviderLost),
                Do::Stall => Some(Fault::Stall),
                Do::ReadStale | Do::Duplicate => Some(Fault::Duplicate),
                Do::Start | Do::Apply | Do::Arrive | Do::Bury | Do::Lose | Do::Pass => None,
            },
            Action::Duplicate(_) => Some(Fault::Duplicate),
            _ => None,
        }
    }

    /// A lost answer is the provider's where it is a call's.
    fn lost_kind(world: &World, action: Action) -> Option<Fault> {
        let Action::Run(run, effect, Do::ApplyDropResponse | Do::DropRequest) = action else { return None };
        let run = &world.runs[usize::from(run)];
        let call = matches!(run.pending[usize::from(effect)], protocol::machine::deliver::Effect::Call { .. });
        Some(if call { Fault::ProviderLost } else { Fault::Lost })
    }

    pub(super) fn apply(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        let fault = Self::cost(action).or_else(|| Self::lost_kind(world, action));
        if let Some(fault) = fault {
            next.budget.spend(fault);
        }
        self.perform(&mut next, action);
        if fault == Some(Fault::Crash) && self.has(Mutation::QueueLost) {
            next.queue.clear();
            next.dead.clear();
        }
        next.forget_lonely_twins();
        next.queue.sort_unstable();
        next.dead.sort_unstable();
        next.runs.sort_by_key(|run| run.token);
        next.broken.went_back |= self.goes_back(world, action, &next);
        Some(next)
    }

    fn perform(&self, next: &mut World, action: Action) {
        match action {
            Action::Api(request, what) => self.api(next, request, what),
            Action::Relay(what) => self.relay(next, what),
            Action::Receive(copy, what) => self.receive(next, usize::from(copy), what == Do::Error),
            Action::Run(run, _, Do::CrashBefore) => self.crash_run(next, usize::from(run)),
            Action::Run(run, _, Do::Stall) => self.stall(next, usize::from(run)),
            Action::Run(run, effect, what) => self.run(next, usize::from(run), usize::from(effect), what),
            Action::Duplicate(run) => {
                let twin = Self::fresh_twin(next);
                let copy = &mut next.runs[usize::from(run)].copy;
                copy.twin = twin;
                let again = Copy { read_first: true, ..*copy };
                next.queue.push(again);
            }
            Action::Bury(copy) => {
                let copy = next.queue.remove(usize::from(copy));
                next.take_away(copy.twin);
                next.dead.push(Copy { twin: 0, ..copy });
            }
            Action::Exhume(letter) => self.exhume(next, usize::from(letter)),
            Action::Letter(what) => self.letter(next, what),
            Action::Arrive(write) => match next.network.remove(usize::from(write)) {
                Held::Put(request, now_s) => self.put_arrives(next, request, now_s),
                Held::Item(held) => self.item_arrives(next, &held),
            },
            Action::Lease(message, chunk) => self.end_lease(next, message, chunk),
            Action::Phase(message) => self.end_phase(next, message),
            Action::Key(slot) => Self::end_key(next, usize::from(slot)),
            Action::Hold(held) => {
                next.held = held;
                next.holds -= u8::from(held);
            }
            Action::Audit(message, chunk) => Self::audit(next, message, chunk),
            Action::LoseDead => next.dead.clear(),
            Action::LoseItem(message, chunk) => next.chunk_mut(message, chunk).item = None,
        }
    }

    fn fresh_twin(world: &World) -> u8 {
        let used = |number| {
            world.queue.iter().any(|copy| copy.twin == number) || world.runs.iter().any(|run| run.copy.twin == number)
        };
        (1..u8::MAX).find(|number| !used(*number)).unwrap_or(u8::MAX)
    }

    /// The write of a chunk's item that an action brings so late that the clock rule has overtaken it, if it does: one
    /// whose sender had begun before the deadline, held in the network until a lease and a skew after it.
    pub(super) fn overtaken(world: &World, action: Action, message: u8, chunk: u8) -> Option<&HeldItem> {
        let Action::Arrive(at) = action else { return None };
        match &world.network[usize::from(at)] {
            Held::Item(held) if (held.message, held.chunk) == (message, chunk) && held.early => {
                (world.life(message).phase == Phase::Over).then_some(held)
            }
            Held::Item(_) | Held::Put(..) => None,
        }
    }
}
