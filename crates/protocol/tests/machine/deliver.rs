//! Delivering: prepare before claim, claim before call, record before acknowledgement, and proof for each
//! acknowledgement.

use super::{done, go};
use crate::common::{accepted, claimed, facts, letters, not_now, permanent, reason, token};
use protocol::{
    answer::Answer,
    claim::ChunkFacts,
    content::Policy,
    delivery::{Delivery, State},
    expect::Expect,
    letter::Letter,
    machine::{
        Machine, Named, Step,
        deliver::{AckProof, Deliver, EFFECTS, Effect, Outcome, Purpose, Receive, Verdict},
    },
    timing::Timing,
};

pub(super) const TIMING: Timing = Timing::PRODUCTION;
pub(super) const LATE: u64 = 1_000_000;
pub(super) const NOW: u64 = 100_000;

pub(super) fn receive(policy: Policy, devices: usize, read_first: bool) -> Receive {
    Receive {
        facts: facts(policy, devices),
        token: token(1),
        jitter_permille: 0,
        invocation_ends_ms: NOW + TIMING.function,
        read_first,
    }
}

pub(super) fn prepared(receive: Receive) -> Step<Deliver, Effect, Verdict> {
    let (machine, effects) = go(Deliver::new(receive, TIMING).step(Outcome::Start, NOW));
    assert_eq!(effects, [Effect::Prepare]);
    machine.step(Outcome::Prepared, NOW)
}

/// The one write that is asked for.
pub(super) fn write(effects: &[Effect]) -> (Purpose, Delivery, Expect) {
    match effects {
        [Effect::Write { purpose, item, expect }] => (*purpose, item.clone(), *expect),
        other => panic!("no write: {other:?}"),
    }
}

/// A machine that has claimed, and its calls.
pub(super) fn calling(devices: usize) -> (Deliver, Delivery) {
    let (machine, effects) = go(prepared(receive(Policy::AtLeastOnce, devices, false)));
    let (purpose, item, expect) = write(&effects);
    assert_eq!((purpose, expect), (Purpose::Claim, Expect::Absent));
    let (machine, effects) = go(machine.step(Outcome::Written, NOW));
    let expected: Vec<Effect> = (0..devices).map(|device| Effect::Call { device }).collect();
    assert_eq!(effects, expected, "all at once, under the lease");
    (machine, item)
}

/// Every call answered: the record that is asked for.
pub(super) fn recording(answers: &[Answer]) -> (Deliver, Delivery) {
    let (mut machine, _) = calling(answers.len());
    for (device, answer) in answers.iter().enumerate() {
        let (next, effects) = go(machine.step(Outcome::Called { device, answer: answer.clone() }, NOW + 10));
        machine = next;
        if device + 1 < answers.len() {
            assert_eq!(effects, [], "nothing is written while a call is running");
        } else {
            let (purpose, item, expect) = write(&effects);
            assert_eq!((purpose, expect), (Purpose::Record, Expect::Version(1)));
            return (machine, item);
        }
    }
    panic!("no device");
}

#[test]
fn prepare_claim_call_record_acknowledge() {
    let (machine, item) = recording(&[accepted(), permanent()]);
    assert_eq!(letters(&item), [Letter::Sent, Letter::Failed]);
    assert_eq!((item.state, item.version), (State::Done, 2));
    let verdict = done(machine.step(Outcome::Written, NOW + 20));
    assert!(matches!(verdict, Verdict::Ack(AckProof::Finished(_))));
}

#[test]
fn a_retry_is_recorded_then_succeeded_then_acknowledged() {
    let (machine, item) = recording(&[accepted(), not_now(None)]);
    assert_eq!((item.state, letters(&item)), (State::Retry, vec![Letter::Sent, Letter::Pending]));
    assert_eq!(item.not_before_ms, NOW + 10 + TIMING.backoff[0]);
    let (machine, effects) = go(machine.step(Outcome::Written, NOW + 20));
    assert_eq!(effects, [Effect::Successor { delay_ms: TIMING.backoff[0] - 10 }]);
    let verdict = done(machine.step(Outcome::SuccessorConfirmed, NOW + 30));
    assert!(matches!(verdict, Verdict::Ack(AckProof::Successor(_))));
}

#[test]
fn a_successor_waits_what_the_provider_asked_but_no_longer_than_sqs_can() {
    for (asked, until, delay) in [(70_000, 70_000, 69_990), (800_000, 800_000, 799_990), (10_000_000, 899_990, 899_980)]
    {
        let (machine, item) = recording(&[not_now(Some(asked))]);
        // Never beyond the deadline, so that the last receive settles in time.
        assert_eq!(item.not_before_ms, NOW + 10 + until);
        let (_, effects) = go(machine.step(Outcome::Written, NOW + 20));
        assert_eq!(effects, [Effect::Successor { delay_ms: delay }]);
    }
    let far = ChunkFacts { deliver_by_ms: 200_000_000, ..facts(Policy::AtLeastOnce, 1) };
    let (machine, effects) = go(prepared(Receive { facts: far, ..receive(Policy::AtLeastOnce, 1, false) }));
    let (machine, _) = go(machine.step(Outcome::Written, NOW));
    assert_eq!(write(&effects).0, Purpose::Claim);
    let (machine, effects) = go(machine.step(Outcome::Called { device: 0, answer: not_now(Some(5_000_000)) }, NOW));
    assert_eq!(write(&effects).1.not_before_ms, NOW + 5_000_000);
    let (_, effects) = go(machine.step(Outcome::Written, NOW));
    assert_eq!(effects, [Effect::Successor { delay_ms: 900_000 }]);
}

/// Under `at_most_once` an answered 5xx ends its device: what it asked for is not what the other one waits for.
#[test]
fn nobody_waits_for_what_was_asked_for_a_device_that_is_not_called_again() {
    let (machine, _) = go(prepared(receive(Policy::AtMostOnce, 2, false)));
    let (machine, _) = go(machine.step(Outcome::Written, NOW));
    let asked = Answer::Ambiguous { reason: reason("UNAVAILABLE"), after_ms: Some(600_000) };
    let (machine, _) = go(machine.step(Outcome::Called { device: 0, answer: asked }, NOW));
    let (_, effects) = go(machine.step(Outcome::Called { device: 1, answer: not_now(None) }, NOW));
    let (_, item, _) = write(&effects);
    assert_eq!(letters(&item), [Letter::Unknown, Letter::Pending]);
    assert_eq!(item.not_before_ms, NOW + TIMING.backoff[0]);
}

#[test]
fn without_a_confirmed_successor_the_copy_itself_waits() {
    let (machine, _) = recording(&[not_now(None)]);
    let (machine, _) = go(machine.step(Outcome::Written, NOW + 20));
    let (machine, effects) = go(machine.step(Outcome::SuccessorUnconfirmed, NOW + 30));
    assert_eq!(effects, [Effect::Release { delay_ms: TIMING.backoff[0] - 20 }]);
    assert_eq!(done(machine.step(Outcome::Released, NOW + 40)), Verdict::Keep);
}

#[test]
fn only_open_devices_are_called_again() {
    let mut stored = claimed(None, &facts(Policy::AtLeastOnce, 4), 7, 0, TIMING.lease);
    stored.state = State::Retry;
    let kinds = [Letter::Sent, Letter::Pending, Letter::Failed, Letter::Lost1];
    for (device, letter) in stored.devices.iter_mut().zip(kinds) {
        device.letter = letter;
    }
    let (machine, effects) = go(prepared(receive(Policy::AtLeastOnce, 4, true)));
    assert_eq!(effects, [Effect::Read]);
    let (machine, effects) = go(machine.step(Outcome::Read(Some(stored)), NOW));
    let (purpose, item, expect) = write(&effects);
    assert_eq!((purpose, expect, item.attempt, item.owner), (Purpose::Claim, Expect::Version(1), 2, Some(token(1))));
    let (_, effects) = go(machine.step(Outcome::Written, NOW));
    assert_eq!(effects, [Effect::Call { device: 1 }, Effect::Call { device: 3 }]);
}

#[test]
fn too_late_it_settles_without_credentials_and_acknowledges() {
    let start = Deliver::new(receive(Policy::AtLeastOnce, 2, false), TIMING).step(Outcome::Start, LATE);
    let (machine, effects) = go(start);
    let (purpose, item, expect) = write(&effects);
    assert_eq!((purpose, expect), (Purpose::Settle, Expect::Absent));
    assert_eq!(letters(&item), [Letter::Expired; 2]);
    assert!(matches!(done(machine.step(Outcome::Written, LATE)), Verdict::Ack(AckProof::Finished(_))));
}

#[test]
fn a_finished_chunk_is_acknowledged_and_a_busy_one_is_not() {
    let mut finished = claimed(None, &facts(Policy::AtLeastOnce, 1), 7, NOW, TIMING.lease);
    let busy = finished.clone();
    finished.state = State::Done;
    finished.devices[0].letter = Letter::Sent;
    let read = |stored| {
        let (machine, _) = go(prepared(receive(Policy::AtLeastOnce, 1, true)));
        machine.step(Outcome::Read(Some(stored)), NOW)
    };
    assert!(matches!(done(read(finished)), Verdict::Ack(AckProof::Finished(_))));
    let waiting = Delivery { state: State::Retry, not_before_ms: NOW + 500, ..busy.clone() };
    for (stored, delay_ms) in [(busy, TIMING.lease + 1), (waiting, 501)] {
        let (machine, effects) = go(read(stored));
        assert_eq!(effects, [Effect::Release { delay_ms }]);
        assert_eq!(done(machine.step(Outcome::Released, NOW)), Verdict::Keep);
    }
}

#[test]
fn every_effect_has_a_crash_point_of_its_name() {
    let (_, item) = calling(1);
    let write = |purpose| Effect::Write { purpose, item: item.clone(), expect: Expect::Absent };
    let all = [
        Effect::Prepare,
        Effect::Read,
        write(Purpose::Claim),
        write(Purpose::Settle),
        write(Purpose::Record),
        Effect::Call { device: 0 },
        Effect::Successor { delay_ms: 0 },
        Effect::Release { delay_ms: 0 },
    ];
    assert_eq!(all.map(|effect| effect.name()), EFFECTS);
}
