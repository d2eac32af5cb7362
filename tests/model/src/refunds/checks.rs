//! G7, in every state: one decision, at most one payout that pays, nothing paid that was not approved.

use super::{
    Refunds,
    provider::{Object, Stands},
    world::{Desk, World, number, state},
};
use protocol::{
    machine::decide_refund::Verdict,
    refund::{
        Status, decide,
        payout::{EARLIER_FOUND, State},
    },
};
use stateright::Property;

pub(super) const DRAINS: &str = "G7 approved drains to paid, failed or review";

/// The answers agree with each other and with what is stored.
fn answers(world: &World) -> bool {
    let stored = world.item.decision.as_ref();
    world.desks.iter().all(|desk| {
        let Desk::Answered(verdict) = desk else { return true };
        match &**verdict {
            Verdict::Decided { decision, payout, .. } => {
                stored == Some(decision) && *payout == decide::payout_of(world.item.id, decision.verdict)
            }
            Verdict::NotPending(decision) => stored == Some(decision),
            Verdict::NotFound => false,
            Verdict::Unavailable => true,
        }
    })
}

/// Whoever was told that it decided did, and one alone.
fn one_winner(world: &World) -> bool {
    let won = |desk: &&Desk| match desk {
        Desk::Answered(verdict) => matches!(**verdict, Verdict::Decided { already: false, .. }),
        Desk::Asking(..) | Desk::Gone => false,
    };
    world.desks.iter().filter(won).count() <= 1
}

/// `paid` is true, or its end is on its way.
fn paid_is_true(world: &World) -> bool {
    let objects = &world.provider.objects;
    state(&world.item) != Some(State::Paid)
        || objects.iter().any(|object| {
            let told = world.provider.events.iter().any(|e| e.number == object.number && e.stands == Stands::Failed);
            object.stands == Stands::Succeeded || (object.paid && told)
        })
}

/// `failed` is true once nobody is at it, unless an answer about it was lost.
fn failed_is_true(world: &World) -> bool {
    let current = number(&world.item);
    let busy = world.runs.iter().any(|run| run.number == current) || !world.network.is_empty();
    let told = world.provider.events.iter().any(|event| event.number == current);
    state(&world.item) != Some(State::Failed) || busy || told || world.unheard || !world.provider.has(current)
}

pub(super) fn properties() -> Vec<Property<Refunds>> {
    vec![
        Property::<Refunds>::always("G7 at most one payout pays", |_, world| world.provider.alive().count() <= 1),
        Property::<Refunds>::always("G7 nothing is paid that is not approved", |_, world| {
            world.provider.objects.is_empty() || world.item.status() == Status::Approved
        }),
        Property::<Refunds>::always("G7 a decision is final", |_, world| !world.broken.decision),
        Property::<Refunds>::always("G7 the answers agree", |_, world| answers(world)),
        Property::<Refunds>::always("G7 one decides", |_, world| one_winner(world)),
        Property::<Refunds>::always("G7 a payout exists exactly when approved", |_, world| {
            world.item.payout.is_some() == (world.item.status() == Status::Approved)
        }),
        Property::<Refunds>::always("G7 the amount paid is the stored one", |_, world| {
            world.provider.objects.iter().all(|object| object.right)
        }),
        Property::<Refunds>::always("G6 paid is true", |_, world| paid_is_true(world)),
        Property::<Refunds>::always("G6 failed is true", |_, world| failed_is_true(world)),
        Property::<Refunds>::always("G6 failed is not said while the provider has it", |_, world| !world.broken.lied),
        Property::<Refunds>::always("G6 a payout never goes back", |_, world| !world.broken.went_back),
        Property::<Refunds>::always("a machine goes on, and a write makes the next version", |_, world| {
            !world.broken.machine
        }),
        Property::<Refunds>::always(DRAINS, |model, world| model.drains(world)),
        Property::<Refunds>::sometimes("paid", |_, world| state(&world.item) == Some(State::Paid)),
        Property::<Refunds>::sometimes("submitted", |_, world| state(&world.item) == Some(State::Submitted)),
        Property::<Refunds>::sometimes("failed", |_, world| state(&world.item) == Some(State::Failed)),
        Property::<Refunds>::sometimes("review", |_, world| state(&world.item) == Some(State::Review)),
        Property::<Refunds>::sometimes("a refusal waits for the other callers", |_, world| {
            world.item.payout.as_ref().is_some_and(|payout| payout.refused().is_some())
        }),
        Property::<Refunds>::sometimes("a call that did nothing is taken back", |_, world| {
            let payout = world.item.payout.as_ref().filter(|payout| payout.state == State::Due);
            payout.is_some_and(|payout| payout.first_call_ms.is_none() && payout.reason.is_some())
        }),
        Property::<Refunds>::sometimes("rejected", |_, world| world.item.status() == Status::Rejected),
        Property::<Refunds>::sometimes("a successor is paid", |_, world| {
            number(&world.item) == 2 && state(&world.item) == Some(State::Paid)
        }),
        Property::<Refunds>::sometimes("an earlier payout was taken after all", |_, world| {
            let reason = world.item.payout.as_ref().and_then(|payout| payout.reason.as_ref());
            number(&world.item) == 2 && reason.is_some_and(|reason| reason.code == EARLIER_FOUND)
        }),
        Property::<Refunds>::sometimes("one payout, called for three times", |_, world| {
            world.met.calls == 3 && world.provider.objects.len() == 1
        }),
        Property::<Refunds>::sometimes("the key is forgotten and the payout due", |_, world| {
            let forgotten = world.provider.keys.iter().all(Option::is_none);
            let made = |object: &Object| object.number == number(&world.item);
            forgotten && state(&world.item) == Some(State::Due) && world.provider.objects.iter().any(made)
        }),
        Property::<Refunds>::sometimes("a loser is told who approved", |_, world| {
            world.desks.iter().any(|desk| match desk {
                Desk::Answered(verdict) => matches!(**verdict, Verdict::Decided { already: true, .. }),
                Desk::Asking(..) | Desk::Gone => false,
            })
        }),
        Property::<Refunds>::sometimes("a loser is told that it is not pending", |_, world| {
            world.desks.iter().any(|desk| match desk {
                Desk::Answered(verdict) => matches!(**verdict, Verdict::NotPending(_)),
                Desk::Asking(..) | Desk::Gone => false,
            })
        }),
        Property::<Refunds>::sometimes("a failed payout turns out to be paid", |_, world| world.met.corrected),
        Property::<Refunds>::sometimes("a success is taken back", |_, world| world.met.taken_back),
        Property::<Refunds>::sometimes("two consumers at one payout", |_, world| {
            world.runs.len() == 2 && world.runs[0].number == world.runs[1].number
        }),
        Property::<Refunds>::sometimes("a dead letter", |_, world| !world.dead.is_empty()),
    ]
}
