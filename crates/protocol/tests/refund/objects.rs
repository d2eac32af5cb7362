//! One payout and several objects of the provider's, and what the trail keeps of them.

use super::{NOW, failed, in_state, payout, reason, succeeded, waits, with};
use protocol::refund::{
    Refund,
    objects::{DOUBLED, OTHER_FAILED, OTHER_PAID},
    payout::{EARLIER_FOUND, Finding, State, hear},
    person::{Resolve, Seen, resolve},
    step::{Found, Listed, Look, listed, record},
    terms::Terms,
    trail::{TRAIL_MAX, What},
    webhook::{Apply, Event, Ignored, apply},
};

fn event(id: u32, created_s: u64, finding: Finding) -> Event {
    Event { id: format!("evt_{id}"), created_s, payout: payout(1), finding, terms: Terms::default() }
}

/// A payout whose object is another one than the tests' usual.
fn of_another(state: State) -> Refund {
    with(|payout| {
        (payout.state, payout.first_call_ms, payout.calls) = (state, Some(NOW), 1);
        payout.reference = Some("re_by_hand".into());
    })
}

fn written(item: &Refund, event: &Event) -> Refund {
    match apply(item, event, NOW) {
        Apply::Write(item, _) => *item,
        other => panic!("{other:?}"),
    }
}

fn stands(item: &Refund) -> (State, Option<&str>) {
    let payout = item.payout.as_ref().unwrap();
    (payout.state, payout.reference.as_deref())
}

/// Who cancels the second of two payments has not undone the first.
#[test]
fn the_failure_of_another_object_says_nothing_of_the_one_that_counts() {
    for state in [State::Submitted, State::Paid, State::Review, State::Failed] {
        let before = of_another(state);
        let after = written(&before, &event(1, 10, failed()));
        assert_eq!(stands(&after), stands(&before), "{state:?}");
        let told = &after.trail.0.last().unwrap();
        assert_eq!((told.what, told.about.reference.as_deref()), (What::Event, Some("re_1")));
        assert_eq!(told.about.code.as_deref(), Some("failed"));
        // Nor does it make what is said of that one come late.
        let own = Finding::Failed { reference: "re_by_hand".into(), reason: reason("declined") };
        let ended = written(&after, &event(2, 9, own));
        let expected = if state == State::Failed { stands(&after) } else { (State::Failed, Some("re_by_hand")) };
        assert_eq!(stands(&ended), expected, "{state:?}");
    }
}

#[test]
fn a_second_object_that_is_paid_is_an_alarm_whenever_it_comes() {
    for (state, after) in [
        (State::Paid, (State::Paid, Some("re_by_hand"))),
        (State::Submitted, (State::Paid, Some("re_1"))),
        (State::Review, (State::Paid, Some("re_1"))),
    ] {
        let mut before = of_another(state);
        // What was heard of the first object is later.
        before.payout.as_mut().unwrap().applied = Some(event(0, 99, succeeded()).order());
        let Apply::Doubled(item, _) = apply(&before, &event(1, 10, succeeded()), NOW) else { panic!("{state:?}") };
        assert_eq!(stands(&item), after);
        assert_eq!(item.version, before.version + 1, "one write");
        let mut lines = item.trail.0.iter().filter(|line| line.about.code.as_deref() == Some(DOUBLED));
        assert_eq!(lines.next().and_then(|line| line.about.reference.as_deref()), Some("re_1"));
        // Whoever stored it may have died before it was told: a repeat tells it.
        assert_eq!(apply(&item, &event(1, 10, succeeded()), NOW), Apply::Ignore(Ignored::RepeatedDoubled));
        // Another event about it adds nothing.
        assert!(matches!(apply(&item, &event(2, 11, succeeded()), NOW), Apply::Write(..)));
    }
    // A pending one is none yet, and the same object again is the same payment.
    assert_eq!(stands(&written(&of_another(State::Paid), &event(1, 10, waits()))).0, State::Paid);
    let same = with(|payout| (payout.state, payout.reference) = (State::Paid, Some("re_1".into())));
    assert_eq!(stands(&written(&same, &event(1, 10, succeeded()))), (State::Paid, Some("re_1")));
}

#[test]
fn an_object_after_one_that_failed_counts() {
    for (finding, state) in [(succeeded(), State::Paid), (waits(), State::Review)] {
        let after = written(&of_another(State::Failed), &event(1, 10, finding));
        assert_eq!(stands(&after), (state, Some("re_1")));
    }
}

fn named(object: &str) -> Finding {
    Finding::Succeeded { reference: object.into() }
}

fn lost(object: &str) -> Finding {
    Finding::Failed { reference: object.into(), reason: reason("declined") }
}

fn any(item: &Refund, event: &Event) -> Refund {
    match apply(item, event, NOW) {
        Apply::Write(item, _) | Apply::Doubled(item, _) => *item,
        other => panic!("{other:?}"),
    }
}

/// Of two that paid, the stored one failed: the payer has the money of the other.
#[test]
fn a_failure_is_no_invitation_to_pay_again_while_another_object_paid() {
    let paid = written(&in_state(State::Due), &event(1, 1, named("re_1")));
    let twice = any(&paid, &event(2, 2, named("re_2")));
    let one_left = written(&twice, &event(3, 3, lost("re_1")));
    assert_eq!(stands(&one_left), (State::Review, Some("re_1")));
    assert_eq!(one_left.payout.as_ref().unwrap().reason.as_ref().unwrap().code, OTHER_PAID);
    assert_eq!(record(&one_left, payout(1), &named("re_1"), NOW), None, "an answer from before its failure");
    // Both failed, in either order.
    let other = written(&twice, &event(3, 3, lost("re_2")));
    assert_eq!(stands(&other).0, State::Paid);
    assert_eq!(stands(&written(&other, &event(4, 4, lost("re_1")))), (State::Failed, Some("re_1")));
}

#[test]
fn what_is_said_late_of_an_object_that_failed_changes_nothing() {
    let mut item = written(&in_state(State::Due), &event(1, 10, named("re_1")));
    item = written(&item, &event(2, 20, lost("re_1")));
    item = written(&item, &event(3, 30, named("re_2")));
    assert_eq!(stands(&item), (State::Paid, Some("re_2")));
    item = written(&item, &event(4, 40, lost("re_2")));
    for object in ["re_1", "re_2"] {
        let late = apply(&item, &event(5, 10, named(object)), NOW);
        assert_eq!(late, Apply::Ignore(Ignored::OutOfOrder), "{object}");
    }
}

/// What a person typed may be a wrong id of the only object there is.
#[test]
fn the_failure_of_an_object_that_a_person_did_not_name_is_an_alarm() {
    let review = in_state(State::Review);
    let seen = Seen::Paid { reference: "re_typo".into() };
    let Resolve::Write(paid, _) = resolve(&review, None, &seen, "ada", NOW) else { panic!() };
    let failed = event(1, 10, lost("re_1"));
    let Apply::Doubled(told, _) = apply(&paid, &failed, NOW) else { panic!() };
    assert_eq!(stands(&told), (State::Paid, Some("re_typo")));
    assert_eq!(told.trail.0.last().unwrap().about.code.as_deref(), Some(OTHER_FAILED));
    assert_eq!(apply(&told, &failed, NOW), Apply::Ignore(Ignored::RepeatedDoubled));
}

/// The times of events about one object say nothing of another.
#[test]
fn the_order_of_events_goes_with_the_object() {
    let mut review = in_state(State::Review);
    review.payout.as_mut().unwrap().applied = Some(event(0, 99, waits()).order());
    let seen = Seen::Paid { reference: "re_1".into() };
    let Resolve::Write(paid, _) = resolve(&review, None, &seen, "ada", NOW) else { panic!() };
    assert_eq!(stands(&written(&paid, &event(1, 10, failed()))), (State::Failed, Some("re_1")));
}

/// An earlier payout was paid after all, as an event said while its successor was with the provider.
fn with_an_earlier_one(state: State) -> Refund {
    let successor = with(|payout| {
        (payout.number, payout.state, payout.first_call_ms, payout.calls) = (2, state, Some(NOW), 1);
        payout.reference = (state != State::Due).then(|| "re_2".into());
    });
    let Apply::GivenUp(item, _) = apply(&successor, &event(1, 10, named("re_1")), NOW) else { panic!() };
    *item
}

/// Whoever retried the successor would pay a second time.
#[test]
fn a_failure_is_no_invitation_to_pay_again_while_an_earlier_payout_was_paid() {
    let of_successor = |id, finding| Event { payout: payout(2), ..event(id, id.into(), finding) };
    for state in [State::Submitted, State::Paid] {
        let item = with_an_earlier_one(state);
        assert_eq!(stands(&item), (state, Some("re_2")));
        // By event, and by a listing or an answer.
        let by_event = written(&item, &of_successor(20, lost("re_2")));
        let (by_answer, _) = record(&item, payout(2), &lost("re_2"), NOW).unwrap();
        for next in [&by_event, &*by_answer] {
            let payout = next.payout.as_ref().unwrap();
            assert_eq!(payout.state, State::Review, "{state:?}");
            let reason = payout.reason.as_ref().unwrap();
            assert!(reason.code == EARLIER_FOUND && reason.detail.contains("re_1"), "{reason:?}");
            assert_eq!(next.trail.0.last().map(|line| line.what), Some(What::Review));
        }
        // An answer from before its failure, of a consumer that was slow to record it.
        assert_eq!(record(&by_event, payout(2), &named("re_2"), NOW), None);
        assert!(record(&by_event, payout(2), &named("re_3"), NOW).is_some());
        // Once more: it stays as it is, and is no news.
        let again = written(&by_event, &of_successor(21, lost("re_2")));
        assert_eq!(stands(&again), stands(&by_event));
        assert_eq!(again.trail.0.last().map(|line| line.what), Some(What::Event));
        assert_eq!(record(&by_event, payout(2), &lost("re_2"), NOW), None);
        // Once the earlier one is known to have failed, nobody has the money.
        let neither = written(&item, &event(22, 22, lost("re_1")));
        assert_eq!(stands(&written(&neither, &of_successor(23, lost("re_2")))), (State::Failed, Some("re_2")));
    }
}

/// A person ends a review into which a failed payout had gone: what was said of its object before it failed comes late.
#[test]
fn a_person_s_word_does_not_make_the_provider_s_failures_unheard() {
    let of_successor = |id, at, finding| Event { payout: payout(2), ..event(id, at, finding) };
    let submitted = with_an_earlier_one(State::Submitted);
    let first = written(&submitted, &of_successor(2, 40, lost("re_2")));
    // The other order: it had failed when the earlier one was found.
    let failed = with(|payout| {
        (payout.number, payout.state, payout.reference) = (2, State::Submitted, Some("re_2".into()));
    });
    let failed = written(&failed, &of_successor(2, 40, lost("re_2")));
    let Apply::GivenUp(second, _) = apply(&failed, &event(1, 10, named("re_1")), NOW) else { panic!() };
    for review in [first, *second] {
        assert_eq!(stands(&review).0, State::Review);
        let neither = written(&review, &event(3, 50, lost("re_1")));
        let Resolve::Write(ended, _) =
            resolve(&neither, Some(payout(2)), &Seen::NotPaid { reference: None }, "ada", NOW)
        else {
            panic!()
        };
        for late in [named("re_2"), Finding::Pending { reference: "re_2".into() }] {
            let told = apply(&ended, &of_successor(4, 30, late.clone()), NOW);
            assert_eq!(told, Apply::Ignore(Ignored::OutOfOrder), "{late:?}");
            assert_eq!(record(&ended, payout(2), &late, NOW), None, "{late:?}");
        }
        // Another object is another payment.
        assert_eq!(stands(&written(&ended, &of_successor(5, 60, named("re_3")))), (State::Paid, Some("re_3")));
    }
}

/// Its successor failed, or is only listed beside it.
#[test]
fn a_listing_with_an_earlier_payout_that_lives_is_no_invitation_either() {
    let of = |number, finding| Listed { payout: payout(number), finding, terms: Terms::default() };
    let found = |list: &[Listed]| {
        let item = with(|payout| (payout.number, payout.state) = (2, State::Submitted));
        listed(&item, payout(2), super::ME, &Look::Settle, list, NOW, &super::TIMING)
    };
    for finding in [named("re_1"), Finding::Pending { reference: "re_1".into() }] {
        let list = [of(1, finding), of(2, lost("re_2"))];
        let earlier = Finding::Earlier { payout: 1, object: "re_1".into(), failed: Some("re_2".into()) };
        assert_eq!(found(&list), Found::Record(earlier.clone()));
        // It is kept, so that the failure of its successor, told afterwards, invites nobody to retry it.
        let item = with(|payout| (payout.number, payout.state) = (2, State::Submitted));
        let (review, _) = record(&item, payout(2), &earlier, NOW).unwrap();
        let line = &review.trail.0[item.trail.0.len()];
        assert_eq!((line.about.payout, line.about.reference.as_deref()), (Some(1), Some("re_1")));
        assert_eq!((review.version, review.trail.0.last().unwrap().what), (item.version + 1, What::Review));
        // Nor is it forgotten that its own object failed.
        assert_eq!(stands(&review), (State::Review, Some("re_2")));
        assert_eq!(review.payout.as_ref().unwrap().failed_ms, Some(NOW));
        assert_eq!(record(&review, payout(2), &named("re_2"), NOW), None, "an answer from before its failure");
        let told = Event { payout: payout(2), ..event(1, 10, lost("re_2")) };
        let after = written(&review, &told);
        assert_eq!(stands(&after), (State::Review, Some("re_2")));
        assert!(after.payout.as_ref().unwrap().failed_ms.is_some());
        assert_eq!(record(&after, payout(2), &named("re_2"), NOW), None, "an answer from before its failure");
    }
    assert_eq!(found(&[of(1, lost("re_1")), of(2, lost("re_2"))]), Found::Record(lost("re_2")));
    // What pays is true whatever else pays.
    assert_eq!(found(&[of(1, named("re_1")), of(2, named("re_2"))]), Found::Record(named("re_2")));
}

/// A person resolved with the earlier payout's object, and that is the one that is taken back.
#[test]
fn the_earlier_object_s_own_failure_is_a_failure() {
    let review = with_an_earlier_one(State::Due);
    let seen = Seen::Paid { reference: "re_1".into() };
    let Resolve::Write(paid, _) = resolve(&review, Some(payout(2)), &seen, "ada", NOW) else { panic!() };
    let taken_back = written(&paid, &event(30, 30, lost("re_1")));
    assert_eq!(stands(&taken_back), (State::Failed, Some("re_1")));
}

/// Two that failed: the one that is stored is meant, wherever it stands in the list.
#[test]
fn of_objects_that_say_the_same_the_stored_one_counts() {
    let submitted = of_another(State::Submitted);
    let of = |object: &str| Listed { payout: payout(1), finding: lost(object), terms: Terms::default() };
    for list in [[of("re_by_hand"), of("re_1")], [of("re_1"), of("re_by_hand")]] {
        let found = listed(&submitted, payout(1), super::ME, &Look::Settle, &list, NOW, &super::TIMING);
        assert_eq!(found, Found::Record(lost("re_by_hand")));
    }
}

/// Whoever looks into a review finds the object by its id, though it is not decided.
#[test]
fn a_review_keeps_the_object_that_turns_up() {
    let review = in_state(State::Review).payout.unwrap();
    let kept = hear(&review, &waits(), NOW).unwrap();
    assert_eq!((kept.state, kept.reference.as_deref()), (State::Review, Some("re_1")));
    assert_eq!(hear(&kept, &waits(), NOW), None);
}

#[test]
fn a_flood_of_events_leaves_the_lines_that_matter() {
    let mut item = written(&in_state(State::Due), &event(0, 1, waits()));
    let kept = item.trail.0.clone();
    for id in 1..200 {
        item = written(&item, &event(id, 1 + u64::from(id), waits()));
    }
    assert_eq!(item.trail.0.len(), TRAIL_MAX);
    assert_eq!(item.trail.0[..kept.len()], kept, "created, approved, submitted");
    assert_eq!(item.trail.0.last().unwrap().at_ms, NOW);
    // Alarms are no less than changes.
    let successor = with(|payout| payout.number = 2);
    let Apply::GivenUp(told, _) = apply(&successor, &event(0, 1, succeeded()), NOW) else { panic!() };
    let mut item = *told;
    for id in 1..200 {
        let event = Event { payout: payout(2), ..event(id, 1 + u64::from(id), waits()) };
        item = written(&item, &event);
    }
    assert!(item.trail.0.iter().any(|line| line.about.code.as_deref() == Some(EARLIER_FOUND)));
    // Of a trail that is full of such lines the oldest goes, and never the newest.
    for id in 200..300 {
        let alarm = event(id, 1, Finding::Succeeded { reference: format!("re_{id}") });
        let Apply::GivenUp(told, _) = apply(&item, &alarm, NOW + u64::from(id)) else { panic!() };
        item = *told;
        assert_eq!(item.trail.0.last().unwrap().at_ms, NOW + u64::from(id));
    }
    assert_eq!((item.trail.0.len(), item.trail.0[1].what), (TRAIL_MAX, What::Approved));
}

/// A provider that says the same of one object again and again pushes out nothing on which a decision rests.
#[test]
fn a_flood_about_one_object_leaves_what_is_known_of_others() {
    let mut item = with_an_earlier_one(State::Submitted);
    let kept = item.trail.0.clone();
    for id in 100..300 {
        let failed = Event { payout: payout(2), ..event(id, u64::from(id), lost("re_x")) };
        let earlier = event(id + 1_000, u64::from(id), named("re_1"));
        for told in [failed, earlier] {
            item = match apply(&item, &told, NOW) {
                Apply::Write(item, _) | Apply::GivenUp(item, _) | Apply::Doubled(item, _) => *item,
                ignored @ Apply::Ignore(_) => panic!("{ignored:?}"),
            };
        }
    }
    assert!(item.trail.0.len() <= TRAIL_MAX);
    let told = |what: What| item.trail.0.iter().filter(|line| line.what == what).count();
    for line in kept.iter().filter(|line| line.what != What::Event) {
        assert!(item.trail.0.contains(line), "{line:?}");
    }
    assert!(told(What::Event) > 2, "room is used");
    let of_successor = |id, at, finding| Event { payout: payout(2), ..event(id, at, finding) };
    let after = written(&item, &of_successor(5_000, 9_000, lost("re_2")));
    assert_eq!(stands(&after).0, State::Review, "the earlier one is known to be alive");
}
