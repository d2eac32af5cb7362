//! Relaying: look-ups at once, sends in stream order, stop at the first entry that is not confirmed.

use super::{done, go};
use protocol::machine::{
    Machine, Step,
    relay::{ENTRIES_PER_BATCH, Effect, Entry, LOOKS_AT_ONCE, Outcome, Record, Relay, Sent, Verdict},
};

const GRACE: u64 = 30_000;
const NOW: u64 = 1_000_000;
/// Accepted longer ago than the grace.
const OLD: u64 = NOW - GRACE;

type Next = Step<Relay, Effect, Verdict>;

fn message(chunks: u16) -> Record {
    Record::Message { at_ms: OLD, chunks }
}

fn start(records: Vec<Record>) -> Next {
    Relay::new(records, GRACE).step(Outcome::Start, NOW)
}

/// Answers every look-up with "none is present".
fn nothing_present(mut step: Next) -> Next {
    let mut queue: Vec<usize> = Vec::new();
    loop {
        let (machine, effects) = match step {
            Step::Go(machine, effects) => (machine, effects),
            end @ Step::Done(_) => return end,
        };
        for effect in &effects {
            match effect {
                Effect::Look(record) => queue.push(*record),
                Effect::Send(_) | Effect::Park(_) => return Step::Go(machine, effects),
            }
        }
        let Some(record) = queue.pop() else { panic!("waits for nothing") };
        step = machine.step(Outcome::Looked { record, present: Vec::new() }, NOW);
    }
}

fn entries(effects: &[Effect]) -> Vec<(usize, u16)> {
    match effects {
        [Effect::Send(entries)] => entries.iter().map(|entry| (entry.record, entry.chunk)).collect(),
        other => panic!("no send: {other:?}"),
    }
}

/// Confirms every batch and parks every record that is asked for; what was sent and parked, and the end.
fn run_to_the_end(mut step: Next) -> (Vec<(usize, u16)>, Vec<usize>, Verdict) {
    let (mut sent, mut parked) = (Vec::new(), Vec::new());
    loop {
        match step {
            Step::Done(verdict) => return (sent, parked, verdict),
            Step::Go(machine, effects) => {
                if let [Effect::Park(record)] = effects[..] {
                    parked.push(record);
                    step = machine.step(Outcome::Parked { confirmed: true, record }, NOW);
                } else {
                    let batch = entries(&effects);
                    step = machine.step(Outcome::Sent(vec![Sent::Confirmed; batch.len()]), NOW);
                    sent.extend(batch);
                }
            }
        }
    }
}

#[test]
fn nothing_to_do_ends_at_once() {
    let verdict = Verdict { failed_from: None, enqueued: 0, parked: 0 };
    assert_eq!(done(start(Vec::new())), verdict);
    assert_eq!(done(start(vec![Record::Skip; 5])), verdict);
}

#[test]
fn thirty_two_look_ups_run_at_once_and_no_more() {
    let (mut machine, effects) = go(start(vec![message(1); 100]));
    let first: Vec<Effect> = (0..LOOKS_AT_ONCE).map(Effect::Look).collect();
    assert_eq!(effects, first);
    // Answered in any order, each starts the next one; nothing is sent before the last.
    for record in (0..100).rev().filter(|record| *record < 32).chain(32..100) {
        let step = machine.step(Outcome::Looked { record, present: Vec::new() }, NOW);
        let (next, effects) = go(step);
        machine = next;
        match effects[..] {
            [Effect::Look(_)] | [] => {}
            [Effect::Send(_)] => assert_eq!(record, 99),
            ref other => panic!("{other:?}"),
        }
    }
}

#[test]
fn batches_of_ten_span_records_in_stream_order() {
    let records = vec![message(4), Record::Skip, message(25), message(1)];
    let (sent, parked, verdict) = run_to_the_end(nothing_present(start(records.clone())));
    let expected: Vec<(usize, u16)> =
        (0..4).map(|chunk| (0, chunk)).chain((0..25).map(|chunk| (2, chunk))).chain([(3, 0)]).collect();
    assert_eq!((sent, parked), (expected, vec![]));
    assert_eq!(verdict, Verdict { failed_from: None, enqueued: 30, parked: 0 });
    let (_, effects) = go(nothing_present(start(records)));
    assert_eq!(entries(&effects).len(), ENTRIES_PER_BATCH);
}

#[test]
fn only_chunks_without_a_delivery_item_are_sent() {
    let (machine, _) = go(start(vec![message(3), message(2)]));
    let (machine, _) = go(machine.step(Outcome::Looked { record: 1, present: vec![0, 1, 9] }, NOW));
    let (_, effects) = go(machine.step(Outcome::Looked { record: 0, present: vec![1] }, NOW));
    assert_eq!(entries(&effects), [(0, 0), (0, 2)]);
}

#[test]
fn a_young_message_waits_for_what_is_left_of_the_grace() {
    for (at_ms, delay_ms) in [(NOW, GRACE), (NOW - 12_345, GRACE - 12_345), (OLD, 0), (0, 0), (NOW + 500, GRACE + 500)]
    {
        let (_, effects) = go(nothing_present(start(vec![Record::Message { at_ms, chunks: 1 }])));
        assert_eq!(effects, [Effect::Send(vec![Entry { record: 0, chunk: 0, delay_ms }])]);
    }
}

#[test]
fn it_stops_at_the_first_entry_that_is_not_confirmed() {
    let records = vec![message(3), message(3), message(3), message(30)];
    let (machine, effects) = go(nothing_present(start(records)));
    assert_eq!(entries(&effects).len(), 10);
    let mut outcomes = vec![Sent::Confirmed; 10];
    outcomes[4] = Sent::Unconfirmed;
    outcomes[8] = Sent::Unconfirmed;
    let verdict = done(machine.step(Outcome::Sent(outcomes), NOW));
    assert_eq!(verdict, Verdict { failed_from: Some(1), enqueued: 8, parked: 0 });
}

#[test]
fn an_answer_that_is_too_short_confirms_nothing_beyond_it() {
    let (machine, _) = go(nothing_present(start(vec![message(1), message(1)])));
    let verdict = done(machine.step(Outcome::Sent(vec![Sent::Confirmed]), NOW));
    assert_eq!(verdict, Verdict { failed_from: Some(1), enqueued: 1, parked: 0 });
}

#[test]
fn what_sqs_refuses_as_the_sender_s_fault_is_parked_and_passed() {
    let (machine, effects) = go(nothing_present(start(vec![message(2), message(9), message(1)])));
    assert_eq!(entries(&effects).len(), 10);
    let mut outcomes = vec![Sent::Confirmed; 10];
    (outcomes[2], outcomes[3]) = (Sent::SenderFault, Sent::SenderFault);
    let (sent, parked, verdict) = run_to_the_end(machine.step(Outcome::Sent(outcomes), NOW));
    assert_eq!((sent, parked), (vec![(1, 8), (2, 0)], vec![1]));
    assert_eq!(verdict, Verdict { failed_from: None, enqueued: 10, parked: 1 });
}

/// A message of 25 chunks whose every entry is refused is one record and one place in the parking queue.
#[test]
fn a_record_is_parked_once_however_many_of_its_chunks_are_refused() {
    let mut step = nothing_present(start(vec![message(25), message(1)]));
    let mut parked = Vec::new();
    let verdict = loop {
        match step {
            Step::Done(verdict) => break verdict,
            Step::Go(machine, effects) => {
                if let [Effect::Park(record)] = effects[..] {
                    parked.push(record);
                    step = machine.step(Outcome::Parked { confirmed: true, record }, NOW);
                } else {
                    let refused = |(record, _): &(usize, u16)| match record {
                        0 => Sent::SenderFault,
                        _ => Sent::Confirmed,
                    };
                    let outcomes = entries(&effects).iter().map(refused).collect();
                    step = machine.step(Outcome::Sent(outcomes), NOW);
                }
            }
        }
    };
    assert_eq!(parked, [0]);
    assert_eq!(verdict, Verdict { failed_from: None, enqueued: 1, parked: 1 });
}

#[test]
fn a_fault_before_a_stop_is_parked_and_one_behind_it_is_left_for_the_repeat() {
    let (machine, _) = go(nothing_present(start(vec![message(1), message(1), message(1)])));
    let outcomes = vec![Sent::SenderFault, Sent::Unconfirmed, Sent::SenderFault];
    let (sent, parked, verdict) = run_to_the_end(machine.step(Outcome::Sent(outcomes), NOW));
    assert_eq!((sent, parked), (vec![], vec![0]));
    assert_eq!(verdict, Verdict { failed_from: Some(1), enqueued: 0, parked: 1 });
}

#[test]
fn a_record_that_is_repeated_is_not_parked_as_well() {
    let (machine, _) = go(nothing_present(start(vec![message(1), message(2)])));
    let outcomes = vec![Sent::Confirmed, Sent::SenderFault, Sent::Unconfirmed];
    let (sent, parked, verdict) = run_to_the_end(machine.step(Outcome::Sent(outcomes), NOW));
    assert_eq!((sent, parked), (vec![], vec![]));
    assert_eq!(verdict, Verdict { failed_from: Some(1), enqueued: 1, parked: 0 });
}

#[test]
fn what_cannot_be_read_is_parked_in_its_turn() {
    let records = vec![message(1), Record::Unreadable, message(1)];
    let (machine, effects) = go(nothing_present(start(records)));
    assert_eq!(entries(&effects), [(0, 0)]);
    let (machine, effects) = go(machine.step(Outcome::Sent(vec![Sent::Confirmed]), NOW));
    assert_eq!(effects, [Effect::Park(1)]);
    let (sent, parked, verdict) = run_to_the_end(Step::Go(machine, effects));
    assert_eq!((sent, parked), (vec![(2, 0)], vec![1]));
    assert_eq!(verdict, Verdict { failed_from: None, enqueued: 2, parked: 1 });
}

#[test]
fn a_record_that_cannot_be_parked_is_repeated() {
    let (machine, effects) = go(start(vec![Record::Skip, Record::Unreadable, message(1)]));
    assert_eq!(effects, [Effect::Look(2)]);
    let (machine, effects) = go(machine.step(Outcome::Looked { record: 2, present: vec![] }, NOW));
    assert_eq!(effects, [Effect::Park(1)]);
    let verdict = done(machine.step(Outcome::Parked { confirmed: false, record: 1 }, NOW));
    assert_eq!(verdict, Verdict { failed_from: Some(1), enqueued: 0, parked: 0 });
}

#[test]
fn a_failed_look_up_reports_its_record_and_still_sends_the_earlier_ones() {
    let (mut machine, effects) = go(start(vec![message(1); 40]));
    assert_eq!(effects.len(), 32);
    // 7 fails, and 5 after it; the records up to 32 that run already are waited for, later ones not begun.
    for record in [7, 5] {
        let (next, effects) = go(machine.step(Outcome::LookFailed { record }, NOW));
        assert_eq!(effects, []);
        machine = next;
    }
    let mut step = Step::Go(machine, Vec::new());
    for record in (0..32).filter(|record| ![5, 7].contains(record)) {
        let (machine, effects) = go(step);
        assert_eq!(effects, []);
        step = machine.step(Outcome::Looked { record, present: Vec::new() }, NOW);
    }
    let (sent, _, verdict) = run_to_the_end(step);
    assert_eq!(sent, (0..5).map(|record| (record, 0)).collect::<Vec<_>>());
    assert_eq!(verdict, Verdict { failed_from: Some(5), enqueued: 5, parked: 0 });
}

#[test]
fn a_stuck_batch_repeats_everything() {
    let (machine, _) = go(start(vec![message(1)]));
    assert_eq!(machine.stuck().failed_from, Some(0));
}
