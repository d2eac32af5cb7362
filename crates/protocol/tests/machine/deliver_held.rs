//! Delivering while a provider is held: no claim without a device to call, no call for a held one, and always a copy.

use super::{
    deliver::{LATE, NOW, TIMING, receive, write},
    done, go,
};
use crate::common::{accepted, claimed, facts, letters};
use protocol::{
    claim::ChunkFacts,
    content::Policy,
    delivery::{Delivery, State},
    hold::HeldDevices,
    letter::Letter,
    machine::{
        Machine, Step,
        deliver::{AckProof, Deliver, Effect, Outcome, Purpose, Receive, Verdict},
    },
};

const UNTIL: u64 = NOW + 60_000;

/// A receive that hears that these devices are held.
fn held(receive: Receive, devices: &[usize]) -> Step<Deliver, Effect, Verdict> {
    let (machine, _) = go(Deliver::new(receive, TIMING).step(Outcome::Start, NOW));
    machine.step(Outcome::Held(HeldDevices::new(devices.iter().copied(), UNTIL)), NOW)
}

fn assert_waits(step: Step<Deliver, Effect, Verdict>, delay_ms: u64) {
    let (machine, effects) = go(step);
    assert_eq!(effects, [Effect::Successor { delay_ms }], "no claim, no release that counts a receive");
    let verdict = done(machine.clone().step(Outcome::SuccessorConfirmed, NOW + 5));
    assert!(matches!(verdict, Verdict::Ack(AckProof::Successor(_))));
    let (machine, effects) = go(machine.step(Outcome::SuccessorUnconfirmed, NOW + 5));
    assert!(matches!(effects[..], [Effect::Release { .. }]));
    assert_eq!(done(machine.step(Outcome::Released, NOW + 6)), Verdict::Keep);
}

#[test]
fn a_held_chunk_waits_as_a_successor_and_claims_nothing() {
    for policy in [Policy::AtLeastOnce, Policy::AtMostOnce] {
        assert_waits(held(receive(policy, 2, false), &[0, 1]), 60_000);
        let (machine, effects) = go(held(receive(policy, 2, true), &[0, 1]));
        assert_eq!(effects, [Effect::Read], "a finished chunk need not wait");
        assert_waits(machine.step(Outcome::Read(None), NOW), 60_000);
    }
}

#[test]
fn it_waits_no_longer_than_the_deadline_and_sqs_allow() {
    let facts = ChunkFacts { deliver_by_ms: NOW + 7_000, ..facts(Policy::AtLeastOnce, 1) };
    assert_waits(held(Receive { facts, ..receive(Policy::AtLeastOnce, 1, false) }, &[0]), 7_000);
    let facts = ChunkFacts { deliver_by_ms: NOW + 9_000_000, ..facts };
    let far = Receive { facts, ..receive(Policy::AtLeastOnce, 1, false) };
    let (machine, _) = go(Deliver::new(far, TIMING).step(Outcome::Start, NOW));
    assert_waits(machine.step(Outcome::Held(HeldDevices::new([0], NOW + 5_000_000)), NOW), 900_000);
}

#[test]
fn a_finished_chunk_ends_and_one_whose_deadline_has_come_is_settled() {
    let mut finished = claimed(None, &facts(Policy::AtLeastOnce, 1), 7, NOW, TIMING.lease);
    finished.state = State::Done;
    finished.devices[0].letter = Letter::Sent;
    let (machine, _) = go(held(receive(Policy::AtLeastOnce, 1, true), &[0]));
    assert!(matches!(done(machine.step(Outcome::Read(Some(finished)), NOW)), Verdict::Ack(AckProof::Finished(_))));
    let (machine, _) = go(held(receive(Policy::AtLeastOnce, 1, true), &[0]));
    let (_, effects) = go(machine.step(Outcome::Read(None), LATE));
    let (purpose, item, _) = write(&effects);
    assert_eq!((purpose, letters(&item)), (Purpose::Settle, vec![Letter::Expired]));
}

#[test]
fn the_others_are_called_and_the_held_ones_stay_as_they_are() {
    let (machine, effects) = go(held(receive(Policy::AtMostOnce, 3, false), &[1]));
    assert_eq!(write(&effects).0, Purpose::Claim);
    let (machine, effects) = go(machine.step(Outcome::Written, NOW));
    assert_eq!(effects, [Effect::Call { device: 0 }, Effect::Call { device: 2 }]);
    let (machine, _) = go(machine.step(Outcome::Called { device: 2, answer: accepted() }, NOW));
    let (machine, effects) = go(machine.step(Outcome::Called { device: 0, answer: accepted() }, NOW));
    let (purpose, item, _) = write(&effects);
    assert_eq!((purpose, item.state), (Purpose::Record, State::Retry));
    assert_eq!(letters(&item), [Letter::Sent, Letter::Pending, Letter::Sent]);
    assert_eq!(item.devices.iter().map(|device| device.calls).collect::<Vec<_>>(), [1, 0, 1]);
    let (_, effects) = go(machine.step(Outcome::Written, NOW));
    assert!(matches!(effects[..], [Effect::Successor { .. }]));

    // What is left is held: the next receive claims nothing.
    let rest = Delivery { not_before_ms: NOW, ..item };
    let (machine, _) = go(held(receive(Policy::AtMostOnce, 3, true), &[1]));
    assert_waits(machine.step(Outcome::Read(Some(rest)), NOW), 60_000);
}
