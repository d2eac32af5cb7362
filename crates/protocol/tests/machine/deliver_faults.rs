//! Delivering when something goes wrong: lost answers, lost races, no time, stalls.

use super::{
    deliver::{LATE, NOW, TIMING, calling, prepared, receive, recording, write},
    done, go,
};
use crate::common::{accepted, ambiguous, claimed, facts, letters, lost, not_now, not_sent, permanent, token};
use protocol::{
    answer::Answer,
    content::Policy,
    delivery::{Delivery, State},
    expect::Expect,
    letter::Letter,
    machine::{
        Machine, Step,
        deliver::{AckProof, Deliver, Effect, Outcome, Purpose, Receive, Verdict},
    },
};

/// The copy is kept and shows again after this.
fn assert_released(step: Step<Deliver, Effect, Verdict>, delay_ms: u64) {
    let (machine, effects) = go(step);
    assert_eq!(effects, [Effect::Release { delay_ms }]);
    assert_eq!(done(machine.step(Outcome::Released, NOW)), Verdict::Keep);
}

#[test]
fn refused_credentials_spend_no_attempt() {
    let (machine, _) = go(Deliver::new(receive(Policy::AtLeastOnce, 1, false), TIMING).step(Outcome::Start, NOW));
    assert_released(machine.step(Outcome::NotPrepared, NOW), TIMING.backoff[0]);
}

#[test]
fn a_read_without_an_answer_claims_nothing() {
    let (machine, effects) = go(prepared(receive(Policy::AtLeastOnce, 1, true)));
    assert_eq!(effects, [Effect::Read]);
    assert_released(machine.step(Outcome::ReadFailed, NOW), TIMING.backoff[0]);
}

#[test]
fn a_claim_that_leaves_no_time_to_call_is_not_made() {
    let needed = TIMING.record + TIMING.call + TIMING.record + TIMING.margin;
    let short = Receive { invocation_ends_ms: NOW + needed, ..receive(Policy::AtLeastOnce, 1, false) };
    assert_released(prepared(short.clone()), 0);
    let enough = Receive { invocation_ends_ms: NOW + needed + 1, ..short };
    assert_eq!(write(&go(prepared(enough)).1).0, Purpose::Claim);
}

#[test]
fn nobody_is_called_after_a_stall_between_claim_and_call() {
    let room = TIMING.call + TIMING.record + TIMING.margin;
    for (now, calls) in [
        (NOW + TIMING.function - room - 1, true),
        (NOW + TIMING.function - room, false),
        (NOW + TIMING.lease + 1, false),
        (LATE, false),
    ] {
        let (machine, effects) = go(prepared(receive(Policy::AtLeastOnce, 1, false)));
        let (_, claim, _) = write(&effects);
        let (machine, effects) = go(machine.step(Outcome::Written, now));
        if calls {
            assert_eq!(effects, [Effect::Call { device: 0 }]);
            continue;
        }
        // The claim is given back, so that the next receive need not wait for the lease to end.
        let (purpose, item, expect) = write(&effects);
        assert_eq!((purpose, expect, item.state), (Purpose::Record, Expect::Version(claim.version), State::Retry));
        assert_eq!((item.not_before_ms, letters(&item), item.devices[0].calls), (now, vec![Letter::Pending], 0));
        let (machine, effects) = go(machine.step(Outcome::Written, now));
        assert_eq!(effects, [Effect::Successor { delay_ms: 0 }]);
        assert!(matches!(done(machine.step(Outcome::SuccessorConfirmed, now)), Verdict::Ack(AckProof::Successor(_))));
    }
}

#[test]
fn the_deadline_may_pass_between_claim_and_call() {
    let facts = protocol::claim::ChunkFacts { deliver_by_ms: NOW + 1, ..facts(Policy::AtLeastOnce, 1) };
    let (machine, _) = go(prepared(Receive { facts, ..receive(Policy::AtLeastOnce, 1, false) }));
    let (_, effects) = go(machine.step(Outcome::Written, NOW + 1));
    let (purpose, item, _) = write(&effects);
    assert_eq!((purpose, item.state, letters(&item)), (Purpose::Record, State::Retry, vec![Letter::Pending]));
}

#[test]
fn a_write_that_nobody_knows_of_releases_the_copy() {
    let (claiming, _) = go(prepared(receive(Policy::AtLeastOnce, 1, false)));
    assert_released(claiming.step(Outcome::WriteUnknown, NOW), TIMING.backoff[0]);
    let (machine, _) = recording(&[accepted()]);
    assert_released(machine.step(Outcome::Conflict(None), NOW), TIMING.backoff[0]);
    let late = Deliver::new(receive(Policy::AtLeastOnce, 1, false), TIMING).step(Outcome::Start, LATE);
    assert_released(go(late).0.step(Outcome::WriteUnknown, LATE), TIMING.backoff[0]);
}

#[test]
fn a_record_that_nobody_knows_of_is_written_again_while_there_is_time() {
    let (machine, item) = recording(&[accepted()]);
    let (machine, effects) = go(machine.step(Outcome::WriteUnknown, NOW));
    assert_eq!(write(&effects), (Purpose::Record, item.clone(), Expect::Version(1)), "the same write");
    // The first try did happen: the second meets its own item, which is done.
    let met = machine.clone().step(Outcome::Conflict(Some(item)), NOW);
    assert!(matches!(done(met), Verdict::Ack(AckProof::Finished(_))));
    // It did not, and now it does.
    assert!(matches!(done(machine.clone().step(Outcome::Written, NOW)), Verdict::Ack(AckProof::Finished(_))));
    // No time is left, or the table stays silent.
    let last = NOW + TIMING.function - TIMING.record - TIMING.margin;
    assert_released(machine.clone().step(Outcome::WriteUnknown, last), TIMING.backoff[0]);
    let mut machine = machine;
    for _ in 0..6 {
        machine = go(machine.step(Outcome::WriteUnknown, NOW)).0;
    }
    assert_released(machine.step(Outcome::WriteUnknown, NOW), TIMING.backoff[0]);
}

#[test]
fn a_claim_whose_answer_was_lost_is_resumed() {
    let (machine, effects) = go(prepared(receive(Policy::AtMostOnce, 2, false)));
    let (_, mine, _) = write(&effects);
    let (_, effects) = go(machine.step(Outcome::Conflict(Some(mine)), NOW));
    assert_eq!(effects, [Effect::Call { device: 0 }, Effect::Call { device: 1 }]);
}

#[test]
fn a_lost_claim_is_decided_again_from_the_winner() {
    let (machine, _) = go(prepared(receive(Policy::AtLeastOnce, 1, false)));
    let theirs = claimed(None, &facts(Policy::AtLeastOnce, 1), 7, NOW, TIMING.lease);
    assert_released(machine.clone().step(Outcome::Conflict(Some(theirs.clone())), NOW), TIMING.lease + 1);
    let due = Delivery { state: State::Retry, not_before_ms: NOW, ..theirs.clone() };
    let (_, effects) = go(machine.clone().step(Outcome::Conflict(Some(due)), NOW));
    assert_eq!(write(&effects).2, Expect::Version(1));
    let dead = Delivery { lease_ms: NOW - 1, ..theirs };
    let (_, effects) = go(machine.step(Outcome::Conflict(Some(dead)), NOW));
    let (purpose, stolen, expect) = write(&effects);
    assert_eq!((purpose, expect, letters(&stolen)), (Purpose::Claim, Expect::Version(1), vec![Letter::Lost1]));
}

#[test]
fn at_most_once_settles_what_it_steals() {
    let theirs = claimed(None, &facts(Policy::AtMostOnce, 2), 7, 0, NOW - 1);
    let (machine, _) = go(prepared(receive(Policy::AtMostOnce, 2, true)));
    let (machine, effects) = go(machine.step(Outcome::Read(Some(theirs)), NOW));
    let (purpose, item, _) = write(&effects);
    assert_eq!((purpose, letters(&item), item.state), (Purpose::Settle, vec![Letter::Unknown; 2], State::Done));
    assert!(matches!(done(machine.step(Outcome::Written, NOW)), Verdict::Ack(AckProof::Finished(_))));
}

/// Feeds conflicts until the machine gives up; returns how many writes it asked for.
fn writes_until_released(mut step: Step<Deliver, Effect, Verdict>, stored: impl Fn(u32) -> Delivery) -> u32 {
    for version in 2..100 {
        let (machine, effects) = go(step);
        if matches!(effects[..], [Effect::Release { .. }]) {
            return version - 2;
        }
        assert_eq!(effects.len(), 1);
        step = machine.step(Outcome::Conflict(Some(stored(version))), NOW);
    }
    panic!("not bounded");
}

#[test]
fn lost_races_are_bounded() {
    let due = |version| {
        let item = claimed(None, &facts(Policy::AtLeastOnce, 1), 7, 0, TIMING.lease);
        Delivery { state: State::Retry, not_before_ms: 0, version, ..item }
    };
    assert!(writes_until_released(prepared(receive(Policy::AtLeastOnce, 1, false)), due) < 20);
    let (machine, effects) = calling_and_answered();
    assert!(writes_until_released(Step::Go(machine, effects), due) < 20);
}

fn calling_and_answered() -> (Deliver, Vec<Effect>) {
    let (machine, _) = calling(1);
    go(machine.step(Outcome::Called { device: 0, answer: accepted() }, NOW))
}

#[test]
fn a_record_that_lost_is_joined_to_the_winner_and_written_again() {
    let (machine, _) = recording(&[accepted(), not_now(None)]);
    let mine = claimed(None, &facts(Policy::AtLeastOnce, 2), 1, NOW, TIMING.lease);
    let thief = claimed(Some(&mine), &facts(Policy::AtLeastOnce, 2), 7, NOW + TIMING.lease + 1, TIMING.lease);
    let now = NOW + TIMING.lease + 50;
    let (machine, effects) = go(machine.step(Outcome::Conflict(Some(thief.clone())), now));
    let (purpose, item, expect) = write(&effects);
    assert_eq!((purpose, expect), (Purpose::Record, Expect::Version(2)));
    assert_eq!(letters(&item), [Letter::Sent, Letter::Lost1]);
    assert_eq!((item.state, item.owner, item.lease_ms), (State::InFlight, Some(token(7)), thief.lease_ms));
    // The thief is at it: the copy comes back after its lease.
    let (_, effects) = go(machine.step(Outcome::Written, now));
    assert_eq!(effects, [Effect::Release { delay_ms: thief.lease_ms - now + 1 }]);
}

#[test]
fn a_record_whose_answer_was_lost_goes_on_as_if_it_had_come() {
    let (machine, item) = recording(&[accepted()]);
    let verdict = done(machine.step(Outcome::Conflict(Some(item)), NOW));
    assert!(matches!(verdict, Verdict::Ack(AckProof::Finished(_))));
    let (machine, item) = recording(&[not_now(None)]);
    let (_, effects) = go(machine.step(Outcome::Conflict(Some(item)), NOW + 10));
    assert_eq!(effects, [Effect::Successor { delay_ms: TIMING.backoff[0] }]);
}

#[test]
fn each_answer_becomes_its_letter() {
    let table: [(Answer, Letter, Letter); 6] = [
        (accepted(), Letter::Sent, Letter::Sent),
        (permanent(), Letter::Failed, Letter::Failed),
        (not_now(None), Letter::Pending, Letter::Pending),
        (not_sent(), Letter::Pending, Letter::Pending),
        (ambiguous(), Letter::Lost1, Letter::Unknown),
        (lost(), Letter::Lost1, Letter::Unknown),
    ];
    for (answer, again, once) in table {
        for (policy, expected) in [(Policy::AtLeastOnce, again), (Policy::AtMostOnce, once)] {
            let (machine, _) = go(prepared(receive(policy, 1, false)));
            let (machine, _) = go(machine.step(Outcome::Written, NOW));
            let (_, effects) = go(machine.step(Outcome::Called { device: 0, answer: answer.clone() }, NOW));
            let (_, item, _) = write(&effects);
            assert_eq!(letters(&item), [expected], "{answer:?} {policy:?}");
            assert_eq!(item.state, if expected.is_open() { State::Retry } else { State::Done });
        }
    }
}

#[test]
fn an_answer_told_twice_or_for_nobody_is_ignored() {
    let (machine, _) = calling(2);
    let (machine, _) = go(machine.step(Outcome::Called { device: 0, answer: accepted() }, NOW));
    for device in [0, 2, usize::MAX] {
        let (after, effects) = go(machine.clone().step(Outcome::Called { device, answer: permanent() }, NOW));
        assert_eq!((after, effects.len()), (machine.clone(), 0));
    }
    let (_, effects) = go(machine.step(Outcome::Called { device: 1, answer: accepted() }, NOW));
    assert_eq!(letters(&write(&effects).1), [Letter::Sent; 2]);
}
