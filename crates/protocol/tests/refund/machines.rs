//! Each machine of refunds: which effects, in which order, after which outcomes.

use super::{
    ME, NOW, OTHER, TIMING, approved, called, decision, in_state, marked, payout, pending, reason, refused, succeeded,
    waits,
};
use crate::machine::{done, go};
use protocol::{
    machine::{
        Machine, Named,
        change_payout::{self, Answer as Changed, Ask, ChangePayout},
        create_refund::{self, CreateRefund},
        decide_refund::{self, DecideRefund},
        payout::{self as consumer, Answer, Effect, Outcome, Payout, Purpose, Receive, Verdict},
        payout_dead_letter::{self as grave, PayoutDeadLetter},
        relay::{self, Entry, Record, Relay},
    },
    refund::{
        Refund,
        create::Prior,
        decide::{Verdict as Way, decided},
        payout::State,
        person::{Resolve, Retry, Seen},
        step::Listed,
        terms::Terms,
        trail::{By, What},
        webhook::Event,
    },
};

#[test]
fn a_create_is_one_write_and_an_answer() {
    use create_refund::{EFFECTS, Effect, Outcome, Verdict};
    let (machine, effects) = go(CreateRefund::new(pending()).step(Outcome::Start, 0));
    assert_eq!(effects, [Effect::Put(Box::new(pending()))]);
    assert_eq!(effects[0].name(), EFFECTS[0]);
    let id = pending().id;
    let prior = |item: &Refund| Prior { id: item.id, fingerprint: item.fingerprint };
    let mut first = pending();
    first.id.nonce = protocol::ids::Nonce([1; 5]);
    let mut other = first.clone();
    other.fingerprint.hash[0] ^= 1;
    for (outcome, verdict) in [
        (Outcome::Written, Verdict::Created(id)),
        (Outcome::Taken(prior(&pending())), Verdict::Created(id)),
        (Outcome::Taken(prior(&first)), Verdict::Duplicate(first.id)),
        (Outcome::Taken(prior(&other)), Verdict::Reused),
        (Outcome::Unknown, Verdict::Unavailable),
    ] {
        assert_eq!(done(machine.clone().step(outcome, 0)), verdict);
    }
    assert_eq!(machine.clone().stuck(), Verdict::Unavailable);
    assert_eq!(go(machine.clone().step(Outcome::Start, 0)), (machine, vec![]));
}

fn deciding(way: Way) -> DecideRefund {
    let machine = DecideRefund::new("acme", pending().id, decision(way, 2));
    let (machine, effects) = go(machine.step(decide_refund::Outcome::Start, 0));
    assert_eq!(effects[0].name(), decide_refund::EFFECTS[0]);
    machine
}

#[test]
fn a_decision_is_written_before_its_copy_is_sent_and_only_the_winner_sends() {
    use decide_refund::{Effect, Outcome, Verdict};
    let won = |way, payout| Verdict::Decided { decision: decision(way, 2), payout, already: false };
    let mine = decided(&pending(), &decision(Way::Approve, 2));
    for outcome in [Outcome::Written, Outcome::Conflict(Some(Box::new(mine)))] {
        let (machine, effects) = go(deciding(Way::Approve).step(outcome, 0));
        assert_eq!(effects, [Effect::Send(payout(1))]);
        assert_eq!(machine.clone().stuck(), won(Way::Approve, Some(payout(1))));
        assert_eq!(done(machine.step(Outcome::Sent, 0)), won(Way::Approve, Some(payout(1))));
    }
    assert_eq!(done(deciding(Way::Reject).step(Outcome::Written, 0)), won(Way::Reject, None));

    let lost = |way, stored| done(deciding(way).step(Outcome::Conflict(stored), 0));
    let stored = || Some(Box::new(approved()));
    let first = decision(Way::Approve, 1);
    let already = Verdict::Decided { decision: first.clone(), payout: Some(payout(1)), already: true };
    assert_eq!(lost(Way::Approve, stored()), already);
    assert_eq!(lost(Way::Reject, stored()), Verdict::NotPending(first));
    assert_eq!(lost(Way::Reject, None), Verdict::NotFound);
    assert_eq!(done(deciding(Way::Approve).step(Outcome::Unknown, 0)), Verdict::Unavailable);
    assert_eq!(deciding(Way::Approve).stuck(), Verdict::Unavailable);
}

/// An approval's repeat names the first payout, even when a retry has made another.
#[test]
fn approving_again_names_the_first_payout_for_ever() {
    let mut retried = approved();
    retried.payout.as_mut().unwrap().number = 3;
    let outcome = decide_refund::Outcome::Conflict(Some(Box::new(retried)));
    let decide_refund::Verdict::Decided { payout: named, .. } = done(deciding(Way::Approve).step(outcome, 0)) else {
        panic!()
    };
    assert_eq!(named, Some(payout(1)));
}

fn receive(ends: u64) -> Payout {
    let receive = Receive { copy: payout(1), token: ME, receives: 1, jitter_permille: 0, invocation_ends_ms: ends };
    let (machine, effects) = go(Payout::new(receive, TIMING).step(Outcome::Start, NOW));
    assert_eq!(effects, [Effect::Read]);
    machine
}

/// The machine that has read this and has credentials, and what it asks for.
fn prepared(item: Refund, ends: u64, now: u64) -> (Payout, Effect) {
    let (machine, effects) = go(receive(ends).step(Outcome::Read(Some(Box::new(item))), now));
    assert_eq!(effects, [Effect::Prepare]);
    one(go(machine.step(Outcome::Prepared, now)))
}

fn one((machine, mut effects): (Payout, Vec<Effect>)) -> (Payout, Effect) {
    assert_eq!(effects.len(), 1, "{effects:?}");
    (machine, effects.pop().unwrap())
}

fn written(step: (Payout, Effect), purpose: Purpose) -> (Payout, Box<Refund>) {
    match step.1 {
        Effect::Write { purpose: why, item, .. } if why == purpose => (step.0, item),
        other => panic!("{other:?}"),
    }
}

/// The machine that has read this, announced a call and makes it.
fn calling(item: Refund, ends: u64, now: u64) -> Payout {
    let (machine, _) = written(prepared(item, ends, now), Purpose::Stamp);
    let (machine, effect) = one(go(machine.step(Outcome::Written, now)));
    assert!(matches!(effect, Effect::Call { key, .. } if key == payout(1)));
    machine
}

/// The machine whose call was refused, and that asks for a listing.
fn looking(item: Refund) -> Payout {
    let refusal = Outcome::Called(Answer::Heard(refused()));
    let (machine, effect) = one(go(calling(item, u64::MAX, NOW).step(refusal, NOW)));
    assert!(matches!(effect, Effect::Look { .. }));
    machine
}

fn released(step: (Payout, Effect)) -> u64 {
    let Effect::Release { delay_ms } = step.1 else { panic!("{:?}", step.1) };
    assert_eq!(done(step.0.step(Outcome::Released, NOW)), Verdict::Keep);
    delay_ms
}

#[test]
fn read_prepare_stamp_call_record_and_then_acknowledge() {
    let (machine, stamped) = written(prepared(approved(), u64::MAX, NOW), Purpose::Stamp);
    assert_eq!(stamped.payout.as_ref().unwrap().first_call_ms, Some(NOW));
    let (machine, effect) = one(go(machine.step(Outcome::Written, NOW)));
    assert_eq!(effect, Effect::Call { key: payout(1), amount: 4_200, refund: stamped.clone() });
    let (machine, item) =
        written(one(go(machine.step(Outcome::Called(Answer::Heard(succeeded())), NOW))), Purpose::Record);
    assert_eq!(item.payout.as_ref().unwrap().state, State::Paid);
    assert!(matches!(done(machine.clone().step(Outcome::Written, NOW)), Verdict::Ack(_)));
    // The SDK's own repeat meets what its first try wrote.
    assert!(matches!(done(machine.clone().step(Outcome::Conflict(Some(item)), NOW)), Verdict::Ack(_)));
    // Somebody else wrote something else: the finding is written over that.
    let (_, again) = written(one(go(machine.step(Outcome::Conflict(Some(stamped)), NOW))), Purpose::Record);
    assert_eq!(again.payout.unwrap().state, State::Paid);
}

#[test]
fn a_copy_that_is_not_needed_is_acknowledged_after_one_read() {
    for state in [State::Paid, State::Failed, State::Review] {
        let read = Outcome::Read(Some(Box::new(in_state(state))));
        assert!(matches!(done(receive(u64::MAX).step(read, NOW)), Verdict::Ack(_)));
    }
    for outcome in [Outcome::Read(None), Outcome::ReadFailed] {
        assert_eq!(released(one(go(receive(u64::MAX).step(outcome, NOW)))), 10_000);
    }
}

#[test]
fn a_submitted_payout_is_looked_for_and_its_copy_kept() {
    let (machine, effect) = prepared(in_state(State::Submitted), u64::MAX, NOW);
    assert!(matches!(effect, Effect::Look { .. }));
    let list = vec![Listed { payout: payout(1), finding: waits(), terms: Terms::default() }];
    assert_eq!(released(one(go(machine.clone().step(Outcome::Listed(list), NOW)))), 10_000);
    assert_eq!(released(one(go(machine.step(Outcome::LookFailed, NOW)))), 10_000);
}

#[test]
fn what_says_nothing_is_asked_again_under_the_same_key_and_never_acknowledged() {
    let machine = calling(called(1), u64::MAX, NOW + 1);
    for (after_ms, delay) in [(None, 10_000), (Some(70_000), 70_000), (Some(u64::MAX), 43_200_000)] {
        let later = Outcome::Called(Answer::Later { reason: reason("timeout"), after_ms, untouched: false });
        assert_eq!(released(one(go(machine.clone().step(later, NOW)))), delay);
    }
}

/// The only call certainly did nothing: its announcement is taken back, whatever becomes of that write.
#[test]
fn a_call_that_did_nothing_is_taken_back_and_asked_again() {
    let after = Some(70_000);
    let nothing = || Outcome::Called(Answer::Later { reason: reason("HTTP_401"), after_ms: after, untouched: true });
    let step = go(calling(approved(), u64::MAX, NOW).step(nothing(), NOW));
    let (machine, item) = written(one(step), Purpose::Withdraw);
    let stored = item.payout.as_ref().unwrap();
    assert_eq!((stored.first_call_ms, stored.calls, stored.caller), (None, 0, None));
    assert_eq!((stored.reason.as_ref(), stored.refused()), (Some(&reason("HTTP_401")), None));
    for outcome in [Outcome::Written, Outcome::WriteUnknown, Outcome::Conflict(None)] {
        assert_eq!(released(one(go(machine.clone().step(outcome, NOW)))), 70_000);
    }
    // Called again it is as new, but for the trail, which tells of the first call once.
    let (_, again) = written(prepared(*item, u64::MAX, NOW + 1), Purpose::Stamp);
    let stored = again.payout.as_ref().unwrap();
    assert_eq!((stored.first_call_ms, stored.calls, &stored.reason), (Some(NOW + 1), 1, &None));
    assert_eq!(again.trail.0.iter().filter(|line| line.what == What::FirstCall).count(), 1);
    // Where another call was announced, nobody knows what the provider has.
    assert_eq!(released(one(go(calling(called(1), u64::MAX, NOW).step(nothing(), NOW)))), 70_000);
    // After a week of that a person looks.
    let week = NOW + 7 * TIMING.payout_window;
    let mut due = approved();
    due.payout.as_mut().unwrap().due_ms = NOW;
    for (at, ends) in [(week - 1, false), (week, true)] {
        let (machine, effect) = prepared(due.clone(), u64::MAX, at);
        assert!(matches!(effect, Effect::Look { .. }));
        let silent = one(go(machine.clone().step(Outcome::LookFailed, at)));
        let (machine, _) = written(one(go(machine.step(Outcome::Listed(vec![]), at))), Purpose::Stamp);
        let (machine, _) = one(go(machine.step(Outcome::Written, at)));
        let called = one(go(machine.step(nothing(), at)));
        if ends {
            for step in [silent, called] {
                let stored = written(step, Purpose::Record).1.payout.unwrap();
                assert_eq!((stored.state, stored.reason.unwrap().code.as_str()), (State::Review, "never_called"));
            }
        } else {
            assert_eq!(released(silent), 10_000);
            written(called, Purpose::Withdraw);
        }
    }
    // Too late to write.
    let ends = NOW + TIMING.call + TIMING.record + TIMING.margin + 1;
    assert_eq!(released(one(go(calling(approved(), ends, NOW).step(nothing(), ends)))), 70_000);
}

#[test]
fn a_refusal_is_believed_only_after_a_listing() {
    let machine = looking(approved());
    let (_, item) = written(one(go(machine.clone().step(Outcome::Listed(vec![]), NOW))), Purpose::Record);
    let failed = item.payout.unwrap();
    assert_eq!((failed.state, failed.reason.unwrap().code.as_str()), (State::Failed, "charge_disputed"));
    let list = vec![Listed { payout: payout(1), finding: succeeded(), terms: Terms::default() }];
    let (_, item) = written(one(go(machine.step(Outcome::Listed(list), NOW))), Purpose::Record);
    assert_eq!(item.payout.unwrap().state, State::Paid);
}

/// Another call may have been taken: nobody calls again, and a person looks once its caller is gone.
#[test]
fn a_refusal_after_another_call_is_a_mark_and_then_a_person_s() {
    let (machine, item) = written(one(go(looking(called(1)).step(Outcome::Listed(vec![]), NOW))), Purpose::Record);
    assert_eq!(item.payout.as_ref().unwrap().refused(), Some((NOW, &reason("charge_disputed"))));
    assert_eq!(released(one(go(machine.step(Outcome::Written, NOW)))), 10_000);
    let busy = TIMING.payout_busy_until(NOW);
    let (machine, effect) = prepared((*item).clone(), u64::MAX, busy - 1);
    assert!(matches!(effect, Effect::Look { .. }), "never called for again");
    assert_eq!(released(one(go(machine.step(Outcome::Listed(vec![]), busy - 1)))), 10_000);
    let (machine, _) = prepared((*item).clone(), u64::MAX, busy);
    let (machine, item) = written(one(go(machine.step(Outcome::Listed(vec![]), busy))), Purpose::Record);
    let stored = item.payout.as_ref().unwrap();
    let code = stored.reason.as_ref().map(|why| why.code.as_str());
    assert_eq!((stored.state, code), (State::Review, Some("refused_after_other_call")));
    assert!(matches!(done(machine.step(Outcome::Written, busy)), Verdict::Ack(_)));
}

/// The failed write of a refusal that seemed to be the only one meets the call that another receive has announced.
#[test]
fn a_call_that_is_announced_before_a_refusal_is_recorded_keeps_it_from_being_the_end() {
    let (machine, item) = written(one(go(looking(approved()).step(Outcome::Listed(vec![]), NOW))), Purpose::Record);
    assert_eq!(item.payout.unwrap().state, State::Failed);
    let (_, item) = written(one(go(machine.step(Outcome::Conflict(Some(Box::new(called(2)))), NOW))), Purpose::Record);
    let stored = item.payout.unwrap();
    assert_eq!((stored.state, stored.refused().is_some()), (State::Due, true));
}

/// What a listing did not show may be in the hands of a call that was announced meanwhile: that is looked at anew. An
/// object is an object, whatever was written.
#[test]
fn a_listing_that_showed_nothing_is_not_written_over_what_came_before_it() {
    let busy = TIMING.payout_busy_until(NOW);
    let (machine, _) = prepared(marked(2), u64::MAX, busy);
    let (machine, _) = written(one(go(machine.step(Outcome::Listed(vec![]), busy))), Purpose::Record);
    let (machine, effect) = one(go(machine.step(Outcome::Conflict(Some(Box::new(in_state(State::Submitted)))), busy)));
    assert!(matches!(effect, Effect::Look { .. }), "{effect:?}");
    let list = vec![Listed { payout: payout(1), finding: succeeded(), terms: Terms::default() }];
    let (machine, _) = written(one(go(machine.step(Outcome::Listed(list), busy))), Purpose::Record);
    let (_, item) = written(one(go(machine.step(Outcome::Conflict(Some(Box::new(called(3)))), busy))), Purpose::Record);
    assert_eq!(item.payout.unwrap().state, State::Paid);
}

/// A listing that does not answer says nothing; an empty one says that the provider has nothing.
#[test]
fn a_listing_that_fails_is_not_an_empty_one() {
    for item in [approved(), called(1)] {
        let (machine, item) = written(one(go(looking(item).step(Outcome::LookFailed, NOW))), Purpose::Record);
        let stored = item.payout.as_ref().unwrap();
        assert_eq!(stored.refused(), Some((NOW, &reason("charge_disputed"))), "kept, so that nobody calls again");
        assert_eq!(released(one(go(machine.clone().step(Outcome::Written, NOW)))), 10_000);
        // Its answer was lost, and the repeat meets it.
        assert_eq!(released(one(go(machine.clone().step(Outcome::Conflict(Some(item)), NOW)))), 10_000);
        let theirs = Outcome::Conflict(Some(Box::new(called(7))));
        let (_, item) = written(one(go(machine.step(theirs, NOW))), Purpose::Record);
        assert!(item.payout.unwrap().refused().is_some());
    }
    // The only call was refused, and the next receive gets the listing.
    let (machine, _) = prepared(marked(1), u64::MAX, NOW);
    let (_, item) = written(one(go(machine.step(Outcome::Listed(vec![]), NOW))), Purpose::Record);
    assert_eq!(item.payout.unwrap().state, State::Failed);
    let settled = TIMING.payout_busy_until(NOW + TIMING.payout_window);
    let (past_the_window, effect) = prepared(in_state(State::Due), u64::MAX, settled);
    assert!(matches!(effect, Effect::Look { .. }));
    assert_eq!(released(one(go(past_the_window.step(Outcome::LookFailed, settled)))), 10_000);
}

#[test]
fn a_refusal_that_leaves_no_time_for_a_listing_is_kept() {
    let least = TIMING.call + TIMING.record + TIMING.margin;
    let machine = calling(called(1), NOW + least + 1, NOW);
    let refusal = Outcome::Called(Answer::Heard(refused()));
    let (machine, item) = written(one(go(machine.step(refusal, NOW + 1))), Purpose::Record);
    assert!(item.payout.unwrap().refused().is_some());
    assert_eq!(released(one(go(machine.step(Outcome::Written, NOW + 1)))), 10_000);
}

/// The only call was refused, and so is the listing: the call's word is the provider's reason.
#[test]
fn a_listing_that_is_refused_after_the_only_call_was_is_no_review() {
    let step = go(looking(approved()).step(Outcome::LookRefused(reason("resource_missing")), NOW));
    let (_, item) = written(one(step), Purpose::Record);
    let stored = item.payout.unwrap();
    assert_eq!((stored.state, stored.reason), (State::Failed, Some(reason("charge_disputed"))));
}

#[test]
fn a_listing_that_never_answers_is_given_up_on() {
    let given_up = NOW + 2 * TIMING.payout_window;
    for (at, ends) in [(given_up - 1, false), (given_up, true)] {
        let (machine, _) = prepared(in_state(State::Due), u64::MAX, at);
        let step = one(go(machine.step(Outcome::LookFailed, at)));
        if ends {
            let (_, item) = written(step, Purpose::Record);
            let stored = item.payout.unwrap();
            assert_eq!((stored.state, stored.reason.unwrap().code.as_str()), (State::Review, "listing_failed"));
        } else {
            assert_eq!(released(step), 10_000);
        }
    }
}

/// A listing that is refused for good would be refused for ever: a person looks, whatever it was asked for.
#[test]
fn a_listing_that_is_refused_ends_in_review_with_the_provider_s_reason() {
    let settled = TIMING.payout_busy_until(NOW + TIMING.payout_window);
    let (of_a_refusal, _) = prepared(marked(2), u64::MAX, settled);
    let (of_a_submitted, _) = prepared(in_state(State::Submitted), u64::MAX, NOW);
    let (past_the_window, _) = prepared(in_state(State::Due), u64::MAX, settled);
    let mut successor = in_state(State::Due);
    (successor.payout.as_mut().unwrap().number, successor.payout.as_mut().unwrap().first_call_ms) = (2, None);
    let receive = Receive { copy: payout(2), token: ME, receives: 1, jitter_permille: 0, invocation_ends_ms: u64::MAX };
    let (machine, _) = go(Payout::new(receive, TIMING).step(Outcome::Start, NOW));
    let (machine, _) = go(machine.step(Outcome::Read(Some(Box::new(successor))), NOW));
    let (before_a_successor, effect) = one(go(machine.step(Outcome::Prepared, NOW)));
    assert!(matches!(effect, Effect::Look { .. }));
    for (at, machine) in [of_a_refusal, of_a_submitted, past_the_window, before_a_successor].into_iter().enumerate() {
        let step = go(machine.step(Outcome::LookRefused(reason("resource_missing")), settled));
        let (machine, item) = written(one(step), Purpose::Record);
        let stored = item.payout.as_ref().unwrap();
        let why = stored.reason.as_ref().unwrap();
        assert_eq!((stored.state, why.code.as_str()), (State::Review, "listing_refused"));
        let said = "the payment's refunds cannot be listed: resource_missing: the provider said resource_missing";
        let refusal = "; a call was refused: charge_disputed: the provider said charge_disputed";
        assert_eq!(why.detail, if at == 0 { format!("{said}{refusal}") } else { said.to_owned() });
        assert!(matches!(done(machine.step(Outcome::Written, settled)), Verdict::Ack(_)));
    }
}

#[test]
fn past_the_window_nothing_is_called() {
    let past = NOW + TIMING.payout_window;
    let (machine, effect) = prepared(in_state(State::Due), u64::MAX, past);
    assert!(matches!(effect, Effect::Look { .. }));
    assert_eq!(released(one(go(machine.clone().step(Outcome::Listed(vec![]), past)))), 10_000);
    let settled = TIMING.payout_busy_until(past);
    let (_, item) = written(one(go(machine.step(Outcome::Listed(vec![]), settled))), Purpose::Record);
    assert_eq!(item.payout.unwrap().state, State::Review);
}

#[test]
fn a_lost_stamp_is_mine_or_announced_after_the_winner_s_and_another_payout_is_acknowledged() {
    let (machine, mine) = written(prepared(approved(), u64::MAX, NOW), Purpose::Stamp);
    // The SDK's own repeat meets what its first try wrote: that call is announced.
    let (_, effect) = one(go(machine.clone().step(Outcome::Conflict(Some(mine.clone())), NOW)));
    assert_eq!(effect, Effect::Call { key: payout(1), amount: 4_200, refund: mine.clone() });
    // Another consumer's, in the same moment: this one's call is the second.
    let mut theirs = mine;
    theirs.payout.as_mut().unwrap().caller = Some(OTHER);
    let (machine2, item) = written(one(go(machine.clone().step(Outcome::Conflict(Some(theirs)), NOW))), Purpose::Stamp);
    let stamped = item.payout.as_ref().unwrap();
    assert_eq!((stamped.calls, stamped.caller, item.version), (2, Some(ME), 4));
    let (_, effect) = one(go(machine2.step(Outcome::Written, NOW)));
    assert!(matches!(effect, Effect::Call { .. }));
    // A refusal that was recorded meanwhile is looked after, not called over.
    let (_, effect) = one(go(machine.clone().step(Outcome::Conflict(Some(Box::new(marked(2)))), NOW)));
    assert!(matches!(effect, Effect::Look { .. }));
    let mut retried = approved();
    retried.payout.as_mut().unwrap().number = 2;
    let verdict = done(machine.clone().step(Outcome::Conflict(Some(Box::new(retried))), NOW));
    assert!(matches!(verdict, Verdict::Ack(_)));
    for outcome in [Outcome::WriteUnknown, Outcome::Conflict(None)] {
        assert_eq!(released(one(go(machine.clone().step(outcome, NOW)))), 10_000);
    }
}

#[test]
fn nothing_is_asked_that_would_not_be_recorded_in_time() {
    let least = TIMING.call + TIMING.record + TIMING.margin;
    for (ends, asks) in [(NOW + least, false), (NOW + least + 1, true)] {
        for item in [approved(), in_state(State::Due), in_state(State::Submitted)] {
            let step = prepared(item, ends, NOW);
            if asks {
                assert!(!matches!(step.1, Effect::Release { .. }));
            } else {
                assert_eq!(released(step), 0);
            }
        }
    }
    // The stamp took too long.
    let (machine, _) = written(prepared(approved(), NOW + least + 1, NOW), Purpose::Stamp);
    assert_eq!(released(one(go(machine.step(Outcome::Written, NOW + 1)))), 0);
}

#[test]
fn a_record_is_written_again_while_there_is_time() {
    let machine = calling(called(1), NOW + 40_000, NOW);
    let (machine, item) =
        written(one(go(machine.step(Outcome::Called(Answer::Heard(succeeded())), NOW))), Purpose::Record);
    let (again, same) = written(one(go(machine.step(Outcome::WriteUnknown, NOW))), Purpose::Record);
    assert_eq!(item, same);
    assert_eq!(released(one(go(again.step(Outcome::WriteUnknown, NOW + 30_000)))), 10_000);
}

#[test]
fn names_of_effects_and_a_machine_that_waits_for_nothing() {
    let machine = calling(approved(), u64::MAX, NOW);
    assert_eq!(machine.clone().stuck(), Verdict::Keep);
    assert_eq!(go(machine.clone().step(Outcome::Written, NOW)), (machine, vec![]));
    let (_, stamp) = prepared(approved(), u64::MAX, NOW);
    let names = [Effect::Read.name(), Effect::Prepare.name(), stamp.name()];
    assert_eq!(names, consumer::EFFECTS[..3]);
}

#[test]
fn a_change_is_read_decided_and_written_and_a_lost_write_is_decided_again() {
    use change_payout::{Effect, Outcome, Verdict};
    let busy = TIMING.payout_busy_until(NOW);
    let ask = Ask::Retry { named: payout(1), actor: "a".into() };
    let (reading, effects) = go(ChangePayout::new(ask, ME, TIMING).step(Outcome::Start, NOW));
    assert_eq!(effects, [Effect::Read]);
    let read = || Outcome::Read(Some(Box::new(in_state(State::Failed))));
    let answer = done(reading.clone().step(read(), busy - 1));
    assert_eq!(answer, Verdict::Answer(Changed::Retry(Retry::Busy(busy))));
    let (writing, effects) = go(reading.clone().step(read(), busy));
    let [Effect::Write { item, .. }] = &effects[..] else { panic!("{effects:?}") };
    let (sending, effects) = go(writing.clone().step(Outcome::Written, busy));
    assert_eq!(effects, [Effect::Send(payout(2))]);
    assert!(matches!(sending.clone().stuck(), Verdict::Answer(Changed::Retry(Retry::Write(..)))));
    assert!(matches!(done(sending.step(Outcome::Sent, busy)), Verdict::Answer(Changed::Retry(Retry::Write(..)))));
    // The SDK's own repeat meets what its first try wrote: it is this request's, and its copy is sent.
    let (_, effects) = go(writing.clone().step(Outcome::Conflict(Some(item.clone())), busy));
    assert_eq!(effects, [Effect::Send(payout(2))]);
    // Somebody else's retry, in the same moment, be it with the same API key.
    for by in ["a", "b"] {
        let mut other = item.clone();
        other.trail.0.last_mut().unwrap().by = By::Actor(by.into());
        other.writer = Some(OTHER);
        let repeated = done(writing.clone().step(Outcome::Conflict(Some(other)), busy));
        assert_eq!(repeated, Verdict::Answer(Changed::Retry(Retry::Repeated(payout(2)))));
    }
    assert_eq!(done(writing.clone().step(Outcome::Conflict(None), busy)), Verdict::NotFound);
    assert_eq!(done(writing.step(Outcome::Unknown, busy)), Verdict::Unavailable);
    assert_eq!(done(reading.clone().step(Outcome::Read(None), busy)), Verdict::NotFound);
    assert_eq!(reading.stuck(), Verdict::Unavailable);
}

#[test]
fn an_event_and_a_resolve_end_with_their_write() {
    use change_payout::{Effect, Outcome, Verdict};
    let event =
        Event { id: "evt".into(), created_s: 1, payout: payout(1), finding: succeeded(), terms: Terms::default() };
    let resolve = Ask::Resolve { named: None, seen: Seen::NotPaid { reference: None }, actor: "a".into() };
    for (ask, state) in [(Ask::Event(event), State::Due), (resolve, State::Review)] {
        let (machine, _) = go(ChangePayout::new(ask, ME, TIMING).step(Outcome::Start, NOW));
        let (machine, effects) = go(machine.step(Outcome::Read(Some(Box::new(in_state(state)))), NOW));
        let [Effect::Write { item, .. }] = &effects[..] else { panic!("{effects:?}") };
        let answer = done(machine.clone().step(Outcome::Written, NOW));
        assert!(matches!(
            answer,
            Verdict::Answer(
                Changed::Resolve(Resolve::Write(..)) | Changed::Event(protocol::refund::webhook::Apply::Write(..))
            )
        ));
        // Its answer was lost, and the SDK's repeat meets it: done by this one all the same.
        assert_eq!(done(machine.step(Outcome::Conflict(Some(item.clone())), NOW)), answer);
    }
}

#[test]
fn writes_that_are_always_lost_end() {
    use change_payout::{Outcome, Verdict};
    let resolve = Ask::Resolve { named: None, seen: Seen::NotPaid { reference: None }, actor: "a".into() };
    let (machine, _) = go(ChangePayout::new(resolve, ME, TIMING).step(Outcome::Start, NOW));
    let stored = || Some(Box::new(in_state(State::Review)));
    let (mut machine, _) = go(machine.step(Outcome::Read(stored()), NOW));
    for _ in 1..8 {
        machine = go(machine.step(Outcome::Conflict(stored()), NOW)).0;
    }
    assert_eq!(done(machine.step(Outcome::Conflict(stored()), NOW)), Verdict::Unavailable);
}

#[test]
fn a_dead_letter_is_sent_again_before_it_is_deleted() {
    use grave::{Effect, Outcome, Verdict};
    let (reading, effects) = go(PayoutDeadLetter::new(payout(1)).step(Outcome::Start, NOW));
    assert_eq!(effects, [Effect::Read]);
    let read = |state| Outcome::Read(Some(Box::new(in_state(state))));
    for state in [State::Due, State::Submitted] {
        let (machine, effects) = go(reading.clone().step(read(state), NOW));
        assert_eq!(effects, [Effect::Redrive]);
        assert_eq!(done(machine.clone().step(Outcome::NotRedriven, NOW)), Verdict::Leave);
        assert_eq!(done(machine.step(Outcome::Redriven, NOW)), Verdict::Redriven);
    }
    for state in [State::Paid, State::Failed, State::Review] {
        assert!(matches!(done(reading.clone().step(read(state), NOW)), Verdict::Delete(_)));
    }
    for outcome in [Outcome::Read(None), Outcome::ReadFailed] {
        assert_eq!(done(reading.clone().step(outcome, NOW)), Verdict::Leave);
    }
    assert_eq!(reading.stuck(), Verdict::Leave);
}

#[test]
fn the_relay_handles_payouts_among_messages() {
    let old = NOW - 30_000;
    let records =
        vec![Record::Message { at_ms: old, chunks: 1 }, Record::Payout { at_ms: NOW }, Record::Payout { at_ms: old }];
    let (machine, effects) = go(Relay::new(records, 30_000).step(relay::Outcome::Start, NOW));
    assert_eq!(effects, [0, 1, 2].map(relay::Effect::Look));
    let (machine, _) = go(machine.step(relay::Outcome::Looked { record: 2, present: vec![0] }, NOW));
    let (machine, _) = go(machine.step(relay::Outcome::Looked { record: 0, present: vec![] }, NOW));
    let (_, effects) = go(machine.step(relay::Outcome::Looked { record: 1, present: vec![] }, NOW));
    let expected = vec![Entry { record: 0, chunk: 0, delay_ms: 0 }, Entry { record: 1, chunk: 0, delay_ms: 30_000 }];
    assert_eq!(effects, [relay::Effect::Send(expected)]);
}
