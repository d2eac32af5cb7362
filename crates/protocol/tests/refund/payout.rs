//! What a finding makes of a payout, and the next step of a copy, over whole tables.

use super::{
    ME, NOW, OTHER, TIMING, approved, called, failed, in_state, marked, payout, pending, reason, refused, succeeded,
    unclear, waits, with,
};
use protocol::{
    expect::Expect,
    refund::{
        payout::{Finding, STATES, State, hear},
        step::{
            Dead, Found, Listed, Look, Next, Settled, announced, dead, listed, listing_failed, listing_refused, mark,
            needs_relay, next, record, wants_copy,
        },
        terms::Terms,
        trail::What,
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
        (Review, false, [Some(Review), Some(Paid), Some(Failed), None, None, Some(Review)]),
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
        assert_eq!(matches!(next(&item, payout(1), ME, NOW, &TIMING), Next::Ack(_)), !open);
        assert!(matches!(next(&item, payout(2), ME, NOW, &TIMING), Next::Ack(_)));
    }
    assert!(Settled::of(&pending(), payout(1)).is_some());
    assert!(matches!(next(&pending(), payout(1), ME, NOW, &TIMING), Next::Ack(_)));
}

#[test]
fn every_call_is_announced_before_it_and_later_ones_depend_on_the_window() {
    let Next::Stamp(first, expect) = next(&approved(), payout(1), ME, NOW, &TIMING) else { panic!() };
    let stamped = first.payout.as_ref().unwrap();
    assert_eq!((stamped.first_call_ms, stamped.calls, stamped.caller), (Some(NOW), 1, Some(ME)));
    assert_eq!((first.version, expect), (3, Expect::Payout { payout: payout(1), version: 2 }));
    let end = NOW + TIMING.payout_window;
    let Next::Stamp(again, expect) = next(&first, payout(1), OTHER, end - 1, &TIMING) else { panic!() };
    let stamped = again.payout.as_ref().unwrap();
    assert_eq!((stamped.first_call_ms, stamped.calls, stamped.caller), (Some(NOW), 2, Some(OTHER)));
    assert_eq!((again.version, expect), (4, Expect::Payout { payout: payout(1), version: 3 }));
    assert_eq!(again.trail, first.trail, "the trail tells of the first call alone");
    assert_eq!(next(&first, payout(1), ME, end, &TIMING), Next::Look(Look::Settle));
    assert_eq!(next(&in_state(State::Submitted), payout(1), ME, NOW, &TIMING), Next::Look(Look::Settle));
    let successor = with(|payout| payout.number = 2);
    assert_eq!(next(&successor, payout(2), ME, NOW, &TIMING), Next::Look(Look::Before));
    // The first one too, once its key would be forgotten had it been called for: the table may be a restored one.
    let first = with(|payout| payout.due_ms = NOW);
    let last = NOW + TIMING.payout_window - 1;
    assert!(matches!(next(&first, payout(1), ME, last, &TIMING), Next::Stamp(..)));
    assert_eq!(next(&first, payout(1), ME, last + 1, &TIMING), Next::Look(Look::Before));
    // And before each later call, whose window is another one.
    let called = with(|payout| (payout.due_ms, payout.first_call_ms, payout.calls) = (NOW, Some(last), 1));
    assert_eq!(next(&called, payout(1), ME, last + 1, &TIMING), Next::Look(Look::Before));
    // Refused once, it is never called for again.
    for calls in [1, 2] {
        let look = Next::Look(Look::Refused(reason("charge_disputed")));
        assert_eq!(next(&marked(calls), payout(1), ME, NOW + 1, &TIMING), look);
        assert_eq!(next(&marked(calls), payout(1), ME, end, &TIMING), look);
    }
}

#[test]
fn a_call_was_announced_by_whoever_s_token_and_count_are_stored() {
    let announce = |item, token| match next(&item, payout(1), token, NOW, &TIMING) {
        Next::Stamp(item, _) => item,
        other => panic!("{other:?}"),
    };
    for before in [approved(), called(3)] {
        let mine = announce(before.clone(), ME);
        assert!(announced(&mine, &mine));
        // The same count, at the same time, by another.
        let theirs = announce(before.clone(), OTHER);
        assert!(!announced(&theirs, &mine));
        assert!(!announced(&announce((*mine).clone(), OTHER), &mine), "another one came after it");
        assert!(!announced(&before, &mine), "and this one never did");
        let (paid, _) = record(&mine, payout(1), &succeeded(), NOW).unwrap();
        assert!(!announced(&paid, &mine), "there is nothing left to call for");
        let (refused, _) = mark(&mine, payout(1), &reason("no"), NOW).unwrap();
        assert!(!announced(&refused, &mine));
    }
    assert!(!announced(&called(2), &called(2)), "nobody's");
}

/// A refusal is the end of a payout that was called for once. Else another call may have been taken.
#[test]
fn a_refusal_ends_what_was_called_for_once_and_marks_the_rest() {
    let (item, expect) = record(&called(1), payout(1), &refused(), NOW + 5).unwrap();
    assert_eq!(item.payout.as_ref().unwrap().state, State::Failed);
    assert_eq!(expect, Expect::Payout { payout: payout(1), version: 2 }, "nobody announced another one meanwhile");
    for calls in [2, 3] {
        let (item, expect) = record(&called(calls), payout(1), &refused(), NOW + 5).unwrap();
        let stored = item.payout.as_ref().unwrap();
        assert_eq!((stored.state, stored.failed_ms), (State::Due, Some(NOW + 5)));
        assert_eq!(stored.refused(), Some((NOW + 5, &reason("charge_disputed"))));
        assert_eq!(expect, Expect::Payout { payout: payout(1), version: 2 });
        let line = item.trail.0.last().unwrap();
        assert_eq!((line.what, line.about.code.as_deref()), (What::Refused, Some("charge_disputed")));
        assert_eq!(record(&item, payout(1), &refused(), NOW + 9), None, "it is marked already");
        assert!(Settled::of(&item, payout(1)).is_none(), "it is still due");
    }
    // What is found of it after all takes the mark away.
    for (finding, state) in [(waits(), State::Submitted), (succeeded(), State::Paid), (unclear(), State::Review)] {
        let (item, _) = record(&marked(2), payout(1), &finding, NOW + 5).unwrap();
        let stored = item.payout.unwrap();
        assert_eq!((stored.state, stored.refused(), stored.failed_ms), (state, None, None));
    }
    let (item, _) = record(&marked(2), payout(1), &failed(), NOW + 5).unwrap();
    assert_eq!(item.payout.map(|payout| (payout.state, payout.failed_ms)), Some((State::Failed, Some(NOW + 5))));
}

#[test]
fn after_a_refusal_an_empty_listing_says_failed_of_one_call_and_waits_for_the_callers_of_more() {
    let look = Look::Refused(reason("charge_disputed"));
    let says_failed = Found::Record(refused());
    let busy = TIMING.payout_busy_until(NOW);
    for item in [called(1), marked(1)] {
        assert_eq!(listed(&item, payout(1), ME, &look, &[], NOW, &TIMING), says_failed);
        assert_eq!(listing_refused(&item, &look, &reason("resource_missing"), NOW, &TIMING), says_failed);
    }
    // Not marked yet: the record makes it the mark.
    assert_eq!(listed(&called(2), payout(1), ME, &look, &[], busy, &TIMING), says_failed);
    assert_eq!(listing_refused(&called(2), &look, &reason("resource_missing"), busy, &TIMING), says_failed);
    let item = marked(2);
    assert_eq!(listed(&item, payout(1), ME, &look, &[], busy - 1, &TIMING), Found::Wait);
    assert_eq!(listing_refused(&item, &look, &reason("resource_missing"), busy - 1, &TIMING), Found::Wait);
    let found = listed(&item, payout(1), ME, &look, &[], busy, &TIMING);
    let Found::Record(Finding::Unclear { reference: None, reason: why }) = found else { panic!("{found:?}") };
    assert_eq!(why.code, "refused_after_other_call");
    assert!(why.detail.contains("charge_disputed: the provider said charge_disputed"), "{}", why.detail);
    let found = listing_refused(&item, &look, &reason("resource_missing"), busy, &TIMING);
    let Found::Record(Finding::Unclear { reference: None, reason: why }) = found else { panic!("{found:?}") };
    assert_eq!(why.code, "listing_refused");
    assert!(why.detail.contains("resource_missing") && why.detail.contains("charge_disputed"), "{}", why.detail);
}

#[test]
fn a_listing_that_is_never_got_is_a_person_s_after_two_windows() {
    let given_up = NOW + 2 * TIMING.payout_window;
    let refusal = Look::Refused(reason("charge_disputed"));
    for calls in [1, 2] {
        let found = listing_failed(&called(calls), &refusal, NOW, &TIMING);
        assert_eq!(found, Found::Mark(reason("charge_disputed")), "called {calls} times");
        assert_eq!(listing_failed(&marked(calls), &refusal, given_up - 1, &TIMING), Found::Wait);
    }
    for (item, look) in [(called(1), Look::Settle), (marked(1), refusal.clone()), (marked(2), refusal)] {
        assert_eq!(listing_failed(&item, &look, given_up - 1, &TIMING), Found::Wait);
        let found = listing_failed(&item, &look, given_up, &TIMING);
        let Found::Record(Finding::Unclear { reference: None, reason: why }) = found else { panic!("{found:?}") };
        assert_eq!(why.code, "listing_failed");
        assert_eq!(why.detail.contains("charge_disputed"), look != Look::Settle);
    }
    // The provider's word about a submitted one comes by event too; and nobody has called for a successor yet.
    let submitted = in_state(State::Submitted);
    assert_eq!(listing_failed(&submitted, &Look::Settle, given_up, &TIMING), Found::Wait);
    let successor = with(|payout| payout.number = 2);
    assert_eq!(listing_failed(&successor, &Look::Before, given_up, &TIMING), Found::Wait);
}

#[test]
fn a_mark_is_for_the_current_payout_while_it_is_due() {
    assert!(mark(&called(1), payout(2), &reason("no"), NOW).is_none());
    assert!(mark(&pending(), payout(1), &reason("no"), NOW).is_none());
    for state in STATES.into_iter().filter(|state| *state != State::Due) {
        assert!(mark(&in_state(state), payout(1), &reason("no"), NOW).is_none(), "{state:?}");
    }
    let (item, _) = mark(&called(1), payout(1), &reason("no"), NOW).unwrap();
    assert_eq!(item.payout.as_ref().unwrap().refused(), Some((NOW, &reason("no"))));
    assert!(mark(&item, payout(1), &reason("other"), NOW + 1).is_none(), "the first one is kept");
}

#[test]
fn a_listing_is_recorded_waited_for_or_left_to_a_person_and_never_a_reason_to_call_again() {
    let stamped = in_state(State::Due);
    let of = |number, finding| Listed { payout: payout(number), finding, terms: Terms::default() };
    let end = NOW + TIMING.payout_window;
    let settled = TIMING.payout_busy_until(end);
    for why in [Look::Before, Look::Settle, Look::Refused(reason("r"))] {
        assert_eq!(listed(&stamped, payout(1), ME, &why, &[of(1, waits())], DAY * 9, &TIMING), Found::Record(waits()));
    }
    for item in [stamped.clone(), in_state(State::Submitted)] {
        assert_eq!(listed(&item, payout(1), ME, &Look::Settle, &[], end - 1, &TIMING), Found::Wait);
        assert_eq!(
            listed(&item, payout(1), ME, &Look::Settle, &[], settled - 1, &TIMING),
            Found::Wait,
            "a last caller may be at it"
        );
        let found = listed(&item, payout(1), ME, &Look::Settle, &[], settled, &TIMING);
        let Found::Record(Finding::Unclear { reference: None, reason }) = found else { panic!("{found:?}") };
        assert_eq!(reason.code, "not_found");
    }
    let refused = Look::Refused(reason("r"));
    assert_eq!(
        listed(&stamped, payout(1), ME, &refused, &[], NOW, &TIMING),
        Found::Record(Finding::Refused(reason("r")))
    );

    let successor = with(|payout| payout.number = 2);
    for alive in [waits(), succeeded()] {
        let found = listed(&successor, payout(2), ME, &Look::Before, &[of(1, alive)], NOW, &TIMING);
        assert_eq!(found, Found::Record(Finding::Earlier { payout: 1, object: "re_1".into(), failed: None }));
        let Found::Record(finding) = found else { panic!() };
        let (review, _) = record(&successor, payout(2), &finding, NOW).unwrap();
        let reason = review.payout.unwrap().reason.unwrap();
        assert!(reason.code == "earlier_payout_found" && reason.detail.contains("re_1"), "{reason:?}");
    }
    for list in [vec![], vec![of(1, failed())]] {
        let Found::Stamp(item, _) = listed(&successor, payout(2), ME, &Look::Before, &list, NOW, &TIMING) else {
            panic!()
        };
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
