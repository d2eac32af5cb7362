//! Recording what the provider answered.
//!
//! A pure function of the stored item: after a lost compare-and-set it is applied again to the winner's item, and
//! written again only if that changes something. Joins are per device, so a late record of one owner never takes back
//! what another has written.

use crate::{
    answer::Answer,
    content::Policy,
    delivery::{CALLS_COUNTED, Delivery, State},
    letter::{Evidence, join},
};

/// What one owner learned in one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Learned {
    /// The item as this owner's claim wrote it: the letters held while calling.
    pub held: Delivery,
    /// Per device: the answer, or `None` where no call was made.
    pub answers: alloc::vec::Vec<Option<Answer>>,
    /// When an open device may be tried again, in ms.
    pub retry_at_ms: u64,
}

/// The item that `stored` becomes, or `None` if it says all of this already.
#[must_use]
pub fn record(stored: &Delivery, learned: &Learned, policy: Policy, now_ms: u64) -> Option<Delivery> {
    let mut item = stored.clone();
    for (index, device) in item.devices.iter_mut().enumerate() {
        let (Some(Some(answer)), Some(held)) = (learned.answers.get(index), learned.held.devices.get(index)) else {
            continue;
        };
        let before = device.letter;
        device.letter = join(before, Evidence::of(answer, held.letter), policy);
        if answer.was_called() {
            device.calls = device.calls.max(held.calls.saturating_add(1).min(CALLS_COUNTED));
        }
        match answer {
            Answer::Accepted { provider_id } if device.letter == crate::letter::Letter::Sent => {
                if device.provider_id.is_none() {
                    device.provider_id = Some(provider_id.clone());
                }
                device.error = None;
            }
            _ if before.is_open() => device.error = answer.reason().cloned().or(device.error.take()),
            _ => {}
        }
    }
    let mine =
        stored.state == State::InFlight && stored.owner == learned.held.owner && stored.attempt == learned.held.attempt;
    if item.all_final() {
        item.state = State::Done;
    } else if mine {
        item.state = State::Retry;
        item.not_before_ms = learned.retry_at_ms;
    }
    if item == *stored {
        return None;
    }
    item.version = item.version.saturating_add(1);
    item.updated_ms = now_ms;
    Some(item)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        answer::Reason,
        claim::{ChunkFacts, Claim, claim},
        ids::OwnerToken,
        letter::Letter,
    };
    use alloc::{string::ToString, vec};

    fn run(old: Option<&Delivery>, token: u8, now: u64) -> Delivery {
        let facts = ChunkFacts { deliver_by_ms: 10_000_000, policy: Policy::AtLeastOnce, devices: 2, expires_s: 1 };
        match claim(old, &facts, OwnerToken([token; 16]), now, 75_000) {
            Claim::Run(item, _) => item,
            other => panic!("{other:?}"),
        }
    }

    fn accepted() -> Answer {
        Answer::Accepted { provider_id: "projects/p/messages/1".to_string() }
    }

    fn not_now() -> Answer {
        Answer::NotNow { reason: Reason { code: "QUOTA_EXCEEDED".into(), detail: "slow down".into() }, after_ms: None }
    }

    #[test]
    fn late_evidence_is_not_overwritten_by_the_thief() {
        // A calls device 0 and stalls; B steals and gets a refusal for both; A's record comes last, then B's again.
        let a = run(None, 1, 0);
        let b = run(Some(&a), 2, 75_001);
        let from_a = Learned { held: a, answers: vec![Some(accepted()), None], retry_at_ms: 0 };
        let after_a = record(&b, &from_a, Policy::AtLeastOnce, 80_000).unwrap();
        assert_eq!(after_a.state, State::InFlight, "B still owns it");
        let from_b = Learned { held: b, answers: vec![Some(not_now()), Some(not_now())], retry_at_ms: 90_000 };
        let after_b = record(&after_a, &from_b, Policy::AtLeastOnce, 81_000).unwrap();
        assert_eq!(after_b.devices[0].letter, Letter::Sent);
        assert_eq!(after_b.devices[0].error, None);
        assert_eq!(after_b.devices[1].letter, Letter::Lost1);
        assert_eq!((after_b.state, after_b.not_before_ms), (State::Retry, 90_000));
    }

    #[test]
    fn a_record_whose_answer_was_lost_is_not_written_twice() {
        let a = run(None, 1, 0);
        let learned = Learned { held: a.clone(), answers: vec![Some(accepted()), Some(not_now())], retry_at_ms: 7 };
        let once = record(&a, &learned, Policy::AtLeastOnce, 5).unwrap();
        assert_eq!(record(&once, &learned, Policy::AtLeastOnce, 6), None);
        assert_eq!(once.devices[1].calls, 1);
    }

    #[test]
    fn a_device_that_nobody_called_keeps_its_number_of_calls_and_says_why() {
        let a = run(None, 1, 0);
        let why = Reason { code: "token_timeout".to_string(), detail: "no token".to_string() };
        let answers = vec![Some(Answer::NotCalled(why.clone())), Some(not_now())];
        let learned = Learned { held: a.clone(), answers, retry_at_ms: 9 };
        let item = record(&a, &learned, Policy::AtMostOnce, 5).unwrap();
        assert_eq!([item.devices[0].calls, item.devices[1].calls], [0, 1]);
        assert_eq!((item.devices[0].letter, &item.devices[0].error), (Letter::Pending, &Some(why)));
        assert_eq!((item.state, item.not_before_ms), (State::Retry, 9));
    }
}
