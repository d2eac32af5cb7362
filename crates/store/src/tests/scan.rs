//! The audit's reads against DynamoDB's own evaluation: pages that split messages, the range, damaged items; and the pass.

use super::refund_support::{NOW, decision, pending};
use super::support::{Answer, Proxy, database, delivery, id, message, request, store_at};
use crate::{
    PassWrite, Store,
    attr::{Item, n, s},
    message as message_item,
    names::{ACCEPTED, DELIVER_BY, DEVICE_COUNT, DUE, ID, LEASE, PAYOUT_ID, PK, SK, STATE},
    refund::item as refund_item,
};
use protocol::{
    audit::{Candidate, OpenPayout, Pass, Position, Progress, Range},
    delivery::{Delivery, State},
    expect::Expect,
    ids::OwnerToken,
    message::Message,
    refund::{
        decide::{Verdict, decided},
        payout::{STATES, State as PayoutState},
    },
};

const EVERYTHING: Range = Range { accepted_before_ms: u64::MAX, deliver_by_after_ms: 0 };

fn accepted(number: usize) -> Message {
    let key = format!("k{number}");
    message(id(&key, 1), &key, &request(21, "It is on its way"))
}

async fn accept(store: &Store, message: &Message) {
    store.put(message_item::encode(message).unwrap(), Expect::Absent).await;
    assert_eq!(store.message_alone(message.id).await.unwrap().as_ref(), Some(message));
}

async fn put(store: &Store, item: Item) {
    assert!(matches!(store.put(item, Expect::Absent).await, crate::write::Wrote::Written { .. }));
}

/// Every page from the beginning: the candidates, the unreadable, the items read and the number of pages.
async fn walk(store: &Store, range: Range, items: u32) -> (Vec<Candidate>, Vec<String>, u64, usize) {
    let (mut candidates, mut unreadable, mut read, mut pages) = (Vec::new(), Vec::new(), 0, 0);
    let mut after: Option<Position> = None;
    loop {
        let page = store.message_page(after.as_ref(), range, items).await.unwrap();
        assert!(page.items <= u64::from(items));
        candidates.extend(page.candidates);
        unreadable.extend(page.unreadable);
        (read, pages) = (read + page.items, pages + 1);
        match page.next {
            Some(next) => after = Some(next),
            None => return (candidates, unreadable, read, pages),
        }
    }
}

/// Seven messages of two chunks, each with both delivery items, and other rows among them: wherever a page ends, in the
/// middle of a message too, each message is named once.
#[tokio::test(flavor = "multi_thread")]
async fn every_message_is_named_once_however_pages_split_them() {
    let (_, store) = database().await;
    let mut expected = Vec::new();
    for number in 0..7 {
        let message = accepted(number);
        accept(&store, &message).await;
        for chunk in 0..2 {
            store.write_delivery(message.id, chunk, &delivery(20), Expect::Absent).await;
        }
        put(&store, Item::from([(PK.to_owned(), s(format!("P#{number}"))), (SK.to_owned(), s("P"))])).await;
        let (at_ms, deliver_by_ms) = (message.at_ms, message.deliver_by_ms);
        expected.push(Candidate { id: message.id, at_ms, deliver_by_ms, chunks: 2 });
    }
    expected.sort_by_key(|candidate| candidate.id);
    for items in 1..=9 {
        let (mut candidates, unreadable, read, pages) = walk(&store, EVERYTHING, items).await;
        candidates.sort_by_key(|candidate| candidate.id);
        assert_eq!((&candidates, unreadable.len(), read), (&expected, 0, 28), "pages of {items}");
        assert!(pages >= 28 / items as usize);
    }
}

/// Of the refunds only those whose payout is due or submitted are named, and what cannot be read among them.
#[tokio::test(flavor = "multi_thread")]
async fn open_payouts_are_named_and_no_other_refund_is() {
    let (_, store) = database().await;
    let mut expected = Vec::new();
    for (number, state) in STATES.into_iter().enumerate() {
        let mut refund = decided(&pending(&format!("k{number}"), 1), &decision(Verdict::Approve, 1));
        let payout = refund.payout.as_mut().unwrap();
        payout.state = state;
        payout.first_call_ms = (state == PayoutState::Submitted).then_some(NOW + 99_000);
        put(&store, refund_item::encode(&refund)).await;
        expected.extend(OpenPayout::of(&refund));
    }
    assert_eq!(expected.len(), 2);
    let rejected = decided(&pending("rejected", 1), &decision(Verdict::Reject, 1));
    for refund in [pending("pending", 1), rejected] {
        put(&store, refund_item::encode(&refund)).await;
    }
    let page = store.message_page(None, EVERYTHING, 100).await.unwrap();
    let mut found = page.payouts;
    found.sort_by_key(|open| open.since_ms);
    assert_eq!((&found, page.candidates.len(), page.unreadable.len()), (&expected, 0, 0));
    assert_eq!(page.in_review, 1, "the one that waits for a person is counted");
    // Another refund's payout, and one without a time.
    let broken = decided(&pending("broken", 1), &decision(Verdict::Approve, 1));
    for (key, name, value) in [("b1", PAYOUT_ID, Some(s("payout_rf_x_1"))), ("b2", DUE, None)] {
        let mut item = refund_item::encode(&broken);
        item.insert(PK.to_owned(), s(format!("R#{key}")));
        match value {
            Some(value) => item.insert(name.to_owned(), value),
            None => item.remove(name),
        };
        put(&store, item).await;
    }
    let page = store.message_page(None, EVERYTHING, 100).await.unwrap();
    assert_eq!((page.payouts.len(), page.unreadable.len()), (2, 2), "{:?}", page.unreadable);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_walk_goes_on_behind_an_item_that_was_deleted_meanwhile() {
    let (_, store) = database().await;
    for number in 0..4 {
        accept(&store, &accepted(number)).await;
    }
    let first = store.message_page(None, EVERYTHING, 1).await.unwrap();
    let gone = first.candidates[0].id;
    #[expect(clippy::disallowed_methods, reason = "a hand that is not ours deletes an item")]
    let delete = store.client.delete_item().table_name(&store.table);
    delete.key(PK, s(crate::names::key_pk(gone.key))).key(SK, s("M")).send().await.unwrap();
    let rest = store.message_page(first.next.as_ref(), EVERYTHING, 9).await.unwrap();
    assert_eq!((rest.candidates.len(), rest.next), (3, None));
    assert_eq!(store.message_alone(gone).await.unwrap(), None);
}

/// The filter says what `Range::holds` says, to the millisecond.
#[tokio::test(flavor = "multi_thread")]
async fn the_filter_is_the_range() {
    let (_, store) = database().await;
    let mut all = Vec::new();
    for (number, (at, db)) in [(99, 999), (100, 1_000), (101, 1_001), (99, 1_001), (101, 999)].into_iter().enumerate() {
        let message = Message { at_ms: at, deliver_by_ms: db, ..accepted(number) };
        accept(&store, &message).await;
        all.push(message);
    }
    for accepted_before_ms in [0, 99, 100, 101, 102, u64::MAX] {
        for deliver_by_after_ms in [0, 998, 999, 1_000, 1_001, u64::MAX] {
            let range = Range { accepted_before_ms, deliver_by_after_ms };
            let (mut found, ..) = walk(&store, range, 100).await;
            found.sort_by_key(|candidate| candidate.id);
            let mut held: Vec<_> = all.iter().filter(|m| range.holds(m.at_ms, m.deliver_by_ms)).map(|m| m.id).collect();
            held.sort();
            assert_eq!(found.iter().map(|candidate| candidate.id).collect::<Vec<_>>(), held, "{range:?}");
        }
    }
}

/// A damaged message is named as unreadable, never passed in silence, and the others are found all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_read_is_said_to_be_so() {
    let (_, store) = database().await;
    accept(&store, &accepted(0)).await;
    let good = message_item::encode(&accepted(1)).unwrap();
    let damages = [
        (ID, None),
        (ID, Some(s("msg_nonsense"))),
        (ACCEPTED, None),
        (ACCEPTED, Some(s("1"))),
        (ACCEPTED, Some(n(-1))),
        (DELIVER_BY, None),
        (DELIVER_BY, Some(s("1"))),
        (DEVICE_COUNT, None),
        (DEVICE_COUNT, Some(n(0))),
        (DEVICE_COUNT, Some(n(501))),
    ];
    for (number, (name, value)) in damages.iter().enumerate() {
        let message = accepted(10 + number);
        let mut item = message_item::encode(&message).unwrap();
        item.remove(*name);
        item.extend(value.clone().map(|value| ((*name).to_owned(), value)));
        put(&store, item).await;
    }
    // Another message's attributes under a key that is not its own.
    let mut stray = good;
    stray.insert(PK.to_owned(), s("K#stray"));
    put(&store, stray).await;
    let (candidates, unreadable, read, _) = walk(&store, EVERYTHING, 4).await;
    assert_eq!((candidates.len(), unreadable.len(), read), (1, damages.len() + 1, damages.len() as u64 + 2));
    assert!(unreadable.iter().any(|why| why.starts_with("K#stray: ")), "{unreadable:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunk_is_as_far_as_its_item_says() {
    let (_, store) = database().await;
    let id = accepted(0).id;
    let done = Delivery { state: State::Done, not_before_ms: 7, ..delivery(20) };
    store.write_delivery(id, 0, &delivery(20), Expect::Absent).await;
    store.write_delivery(id, 3, &done, Expect::Absent).await;
    // Of an earlier message under the same key.
    let earlier = protocol::ids::MessageId { nonce: protocol::ids::Nonce([9; 5]), ..id };
    store.write_delivery(earlier, 1, &delivery(20), Expect::Absent).await;
    // One that nobody can read.
    let (mut odd, _) = crate::delivery::encode(id, 4, &delivery(20));
    odd.insert(STATE.to_owned(), s("?"));
    put(&store, odd).await;
    let (mut no_lease, _) = crate::delivery::encode(id, 5, &delivery(20));
    no_lease.remove(LEASE);
    put(&store, no_lease).await;
    let found = store.progress(id).await.unwrap();
    let expected = [
        (0, Some(Progress::from(&delivery(20)))),
        (3, Some(Progress { state: State::Done, lease_ms: done.lease_ms, not_before_ms: 7 })),
        (4, None),
        (5, None),
    ];
    assert_eq!(found, expected);
}

/// The look is consistent: only then does a claim that was just written count. The scan need not be.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_consistently() {
    let (url, _) = database().await;
    let (proxy, proxied) = Proxy::start(&url).await;
    let store = store_at(&proxied, 10_000).await;
    store.message_page(None, EVERYTHING, 5).await.unwrap();
    store.progress(id("k", 1)).await.unwrap();
    store.message_alone(id("k", 1)).await.unwrap();
    store.pass().await.unwrap();
    let consistent: Vec<(String, bool)> = (proxy.seen().into_iter())
        .map(|(operation, body)| (operation, body["ConsistentRead"].as_bool().unwrap_or(false)))
        .collect();
    let expected = [("Scan", false), ("Query", true), ("GetItem", true), ("GetItem", true)];
    assert_eq!(consistent, expected.map(|(operation, is)| (operation.to_owned(), is)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_position_of_somebody_else_is_refused() {
    let (_, store) = database().await;
    for text in ["", "[]", r#"["a"]"#, r#"["a","b","c"]"#, "{}"] {
        assert!(store.message_page(Some(&Position(text.to_owned())), EVERYTHING, 5).await.is_err(), "{text}");
    }
}

fn pass(version: u32, position: Option<&str>) -> Pass {
    let position = position.map(|text| Position(text.to_owned()));
    let owner = OwnerToken([u8::try_from(version).unwrap(); 16]);
    Pass { started_ms: 1, saved_ms: 2, position, finished: version > 2, owner, version }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pass_is_moved_on_by_one_invocation_at_a_time() {
    let (_, store) = database().await;
    assert_eq!(store.pass().await.unwrap(), None);
    let steps = [
        (pass(1, None), Expect::Absent),
        (pass(2, Some(r#"["K#a","M"]"#)), Expect::Version(1)),
        (pass(3, None), Expect::Version(2)),
    ];
    for (pass, expect) in steps {
        assert!(matches!(store.write_pass(&pass, expect).await, PassWrite::Written));
        assert_eq!(store.pass().await.unwrap().as_ref(), Some(&pass));
        let PassWrite::Conflict(Some(winner)) = store.write_pass(&pass, expect).await else { panic!("no conflict") };
        assert_eq!(winner, pass);
    }
}

/// The answer is lost, the SDK writes again, and finds its own write: the caller can tell.
#[tokio::test(flavor = "multi_thread")]
async fn a_pass_whose_answer_was_lost_comes_back_as_the_winner() {
    let (url, _) = database().await;
    let (proxy, proxied) = Proxy::start(&url).await;
    let store = store_at(&proxied, 10_000).await;
    proxy.lose(&[Answer::Close]);
    let PassWrite::Conflict(Some(winner)) = store.write_pass(&pass(1, None), Expect::Absent).await else {
        panic!("no conflict")
    };
    assert_eq!(winner, pass(1, None));
}
