//! The oracle can fail: each kind of wrong evidence is reported as what it is, and the right one is not.

use crate::{
    evidence::{Answer, Call, Device, Evidence, Fault, Harm, Hit, Key, Look, Message, Said, Work, Write},
    oracle::{Promise, Verdict, judge},
};
use protocol::timing::Timing;

const FAR: u64 = 1_000_000;

fn said(variant: u8, said: Said) -> Answer {
    Answer { variant, said }
}

fn call(at_ms: u64, accepted: bool) -> Call {
    let (message, token) = ("m".to_owned(), "t".to_owned());
    Call { message, token, variant: Some(0), at_ms, accepted, permanent: !accepted, lost: None, error: false }
}

fn lost(at_ms: u64, accepted: bool) -> Call {
    Call { permanent: false, lost: Some("silent"), ..call(at_ms, accepted) }
}

fn write(sent_ms: u64, at_ms: u64) -> Write {
    by("one", sent_ms, at_ms)
}

fn by(by: &str, sent_ms: u64, at_ms: u64) -> Write {
    Write { message: "m".to_owned(), chunk: 0, by: by.to_owned(), sent_ms, at_ms }
}

fn of_chunk(times: &[u64]) -> Vec<Write> {
    times.iter().map(|at| write(*at, *at)).collect()
}

fn work(from_ms: u64, to_ms: u64, broke: Option<&'static str>) -> Work {
    Work { message: "m".to_owned(), chunk: 0, by: "one".to_owned(), from_ms, to_ms, broke }
}

fn fault(at_ms: u64, harm: Harm) -> Fault {
    let hit = Hit::Chunk("m".to_owned(), 0);
    Fault { name: "a fault", hit, from_ms: at_ms, to_ms: at_ms, harm }
}

/// One message to one device that was read so in the end, after these calls.
fn ended(once: bool, words: &[&str], calls: Vec<Call>) -> Evidence {
    let times = 1_001 - words.len() as u64..;
    seen(once, &times.zip(words.iter().copied()).collect::<Vec<_>>(), calls)
}

/// The same, with the time of each look.
fn seen(once: bool, looks: &[(u64, &str)], calls: Vec<Call>) -> Evidence {
    let look = |(at_ms, word): &(u64, &str)| Look { asked_ms: *at_ms, told_ms: *at_ms, word: (*word).to_owned() };
    let devices = vec![Device { token: "t".to_owned(), looks: looks.iter().map(look).collect() }];
    let message = Message { id: "m".to_owned(), variant: 0, once, deliver_by_ms: FAR, devices };
    let answers = vec![said(0, Said::Queued("m".to_owned()))];
    let keys = vec![Key { key: "k".to_owned(), answers, message: Some(message) }];
    Evidence { keys, calls, end_ms: 1_000, ..Evidence::default() }
}

#[track_caller]
fn only(evidence: &Evidence, promises: &[Promise]) -> Verdict {
    let verdict = judge(evidence);
    let broken: Vec<Promise> = verdict.broken.iter().map(|(promise, _)| *promise).collect();
    assert_eq!(broken, promises, "{:?}", verdict.broken);
    verdict
}

#[test]
fn what_went_well_is_not_reported() {
    let verdict = only(&ended(false, &["pending", "sending", "sent"], vec![call(1, true)]), &[]);
    assert_eq!((verdict.accepted, verdict.words["sent"]), (1, 1));
    only(&ended(false, &["failed"], vec![call(1, false)]), &[]);
    let attempt = (of_chunk(&[1]), of_chunk(&[2]), vec![work(1, 3, None)]);
    let (claims, records, works) = attempt;
    only(&Evidence { claims, records, works, ..ended(true, &["unknown"], vec![lost(1, true)]) }, &[]);
    let (claims, records, works) = (of_chunk(&[1]), of_chunk(&[2]), vec![work(1, 3, None)]);
    only(&Evidence { claims, records, works, ..ended(true, &["unknown", "sent"], vec![lost(1, true)]) }, &[]);
    only(&Evidence { end_ms: FAR, ..ended(false, &["expired"], Vec::new()) }, &[]);
}

#[test]
fn a_lost_message() {
    only(&ended(false, &["pending"], Vec::new()), &[Promise::Lost]);
    only(&ended(false, &["sending"], vec![lost(1, false)]), &[Promise::Lost]);
    // Nobody ever tried, and there was time.
    only(&ended(false, &["expired"], Vec::new()), &[Promise::Contradicted, Promise::Lost]);
    let mut gone = ended(false, &["sent"], Vec::new());
    gone.keys[0].message = None;
    only(&gone, &[Promise::Lost]);
}

/// Long after any lease that began at the start of these stories.
const LATER: u64 = Timing::PRODUCTION.lease + 100_000;

/// Two accepted calls of two attempts, the first of which began at 5 and ended with its invocation at 60.
fn twice(works: Vec<Work>, records: &[u64], faults: Vec<Fault>) -> Evidence {
    let (claims, records) = (of_chunk(&[5, LATER]), of_chunk(records));
    let calls = vec![call(10, true), call(LATER + 5, true)];
    Evidence { claims, records, works, faults, ..ended(false, &["sent"], calls) }
}

const AGAIN: u64 = LATER + 10;

fn second() -> Work {
    work(LATER - 1, LATER + 20, None)
}

#[test]
fn a_repeat_is_explained_by_what_hit_that_very_attempt_and_by_nothing_else() {
    let (missing, outside) = (Promise::RecordMissing, Promise::RepeatedOutside);
    let fine = || work(1, 60, None);
    only(&twice(vec![fine(), second()], &[AGAIN], Vec::new()), &[missing, outside]);
    // The first was recorded, whatever happened to its invocation afterwards.
    only(&twice(vec![fine(), second()], &[20, AGAIN], Vec::new()), &[outside]);
    only(&twice(vec![work(1, 60, Some("killed")), second()], &[20, AGAIN], Vec::new()), &[outside]);
    let silent = ended(false, &["sent"], vec![lost(10, true), call(50, true)]);
    assert_eq!(only(&silent, &[]).repeated["silent"], 1);
    let killed = twice(vec![work(1, 60, Some("killed")), second()], &[AGAIN], Vec::new());
    assert_eq!(only(&killed, &[]).repeated["killed"], 1);
    // Another invocation's death, or another chunk's.
    only(&twice(vec![fine(), work(61, 70, Some("killed")), second()], &[AGAIN], Vec::new()), &[missing, outside]);
    let other = Work { chunk: 1, ..work(1, 60, Some("killed")) };
    only(&twice(vec![other, second()], &[AGAIN], Vec::new()), &[missing, outside]);
    let record = |at_ms: u64| twice(vec![fine(), second()], &[AGAIN], vec![fault(at_ms, Harm::Record)]);
    only(&record(20), &[]);
    // Too early, too late, or written all the same.
    only(&record(4), &[missing, outside]);
    only(&record(61), &[missing, outside]);
    only(&twice(vec![fine(), second()], &[25, AGAIN], vec![fault(20, Harm::Record)]), &[outside]);
    // A lost claim is never followed by a call.
    only(&twice(vec![fine(), second()], &[AGAIN], vec![fault(5, Harm::Claim)]), &[missing, outside]);
    let of = |token: &str| Hit::Device("m".to_owned(), token.to_owned());
    let answer = |token: &str, at_ms: u64| Fault { hit: of(token), ..fault(at_ms, Harm::Answer) };
    only(&twice(vec![fine(), second()], &[30, AGAIN], vec![answer("t", 20)]), &[]);
    only(&twice(vec![fine(), second()], &[15, AGAIN], vec![answer("t", 20)]), &[outside]);
    only(&twice(vec![fine(), second()], &[30, AGAIN], vec![answer("u", 20)]), &[outside]);
}

#[test]
fn a_move_of_the_clocks_hits_who_is_at_work_and_nobody_else() {
    let moved = |from: u64, to: u64| {
        let jumps = vec![(from, to)];
        Evidence { jumps, ..twice(vec![work(1, 60, None), second()], &[AGAIN], Vec::new()) }
    };
    only(&moved(20, 30), &[]);
    // While nobody worked on it, as all time passes: it excuses nothing.
    only(&moved(61, LATER - 10), &[Promise::RecordMissing, Promise::RepeatedOutside]);
    // Before the claim.
    only(&moved(2, 4), &[Promise::RecordMissing, Promise::RepeatedOutside]);
}

#[test]
fn whoever_stood_still_calls_before_or_after_others() {
    let calls = |first: u64, other: u64| vec![call(first, true), call(other, true)];
    let stall = |from_ms, to_ms| Fault { from_ms, to_ms, ..fault(0, Harm::Stalled) };
    let with = |calls, stall, records: &[u64]| {
        let records = of_chunk(records);
        Evidence { faults: vec![stall], records, ..ended(false, &["sent"], calls) }
    };
    only(&with(calls(10, 50), stall(20, 40), &[30]), &[]);
    only(&with(calls(10, 50), stall(5, 40), &[30]), &[]);
    only(&with(calls(10, 50), stall(1, 9), &[]), &[]);
    let outside = &[Promise::RepeatedOutside];
    only(&with(calls(10, 50), stall(20, 40), &[15]), outside);
    only(&with(calls(10, 40 + 20_001), stall(5, 40), &[30]), outside);
    // Nor is anything excused that begins long after it.
    only(&with(calls(40 + 20_001, 40 + 20_002), stall(5, 40), &[30]), outside);
    // The stall is what became of its attempt.
    let mut evidence = twice(vec![work(1, LATER + 50, None), second()], &[AGAIN], vec![stall(20, LATER + 40)]);
    only(&evidence, &[]);
    evidence.faults.clear();
    // Without it, the record of the other one is no excuse either.
    only(&evidence, &[Promise::RecordMissing, Promise::RepeatedOutside]);
}

#[test]
fn a_repeat_under_at_most_once_is_excused_by_nothing() {
    let calls = vec![lost(10, true), call(50, true)];
    only(&ended(true, &["sent"], calls), &[Promise::AtMostOnce]);
    // The first one only may have been accepted.
    only(&ended(true, &["sent"], vec![lost(10, false), call(50, true)]), &[Promise::AtMostOnce]);
    // Nor does it matter what came of the second one.
    let refused = || call(50, false);
    let lost_first = ended(true, &["unknown"], vec![lost(10, false), refused()]);
    only(&lost_first, &[Promise::AtMostOnce, Promise::UnknownUnexplained]);
    only(&ended(true, &["sent"], vec![call(10, true), refused()]), &[Promise::AtMostOnce]);
    only(&ended(true, &["sent"], vec![refused(), call(60, true)]), &[]);
}

#[test]
fn a_call_after_one_that_is_known_to_be_accepted() {
    let calls = vec![call(10, true), call(LATER + 5, false)];
    let calls = |lost: Option<&'static str>| {
        let mut calls = calls.clone();
        calls[0].lost = lost;
        Evidence { calls, ..twice(vec![work(1, 60, None), second()], &[20, AGAIN], Vec::new()) }
    };
    only(&calls(None), &[Promise::RepeatedOutside]);
    only(&calls(Some("silent")), &[]);
}

#[test]
fn a_status_that_the_ledger_contradicts() {
    let contradicted = &[Promise::Contradicted];
    only(&ended(false, &["sent"], Vec::new()), contradicted);
    only(&ended(false, &["sent"], vec![call(1, false)]), contradicted);
    only(&ended(false, &["failed"], vec![call(1, true)]), contradicted);
    only(&ended(false, &["failed"], vec![lost(1, false), call(2, false)]), contradicted);
    only(&ended(false, &["failed"], Vec::new()), contradicted);
    let late = |calls| Evidence { end_ms: FAR, ..ended(false, &["expired"], calls) };
    only(&late(vec![call(1, true)]), contradicted);
    only(&late(vec![lost(1, false)]), contradicted);
    only(&late(vec![call(1, false)]), contradicted);
    only(&ended(false, &["expired"], vec![Call { permanent: false, ..call(1, false) }]), contradicted);
}

#[test]
fn unknown_needs_a_cause() {
    only(&ended(true, &["unknown"], vec![call(1, true)]), &[Promise::UnknownUnexplained]);
    only(&ended(true, &["unknown"], Vec::new()), &[Promise::UnknownUnexplained]);
    // Nobody heard of a claim, or everybody did and it was recorded.
    let unheard = |records: &[u64], faults: Vec<Fault>| {
        let (claims, works) = (of_chunk(&[5]), vec![work(1, 60, None)]);
        Evidence { claims, works, records: of_chunk(records), faults, ..ended(true, &["unknown"], Vec::new()) }
    };
    only(&unheard(&[], vec![fault(5, Harm::Claim)]), &[]);
    only(&unheard(&[20], vec![fault(5, Harm::Claim)]), &[Promise::UnknownUnexplained]);
    only(&unheard(&[], Vec::new()), &[Promise::RecordMissing, Promise::UnknownUnexplained]);
    // What settles it after its lease is no record of the attempt.
    let settled = 5 + Timing::PRODUCTION.lease;
    only(&unheard(&[settled], vec![fault(5, Harm::Claim)]), &[]);
    only(&unheard(&[settled], Vec::new()), &[Promise::RecordMissing, Promise::UnknownUnexplained]);
    // One loss is asked again after, under at_least_once.
    only(&ended(false, &["unknown"], vec![lost(1, true)]), &[Promise::UnknownUnexplained]);
    let in_attempts = |calls: Vec<Call>| {
        let times: Vec<u64> = calls.iter().map(|call| call.at_ms).collect();
        let works = times.iter().map(|at| work(*at, *at + 5, None)).collect();
        let (claims, records) = (of_chunk(&times), of_chunk(&times));
        Evidence { claims, records, works, ..ended(false, &["unknown"], calls) }
    };
    let unexplained = &[Promise::UnknownUnexplained];
    only(&in_attempts(vec![lost(10, true)]), unexplained);
    only(&in_attempts(vec![lost(10, true), call(20, false)]), &[]);
    only(&in_attempts(vec![lost(10, false), lost(20, false), lost(30, false)]), &[]);
    only(&in_attempts(vec![lost(10, false), lost(20, false)]), unexplained);
    // Answered errors are asked again until it is too late; one of them counts as the first loss.
    let error = |at_ms: u64| Call { error: true, ..lost(at_ms, false) };
    only(&in_attempts(vec![error(10), error(20), error(30)]), unexplained);
    only(&in_attempts(vec![error(10), lost(20, false), lost(30, false)]), &[]);
}

#[test]
fn what_was_recorded_is_what_the_status_says() {
    let recorded = |once: bool, word: &str, call: Call, record: u64| {
        let (claims, records) = (of_chunk(&[5]), of_chunk(&[record]));
        let calls = vec![call];
        let works = vec![work(1, 60, None)];
        Evidence { claims, records, works, end_ms: FAR, ..ended(once, &[word], calls) }
    };
    only(&recorded(false, "sent", call(10, true), 20), &[]);
    // An acceptance that was heard and recorded.
    let wrong = &[Promise::Contradicted, Promise::UnknownUnexplained];
    only(&recorded(true, "unknown", call(10, true), 20), wrong);
    only(&recorded(false, "failed", call(10, false), 20), &[]);
    // A refusal that nobody recorded: its successor cannot know that nothing was accepted.
    let settled = 5 + Timing::PRODUCTION.lease;
    let lost = |word: &str, call: Call| {
        let faults = vec![fault(12, Harm::Record)];
        Evidence { faults, ..recorded(false, word, call, settled) }
    };
    only(&lost("failed", call(10, false)), &[Promise::Contradicted]);
    only(&lost("expired", Call { permanent: false, ..call(10, false) }), &[Promise::Contradicted]);
    only(&lost("unknown", call(10, false)), &[]);
    only(&recorded(false, "expired", Call { permanent: false, ..call(10, false) }, 20), &[]);
    // What an invocation had sent before it ended arrives, however late by the clock: it was held, or it was under way
    // when its invocation ran out of time because the clock moved.
    let late = |sent_ms: u64, broke: Option<&'static str>| {
        let works = vec![work(1, LATER, broke)];
        let records = vec![write(sent_ms, sent_ms.max(2 * LATER))];
        let faults = vec![fault(12, Harm::Record)];
        Evidence { works, records, faults, ..recorded(false, "failed", call(10, false), 0) }
    };
    only(&late(20, None), &[]);
    only(&late(LATER + 13, Some("out of time")), &[]);
    only(&late(LATER + 13, None), &[Promise::Contradicted]);
    only(&late(LATER + Timing::PRODUCTION.record + 1, Some("out of time")), &[Promise::Contradicted]);
}

#[test]
fn what_another_process_wrote_is_no_record_of_the_attempt() {
    let settled = |records: Vec<Write>, broke: Option<&'static str>| {
        let works = vec![work(1, 60, broke)];
        Evidence { records, works, ..ended(true, &["unknown"], vec![call(10, true)]) }
    };
    let settled = |records, broke| Evidence { claims: of_chunk(&[5]), end_ms: FAR, ..settled(records, broke) };
    only(&settled(vec![by("two", 30, 30)], Some("out of time")), &[]);
    only(&settled(vec![by("two", 30, 30)], None), &[Promise::RecordMissing, Promise::UnknownUnexplained]);
    // Whoever stood still and writes after another joins what that one made of its silence.
    let after = vec![by("two", 30, 30), write(40, 40)];
    only(&Evidence { faults: vec![fault(20, Harm::Stalled)], ..settled(after.clone(), None) }, &[]);
    only(&settled(after, None), &[Promise::RecordMissing, Promise::UnknownUnexplained]);
    let wrong = &[Promise::Contradicted, Promise::UnknownUnexplained];
    only(&settled(vec![write(30, 30), by("two", 40, 40)], None), wrong);
    // A record of an earlier owner, who stood still and comes late, is none of a stranger.
    let late = |own: Vec<Write>| {
        let mut evidence = settled([vec![by("two", 30, 30)], own].concat(), None);
        evidence.claims.push(by("two", 2, 2));
        evidence.works.push(Work { by: "two".to_owned(), ..work(1, 35, None) });
        Evidence { faults: vec![fault(3, Harm::Stalled)], ..evidence }
    };
    only(&late(vec![write(40, 40)]), &[]);
    only(&late(Vec::new()), &[Promise::RecordMissing]);
}

#[test]
fn a_status_that_goes_back() {
    let (back, unexplained) = (Promise::WentBack, Promise::UnknownUnexplained);
    only(&ended(false, &["sent", "sending", "sent"], vec![call(1, true)]), &[back]);
    only(&ended(false, &["unknown", "sending", "sent"], vec![call(1, true)]), &[unexplained, back]);
    let contradicted = Promise::Contradicted;
    let twice = &[contradicted, contradicted, back];
    only(&ended(false, &["failed", "expired", "sent"], vec![call(1, true)]), twice);
    only(&ended(false, &["unknown", "failed"], vec![call(1, false)]), &[unexplained, back]);
}

/// A message that was claimed at 10,000, accepted and recorded, and read once before the end.
fn looked(at_ms: u64, word: &str, call: Call, record_ms: u64) -> Evidence {
    let last = if call.accepted { "sent" } else { "failed" };
    let (claims, records) = (of_chunk(&[10_000]), of_chunk(&[record_ms]));
    let works = vec![work(9_000, record_ms, None)];
    let looks = [(at_ms, word), (FAR, last)];
    Evidence { claims, records, works, end_ms: FAR, ..seen(false, &looks, vec![call]) }
}

#[test]
fn a_look_is_judged_at_its_time() {
    let contradicted = &[Promise::Contradicted];
    let accepted = |at_ms: u64, word: &str| looked(at_ms, word, call(11_000, true), 12_000);
    only(&accepted(9_999, "pending"), &[]);
    // The claim was stored.
    only(&accepted(10_000, "pending"), contradicted);
    only(&accepted(11_999, "sending"), &[]);
    // The acceptance was stored.
    only(&accepted(12_000, "sending"), contradicted);
    only(&accepted(11_000, "sent"), &[]);
    only(&accepted(10_999, "sent"), contradicted);
    let refused = |at_ms: u64, word: &str| looked(at_ms, word, call(11_000, false), 12_000);
    only(&refused(11_000, "failed"), &[]);
    only(&refused(10_999, "failed"), contradicted);
}

#[test]
fn a_look_is_not_too_early_for_the_deadline_and_not_too_late_for_being_under_way() {
    let (skew, given_up) = (Timing::PRODUCTION.skew, Timing::PRODUCTION.lease + Timing::PRODUCTION.skew);
    let expired = |at_ms: u64, word: &str| {
        let end_ms = 2 * FAR;
        Evidence { end_ms, ..seen(false, &[(at_ms, word), (end_ms, "expired")], Vec::new()) }
    };
    only(&expired(FAR - skew, "expired"), &[]);
    only(&expired(FAR - skew - 1, "expired"), &[Promise::Contradicted]);
    for word in ["pending", "sending"] {
        only(&expired(FAR + given_up + skew, word), &[]);
        only(&expired(FAR + given_up + skew + 1, word), &[Promise::Contradicted]);
    }
}

#[test]
fn a_look_that_says_unknown_needs_a_cause_before_it() {
    let (skew, given_up) = (Timing::PRODUCTION.skew, Timing::PRODUCTION.lease + Timing::PRODUCTION.skew);
    let after = |at_ms: u64, deliver_by_ms: u64| {
        let (claims, records) = (of_chunk(&[100_000]), of_chunk(&[160_000]));
        let looks = [(at_ms, "unknown"), (FAR, "sent")];
        let works = vec![work(90_000, 160_000, None)];
        let calls = vec![lost(150_000, true)];
        let mut evidence = Evidence { claims, records, works, end_ms: FAR, ..seen(true, &looks, calls) };
        evidence.keys[0].message.as_mut().unwrap().deliver_by_ms = deliver_by_ms;
        evidence
    };
    let unexplained = &[Promise::UnknownUnexplained];
    // A process's clock may be ahead.
    only(&after(150_000 - skew, FAR), &[]);
    only(&after(150_000 - skew - 1, FAR), unexplained);
    // By the clock rule, while the claim stood and nothing was stored.
    let deliver_by = 140_000 - given_up;
    only(&after(140_001 - skew, deliver_by), &[]);
    only(&after(140_000 - skew, deliver_by), unexplained);
}

#[test]
fn stalls_are_counted_and_those_that_explain_a_repeat() {
    let stall = |from_ms, to_ms| Fault { from_ms, to_ms, ..fault(0, Harm::Stalled) };
    let faults = vec![stall(20, 40), stall(70, 80)];
    let calls = vec![call(10, true), call(50, true)];
    let verdict = only(&Evidence { faults, ..ended(false, &["sent"], calls) }, &[]);
    assert_eq!((verdict.stalls.len(), verdict.stalls_that_repeat), (2, [20].into()));
}

#[test]
fn answers_that_disagree() {
    let with = |answers: Vec<Answer>| {
        let mut evidence = ended(false, &["sent"], vec![call(1, true)]);
        evidence.keys[0].answers = answers;
        evidence
    };
    let (queued, again) = (|id: &str| Said::Queued(id.to_owned()), |id: &str| Said::Duplicate(id.to_owned()));
    let fine = with(vec![said(0, Said::Nothing), said(0, queued("m")), said(0, again("m")), said(1, Said::Reused)]);
    let verdict = only(&fine, &[]);
    assert_eq!((verdict.duplicates, verdict.mismatches, verdict.unanswered), (1, 1, 1));
    let wrong = [
        vec![said(0, queued("m")), said(0, again("n"))],
        vec![said(0, queued("n"))],
        vec![said(0, queued("m")), said(1, again("m"))],
        vec![said(0, queued("m")), said(0, queued("m"))],
        vec![said(0, queued("m")), said(0, Said::Reused)],
        vec![said(0, Said::Odd("500".to_owned()))],
        // It is stored, though its client never heard so.
        vec![said(0, Said::Nothing), said(0, Said::Reused)],
        vec![said(0, Said::Nothing), said(1, queued("m"))],
    ];
    for answers in wrong {
        only(&with(answers), &[Promise::Answers]);
    }
}

#[test]
fn a_call_that_nobody_asked_for() {
    let mut evidence = ended(false, &["sent"], vec![call(1, true)]);
    evidence.calls.push(Call { message: "other".to_owned(), ..call(2, true) });
    only(&evidence, &[Promise::Unasked]);
    evidence.calls[1] = Call { token: "another".to_owned(), ..call(2, true) };
    only(&evidence, &[Promise::Unasked]);
    // The content of the request that lost.
    evidence.calls = vec![Call { variant: Some(1), ..call(1, true) }];
    only(&evidence, &[Promise::Unasked]);
}

#[test]
fn a_look_that_shows_nothing() {
    let of = |status: u16| {
        let not_shown = vec![("m".to_owned(), status)];
        Evidence { looks: 2, not_shown, ..ended(false, &["sent"], vec![call(1, true)]) }
    };
    let verdict = only(&of(503), &[]);
    assert_eq!((verdict.looks, verdict.not_shown), (2, 1));
    only(&of(404), &[Promise::Lost]);
    only(&of(500), &[Promise::Answers]);
    // The last GET left the device out.
    only(&ended(false, &[""], Vec::new()), &[Promise::Contradicted, Promise::Lost]);
}
