//! Dead letters: read first, drive again before deleting, settle only what is too late.

use super::{done, go};
use crate::common::{claimed, facts, letters};
use protocol::{
    content::Policy,
    delivery::{Delivery, State},
    expect::Expect,
    letter::Letter,
    machine::{
        Machine, Step,
        dead_letter::{DeadLetter, Effect, Outcome, Verdict},
    },
    timing::ATTEMPTS_MAX,
};

const LATE: u64 = 1_000_000;
const LEASE: u64 = 75_000;

fn read(stored: Option<Delivery>, now: u64) -> Step<DeadLetter, Effect, Verdict> {
    let (machine, effects) = go(DeadLetter::new(facts(Policy::AtLeastOnce, 2)).step(Outcome::Start, now));
    assert_eq!(effects, [Effect::Read]);
    machine.step(Outcome::Read(stored), now)
}

fn in_flight() -> Delivery {
    claimed(None, &facts(Policy::AtLeastOnce, 2), 1, 0, LEASE)
}

fn retry() -> Delivery {
    Delivery { state: State::Retry, ..in_flight() }
}

#[test]
fn a_letter_is_driven_again_and_deleted_only_after_sqs_confirmed_the_copy() {
    for stored in [None, Some(retry()), Some(in_flight())] {
        let (machine, effects) = go(read(stored.clone(), LEASE + 1));
        assert_eq!(effects, [Effect::Redrive], "{stored:?}");
        assert_eq!(done(machine.clone().step(Outcome::Redriven, 0)), Verdict::Redriven);
        assert_eq!(done(machine.step(Outcome::NotRedriven, 0)), Verdict::Leave);
    }
}

#[test]
fn a_live_lease_is_left_alone_even_after_the_deadline() {
    assert_eq!(done(read(Some(in_flight()), LEASE)), Verdict::Leave);
    let late = Delivery { lease_ms: LATE + 5, ..in_flight() };
    assert_eq!(done(read(Some(late), LATE + 5)), Verdict::Leave);
}

#[test]
fn what_is_done_is_deleted() {
    let mut finished = Delivery { state: State::Done, ..in_flight() };
    for device in &mut finished.devices {
        device.letter = Letter::Sent;
    }
    assert!(matches!(done(read(Some(finished), 5)), Verdict::Delete(_)));
}

#[test]
fn too_late_it_is_settled_and_deleted_once_that_is_written() {
    let cases = [
        (None, Letter::Expired, Expect::Absent),
        (Some(retry()), Letter::Expired, Expect::Version(1)),
        (Some(in_flight()), Letter::Unknown, Expect::Version(1)),
    ];
    for (stored, letter, expected) in cases {
        let (machine, effects) = go(read(stored, LATE));
        let [Effect::Settle { item, expect }] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!((letters(item), *expect), (vec![letter; 2], expected));
        assert!(matches!(done(machine.clone().step(Outcome::Written, LATE)), Verdict::Delete(_)));
        assert_eq!(done(machine.step(Outcome::WriteUnknown, LATE)), Verdict::Leave);
    }
}

#[test]
fn the_last_attempt_is_settled_before_the_deadline() {
    let spent = Delivery { attempt: ATTEMPTS_MAX, ..retry() };
    let (_, effects) = go(read(Some(spent), 5));
    assert!(matches!(effects[..], [Effect::Settle { .. }]));
}

#[test]
fn a_lost_write_is_decided_again_a_bounded_number_of_times() {
    let (machine, _) = go(read(None, LATE));
    // A live consumer's claim, made just before the deadline, won: it is left alone.
    let alive = Delivery { lease_ms: LATE + 9, ..in_flight() };
    assert_eq!(done(machine.clone().step(Outcome::Conflict(Some(alive)), LATE)), Verdict::Leave);
    let mut step = machine.step(Outcome::Conflict(Some(retry())), LATE);
    for version in 2..100 {
        match step {
            Step::Done(verdict) => {
                assert_eq!(verdict, Verdict::Leave);
                assert!(version < 20);
                return;
            }
            Step::Go(machine, effects) => {
                assert!(matches!(effects[..], [Effect::Settle { .. }]));
                step = machine.step(Outcome::Conflict(Some(Delivery { version, ..retry() })), LATE);
            }
        }
    }
    panic!("not bounded");
}

#[test]
fn what_cannot_be_read_is_left() {
    let (machine, _) = go(DeadLetter::new(facts(Policy::AtLeastOnce, 1)).step(Outcome::Start, 0));
    assert_eq!(done(machine.step(Outcome::ReadFailed, 0)), Verdict::Leave);
}
