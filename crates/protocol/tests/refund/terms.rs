//! What the provider made, held against what was approved: another amount or currency is never `paid`.

use super::{ME, NOW, TIMING, failed, in_state, payout, succeeded, waits, with};
use protocol::refund::{
    payout::{Finding, State, hear},
    step::{Found, Listed, Look, listed},
    terms::{NOT_AS_ASKED, Terms},
    webhook::{Apply, Event, apply},
};

fn terms(amount: Option<u64>, currency: Option<&str>) -> Terms {
    Terms { amount, currency: currency.map(Into::into) }
}

/// An object that is not the one that was asked for.
fn other() -> Terms {
    terms(Some(4_200), Some("eur"))
}

#[test]
fn what_is_said_counts_and_what_is_not_said_is_not_held_against_it() {
    for good in [
        terms(None, None),
        terms(Some(4_200), None),
        terms(None, Some("usd")),
        terms(Some(4_200), Some("usd")),
        terms(Some(4_200), Some("USD")),
    ] {
        for finding in [waits(), succeeded(), failed()] {
            assert_eq!(good.judge(&finding, 4_200, "usd"), finding, "{good:?}");
        }
    }
    for bad in [terms(Some(4_199), Some("usd")), terms(Some(4_201), None), other(), terms(None, Some(""))] {
        for finding in [waits(), succeeded()] {
            let judged = bad.judge(&finding, 4_200, "usd");
            let Finding::Unclear { reference, reason } = judged else { panic!("{bad:?} {judged:?}") };
            assert_eq!((reference.as_deref(), reason.code.as_str()), (Some("re_1"), NOT_AS_ASKED));
        }
        assert_eq!(bad.judge(&failed(), 4_200, "usd"), failed(), "nothing was given back");
    }
}

/// However it is met: a listing records it for a person, and events leave it there.
#[test]
fn neither_a_listing_nor_an_event_makes_it_paid() {
    for finding in [waits(), succeeded()] {
        let list = [Listed { payout: payout(1), finding: finding.clone(), terms: other() }];
        let found = listed(&in_state(State::Due), payout(1), ME, &Look::Settle, &list, NOW, &TIMING);
        assert_eq!(found, Found::Record(other().judge(&finding, 4_200, "usd")));
        let event = Event { id: "evt_1".into(), created_s: 1, payout: payout(1), finding, terms: other() };
        for (state, end) in [
            (State::Due, State::Review),
            (State::Submitted, State::Review),
            (State::Review, State::Review),
            // Refused, or so a person said: and yet money was given back.
            (State::Failed, State::Review),
            (State::Paid, State::Paid),
        ] {
            let Apply::Write(item, _) = apply(&in_state(state), &event, NOW) else { panic!() };
            let stored = item.payout.clone().unwrap();
            assert_eq!(stored.state, end, "{state:?}");
            if end == State::Review {
                assert_eq!(stored.reference.as_deref(), Some("re_1"), "whoever looks finds it by its id");
                assert_eq!(stored.reason.as_ref().map(|reason| reason.code.as_str()), Some(NOT_AS_ASKED));
                let again = Event { id: "evt_2".into(), created_s: 2, ..event.clone() };
                let Apply::Write(later, _) = apply(&item, &again, NOW) else { panic!() };
                assert_eq!(later.payout.unwrap().state, State::Review, "the same object says it again");
            }
        }
    }
}

#[test]
fn a_provider_that_takes_it_back_ends_its_review() {
    let review = with(|payout| {
        payout.state = State::Review;
        payout.reference = Some("re_1".into());
    });
    let event = Event { id: "evt_1".into(), created_s: 1, payout: payout(1), finding: failed(), terms: other() };
    let Apply::Write(item, _) = apply(&review, &event, NOW) else { panic!() };
    assert_eq!(item.payout.unwrap().state, State::Failed);
    // What is unclear without an object adds nothing to a review.
    assert_eq!(hear(&review.payout.unwrap(), &super::unclear(), NOW), None);
}

/// Two objects of one payout: whichever stands first, the one that paid counts.
#[test]
fn of_two_objects_of_one_payout_the_one_that_paid_counts() {
    let of = |finding| Listed { payout: payout(1), finding, terms: Terms::default() };
    for list in [[of(failed()), of(succeeded())], [of(succeeded()), of(failed())], [of(waits()), of(succeeded())]] {
        let found = listed(&in_state(State::Due), payout(1), ME, &Look::Settle, &list, NOW, &TIMING);
        assert_eq!(found, Found::Record(succeeded()));
    }
}
