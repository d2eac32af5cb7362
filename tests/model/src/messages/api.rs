//! The api function's accept machine in the model's world.

use super::{
    Messages,
    config::AT,
    mutation::Mutation,
    world::{Api, Held, KeyItem, World},
};
use crate::{faults::Fault, shared::Shared, trace::Do};
use protocol::{
    accept::Prior,
    expect::{Expect, Seen},
    ids::{NONCE_BYTES, Nonce},
    machine::{
        Machine, Step,
        accept::{Accept, Effect, Outcome, Verdict},
    },
};

type Next = Step<Accept, Effect, Verdict>;

impl Messages {
    /// The request arrives.
    pub(super) fn api_starts(&self, request: usize) -> Api {
        let of = &self.requests[request];
        pending(Accept::new(of.message.clone(), of.request.clone()).step(Outcome::Start, AT)).unwrap_or(Api::Over)
    }

    /// What can happen to a request's pending effect.
    pub(super) fn api_moves(
        &self,
        world: &World,
        request: u8,
        effect: &Effect,
        can: impl Fn(Fault) -> bool,
    ) -> Vec<Do> {
        let mut moves = vec![Do::Apply];
        match effect {
            Effect::Put(_) => {
                let slot = self.slot_of(request);
                if can(Fault::Lost) {
                    moves.push(Do::DropRequest);
                    if self.free(world, slot, self.clock_s(world, slot)) {
                        moves.extend([Do::ApplyDropResponse, Do::ApplyAndRepeat]);
                    }
                }
                if can(Fault::Late) {
                    moves.push(Do::Hold);
                }
            }
            Effect::Send(_) => {
                if can(Fault::Lost) {
                    moves.push(Do::DropRequest);
                    if self.config.chunks > 1 {
                        moves.push(Do::ApplyInPart);
                    }
                }
            }
        }
        if can(Fault::Crash) {
            moves.push(Do::CrashBefore);
        }
        moves
    }

    fn slot_of(&self, request: u8) -> usize {
        self.requests[usize::from(request)].slot
    }

    /// The clock of an accept write, in whole seconds.
    fn clock_s(&self, world: &World, slot: usize) -> u64 {
        match world.keys[slot] {
            Some(KeyItem { by, over: true }) => self.requests[usize::from(by)].message.valid_until_s + 1,
            _ => AT / 1_000,
        }
    }

    /// Whether an accept write made at `now_s` would happen.
    fn free(&self, world: &World, slot: usize, now_s: u64) -> bool {
        if self.has(Mutation::AcceptUnfenced) {
            return true;
        }
        let stored = world.keys[slot].map(|item| Seen {
            version: None,
            expires_s: Some(self.requests[usize::from(item.by)].message.valid_until_s),
            ..Seen::default()
        });
        Expect::AbsentOrExpired { now_s }.holds(stored.as_ref())
    }

    fn accept(&self, world: &mut World, request: u8) {
        let slot = self.slot_of(request);
        world.broken.one_message |= world.keys[slot].is_some_and(|item| !item.over);
        world.keys[slot] = Some(KeyItem { by: request, over: false });
        world.lives[usize::from(request)].accepted = true;
        world.stream.push(request);
    }

    /// A write that its client gave up arrives.
    pub(super) fn put_arrives(&self, world: &mut World, request: u8, now_s: u64) {
        if self.free(world, self.slot_of(request), now_s) {
            self.accept(world, request);
        }
    }

    pub(super) fn api(&self, world: &mut World, request: u8, what: Do) {
        let at = usize::from(request);
        let Api::Asking(machine, effect) = world.apis[at].clone() else { return };
        if what == Do::CrashBefore {
            world.apis[at] = Api::Over;
            return;
        }
        let outcome = match &*effect {
            Effect::Put(_) => self.put(world, request, what),
            Effect::Send(message) => {
                debug_assert_eq!(message.id, self.requests[at].message.id);
                let chunks = match what {
                    Do::Apply => self.config.chunks,
                    Do::ApplyInPart => 1,
                    _ => 0,
                };
                (0..chunks).for_each(|chunk| world.enqueue(request, chunk, false, false));
                world.lives[at].inline_tried = self.has(Mutation::InlineCountsAsSent);
                Outcome::Sent
            }
        };
        let step = machine.take().step(outcome, AT);
        if self.has(Mutation::RefusedStored) && matches!(step, Step::Done(Verdict::Reused)) {
            self.accept(world, request);
        }
        if let Step::Done(verdict) = &step {
            self.judge(world, request, *verdict);
        }
        world.apis[at] = pending(step).unwrap_or(Api::Over);
    }

    fn put(&self, world: &mut World, request: u8, what: Do) -> Outcome {
        let slot = self.slot_of(request);
        let now_s = self.clock_s(world, slot);
        match what {
            Do::DropRequest => return Outcome::Unknown,
            Do::Hold => {
                world.network.push(Held::Put(request, now_s));
                return Outcome::Unknown;
            }
            _ => {}
        }
        let free = self.free(world, slot, now_s);
        if free {
            self.accept(world, request);
        }
        match (what, world.keys[slot]) {
            (Do::ApplyDropResponse, _) => Outcome::Unknown,
            (Do::Apply, _) if free => Outcome::Written,
            (_, Some(item)) => Outcome::Taken(self.prior(item.by, request)),
            (_, None) => Outcome::Unknown,
        }
    }

    /// The winner, as the loser sees it.
    fn prior(&self, winner: u8, loser: u8) -> Prior {
        let message = &self.requests[usize::from(winner)].message;
        let own = &self.requests[usize::from(loser)].message;
        let mut id = message.id;
        if self.has(Mutation::NoSelfCheck) && winner == loser {
            // As if the ids were not compared: mine is taken for somebody else's.
            id.nonce = Nonce([u8::MAX; NONCE_BYTES]);
        }
        let blind = self.has(Mutation::FingerprintIgnored);
        Prior { id, fingerprint: if blind { own.fingerprint } else { message.fingerprint } }
    }

    /// Whether the answer is the contract's.
    fn judge(&self, world: &mut World, request: u8, verdict: Verdict) {
        let mine = &self.requests[usize::from(request)];
        let Some(winner) = world.keys[mine.slot].map(|item| &self.requests[usize::from(item.by)]) else {
            world.broken.one_message |= verdict != Verdict::Unavailable;
            return;
        };
        let won = winner.message.id == mine.message.id;
        let same = winner.asked.body == mine.asked.body;
        let broken = &mut world.broken;
        match verdict {
            // Its send may end after another request took the key over; accepted it was.
            Verdict::Queued(id) => {
                broken.one_message |= id != mine.message.id || !world.lives[usize::from(request)].accepted;
            }
            Verdict::Duplicate(id) => {
                broken.one_message |= won || id != winner.message.id;
                broken.replayed |= !same;
            }
            Verdict::Reused => broken.one_message |= same,
            Verdict::Unavailable => {}
        }
        if matches!(verdict, Verdict::Duplicate(_) | Verdict::Reused) {
            broken.stored |= world.lives[usize::from(request)].accepted;
            broken.crossed |= winner.asked.project != mine.asked.project;
        }
    }
}

fn pending(step: Next) -> Option<Api> {
    match step {
        Step::Go(machine, mut effects) => {
            effects.pop().map(|effect| Api::Asking(Shared::new(machine), Shared::new(effect)))
        }
        Step::Done(_) => None,
    }
}
