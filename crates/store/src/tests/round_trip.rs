//! What is written is what is read, for any message and any delivery item.

use super::support::{FCM_NAME, database, delivery, id};
use crate::{
    AcceptWrite, DeliveryWrite, RefundCreate, RefundWrite, Store, delivery as delivery_item, message as message_item,
    names, refund::item as refund_item,
};
use proptest::{collection, option, prelude::*, test_runner::TestRunner};
use protocol::{
    answer::Reason,
    content::{Content, Device, Notification, Platform, Policy, Priority, Token},
    delivery::{Delivery, DeviceState, State},
    expect::Expect,
    fingerprint::Fingerprint,
    ids::{KeyHash, MessageId, Nonce, Operation, OwnerToken},
    letter::LETTERS,
    message::Message,
    refund::{
        Refund,
        decide::{Decision, Verdict},
        id::RefundId,
        payout::{Payout, STATES},
        request::{REASONS, RefundRequest},
        trail::{About, By, Line, Trail, What},
        webhook::Order,
    },
};
use std::sync::atomic::{AtomicUsize, Ordering};

fn text() -> impl Strategy<Value = String> {
    collection::vec(prop_oneof![any::<char>(), prop::char::range('a', 'z'), Just('/'), Just('\0'), Just('"')], 0..12)
        .prop_map(|chars| chars.into_iter().collect())
}

fn content() -> impl Strategy<Value = Content> {
    let shown =
        (text(), text(), option::of(text())).prop_map(|(title, body, image)| Notification { title, body, image });
    let priority = prop::sample::select(vec![Priority::High, Priority::Normal]);
    (option::of(shown), collection::btree_map(text(), text(), 0..4), option::of(text()), option::of(text()), priority)
        .prop_map(|(notification, data, collapse_key, app, priority)| Content {
            notification,
            data,
            collapse_key,
            app,
            priority,
        })
}

fn devices() -> impl Strategy<Value = Vec<Device>> {
    let platform = prop::sample::select(vec![Platform::Ios, Platform::Android, Platform::Web]);
    collection::vec((platform, text()).prop_map(|(platform, token)| Device { platform, token: Token(token) }), 0..50)
}

fn message() -> impl Strategy<Value = Message> {
    let hash = (any::<u8>(), any::<[u8; 32]>()).prop_map(|(version, hash)| Fingerprint { version, hash });
    let policy = prop::sample::select(vec![Policy::AtLeastOnce, Policy::AtMostOnce]);
    (text(), text(), any::<[u8; 5]>(), hash, any::<[u64; 4]>(), policy, devices(), content()).prop_map(
        |(
            project,
            key,
            nonce,
            fingerprint,
            [at_ms, deliver_by_ms, expires_ms, valid_until_s],
            policy,
            devices,
            content,
        )| {
            let hash = KeyHash::of(Operation::Message, &project, &key);
            let id = MessageId { key: hash, nonce: Nonce(nonce) };
            Message {
                id,
                fingerprint,
                project,
                key,
                at_ms,
                deliver_by_ms,
                expires_ms,
                valid_until_s,
                policy,
                devices,
                content,
            }
        },
    )
}

/// Real provider ids of several shapes, and anything else: the id is what the provider gave, exactly.
fn provider_id() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0_u64..100).prop_map(|number| format!("{FCM_NAME}{number}")),
        1 => Just("projects/another/messages/1".to_owned()),
        1 => Just("A1B2C3D4-E5F6-7890-ABCD-EF0123456789".to_owned()),
        1 => Just("projects/".to_owned()),
        1 => text(),
    ]
}

fn device_state() -> impl Strategy<Value = DeviceState> {
    let error = (text(), text()).prop_map(|(code, detail)| Reason { code, detail });
    (prop::sample::select(LETTERS.to_vec()), 0_u8..=9, option::of(provider_id()), option::of(error))
        .prop_map(|(letter, calls, provider_id, error)| DeviceState { letter, calls, provider_id, error })
}

fn any_delivery() -> impl Strategy<Value = Delivery> {
    let state = prop::sample::select(vec![State::InFlight, State::Retry, State::Done]);
    let owner = option::of(any::<[u8; 16]>().prop_map(OwnerToken));
    let devices = collection::vec(device_state(), 1..=20);
    (state, any::<u16>(), owner, any::<[u64; 4]>(), any::<u32>(), devices).prop_map(
        |(state, attempt, owner, [lease_ms, not_before_ms, updated_ms, expires_s], version, devices)| Delivery {
            state,
            attempt,
            owner,
            lease_ms,
            not_before_ms,
            version,
            devices,
            updated_ms,
            expires_s,
        },
    )
}

fn payout() -> impl Strategy<Value = Payout> {
    let reason = (text(), text()).prop_map(|(code, detail)| Reason { code, detail });
    let order = (any::<u64>(), any::<u8>()).prop_map(|(created_s, rank)| Order { created_s, rank });
    // Without a first call there is none to count; a count of none is not stored.
    let calls = (any::<u64>(), 1..=u32::MAX);
    let times = (any::<u64>(), option::of(calls), option::of(any::<u64>()), option::of(any::<[u8; 16]>()));
    let state = prop::sample::select(STATES.to_vec());
    (any::<u16>(), any::<u64>(), state, times, option::of(text()), option::of(reason), option::of(order)).prop_map(
        |(number, amount, state, (due_ms, called, failed_ms, caller), reference, reason, applied)| Payout {
            // Numbers begin at 1.
            number: number.max(1),
            amount,
            state,
            due_ms,
            first_call_ms: called.map(|(first, _)| first),
            calls: called.map_or(0, |(_, calls)| calls),
            caller: caller.map(OwnerToken),
            failed_ms,
            reference,
            reason,
            applied,
        },
    )
}

fn trail() -> impl Strategy<Value = Trail> {
    let by = prop_oneof![text().prop_map(By::Actor), Just(By::Payout), text().prop_map(By::Event)];
    let what = prop::sample::select(What::ALL.to_vec());
    let about = (option::of(any::<u16>()), option::of(text()), option::of(text()), option::of(any::<u64>()))
        .prop_map(|(payout, reference, code, created_s)| About { payout, reference, code, created_s });
    let line = (any::<u64>(), what, by, about).prop_map(|(at_ms, what, by, about)| Line { at_ms, what, by, about });
    collection::vec(line, 0..6).prop_map(Trail)
}

fn refund() -> impl Strategy<Value = Refund> {
    let request = (text(), text(), any::<u64>(), text(), prop::sample::select(REASONS.to_vec()), option::of(text()))
        .prop_map(|(order, payment, amount, currency, reason, note)| RefundRequest {
            order,
            payment,
            amount,
            currency,
            reason,
            note,
        });
    let decided = (text(), any::<u64>(), any::<[u8; 5]>(), option::of(payout()));
    let names = (text(), text(), text(), any::<[u8; 5]>());
    let hash = (any::<u8>(), any::<[u8; 32]>()).prop_map(|(version, hash)| Fingerprint { version, hash });
    let writer = option::of(any::<[u8; 16]>().prop_map(OwnerToken));
    let rest = (collection::vec(text(), 0..3), trail(), writer, any::<u32>(), any::<u64>());
    (names, hash, request, option::of(decided), rest).prop_map(
        |(
            (project, key, created_by, nonce),
            fingerprint,
            request,
            decided,
            (events, trail, writer, version, at_ms),
        )| {
            let (decision, payout) = match decided {
                None => (None, None),
                Some((by, at_ms, nonce, payout)) => {
                    let verdict = if payout.is_some() { Verdict::Approve } else { Verdict::Reject };
                    (Some(Decision { verdict, by, at_ms, nonce: Nonce(nonce) }), payout)
                }
            };
            let hash = KeyHash::of(Operation::Refund, &project, &key);
            let id = RefundId { key: hash, nonce: Nonce(nonce) };
            Refund {
                id,
                fingerprint,
                project,
                key,
                at_ms,
                created_by,
                request,
                decision,
                payout,
                events,
                trail,
                writer,
                version,
            }
        },
    )
}

proptest! {
    #[test]
    fn a_refund_reads_back(refund in refund()) {
        let item = refund_item::encode(&refund);
        prop_assert_eq!(refund_item::decode(&item).unwrap(), refund);
    }

    #[test]
    fn a_message_reads_back(message in message()) {
        let item = message_item::encode(&message).unwrap();
        prop_assert_eq!(message_item::decode(&item).unwrap(), message);
    }

    #[test]
    fn a_delivery_reads_back(delivery in any_delivery()) {
        let (item, absent) = delivery_item::encode(id("k", 1), 3, &delivery);
        prop_assert_eq!(delivery_item::decode(&item).unwrap(), delivery);
        prop_assert!(absent.iter().all(|name| !item.contains_key(*name)));
    }

    #[test]
    fn a_chunk_s_sort_key_reads_back_and_sorts(a in 0_u16..10_000, b in 0_u16..10_000) {
        let (one, other) = (names::delivery_sk(id("k", 1), a), names::delivery_sk(id("k", 1), b));
        prop_assert_eq!(names::chunk_of_sk(&one), Some(a));
        prop_assert_eq!(one.cmp(&other), a.cmp(&b));
    }
}

fn with_a_database<V: std::fmt::Debug>(
    cases: u32,
    strategy: &impl Strategy<Value = V>,
    check: impl AsyncFn(&Store, V),
) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (_, store) = runtime.block_on(database());
    TestRunner::new(ProptestConfig::with_cases(cases))
        .run(strategy, |value| {
            runtime.block_on(check(&store, value));
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_message_reads_back_from_the_table() {
    let number = AtomicUsize::new(0);
    with_a_database(60, &message(), async |store, mut message| {
        // Each case, a shrunk one too, under a key of its own.
        let key = format!("{}", number.fetch_add(1, Ordering::Relaxed));
        message.id.key = KeyHash::of(Operation::Message, "acme", &key);
        let accepted = store.accept(&message, 0).await;
        assert!(matches!(accepted, AcceptWrite::Accepted { .. }), "{accepted:?}");
        let stored = store.message(message.id.key).await.unwrap().unwrap();
        assert_eq!(stored.deliveries.len(), usize::from(message.chunks()));
        assert_eq!(stored.message, message);
    });
}

#[test]
fn a_refund_replaces_the_one_before_it_whole() {
    let number = AtomicUsize::new(0);
    with_a_database(60, &(refund(), refund()), async |store, (mut first, second)| {
        let key = format!("{}", number.fetch_add(1, Ordering::Relaxed));
        first.id.key = KeyHash::of(Operation::Refund, "acme", &key);
        let second = Refund { id: first.id, ..second };
        let created = store.create_refund(&first).await;
        assert!(matches!(created, RefundCreate::Created { .. }), "{created:?}");
        assert_eq!(store.refund(first.id).await.unwrap().as_ref(), Some(&first));
        let wrote = store.write_refund(&second, Expect::Version(first.version)).await;
        assert!(matches!(wrote, RefundWrite::Written { .. }), "{wrote:?}");
        assert_eq!(store.refund(first.id).await.unwrap(), Some(second), "nothing of the first is left");
    });
}

#[test]
fn a_delivery_replaces_the_one_before_it_whole() {
    let strategy = (any::<[u8; 5]>(), 0_u16..25, any_delivery(), any_delivery());
    with_a_database(80, &strategy, async |store, (nonce, chunk, first, second)| {
        let id = MessageId { nonce: Nonce(nonce), ..id("k", 1) };
        let expect = match store.delivery(id, chunk).await.unwrap() {
            Some(before) => Expect::Version(before.version),
            None => Expect::Absent,
        };
        assert!(matches!(store.write_delivery(id, chunk, &first, expect).await, DeliveryWrite::Written { .. }));
        assert_eq!(store.delivery(id, chunk).await.unwrap().as_ref(), Some(&first));
        let DeliveryWrite::Conflict(Some(stored)) = store.write_delivery(id, chunk, &second, Expect::Absent).await
        else {
            panic!("no conflict")
        };
        assert_eq!(stored, first, "the loser sees the winner");
        let expect = Expect::Version(first.version);
        assert!(matches!(store.write_delivery(id, chunk, &second, expect).await, DeliveryWrite::Written { .. }));
        assert_eq!(store.delivery(id, chunk).await.unwrap(), Some(second), "nothing of the first is left");
    });
}

#[tokio::test]
async fn a_message_is_read_with_the_items_of_its_own_chunks_only() {
    let (_, store) = database().await;
    let request = super::support::request(41, "body");
    let (old, new) = (id("k", 1), id("k", 2));
    let before = super::support::message(old, "k", &request);
    store.accept(&before, before.at_ms).await;
    store.write_delivery(old, 0, &delivery(20), Expect::Absent).await;
    store.write_delivery(old, 1, &delivery(20), Expect::Absent).await;
    let after = super::support::message(new, "k", &request);
    let reused = store.accept(&after, (before.valid_until_s + 1) * 1_000).await;
    assert!(matches!(reused, AcceptWrite::Accepted { .. }));
    let mine = Delivery { attempt: 5, ..delivery(1) };
    store.write_delivery(new, 2, &mine, Expect::Absent).await;

    let stored = store.message(new.key).await.unwrap().unwrap();
    assert_eq!(stored.message.id, new);
    assert_eq!(stored.deliveries, [None, None, Some(mine)]);
    assert_eq!(store.chunks_present(new).await.unwrap(), [2]);
    assert_eq!(store.chunks_present(old).await.unwrap(), [0, 1]);
    assert_eq!(store.chunks_present(id("k", 3)).await.unwrap(), Vec::<u16>::new());
    assert!(store.message(id("other", 1).key).await.unwrap().is_none());
}
