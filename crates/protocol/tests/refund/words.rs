//! A person's word among the provider's: which came first, what it was about, and what a late repeat of it may not do.

use super::{ME, NOW, TIMING, failed, in_state, payout, reason, succeeded, waits, with};
use protocol::{
    machine::{
        Machine, Step,
        payout::{Effect, Outcome, Payout, Receive},
    },
    refund::{
        Refund,
        objects::{DOUBLED, OTHER_FAILED},
        payout::{EARLIER_FOUND, Finding, State},
        person::{Resolve, Retry, Seen, resolve, retry},
        step::{Found, Look, listing_failed, record, tells_of_double, unprepared},
        terms::Terms,
        webhook::{Apply, Event, apply},
    },
};

fn event(number: u16, at_s: u64, finding: Finding) -> Event {
    Event {
        id: format!("evt_{number}_{at_s}"),
        created_s: at_s,
        payout: payout(number),
        finding,
        terms: Terms::default(),
    }
}

fn heard(item: &Refund, event: &Event) -> Refund {
    match apply(item, event, NOW) {
        Apply::Write(item, _) | Apply::GivenUp(item, _) | Apply::Doubled(item, _) => *item,
        ignored @ Apply::Ignore(_) => panic!("{ignored:?}"),
    }
}

fn said(item: &Refund, seen: &Seen) -> Result<Refund, Resolve> {
    match resolve(item, item.payout_id(), seen, "ada", NOW) {
        Resolve::Write(item, _) => Ok(*item),
        other => Err(other),
    }
}

fn paid(reference: &str) -> Seen {
    Seen::Paid { reference: reference.into() }
}

fn not_paid(reference: Option<&str>) -> Seen {
    Seen::NotPaid { reference: reference.map(Into::into) }
}

fn state(item: &Refund) -> State {
    item.payout.as_ref().unwrap().state
}

/// The event of its failure came before the person's click, or after it: the end is the same.
#[test]
fn an_object_that_failed_is_not_what_was_paid() {
    let successor = with(|payout| payout.number = 2);
    let review = heard(&successor, &event(1, 10, succeeded()));
    assert_eq!(state(&review), State::Review);
    let ended = heard(&said(&review, &paid("re_1")).unwrap(), &event(1, 20, failed()));
    assert_eq!(state(&ended), State::Failed);
    let late = heard(&review, &event(1, 20, failed()));
    assert_eq!(said(&late, &paid("re_1")), Err(Resolve::ObjectFailed));
    // Whoever looks is told, and has a way out.
    let why = late.payout.as_ref().unwrap().reason.clone().unwrap();
    assert_eq!(why.code, EARLIER_FOUND);
    assert!(why.detail.contains("re_1") && why.detail.contains("has failed since"), "{}", why.detail);
    assert_eq!(state(&said(&late, &not_paid(None)).unwrap()), State::Failed);
    assert_eq!(state(&said(&late, &paid("re_8")).unwrap()), State::Paid);
}

/// A provider that shows an object as paid which had failed before is believed, and so is the person who sees the same.
#[test]
fn what_a_listing_shows_alive_again_may_be_what_was_paid() {
    let lost = record(&in_state(State::Submitted), payout(1), &failed(), NOW).unwrap().0;
    let until = TIMING.payout_busy_until(NOW);
    let Retry::Write(successor, ..) = retry(&lost, payout(1), "ada", until, &TIMING) else { panic!() };
    let found = Finding::Earlier { payout: 1, object: "re_1".into(), failed: None };
    let review = record(&successor, payout(2), &found, NOW).unwrap().0;
    assert_eq!(state(&review), State::Review);
    let paid_after_all = said(&review, &paid("re_1")).unwrap();
    assert_eq!(state(&heard(&paid_after_all, &event(1, 20, failed()))), State::Failed);
    assert_eq!(said(&heard(&review, &event(1, 20, failed())), &paid("re_1")), Err(Resolve::ObjectFailed));
}

/// Where another earlier one is alive, that is the one to look at.
#[test]
fn a_review_names_the_earlier_object_that_is_alive() {
    let successor = with(|payout| payout.number = 3);
    let review = heard(&successor, &event(1, 10, succeeded()));
    let other = Finding::Succeeded { reference: "re_2".into() };
    let two = heard(&review, &event(2, 11, other));
    let left = heard(&two, &event(1, 20, failed()));
    let why = left.payout.as_ref().unwrap().reason.clone().unwrap();
    assert!(why.detail.contains("(re_2)") && why.detail.contains("not known to have failed"), "{}", why.detail);
}

#[test]
fn a_late_repeat_of_not_paid_does_not_end_the_review_that_followed_it() {
    let first = said(&in_state(State::Review), &not_paid(None)).unwrap();
    assert_eq!(said(&first, &not_paid(None)), Err(Resolve::Repeated));
    let again = heard(&first, &event(1, 10, waits()));
    assert_eq!(state(&again), State::Review, "the provider has it after all");
    let unnamed = Err(Resolve::NotNamed("re_1".into()));
    assert_eq!(said(&again, &not_paid(None)), unnamed);
    assert_eq!(said(&again, &not_paid(Some("re_8"))), unnamed);
    let ended = said(&again, &not_paid(Some("re_1"))).unwrap();
    assert_eq!(state(&ended), State::Failed);
    assert_eq!(said(&ended, &not_paid(Some("re_1"))), Err(Resolve::Repeated));
    assert_eq!(state(&said(&again, &paid("re_1")).unwrap()), State::Paid);
    // Before anybody has spoken, none need be named, and another one is no answer.
    let mut shown = in_state(State::Review);
    shown.payout.as_mut().unwrap().reference = Some("re_1".into());
    assert_eq!(said(&shown, &not_paid(Some("re_8"))), unnamed);
    assert_eq!(state(&said(&shown, &not_paid(None)).unwrap()), State::Failed);
}

/// Nor one that an earlier payout's object began, or a second object: there the payout's own is not the one to look at.
#[test]
fn nor_a_review_that_another_object_began() {
    let successor = with(|payout| (payout.number, payout.state) = (2, State::Review));
    let ended = said(&successor, &not_paid(None)).unwrap();
    let earlier = heard(&ended, &event(1, 10, succeeded()));
    assert_eq!((state(&earlier), earlier.payout.as_ref().unwrap().reference.as_deref()), (State::Review, None));
    assert_eq!(said(&earlier, &not_paid(None)), Err(Resolve::NotNamed("re_1".into())));
    assert_eq!(state(&said(&earlier, &not_paid(Some("re_1"))).unwrap()), State::Failed);

    let mut shown = in_state(State::Review);
    shown.payout.as_mut().unwrap().reference = Some("re_1".into());
    let word = not_paid(Some("re_1"));
    let paid_after_all = heard(&said(&shown, &word).unwrap(), &event(1, 10, succeeded()));
    let twice = heard(&paid_after_all, &event(1, 11, Finding::Succeeded { reference: "re_2".into() }));
    let review = heard(&twice, &event(1, 12, failed()));
    assert_eq!(state(&review), State::Review, "the other one has paid");
    assert_eq!(said(&review, &word), Err(Resolve::NotNamed("re_2".into())), "it was said before that one was there");
    assert_eq!(said(&review, &paid("re_1")), Err(Resolve::ObjectFailed));
    assert_eq!(state(&said(&review, &paid("re_2")).unwrap()), State::Paid);
}

#[test]
fn a_name_that_was_wrong_can_be_put_right() {
    let typed = said(&in_state(State::Review), &paid("re_typo")).unwrap();
    for seen in [not_paid(None), not_paid(Some("re_1"))] {
        assert_eq!(said(&typed, &seen), Err(Resolve::NotInReview(State::Paid)), "nothing casts doubt on it");
    }
    let doubted = heard(&typed, &event(1, 10, failed()));
    assert_eq!(doubted.trail.0.last().unwrap().about.code.as_deref(), Some(OTHER_FAILED));
    assert_eq!(state(&doubted), State::Paid);
    assert_eq!(said(&doubted, &paid("re_typo")), Err(Resolve::Repeated));
    assert_eq!(said(&doubted, &paid("re_1")), Err(Resolve::ObjectFailed));
    assert_eq!(said(&doubted, &not_paid(None)), Err(Resolve::NotNamed("re_1".into())), "a late repeat, perhaps");
    assert_eq!(state(&said(&doubted, &not_paid(Some("re_1"))).unwrap()), State::Failed);
    let right = said(&doubted, &paid("re_right")).unwrap();
    assert_eq!((state(&right), right.payout.as_ref().unwrap().reference.as_deref()), (State::Paid, Some("re_right")));
    assert_eq!(said(&right, &not_paid(Some("re_1"))), Err(Resolve::NotInReview(State::Paid)), "that was settled");
}

/// The answer to a call that a person overtook: the process that hears it is perhaps the only one that knows.
#[test]
fn a_consumer_keeps_that_a_second_object_was_paid() {
    let other = Finding::Succeeded { reference: "re_2".into() };
    let seen = said(&in_state(State::Review), &paid("re_1")).unwrap();
    let mut submitted = in_state(State::Submitted);
    submitted.payout.as_mut().unwrap().reference = Some("re_1".into());
    for (before, after) in [(seen, "re_1"), (submitted, "re_2")] {
        let (kept, _) = record(&before, payout(1), &other, NOW).unwrap();
        let stored = kept.payout.as_ref().unwrap();
        assert_eq!((stored.state, stored.reference.as_deref()), (State::Paid, Some(after)));
        assert_eq!(kept.version, before.version + 1);
        let line = kept.trail.0.iter().find(|line| line.about.code.as_deref() == Some(DOUBLED)).unwrap();
        assert_eq!((line.about.payout, line.about.reference.as_deref()), (Some(1), Some("re_2")));
        assert_eq!(tells_of_double(&kept), Some(payout(1)));
        assert_eq!(record(&kept, payout(1), &other, NOW), None, "once");
    }
    assert_eq!(tells_of_double(&in_state(State::Paid)), None);
}

#[test]
fn a_submitted_payout_whose_refunds_cannot_be_listed_is_a_person_s_after_a_week() {
    let week = NOW + 7 * TIMING.payout_window;
    let mut item = in_state(State::Submitted);
    item.payout.as_mut().unwrap().reference = Some("re_1".into());
    assert_eq!(listing_failed(&item, &Look::Settle, week - 1, &TIMING), Found::Wait);
    let Found::Record(finding) = listing_failed(&item, &Look::Settle, week, &TIMING) else { panic!() };
    let (review, _) = record(&item, payout(1), &finding, week).unwrap();
    let stored = review.payout.as_ref().unwrap();
    assert_eq!((stored.state, stored.reference.as_deref()), (State::Review, Some("re_1")));
    assert_eq!(stored.reason.as_ref().unwrap().code, "listing_failed");
    // The provider's word is heard all the same.
    assert_eq!(state(&heard(&review, &event(1, 10, succeeded()))), State::Paid);
}

#[test]
fn a_payout_whose_credentials_are_gone_is_a_person_s_in_the_end() {
    let (window, week) = (TIMING.payout_window, 7 * TIMING.payout_window);
    let mut uncalled = with(|_| {});
    uncalled.payout.as_mut().unwrap().due_ms = NOW;
    for (item, after_ms, code) in [
        (uncalled, week, "never_called"),
        (in_state(State::Due), 2 * window, "listing_failed"),
        (in_state(State::Submitted), week, "listing_failed"),
    ] {
        assert_eq!(unprepared(&item, payout(1), ME, NOW + after_ms - 1, &TIMING), None, "{code}");
        let found = unprepared(&item, payout(1), ME, NOW + after_ms, &TIMING);
        let Some(Finding::Unclear { reference: None, reason }) = found else { panic!("{found:?}") };
        assert_eq!(reason.code, code);
    }
    assert_eq!(unprepared(&in_state(State::Paid), payout(1), ME, NOW + 9 * week, &TIMING), None);
    // The machine writes it, and leaves to the next receive what somebody else wrote first.
    let at = NOW + 2 * window;
    let receive = Receive { copy: payout(1), token: ME, receives: 1, jitter_permille: 0, invocation_ends_ms: u64::MAX };
    let go = |step: Step<Payout, Effect, _>| match step {
        Step::Go(machine, mut effects) => (machine, effects.pop().unwrap()),
        Step::Done(verdict) => panic!("{verdict:?}"),
    };
    let (machine, _) = go(Payout::new(receive, TIMING).step(Outcome::Start, at));
    let (machine, asked) = go(machine.step(Outcome::Read(Some(Box::new(in_state(State::Due)))), at));
    assert_eq!(asked, Effect::Prepare);
    let (machine, write) = go(machine.step(Outcome::NotPrepared, at));
    let Effect::Write { item, .. } = write else { panic!("{write:?}") };
    assert_eq!(item.payout.as_ref().unwrap().reason, Some(reason_of_long()));
    let (_, after) = go(machine.step(Outcome::Conflict(Some(Box::new(in_state(State::Due)))), at));
    assert!(matches!(after, Effect::Release { .. }), "{after:?}");
}

fn reason_of_long() -> protocol::answer::Reason {
    let detail = "the payment's refunds could not be listed for long".into();
    protocol::answer::Reason { detail, ..reason("listing_failed") }
}
