//! Refunds: one decision whatever is lost, and nothing of another project or another id decided.

use super::{
    refund_support::{ME, NOW, conflict, create, decision, pending, request, written},
    support::{Answer, Proxy, database, store_at},
};
use crate::{RefundCreate, RefundWrite, Store, attr::s, names::TRAIL, refund::item as refund_item, write::Wrote};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::{
    expect::Expect,
    ids::Nonce,
    refund::{
        Refund,
        create::{self as creating, Prior},
        decide::{self, Conflict, Decision, Verdict, decided},
        id::{PayoutId, RefundId},
        payout::{Finding, State},
        person::{Retry, retry},
        step::{Next, announced, next, record},
        terms::Terms,
        trail::About,
        webhook::{Apply, Event, Ignored, apply},
    },
    timing::Timing,
};

const TIMING: Timing = Timing::PRODUCTION;
const OPERATION_MS: u64 = 6_000;

async fn stored(store: &Store, id: RefundId) -> Refund {
    store.refund(id).await.expect("read").expect("stored")
}

/// An approved refund, as it is stored.
async fn approved(store: &Store) -> Refund {
    create(store, &pending("k", 1)).await;
    written(&store.decide_refund("acme", pending("k", 1).id, &decision(Verdict::Approve, 1)).await);
    stored(store, pending("k", 1).id).await
}

#[tokio::test]
async fn a_refund_s_key_is_claimed_once_and_for_ever() {
    let (_, store) = database().await;
    let first = pending("k", 1);
    create(&store, &first).await;
    assert_eq!(store.refund(first.id).await.unwrap(), Some(first.clone()));
    let second = Refund { at_ms: NOW + 400 * 86_400_000, ..pending("k", 2) };
    let RefundCreate::Taken(prior) = store.create_refund(&second).await else { panic!("not taken") };
    assert_eq!(prior, Prior { id: first.id, fingerprint: first.fingerprint });
    assert_eq!(creating::on_conflict(&prior, &second), creating::Conflict::Duplicate(first.id));
    let other = Refund::new("acme", "k", "shop", Nonce([3; 5]), request(4_300), NOW);
    assert_eq!(creating::on_conflict(&prior, &other), creating::Conflict::Reused);
    assert_eq!(store.refund(second.id).await.unwrap(), None, "an id with another nonce is nobody's");
}

#[tokio::test]
async fn a_decision_stores_exactly_what_the_protocol_makes_of_it() {
    for verdict in [Verdict::Approve, Verdict::Reject] {
        let (_, store) = database().await;
        let refund = pending("k", 1);
        create(&store, &refund).await;
        let mine = decision(verdict, 7);
        written(&store.decide_refund("acme", refund.id, &mine).await);
        assert_eq!(stored(&store, refund.id).await, decided(&refund, &mine));

        for (nonce, other) in [(8, Verdict::Approve), (9, Verdict::Reject)] {
            let late = decision(other, nonce);
            let winner = conflict(store.decide_refund("acme", refund.id, &late).await).expect("the winner");
            let expected =
                if other == verdict { Conflict::Already(mine.clone()) } else { Conflict::Other(mine.clone()) };
            assert_eq!(decide::on_conflict(Some(&winner), "acme", refund.id, &late), expected);
        }
        assert_eq!(stored(&store, refund.id).await, decided(&refund, &mine));
    }
}

#[tokio::test]
async fn nobody_decides_another_project_s_refund_or_one_with_another_id() {
    let (_, store) = database().await;
    let refund = pending("k", 1);
    create(&store, &refund).await;
    let mine = decision(Verdict::Approve, 1);
    let (another_nonce, absent) = (pending("k", 2).id, pending("not there", 1).id);
    for (project, id) in [("globex", refund.id), ("acme", another_nonce), ("acme", absent)] {
        let found = conflict(store.decide_refund(project, id, &mine).await);
        assert_eq!(decide::on_conflict(found.as_ref(), project, id, &mine), Conflict::NotFound, "{project} {id}");
    }
    assert_eq!(stored(&store, refund.id).await, refund);
    assert_eq!(store.refund(absent).await.unwrap(), None, "an update must not make an item");
}

#[tokio::test]
async fn fifty_deciders_at_once_make_one_decision() {
    let (_, store) = database().await;
    let refund = pending("k", 1);
    create(&store, &refund).await;
    let decide = |nonce: u8| {
        let (store, id) = (store.clone(), refund.id);
        let verdict = if nonce.is_multiple_of(2) { Verdict::Approve } else { Verdict::Reject };
        tokio::spawn(async move {
            (decision(verdict, nonce), store.decide_refund("acme", id, &decision(verdict, nonce)).await)
        })
    };
    let mut winners: Vec<Decision> = Vec::new();
    let mut seen: Vec<Decision> = Vec::new();
    for asked in (0..50).map(decide).collect::<Vec<_>>() {
        match asked.await.unwrap() {
            (mine, RefundWrite::Written { .. }) => winners.push(mine),
            (_, lost) => seen.push(conflict(lost).and_then(|stored| stored.decision).expect("a decision")),
        }
    }
    assert_eq!((winners.len(), seen.len()), (1, 49));
    assert!(seen.iter().all(|decision| *decision == winners[0]), "every loser sees the winner");
}

#[tokio::test]
async fn what_was_written_while_its_answer_was_lost_meets_itself() {
    let (upstream, direct) = database().await;
    let (proxy, url) = Proxy::start(&upstream).await;
    let store = store_at(&url, OPERATION_MS).await;
    for lost in [Answer::Close, Answer::Withhold] {
        let refund = pending(&format!("{lost:?}"), 1);
        proxy.lose(&[lost]);
        let RefundCreate::Taken(prior) = store.create_refund(&refund).await else { panic!("not taken") };
        assert_eq!(creating::on_conflict(&prior, &refund), creating::Conflict::Mine);

        let mine = decision(Verdict::Approve, 1);
        proxy.lose(&[lost]);
        let found = conflict(store.decide_refund("acme", refund.id, &mine).await);
        assert_eq!(decide::on_conflict(found.as_ref(), "acme", refund.id, &mine), Conflict::Mine);
        // Somebody of the same name in the same millisecond is still somebody else.
        let other = Decision { nonce: Nonce([2; 5]), ..mine.clone() };
        assert_eq!(decide::on_conflict(found.as_ref(), "acme", refund.id, &other), Conflict::Already(mine.clone()));

        // The stamp: this receive's call is announced.
        let payout = PayoutId::first(refund.id);
        let read = stored(&direct, refund.id).await;
        let Next::Stamp(stamped, expect) = next(&read, payout, ME, NOW + 70_000, &TIMING) else { panic!("no stamp") };
        proxy.lose(&[lost]);
        let found = conflict(store.write_refund(&stamped, expect).await).expect("stamped");
        assert_eq!(found, *stamped);
        assert!(announced(&found, &stamped));

        // The result: it says so already.
        let paid = Finding::Succeeded { reference: "re_1".into() };
        let (item, expect) = record(&found, payout, &paid, NOW + 72_000).expect("a change");
        proxy.lose(&[lost]);
        let found = conflict(store.write_refund(&item, expect).await).expect("recorded");
        assert_eq!(found, *item);
        assert_eq!(record(&found, payout, &paid, NOW + 73_000), None);
    }
}

#[tokio::test]
async fn an_unanswered_decision_is_unknown_and_may_have_happened() {
    let (upstream, direct) = database().await;
    let (proxy, url) = Proxy::start(&upstream).await;
    let store = store_at(&url, 1_500).await;
    let refund = pending("k", 1);
    create(&direct, &refund).await;
    proxy.lose(&[Answer::Withhold; 9]);
    let mine = decision(Verdict::Reject, 1);
    assert!(matches!(store.decide_refund("acme", refund.id, &mine).await, RefundWrite::Unknown(_)));
    assert_eq!(stored(&direct, refund.id).await, decided(&refund, &mine));
}

#[tokio::test]
async fn only_one_of_two_writers_who_read_the_same_refund_changes_it() {
    let (_, store) = database().await;
    let read = approved(&store).await;
    let payout = PayoutId::first(read.id);
    let Next::Stamp(one, expect) = next(&read, payout, ME, NOW + 70_000, &TIMING) else { panic!("no stamp") };
    let Next::Stamp(other, same) = next(&read, payout, ME, NOW + 80_000, &TIMING) else { panic!("no stamp") };
    written(&store.write_refund(&one, expect).await);
    assert_eq!(conflict(store.write_refund(&other, same).await), Some((*one).clone()));
    let elsewhere = Expect::Payout { payout: PayoutId { number: 2, ..payout }, version: one.version };
    assert_eq!(conflict(store.write_refund(&other, elsewhere).await), Some((*one).clone()), "another payout");
    assert_eq!(stored(&store, read.id).await, *one);
}

#[tokio::test]
async fn an_event_is_taken_once_by_the_write_that_applies_it() {
    let (_, store) = database().await;
    let read = approved(&store).await;
    let event = Event {
        id: "evt_1".into(),
        created_s: NOW / 1_000,
        payout: PayoutId::first(read.id),
        finding: Finding::Succeeded { reference: "re_1".into() },
        terms: Terms::default(),
    };
    let Apply::Write(one, expect) = apply(&read, &event, NOW + 90_000) else { panic!("not applied") };
    written(&store.write_refund(&one, expect).await);
    let winner = conflict(store.write_refund(&one, expect).await).expect("stored");
    assert_eq!(apply(&winner, &event, NOW + 91_000), Apply::Ignore(Ignored::Repeated));
    assert_eq!(winner.payout.map(|payout| payout.state), Some(State::Paid));
}

/// A line was a text alone before it told of its payout. Such an item is read, and written to as any other.
#[tokio::test]
async fn a_trail_of_lines_that_tell_of_no_payout_is_read_and_goes_on() {
    let (_, store) = database().await;
    let mut old = decided(&pending("old", 1), &decision(Verdict::Approve, 1));
    old.trail.0.iter_mut().for_each(|line| line.about = About::default());
    let mut item = refund_item::encode(&old);
    let lines = ["1790000000000 created ashop backend", "1790000060000 approved aadmin 1"].map(s).to_vec();
    assert_eq!(item.insert(TRAIL.to_owned(), AttributeValue::L(lines.clone())), Some(AttributeValue::L(lines)));
    assert!(matches!(store.put(item, Expect::Absent).await, Wrote::Written { .. }));
    let read = stored(&store, old.id).await;
    assert_eq!(read, old);
    let payout = PayoutId::first(old.id);
    let Next::Stamp(stamped, expect) = next(&read, payout, ME, NOW + 70_000, &TIMING) else { panic!() };
    written(&store.write_refund(&stamped, expect).await);
    let told: Vec<Option<u16>> = stored(&store, old.id).await.trail.0.iter().map(|line| line.about.payout).collect();
    assert_eq!(told, [None, None, Some(1)]);
}

#[tokio::test]
async fn a_successor_leaves_nothing_of_the_failed_payout() {
    let (_, store) = database().await;
    let mut read = approved(&store).await;
    let first = PayoutId::first(read.id);
    let Next::Stamp(stamped, expect) = next(&read, first, ME, NOW + 70_000, &TIMING) else { panic!("no stamp") };
    written(&store.write_refund(&stamped, expect).await);
    let reason = protocol::answer::Reason { code: "declined".into(), detail: "No.".into() };
    let event = Event {
        id: "evt_1".into(),
        created_s: NOW / 1_000,
        payout: first,
        finding: Finding::Failed { reference: "re_1".into(), reason },
        terms: Terms::default(),
    };
    let Apply::Write(failed, expect) = apply(&stamped, &event, NOW + 71_000) else { panic!("not applied") };
    written(&store.write_refund(&failed, expect).await);
    read = stored(&store, read.id).await;
    assert_eq!(read, *failed);
    let Retry::Write(again, expect, successor) = retry(&read, first, "ada", NOW + 900_000, &TIMING) else {
        panic!("no retry")
    };
    written(&store.write_refund(&again, expect).await);
    let read = stored(&store, read.id).await;
    assert_eq!(read, *again);
    assert_eq!(read.payout_id(), Some(successor));
    let Retry::Repeated(same) = retry(&read, first, "bob", NOW + 900_000, &TIMING) else { panic!("not repeated") };
    assert_eq!(same, successor);
}
