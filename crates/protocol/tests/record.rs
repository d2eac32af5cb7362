//! Recording: applied twice it changes nothing, whoever wrote in between.

use crate::common::{
    POLICIES, accepted, ambiguous, claimed, facts, letters, lost, not_now, not_sent, permanent, token,
};
use proptest::{collection, option, prelude::*};
use protocol::{
    answer::Answer,
    delivery::{CALLS_COUNTED, Delivery, State},
    letter::{LETTERS, Letter},
    record::{Learned, record},
};

const LEASE: u64 = 75_000;

fn answer() -> impl Strategy<Value = Answer> {
    prop::sample::select(vec![accepted(), permanent(), not_now(Some(7)), not_sent(), ambiguous(), lost()])
}

/// An item as a claim left it, with any letters, and what its owner learned.
fn attempt() -> impl Strategy<Value = Learned> {
    let device = (prop::sample::select(LETTERS.to_vec()), 0..=CALLS_COUNTED, option::of(answer()));
    (collection::vec(device, 1..=20), 1_u16..1_000).prop_map(|(devices, attempt)| {
        let mut held = claimed(None, &facts(protocol::content::Policy::AtLeastOnce, devices.len()), 1, 0, LEASE);
        held.attempt = attempt;
        let mut answers = Vec::new();
        for (device, (letter, calls, answer)) in held.devices.iter_mut().zip(devices) {
            device.letter = letter;
            device.calls = calls;
            // Only open devices are called for.
            answers.push(answer.filter(|_| letter.is_open()));
        }
        Learned { held, answers, retry_at_ms: 90_000 }
    })
}

fn again(stored: &Delivery, learned: &Learned, policy: protocol::content::Policy) -> Delivery {
    record(stored, learned, policy, 5).unwrap_or_else(|| stored.clone())
}

proptest! {
    #[test]
    fn recording_twice_is_recording_once(policy in prop::sample::select(POLICIES.to_vec()), learned in attempt()) {
        let once = again(&learned.held, &learned, policy);
        prop_assert_eq!(record(&once, &learned, policy, 6), None);
        prop_assert_ne!(once.state, State::InFlight, "its owner has let go of it");
        prop_assert_eq!(once.owner, learned.held.owner, "the record keeps the owner");
        prop_assert_eq!(once.version, learned.held.version + 1);
    }

    #[test]
    fn a_record_after_a_thief_s_claim_leaves_the_thief_its_lease(
        policy in prop::sample::select(POLICIES.to_vec()),
        learned in attempt(),
    ) {
        prop_assume!(learned.held.devices.iter().any(|device| device.letter == Letter::Pending));
        let facts = facts(policy, learned.held.devices.len());
        let thief = protocol::claim::claim(Some(&learned.held), &facts, token(2), LEASE + 1, LEASE);
        if let protocol::claim::Claim::Run(stolen, _) = thief {
            let late = again(&stolen, &learned, policy);
            prop_assert!(late.state == State::InFlight || late.all_final());
            prop_assert_eq!((late.lease_ms, late.attempt, late.owner), (stolen.lease_ms, stolen.attempt, stolen.owner));
            prop_assert_eq!(record(&late, &learned, policy, 9), None);
            for (index, (before, after)) in letters(&stolen).into_iter().zip(letters(&late)).enumerate() {
                prop_assert!(after.rank() >= before.rank());
                if matches!(learned.answers[index], Some(Answer::Accepted { .. })) {
                    prop_assert_eq!(after, Letter::Sent);
                } else {
                    prop_assert!(after == before || matches!(after, Letter::Unknown | Letter::Lost1 | Letter::Lost2));
                }
            }
        }
    }

    #[test]
    fn a_device_that_was_not_called_is_left_as_it_is(policy in prop::sample::select(POLICIES.to_vec()), learned in attempt()) {
        let recorded = again(&learned.held, &learned, policy);
        for (index, (before, after)) in learned.held.devices.iter().zip(&recorded.devices).enumerate() {
            match &learned.answers[index] {
                None => prop_assert_eq!(before, after),
                Some(answer) => {
                    prop_assert_eq!(after.calls, (before.calls + 1).min(CALLS_COUNTED));
                    prop_assert_eq!(after.error.as_ref(), answer.reason());
                    let sent = matches!(answer, Answer::Accepted { .. });
                    prop_assert_eq!(after.provider_id.is_some(), sent);
                }
            }
        }
    }
}

#[test]
fn the_last_error_of_an_open_device_survives_a_later_silence() {
    let held = claimed(None, &facts(POLICIES[0], 1), 1, 0, LEASE);
    let first = Learned { held: held.clone(), answers: vec![Some(not_now(None))], retry_at_ms: 10 };
    let retried = record(&held, &first, POLICIES[0], 1).unwrap();
    assert_eq!(retried.devices[0].error, Some(crate::common::reason("QUOTA_EXCEEDED")));
    let held = claimed(Some(&retried), &facts(POLICIES[0], 1), 2, 10, LEASE);
    let silent = Learned { held: held.clone(), answers: vec![None], retry_at_ms: 20 };
    let silent = record(&held, &silent, POLICIES[0], 11).unwrap();
    assert_eq!(silent.devices[0].error, retried.devices[0].error);
    assert_eq!((silent.state, silent.not_before_ms, silent.devices[0].calls), (State::Retry, 20, 1));
}
