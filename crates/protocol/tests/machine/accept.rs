//! Accepting: the write first, the inline send only after it, and no guess.

use super::{done, go};
use crate::common::plain_request;
use protocol::{
    accept::Prior,
    content::SendRequest,
    fingerprint::Fingerprint,
    ids::{KeyHash, MessageId, Nonce, Operation},
    machine::{
        Machine, Named,
        accept::{Accept, EFFECTS, Effect, Outcome, Verdict},
    },
    message::Message,
};

fn message(nonce: u8, request: &SendRequest) -> Message {
    let key = KeyHash::of(Operation::Message, "acme", "k");
    Message {
        id: MessageId { key, nonce: Nonce([nonce; 5]) },
        fingerprint: Fingerprint::of_send("acme", "k", request),
        project: "acme".into(),
        key: "k".into(),
        at_ms: 1,
        deliver_by_ms: 2,
        expires_ms: 3,
        valid_until_s: 4,
        policy: request.policy,
        devices: request.to.clone(),
        content: request.content.clone(),
    }
}

fn putting() -> Accept {
    let mine = message(1, &plain_request());
    let (machine, effects) = go(Accept::new(mine.clone(), plain_request()).step(Outcome::Start, 0));
    assert_eq!(effects, [Effect::Put(Box::new(mine))]);
    machine
}

fn prior(nonce: u8, request: &SendRequest) -> Prior {
    let winner = message(nonce, request);
    Prior { id: winner.id, fingerprint: winner.fingerprint }
}

#[test]
fn the_write_comes_before_the_send_and_the_send_before_the_answer() {
    let (machine, effects) = go(putting().step(Outcome::Written, 0));
    assert!(matches!(effects[..], [Effect::Send(_)]));
    assert_eq!(effects[0].name(), EFFECTS[1]);
    assert_eq!(done(machine.step(Outcome::Sent, 0)), Verdict::Queued(message(1, &plain_request()).id));
}

#[test]
fn the_sdk_s_own_repeat_is_queued_and_sent() {
    let (machine, effects) = go(putting().step(Outcome::Taken(prior(1, &plain_request())), 0));
    assert!(matches!(effects[..], [Effect::Send(_)]));
    assert_eq!(done(machine.step(Outcome::Sent, 0)), Verdict::Queued(message(1, &plain_request()).id));
}

#[test]
fn a_loser_answers_at_once_and_sends_nothing() {
    let first = prior(2, &plain_request());
    assert_eq!(done(putting().step(Outcome::Taken(first.clone()), 0)), Verdict::Duplicate(first.id));
    let mut other = plain_request();
    other.ttl_seconds += 1;
    assert_eq!(done(putting().step(Outcome::Taken(prior(2, &other)), 0)), Verdict::Reused);
}

#[test]
fn what_cannot_be_known_is_unavailable() {
    assert_eq!(done(putting().step(Outcome::Unknown, 0)), Verdict::Unavailable);
    let mut later_code = prior(2, &plain_request());
    later_code.fingerprint.version = 2;
    assert_eq!(done(putting().step(Outcome::Taken(later_code), 0)), Verdict::Unavailable);
    assert_eq!(putting().stuck(), Verdict::Unavailable);
    let (sending, _) = go(putting().step(Outcome::Written, 0));
    assert!(matches!(sending.stuck(), Verdict::Queued(_)), "it is accepted whatever became of the send");
}

/// Code that writes version 2 meets an item of version 1: the stored rule decides, not the one it writes with.
#[test]
fn an_honest_retry_stays_a_duplicate_after_a_deploy_that_changes_the_rule() {
    let mut mine = message(1, &plain_request());
    mine.fingerprint = Fingerprint { version: 2, hash: [7; 32] };
    let (putting, _) = go(Accept::new(mine, plain_request()).step(Outcome::Start, 0));
    let first = prior(2, &plain_request());
    assert_eq!(first.fingerprint.version, 1);
    assert_eq!(done(putting.clone().step(Outcome::Taken(first.clone()), 0)), Verdict::Duplicate(first.id));
    let mut other = plain_request();
    other.ttl_seconds += 1;
    assert_eq!(done(putting.step(Outcome::Taken(prior(2, &other)), 0)), Verdict::Reused);
}

#[test]
fn an_outcome_of_another_phase_changes_nothing() {
    let machine = putting();
    for outcome in [Outcome::Start, Outcome::Sent] {
        let (after, effects) = go(machine.clone().step(outcome, 0));
        assert_eq!((after, effects.len()), (machine.clone(), 0));
    }
}
