//! Events: once, in the provider's order, and never back.

use super::{NOW, TIMING, failed, in_state, payout, pending, succeeded, waits, with};
use protocol::expect::Expect;
use protocol::refund::{
    EVENTS_KEPT, Refund,
    payout::{Finding, STATES, State},
    person::{Resolve, Retry, Seen, resolve, retry},
    step::record,
    terms::Terms,
    trail::What,
    webhook::{Apply, Event, Ignored, apply},
};

fn event(id: u32, created_s: u64, finding: Finding) -> Event {
    Event { id: format!("evt_{id}"), created_s, payout: payout(1), finding, terms: Terms::default() }
}

fn applied(item: &Refund, event: &Event) -> Refund {
    match apply(item, event, NOW) {
        Apply::Write(item, _) => *item,
        other => panic!("{other:?}"),
    }
}

fn state(item: &Refund) -> State {
    item.payout.as_ref().unwrap().state
}

#[test]
fn an_event_is_applied_once_and_only_after_those_before_it() {
    let first = event(1, 10, succeeded());
    let paid = applied(&in_state(State::Due), &first);
    assert_eq!(state(&paid), State::Paid);
    assert_eq!(apply(&paid, &first, NOW), Apply::Ignore(Ignored::Repeated));
    for late in [event(2, 9, failed()), event(3, 10, waits()), event(4, 10, succeeded())] {
        assert_eq!(apply(&paid, &late, NOW), Apply::Ignore(Ignored::OutOfOrder), "{late:?}");
    }
    for next in [event(5, 10, failed()), event(6, 11, failed())] {
        let back = applied(&paid, &next);
        assert_eq!((state(&back), back.payout.as_ref().unwrap().failed_ms), (State::Failed, Some(NOW)));
    }
    // Later, but it says less: taken, and told in the trail alone.
    let told = applied(&paid, &event(7, 11, waits()));
    assert_eq!((state(&told), told.trail.0.last().unwrap().what), (State::Paid, What::Event));
}

/// Three events of one payout, in every order and each twice: the end is the same.
#[test]
fn any_order_of_events_ends_alike() {
    let events = [event(1, 10, waits()), event(2, 10, succeeded()), event(3, 10, failed())];
    for a in 0..3 {
        for b in 0..3 {
            for c in 0..3 {
                let mut item = in_state(State::Due);
                for at in [a, b, c, a, b, c] {
                    if let Apply::Write(next, _) = apply(&item, &events[at], NOW) {
                        item = *next;
                    }
                }
                let expected = [State::Submitted, State::Paid, State::Failed][a.max(b).max(c)];
                assert_eq!(state(&item), expected, "{a} {b} {c}");
            }
        }
    }
}

#[test]
fn an_event_about_a_payout_that_never_was_is_ignored() {
    let successor = with(|payout| payout.number = 2);
    let of = |number, finding| Event { payout: payout(number), ..event(1, 1, finding) };
    for (item, event) in [
        (&pending(), of(1, succeeded())),
        (&successor, of(0, succeeded())),
        (&successor, of(3, succeeded())),
        (&successor, of(3, failed())),
    ] {
        assert_eq!(apply(item, &event, NOW), Apply::Ignore(Ignored::NotCurrent), "{event:?}");
    }
}

/// That an earlier payout failed is kept, once, and changes nothing: what was said of its object before that comes late, and
/// does not stop the successor.
#[test]
fn the_failure_of_an_earlier_payout_is_kept_and_what_was_said_before_it_comes_late() {
    for before in STATES {
        let item = with(|payout| (payout.number, payout.state) = (2, before));
        let of = |id, finding| Event { payout: payout(1), ..event(id, id.into(), finding) };
        let next = applied(&item, &of(5, failed()));
        assert_eq!((next.payout.as_ref(), next.version), (item.payout.as_ref(), item.version + 1), "{before:?}");
        let told = next.trail.0.last().unwrap();
        assert_eq!((told.what, told.about.payout), (What::Event, Some(1)));
        assert_eq!((told.about.code.as_deref(), told.about.reference.as_deref()), (Some("failed"), Some("re_1")));
        assert_eq!(apply(&next, &of(5, failed()), NOW), Apply::Ignore(Ignored::Repeated));
        assert_eq!(apply(&next, &of(6, failed()), NOW), Apply::Ignore(Ignored::NotCurrent), "it is known");
        // Within one second the failure comes last.
        let same = Event { id: "evt_9".into(), ..of(5, succeeded()) };
        for event in [of(1, waits()), of(2, succeeded()), same] {
            assert_eq!(apply(&next, &event, NOW), Apply::Ignore(Ignored::OutOfOrder), "{event:?}");
        }
        // What is said afterwards would be a wonder, but it would be money; and it may fail again.
        let Apply::GivenUp(found, _) = apply(&next, &of(7, succeeded()), NOW) else { panic!("{before:?}") };
        assert_eq!(apply(&found, &of(6, failed()), NOW), Apply::Ignore(Ignored::OutOfOrder));
        assert_eq!(applied(&found, &of(8, failed())).version, found.version + 1);
        // Another object of it is another payment.
        let other = Finding::Succeeded { reference: "re_2".into() };
        assert!(matches!(apply(&next, &of(3, other), NOW), Apply::GivenUp(..)), "{before:?}");
    }
}

/// A payout failed while it was current, and was retried: the provider's word from before that comes late.
#[test]
fn what_is_said_late_of_a_payout_that_failed_and_was_retried_does_not_stop_its_successor() {
    let submitted = applied(&in_state(State::Due), &event(1, 10, waits()));
    let failed = applied(&submitted, &event(2, 30, failed()));
    let later = TIMING.payout_busy_until(NOW);
    let Retry::Write(retried, ..) = retry(&failed, payout(1), "ada", later, &TIMING) else { panic!() };
    assert_eq!(apply(&retried, &event(3, 20, succeeded()), NOW), Apply::Ignore(Ignored::OutOfOrder));
    assert!(matches!(apply(&retried, &event(3, 31, succeeded()), NOW), Apply::GivenUp(..)));
    // By a listing, which says not when: it may be money.
    let (failed, _) = record(&submitted, payout(1), &super::failed(), NOW).unwrap();
    let Retry::Write(retried, ..) = retry(&failed, payout(1), "ada", later, &TIMING) else { panic!() };
    assert!(matches!(apply(&retried, &event(3, 20, succeeded()), NOW), Apply::GivenUp(..)));
}

/// The provider has an earlier payout after all: kept in the trail, once, and nobody calls for the current one any more.
#[test]
fn an_earlier_payout_that_was_paid_is_kept_and_stops_its_successor() {
    for (before, after) in
        STATES.into_iter().zip([State::Review, State::Submitted, State::Paid, State::Review, State::Review])
    {
        for finding in [succeeded(), waits()] {
            let item = with(|payout| (payout.number, payout.state) = (2, before));
            let told = event(1, 1, finding);
            let Apply::GivenUp(next, expect) = apply(&item, &told, NOW) else { panic!("{before:?}") };
            assert_eq!(expect, Expect::Payout { payout: payout(2), version: item.version });
            assert_eq!((state(&next), next.version), (after, item.version + 1), "{before:?}");
            let lines = &next.trail.0[item.trail.0.len()..];
            assert_eq!((lines[0].what, lines[0].about.payout), (What::Event, Some(1)));
            assert_eq!(lines[0].about.code.as_deref(), Some("earlier_payout_found"));
            assert_eq!(lines[0].about.reference.as_deref(), told.finding.reference());
            // What is told of the refund's state is told last: whoever reports a change looks there.
            let review = lines.get(1).map(|line| (line.what, line.about.payout));
            let stops = matches!(before, State::Due | State::Failed);
            assert_eq!(review, stops.then_some((What::Review, Some(2))));
            if stops {
                let payout = next.payout.as_ref().unwrap();
                let reason = payout.reason.as_ref().unwrap();
                assert!(reason.code == "earlier_payout_found" && reason.detail.contains("re_1"), "{reason:?}");
                // Nobody retries it, and a person can say what was paid.
                let retried = retry(&next, super::payout(2), "ada", u64::MAX, &TIMING);
                assert_eq!(retried, Retry::NotFailed(State::Review));
                let seen = Seen::Paid { reference: "re_1".into() };
                assert!(matches!(resolve(&next, Some(super::payout(2)), &seen, "ada", NOW), Resolve::Write(..)));
            }
            assert_eq!(apply(&next, &told, NOW), Apply::Ignore(Ignored::RepeatedGivenUp));
        }
    }
}

/// A person found that an earlier payout's object is what was paid: what the provider says of that object counts, though
/// it names the earlier payout.
#[test]
fn an_event_about_the_object_that_pays_is_about_the_current_payout() {
    let paid = with(|payout| {
        payout.number = 2;
        payout.state = State::Paid;
        payout.reference = Some("re_1".into());
    });
    let taken_back = applied(&paid, &event(1, 1, failed()));
    assert_eq!((state(&taken_back), taken_back.payout_id()), (State::Failed, Some(payout(2))));
    let Apply::Write(_, expect) = apply(&paid, &event(1, 1, failed()), NOW) else { panic!() };
    assert_eq!(expect, Expect::Payout { payout: payout(2), version: 2 });
    // Another object of that payout, and one of another refund's that has the same id, are nothing of it.
    let other = Finding::Failed { reference: "re_2".into(), reason: super::reason("declined") };
    let mut foreign = event(1, 1, failed());
    foreign.payout.refund.nonce = protocol::ids::Nonce([0; 5]);
    let no_object = with(|payout| (payout.number, payout.state) = (2, State::Review));
    assert_eq!(apply(&paid, &foreign, NOW), Apply::Ignore(Ignored::NotCurrent));
    for (item, event) in [(&paid, event(1, 1, other)), (&no_object, event(1, 1, failed()))] {
        assert_eq!(applied(item, &event).payout, item.payout, "{event:?}");
    }
}

#[test]
fn event_ids_are_bounded_and_one_that_was_dropped_is_out_of_order() {
    let mut item = in_state(State::Submitted);
    for at in 0..100 {
        item = applied(&item, &event(at, u64::from(at), waits()));
    }
    assert_eq!(item.events.len(), EVENTS_KEPT);
    assert_eq!(apply(&item, &event(0, 0, waits()), NOW), Apply::Ignore(Ignored::OutOfOrder));
}
