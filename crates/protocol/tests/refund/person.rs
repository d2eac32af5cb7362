//! Retry and resolve, in every state, once and again.

use super::{NOW, TIMING, failed, in_state, payout, pending, succeeded, waits, with};
use protocol::refund::{
    payout::{STATES, State, hear},
    person::{Resolve, Retry, Seen, resolve, retry},
    step::record,
    trail::{About, What},
};

fn paid() -> Seen {
    Seen::Paid { reference: "re_9".into() }
}

#[test]
fn a_failed_payout_is_busy_until_its_last_caller_is_gone_and_then_has_one_successor() {
    let item = in_state(State::Failed);
    let until = TIMING.payout_busy_until(NOW);
    assert_eq!(retry(&item, payout(1), "a", until - 1, &TIMING), Retry::Busy(until));
    let Retry::Write(after, _, successor) = retry(&item, payout(1), "a", until, &TIMING) else { panic!() };
    assert_eq!((successor, after.payout_id()), (payout(2), Some(payout(2))));
    let made = after.payout.clone().unwrap();
    assert_eq!((made.state, made.amount, made.first_call_ms, made.failed_ms), (State::Due, 4_200, None, None));
    assert_eq!((made.applied, made.reference, made.reason), (None, None, None));
    // Repeated at any time, whatever became of the successor.
    for state in STATES {
        let mut later = (*after).clone();
        later.payout.as_mut().unwrap().state = state;
        assert_eq!(retry(&later, payout(1), "b", 0, &TIMING), Retry::Repeated(payout(2)));
    }
}

#[test]
fn only_a_failed_payout_of_this_refund_is_retried() {
    for state in [State::Due, State::Submitted, State::Paid, State::Review] {
        assert_eq!(retry(&in_state(state), payout(1), "a", u64::MAX, &TIMING), Retry::NotFailed(state));
    }
    let failed = in_state(State::Failed);
    for unknown in [payout(0), payout(2), payout(u16::MAX)] {
        assert_eq!(retry(&failed, unknown, "a", u64::MAX, &TIMING), Retry::Unknown);
    }
    assert_eq!(retry(&pending(), payout(1), "a", u64::MAX, &TIMING), Retry::Unknown);
    let mut foreign = payout(1);
    foreign.refund.nonce = protocol::ids::Nonce([0; 5]);
    assert_eq!(retry(&failed, foreign, "a", u64::MAX, &TIMING), Retry::Unknown);
    let last = with(|payout| (payout.number, payout.state) = (u16::MAX, State::Failed));
    assert_eq!(retry(&last, payout(u16::MAX), "a", u64::MAX, &TIMING), Retry::Unknown, "no id is given twice");
}

#[test]
fn a_person_ends_a_review_and_may_say_it_again() {
    for (seen, end) in [(paid(), State::Paid), (Seen::NotPaid { reference: None }, State::Failed)] {
        for state in STATES {
            let expected = match state {
                State::Review => None,
                // Nobody has said under which reference.
                State::Paid if end == State::Paid => Some(Resolve::OtherReference),
                same if same == end => Some(Resolve::Repeated),
                other => Some(Resolve::NotInReview(other)),
            };
            let answer = resolve(&in_state(state), None, &seen, "a", NOW + 5);
            assert_eq!(resolve(&in_state(state), Some(payout(1)), &seen, "a", NOW + 5), answer);
            match expected {
                Some(expected) => assert_eq!(answer, expected),
                None => {
                    let Resolve::Write(item, _) = answer else { panic!() };
                    let ended = item.payout.as_ref().unwrap();
                    assert_eq!((ended.state, ended.failed_ms), (end, (end == State::Failed).then_some(NOW + 5)));
                    assert_eq!(resolve(&item, None, &seen, "b", NOW + 9), Resolve::Repeated);
                }
            }
        }
    }
    assert_eq!(resolve(&pending(), Some(payout(1)), &paid(), "a", NOW), Resolve::Unknown);
}

/// Whoever looked at one payout does not speak of its successor, and one payment is not another.
#[test]
fn a_person_s_word_is_about_the_payout_and_the_reference_that_it_names() {
    let successor = with(|payout| (payout.number, payout.state) = (2, State::Review));
    for seen in [paid(), Seen::NotPaid { reference: None }] {
        for named in [payout(1), payout(3)] {
            assert_eq!(resolve(&successor, Some(named), &seen, "a", NOW), Resolve::NotCurrent(payout(2)));
        }
        // Who names none may be the late repeat of a word about the first.
        assert_eq!(resolve(&successor, None, &seen, "a", NOW), Resolve::NotCurrent(payout(2)));
        assert!(matches!(resolve(&successor, Some(payout(2)), &seen, "a", NOW), Resolve::Write(..)));
    }
    let named = Some(payout(2));
    let Resolve::Write(item, _) = resolve(&successor, named, &paid(), "a", NOW) else { panic!() };
    assert_eq!(resolve(&item, named, &paid(), "b", NOW), Resolve::Repeated);
    let other = Seen::Paid { reference: "re_8".into() };
    assert_eq!(resolve(&item, named, &other, "b", NOW), Resolve::OtherReference);
}

/// A refund shows one payout; what became of those before it is in the trail.
#[test]
fn the_trail_keeps_what_became_of_a_payout_that_has_a_successor() {
    let (item, _) = record(&in_state(State::Due), payout(1), &failed(), NOW).unwrap();
    let until = TIMING.payout_busy_until(NOW);
    let Retry::Write(item, ..) = retry(&item, payout(1), "a", until, &TIMING) else { panic!() };
    let told: Vec<_> = item.trail.0.iter().map(|line| (line.what, line.about.clone())).collect();
    let about = |payout, reference: Option<&str>, code: Option<&str>| About {
        payout,
        reference: reference.map(Into::into),
        code: code.map(Into::into),
        created_s: None,
    };
    let expected = [
        (What::Created, about(None, None, None)),
        (What::Approved, about(Some(1), None, None)),
        (What::Failed, about(Some(1), Some("re_1"), Some("declined"))),
        (What::Retried, about(Some(2), None, None)),
    ];
    assert_eq!(told, expected);
}

#[test]
fn the_provider_s_own_word_is_stronger_than_a_person_s_not_paid() {
    let mut review = in_state(State::Review);
    review.payout.as_mut().unwrap().reference = Some("re_1".into());
    let Resolve::Write(item, _) = resolve(&review, None, &Seen::NotPaid { reference: None }, "a", NOW) else {
        panic!()
    };
    let said = item.payout.unwrap();
    assert_eq!(hear(&said, &succeeded(), NOW).unwrap().state, State::Paid);
    assert_eq!(hear(&said, &waits(), NOW).unwrap().state, State::Review);
}
