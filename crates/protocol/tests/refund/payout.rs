//! What a finding makes of a payout, and the next step of a copy, over whole tables.

use super::{
    NOW, TIMING, approved, failed, in_state, payout, pending, reason, refused, succeeded, unclear, waits, with,
};
use protocol::{
    expect::Expect,
    refund::{
        payout::{Finding, STATES, State, hear},
        step::{Dead, Found, Listed, Look, Next, Settled, dead, listed, needs_relay, next, record, wants_copy},
        terms::Terms,
    },
};

const DAY: u64 = 86_400_000;

#[test]
fn every_finding_about_every_state() {
    use State::{Due, Failed, Paid, Review, Submitted};
    let made = Finding::Unclear { reference: Some("re_1".into()), reason: reason("not_as_asked") };
    let findings = [waits(), succeeded(), failed(), refused(), unclear(), made];
    // Rows: due, submitted, paid, failed (the provider had it), failed (refused), review without and with an object.
    let table: [(State, bool, [Option<State>; 6]); 7] = [
        (Due, false, [Some(Submitted), Some(Paid), Some(Failed), Some(Failed), Some(Review), Some(Review)]),
        (Submitted, true, [None, Some(Paid), Some(Failed), None, Some(Review), Some(Review)]),
        (Paid, true, [None, None, Some(Failed), None, None, None]),
        (Failed, true, [None; 6]),
        (Failed, false, [Some(Review), Some(Paid), Some(Failed), None, None, Some(Review)]),
        (Review, false, [None, Some(Paid), Some(Failed), None, None, Some(Review)]),
        (Review, true, [None, Some(Paid), Some(Failed), None, None, None]),
    ];
    for (state, had, row) in table {
        let mut stored = in_state(state).payout.unwrap();
        stored.reference = had.then(|| "re_1".into());
        for (finding, expected) in findings.iter().zip(row) {
            let heard = hear(&stored, finding, NOW + 5);
            assert_eq!(heard.as_ref().map(|heard| heard.state), expected, "{state:?} {had} {finding:?}");
            let Some(heard) = heard else { continue };
            assert_eq!(hear(&heard, finding, NOW + 9), None, "heard twice is heard once: {state:?} {finding:?}");
            assert_eq!(heard.failed_ms, (heard.state == Failed).then_some(NOW + 5));
            assert_eq!((heard.number, heard.amount, heard.first_call_ms), (1, 4_200, Some(NOW)));
            assert_eq!(heard.reference.is_some(), had || finding.reference().is_some());
            assert_eq!(heard.reason.is_some(), matches!(heard.state, Failed | Review) && *finding != waits());
        }
    }
}

#[test]
fn a_copy_is_settled_exactly_when_its_payout_is_not_current_or_not_open() {
    for state in STATES {
        let item = in_state(state);
        let open = matches!(state, State::Due | State::Submitted);
        assert_eq!(Settled::of(&item, payout(1)).is_none(), open);
        assert!(Settled::of(&item, payout(2)).is_some());
        assert_eq!(matches!(dead(&item, payout(1)), Dead::Redrive), open);
        assert!(matches!(dead(&item, payout(2)), Dead::Delete(_)));
        assert_eq!(matches!(next(&item, payout(1), NOW, &TIMING), Next::Ack(_)), !open);
        assert!(matches!(next(&item, payout(2), NOW, &TIMING), Next::Ack(_)));
    }
    assert!(Settled::of(&pending(), payout(1)).is_some());
    assert!(matches!(next(&pending(), payout(1), NOW, &TIMING), Next::Ack(_)));
}

#[test]
fn a_first_call_is_stamped_and_later_ones_depend_on_the_window() {
    let Next::Stamp(item, expect) = next(&approved(), payout(1), NOW, &TIMING) else { panic!() };
    assert_eq!(item.payout.as_ref().unwrap().first_call_ms, Some(NOW));
    assert_eq!((item.version, expect), (3, Expect::Payout { payout: payout(1), version: 2 }));
    let end = NOW + TIMING.payout_window;
    assert_eq!(next(&item, payout(1), end - 1, &TIMING), Next::Call);
    assert_eq!(next(&item, payout(1), end, &TIMING), Next::Look(Look::Settle));
    assert_eq!(next(&in_state(State::Submitted), payout(1), NOW, &TIMING), Next::Look(Look::Settle));
    let successor = with(|payout| payout.number = 2);
    assert_eq!(next(&successor, payout(2), NOW, &TIMING), Next::Look(Look::Before));
}

#[test]
fn a_listing_is_recorded_waited_for_or_left_to_a_person_and_never_a_reason_to_call_again() {
    let stamped = in_state(State::Due);
    let of = |number, finding| Listed { payout: payout(number), finding, terms: Terms::default() };
    let end = NOW + TIMING.payout_window;
    let settled = TIMING.payout_busy_until(end);
    for why in [Look::Before, Look::Settle, Look::Refused(reason("r"))] {
        assert_eq!(listed(&stamped, payout(1), &why, &[of(1, waits())], DAY * 9, &TIMING), Found::Record(waits()));
    }
    for item in [stamped.clone(), in_state(State::Submitted)] {
        assert_eq!(listed(&item, payout(1), &Look::Settle, &[], end - 1, &TIMING), Found::Wait);
        assert_eq!(
            listed(&item, payout(1), &Look::Settle, &[], settled - 1, &TIMING),
            Found::Wait,
            "a last caller may be at it"
        );
        let found = listed(&item, payout(1), &Look::Settle, &[], settled, &TIMING);
        let Found::Record(Finding::Unclear { reference: None, reason }) = found else { panic!("{found:?}") };
        assert_eq!(reason.code, "not_found");
    }
    let refused = Look::Refused(reason("r"));
    assert_eq!(listed(&stamped, payout(1), &refused, &[], NOW, &TIMING), Found::Record(Finding::Refused(reason("r"))));

    let successor = with(|payout| payout.number = 2);
    for alive in [waits(), succeeded()] {
        let found = listed(&successor, payout(2), &Look::Before, &[of(1, alive)], NOW, &TIMING);
        let Found::Record(Finding::Unclear { reference: None, reason }) = found else { panic!("{found:?}") };
        assert_eq!(reason.code, "earlier_payout_found");
    }
    for list in [vec![], vec![of(1, failed())]] {
        let Found::Stamp(item, _) = listed(&successor, payout(2), &Look::Before, &list, NOW, &TIMING) else { panic!() };
        assert_eq!(item.payout.unwrap().first_call_ms, Some(NOW));
    }
}

#[test]
fn a_record_is_for_the_current_payout_and_only_if_it_says_more() {
    let (item, expect) = record(&in_state(State::Due), payout(1), &succeeded(), NOW).unwrap();
    assert_eq!((item.payout.as_ref().unwrap().state, item.version), (State::Paid, 3));
    assert_eq!(expect, Expect::Payout { payout: payout(1), version: 2 });
    assert_eq!(record(&item, payout(1), &succeeded(), NOW), None);
    assert_eq!(record(&in_state(State::Due), payout(2), &succeeded(), NOW), None);
    assert_eq!(record(&pending(), payout(1), &succeeded(), NOW), None);
}

#[test]
fn the_relay_enqueues_a_payout_that_became_due_and_that_nobody_has_called_for() {
    let (before, approved) = (pending(), approved());
    assert_eq!(needs_relay(&approved, Some(&before)), Some(payout(1)));
    assert_eq!(needs_relay(&approved, None), Some(payout(1)));
    assert_eq!(needs_relay(&approved, Some(&approved)), None);
    assert_eq!(needs_relay(&before, None), None);
    let successor = with(|payout| payout.number = 2);
    assert_eq!(needs_relay(&successor, Some(&in_state(State::Failed))), Some(payout(2)));
    for state in STATES {
        assert_eq!(needs_relay(&in_state(state), Some(&before)), None, "{state:?}, called for");
        assert!(!wants_copy(Some(&in_state(state)), payout(1)));
    }
    assert!(wants_copy(Some(&approved), payout(1)) && !wants_copy(Some(&approved), payout(2)));
    assert!(!wants_copy(None, payout(1)) && !wants_copy(Some(&before), payout(1)));
}
