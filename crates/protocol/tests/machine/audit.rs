//! Auditing: take the pass up, look at a page, send, and only then pass it on.

use super::{done, go};
use crate::common::token;
use protocol::{
    audit::{
        Candidate, Finding, INVOCATION_MAX, OpenPayout, PAGE_RESERVE, PASS_EVERY, Pass, Position, Progress, Range,
    },
    delivery,
    expect::Expect,
    ids::{KeyHash, MessageId, Nonce, Operation},
    machine::{
        Machine, Step,
        audit::{Asked, Audit, Effect, Ended, Entry, Outcome, Report, Sent},
        relay::{ENTRIES_PER_BATCH, LOOKS_AT_ONCE},
    },
    refund::{
        id::{PayoutId, RefundId},
        payout::State,
    },
    timing::Timing,
};

const TIMING: Timing = Timing::PRODUCTION;
const NOW: u64 = 1_000_000_000;

fn id(number: usize) -> MessageId {
    MessageId { key: KeyHash::of(Operation::Message, "p", &number.to_string()), nonce: Nonce([7; 5]) }
}

fn candidates(count: usize, chunks: u16) -> Vec<Candidate> {
    let candidate = |number| Candidate { id: id(number), at_ms: 0, deliver_by_ms: NOW, chunks };
    (0..count).map(candidate).collect()
}

fn new(asked: Asked) -> Audit {
    Audit::new(asked, token(1), None, TIMING)
}

/// The pass that this machine writes as `version`.
fn pass(version: u32, position: Option<&str>) -> Pass {
    let position = position.map(|text| Position(text.to_owned()));
    Pass { started_ms: NOW, saved_ms: NOW, position, finished: false, owner: token(1), version }
}

/// Another's pass, written and begun so long ago.
fn others(begun: u64, saved: u64, finished: bool) -> Pass {
    Pass { started_ms: NOW - begun, saved_ms: NOW - saved, owner: token(9), finished, ..pass(5, Some("there")) }
}

fn read(asked: Asked, stored: Option<Pass>) -> Step<Audit, Effect, Report> {
    let (machine, effects) = go(new(asked).step(Outcome::Start, NOW));
    assert_eq!(effects, [Effect::Read]);
    machine.step(Outcome::Read(stored), NOW)
}

/// The machine in front of its first page.
fn scanning() -> Audit {
    let (machine, _) = go(read(Asked::Now, None));
    go(machine.step(Outcome::Saved, NOW)).0
}

fn scanned(candidates: Vec<Candidate>, next: Option<&str>) -> Outcome {
    let next = next.map(|text| Position(text.to_owned()));
    Outcome::Scanned {
        items: 2 * candidates.len() as u64,
        candidates,
        payouts: vec![],
        in_review: 0,
        unreadable: 0,
        next,
    }
}

/// A page whose every message has no delivery item, looked at.
fn found(count: usize, chunks: u16, next: Option<&str>) -> (Audit, Vec<Effect>) {
    let (mut machine, mut effects) = go(scanning().step(scanned(candidates(count, chunks), next), NOW));
    for candidate in 0..count {
        (machine, effects) = go(machine.step(Outcome::Looked { candidate, items: vec![] }, NOW));
    }
    (machine, effects)
}

fn entry(candidate: usize, chunk: u16) -> Entry {
    Entry::Chunk { id: id(candidate), chunk, finding: Finding::NoDeliveryItem }
}

#[test]
fn what_is_due_is_decided_by_the_stored_pass() {
    let ended = |stored| done(read(Asked::Due, Some(stored))).ended;
    assert_eq!(ended(others(PASS_EVERY - 1, PASS_EVERY - 1, true)), Ended::NotDue);
    assert_eq!(ended(others(PASS_EVERY, INVOCATION_MAX - 1, false)), Ended::Elsewhere);
    // The first ever, and one a day after the last: from the beginning.
    for stored in [None, Some(others(PASS_EVERY, 0, true))] {
        let (_, effects) = go(read(Asked::Due, stored.clone()));
        let (version, expect) = stored.map_or((1, Expect::Absent), |pass| (6, Expect::Version(pass.version)));
        assert_eq!(effects, [Effect::Save { pass: pass(version, None), expect }]);
    }
    // An unfinished one that nobody is at: on from where it stood, however old.
    for begun in [INVOCATION_MAX, 9 * PASS_EVERY] {
        let (machine, effects) = go(read(Asked::Due, Some(others(begun, INVOCATION_MAX, false))));
        let taken = Pass { started_ms: NOW - begun, ..pass(6, Some("there")) };
        assert_eq!(effects, [Effect::Save { pass: taken, expect: Expect::Version(5) }]);
        let (_, effects) = go(machine.step(Outcome::Saved, NOW));
        let after = Some(Position("there".to_owned()));
        assert_eq!(effects, [Effect::Scan { after, range: Range::at(NOW, &TIMING) }]);
    }
}

#[test]
fn asked_for_now_it_begins_whatever_is_stored() {
    for stored in [others(1, 1, false), others(1, 1, true)] {
        let (_, effects) = go(read(Asked::Now, Some(stored)));
        assert_eq!(effects, [Effect::Save { pass: pass(6, None), expect: Expect::Version(5) }]);
    }
}

#[test]
fn of_two_that_meet_the_loser_stops_and_nobody_stops_for_itself() {
    let (machine, _) = go(read(Asked::Now, None));
    for winner in [None, Some(others(0, 0, false)), Some(Pass { owner: token(2), ..pass(1, None) })] {
        assert_eq!(done(machine.clone().step(Outcome::Conflict(winner), NOW)).ended, Ended::Elsewhere);
    }
    let (_, effects) = go(machine.clone().step(Outcome::Conflict(Some(pass(1, None))), NOW));
    assert!(matches!(effects[..], [Effect::Scan { .. }]), "my own write, repeated by the SDK");
    assert_eq!(done(machine.step(Outcome::Failed, NOW)).ended, Ended::Failed);
}

#[test]
fn an_empty_table_is_finished_after_one_page() {
    let (machine, effects) = go(scanning().step(scanned(vec![], None), NOW));
    let last = Pass { finished: true, ..pass(2, None) };
    assert_eq!(effects, [Effect::Save { pass: last, expect: Expect::Version(1) }]);
    let report = done(machine.step(Outcome::Saved, NOW));
    assert_eq!((report.ended, report.enqueued(), report.messages), (Ended::Finished, 0, 0));
}

#[test]
fn thirty_two_look_ups_run_at_once_and_nothing_is_sent_before_the_last() {
    let (mut machine, effects) = go(scanning().step(scanned(candidates(100, 1), None), NOW));
    let look = |candidate| Effect::Look { candidate, id: id(candidate) };
    assert_eq!(effects, (0..LOOKS_AT_ONCE).map(look).collect::<Vec<_>>());
    for candidate in (0..LOOKS_AT_ONCE).rev().chain(LOOKS_AT_ONCE..100) {
        let (next, effects) = go(machine.step(Outcome::Looked { candidate, items: vec![] }, NOW));
        machine = next;
        match effects[..] {
            [Effect::Look { .. }] | [] => {}
            [Effect::Send(_)] => assert_eq!(candidate, 99),
            ref other => panic!("{other:?}"),
        }
    }
}

#[test]
fn each_chunk_is_judged_and_counted_by_its_reason() {
    let at = |state, lease_ms| Some(Progress { state, lease_ms, not_before_ms: 0 });
    let old = NOW - TIMING.visibility - 1;
    let items = vec![
        (0, at(delivery::State::Done, old)),
        (1, at(delivery::State::InFlight, old)),
        (2, at(delivery::State::InFlight, old + 1)),
        (3, at(delivery::State::Retry, old)),
        (5, None),
        (99, at(delivery::State::Retry, old)),
    ];
    let (machine, _) = go(scanning().step(scanned(candidates(1, 6), None), NOW));
    let (machine, effects) = go(machine.step(Outcome::Looked { candidate: 0, items }, NOW));
    let entries = [(1, Finding::StuckInFlight), (3, Finding::StuckRetry), (4, Finding::NoDeliveryItem)]
        .map(|(chunk, finding)| Entry::Chunk { id: id(0), chunk, finding });
    assert_eq!(effects, [Effect::Send(entries.to_vec())]);
    let (machine, _) = go(machine.step(Outcome::Sent(vec![Sent::Confirmed; 3]), NOW));
    let report = done(machine.step(Outcome::Saved, NOW));
    let expected = Report {
        scanned: 2,
        messages: 1,
        no_delivery_item: 1,
        stuck_in_flight: 1,
        stuck_retry: 1,
        payouts_due: 0,
        payouts_submitted: 0,
        payouts_in_review: 0,
        not_repaired: 1,
        ended: Ended::Finished,
    };
    assert_eq!(report, expected);
}

#[test]
fn open_payouts_get_a_copy_once_they_are_old_enough_and_each_is_counted_by_its_state() {
    // Its copy may come back that late: after a receive that died, or at the backoff's longest wait.
    let young = TIMING.grace + TIMING.window + TIMING.visibility + 1_080_000;
    let open = |number: u16, state, age: u64| {
        let refund = RefundId { key: KeyHash::of(Operation::Refund, "p", "k"), nonce: Nonce([7; 5]) };
        OpenPayout { payout: PayoutId { refund, number }, state, since_ms: NOW - age }
    };
    let payouts = vec![
        open(1, State::Due, young),
        open(2, State::Due, young + 1),
        open(3, State::Submitted, young),
        open(4, State::Submitted, young + 1),
        open(5, State::Due, 9 * young),
    ];
    let page = Outcome::Scanned {
        items: 5,
        candidates: vec![],
        payouts: payouts.clone(),
        in_review: 3,
        unreadable: 0,
        next: None,
    };
    let (machine, effects) = go(scanning().step(page, NOW));
    let sent: Vec<Entry> = [1, 3, 4].map(|index| Entry::Payout(payouts[index])).to_vec();
    assert_eq!(effects, [Effect::Send(sent)]);
    let outcomes = vec![Sent::Confirmed, Sent::Confirmed, Sent::Gone];
    let (machine, effects) = go(machine.step(Outcome::Sent(outcomes), NOW));
    assert!(matches!(&effects[..], [Effect::Save { .. }]), "{effects:?}");
    let report = done(machine.step(Outcome::Saved, NOW));
    assert_eq!((report.payouts_due, report.payouts_submitted, report.enqueued(), report.missed()), (1, 1, 2, 1));
    assert_eq!((report.payouts_in_review, report.not_repaired), (3, 0), "they are told, and are nothing to repair");
}

#[test]
fn batches_of_ten_span_messages_and_the_page_is_passed_after_the_last() {
    let (mut machine, mut effects) = found(3, 7, Some("next"));
    let mut sent = Vec::new();
    while let [Effect::Send(batch)] = &effects[..] {
        assert!(batch.len() <= ENTRIES_PER_BATCH);
        sent.extend(batch.clone());
        (machine, effects) = go(machine.step(Outcome::Sent(vec![Sent::Confirmed; batch.len()]), NOW));
    }
    let expected: Vec<Entry> = (0..3).flat_map(|message| (0..7).map(move |chunk| entry(message, chunk))).collect();
    assert_eq!(sent, expected);
    assert_eq!(effects, [Effect::Save { pass: pass(2, Some("next")), expect: Expect::Version(1) }]);
    let (_, effects) = go(machine.step(Outcome::Saved, NOW));
    let after = Some(Position("next".to_owned()));
    assert_eq!(effects, [Effect::Scan { after, range: Range::at(NOW, &TIMING) }]);
}

#[test]
fn a_copy_that_is_not_confirmed_ends_the_invocation_before_its_page_is_passed() {
    for outcomes in [vec![Sent::Confirmed, Sent::Unconfirmed], vec![Sent::Confirmed], vec![Sent::Unconfirmed; 2]] {
        let (machine, _) = found(1, 2, None);
        let confirmed = outcomes.iter().filter(|sent| **sent == Sent::Confirmed).count() as u64;
        let report = done(machine.step(Outcome::Sent(outcomes), NOW));
        assert_eq!((report.ended, report.no_delivery_item), (Ended::Failed, confirmed));
    }
}

#[test]
fn what_is_gone_or_refused_holds_nothing_up() {
    let (machine, _) = found(1, 4, None);
    let outcomes = vec![Sent::Gone, Sent::Held, Sent::Refused, Sent::Confirmed];
    let (machine, effects) = go(machine.step(Outcome::Sent(outcomes), NOW));
    assert!(matches!(&effects[..], [Effect::Save { pass, .. }] if pass.finished));
    let report = done(machine.step(Outcome::Saved, NOW));
    assert_eq!((report.enqueued(), report.not_repaired, report.ended), (1, 1, Ended::Finished));
}

#[test]
fn a_look_up_that_fails_ends_the_invocation_once_the_others_are_back() {
    let (machine, _) = go(scanning().step(scanned(candidates(40, 1), None), NOW));
    let (mut machine, effects) = go(machine.step(Outcome::Failed, NOW));
    assert_eq!(effects, [], "nothing new is begun");
    for candidate in 1..LOOKS_AT_ONCE - 1 {
        let (next, effects) = go(machine.step(Outcome::Looked { candidate, items: vec![] }, NOW));
        assert_eq!(effects, []);
        machine = next;
    }
    let last = Outcome::Looked { candidate: LOOKS_AT_ONCE - 1, items: vec![] };
    assert_eq!(done(machine.step(last, NOW)).ended, Ended::Failed);
    assert_eq!(done(scanning().step(Outcome::Failed, NOW)).ended, Ended::Failed, "a scan that fails");
}

#[test]
fn a_page_is_begun_only_if_there_is_time_for_it() {
    for (left, begun) in [(PAGE_RESERVE + 1, true), (PAGE_RESERVE, false), (0, false)] {
        let machine = Audit::new(Asked::Now, token(1), Some(NOW + left), TIMING);
        let (machine, _) = go(go(machine.step(Outcome::Start, NOW)).0.step(Outcome::Read(None), NOW));
        match machine.step(Outcome::Saved, NOW) {
            Step::Go(_, effects) => assert!(begun && matches!(effects[..], [Effect::Scan { .. }])),
            Step::Done(report) => assert_eq!((begun, report.ended), (false, Ended::OutOfTime)),
        }
    }
}

/// An unfinished pass whose last page was just done ends finished, though no time is left.
#[test]
fn the_end_of_the_table_is_the_end_even_when_time_is_over() {
    let machine = Audit::new(Asked::Now, token(1), Some(NOW + PAGE_RESERVE + 1), TIMING);
    let (machine, _) = go(go(machine.step(Outcome::Start, NOW)).0.step(Outcome::Read(None), NOW));
    let (machine, _) = go(machine.step(Outcome::Saved, NOW));
    let (machine, _) = go(machine.step(scanned(vec![], None), NOW + PAGE_RESERVE));
    assert_eq!(done(machine.step(Outcome::Saved, NOW + PAGE_RESERVE)).ended, Ended::Finished);
}
