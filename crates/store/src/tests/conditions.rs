//! Each condition as DynamoDB evaluates it is what `Expect::holds` says, and a lost write brings back what is stored.

use super::support::database;
use crate::{
    Store,
    attr::{Item, n, s},
    names::{EXPIRES, PAYOUT_ID, PK, SK, STATUS, VERSION},
    write::Wrote,
};
use aws_sdk_dynamodb::types::AttributeValue;
use proptest::{prelude::*, test_runner::TestRunner};
use protocol::{
    expect::{Expect, Seen},
    ids::{KeyHash, Nonce, Operation},
    refund::{
        Status,
        id::{PayoutId, RefundId},
    },
};

const NOW_S: u64 = 1_790_000_000;

/// An attribute that a condition looks at: missing, a number, or of another kind.
#[derive(Clone, Copy, Debug)]
enum Field {
    Missing,
    Number(u64),
    Text(u64),
}

impl Field {
    fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Missing | Self::Text(_) => None,
        }
    }

    fn value(self) -> Option<AttributeValue> {
        match self {
            Self::Missing => None,
            Self::Number(number) => Some(n(number)),
            Self::Text(number) => Some(s(number.to_string())),
        }
    }
}

/// What is stored: nothing, or an item with these two attributes and a third.
type Stored = Option<(Field, Field)>;

fn seen(stored: Stored) -> Option<Seen> {
    stored.map(|(version, expires)| Seen {
        version: version.number().and_then(|number| u32::try_from(number).ok()),
        expires_s: expires.number(),
        ..Seen::default()
    })
}

fn item(key: usize) -> Item {
    Item::from([(PK.to_owned(), s(format!("T#{key}"))), (SK.to_owned(), s("T"))])
}

fn old_item(key: usize, (version, expires): (Field, Field)) -> Item {
    let mut old = item(key);
    old.insert("keep".to_owned(), s("old"));
    old.insert("drop".to_owned(), s("old"));
    for (name, field) in [(VERSION, version), (EXPIRES, expires)] {
        if let Some(value) = field.value() {
            old.insert(name.to_owned(), value);
        }
    }
    old
}

async fn read(store: &Store, key: usize) -> Option<Item> {
    let request = store.client.get_item().table_name(&store.table).consistent_read(true);
    request.set_key(Some(item(key))).send().await.expect("an answer").item
}

/// One stored item, one condition, one kind of write.
async fn compare(store: &Store, key: usize, stored: Stored, expect: Expect, put: bool) {
    compare_item(store, key, stored.map(|fields| old_item(key, fields)), seen(stored), expect, put).await;
}

async fn compare_item(store: &Store, key: usize, old: Option<Item>, seen: Option<Seen>, expect: Expect, put: bool) {
    if let Some(old) = &old {
        assert!(matches!(store.put(old.clone(), Expect::Absent).await, Wrote::Written { .. }));
    }
    let mut new = item(key);
    new.insert(VERSION.to_owned(), n(77));
    new.insert("added".to_owned(), s("new"));
    let wrote =
        if put { store.put(new.clone(), expect).await } else { store.update(new.clone(), &["drop"], expect).await };
    let here = format!("{old:?} {expect:?} {}", if put { "put" } else { "update" });
    let holds = expect.holds(seen.as_ref());
    match wrote {
        Wrote::Written { units } => {
            assert!(holds, "written though it does not hold: {here}");
            assert!(units.is_some_and(|units| units > 0.0), "{here}");
            if !put {
                // An update keeps what it does not name.
                let mut kept = old.unwrap_or_default();
                kept.remove("drop");
                kept.extend(new);
                new = kept;
            }
            assert_eq!(read(store, key).await, Some(new), "{here}");
        }
        Wrote::Lost(back) => {
            assert!(!holds, "lost though it holds: {here}");
            assert_eq!(back, old, "what comes back is what is stored: {here}");
            assert_eq!(read(store, key).await, old, "a lost write changes nothing: {here}");
        }
        Wrote::Unknown(error) => panic!("{here}: {error}"),
    }
}

#[tokio::test]
async fn every_boundary_of_every_condition_is_evaluated_as_by_dynamodb() {
    let (_, store) = database().await;
    let numbers = [0, 1, 2, NOW_S - 1, NOW_S, NOW_S + 1];
    let fields: Vec<Field> = std::iter::once(Field::Missing)
        .chain(numbers.map(Field::Number))
        .chain([Field::Text(1), Field::Text(NOW_S - 1)])
        .collect();
    let mut all: Vec<Stored> = vec![None];
    all.extend(fields.iter().flat_map(|v| fields.iter().map(|exp| Some((*v, *exp)))));
    let mut key = 0;
    for stored in all {
        for expect in [Expect::Absent, Expect::AbsentOrExpired { now_s: NOW_S }, Expect::Version(1)] {
            for put in [true, false] {
                key += 1;
                compare(&store, key, stored, expect, put).await;
            }
        }
    }
}

fn field() -> impl Strategy<Value = Field> {
    let near = prop_oneof![0_u64..4, NOW_S - 2..NOW_S + 3, any::<u32>().prop_map(u64::from), Just(u64::MAX)];
    (near, 0_u8..8).prop_map(|(number, kind)| match kind {
        0 => Field::Missing,
        1 => Field::Text(number),
        _ => Field::Number(number),
    })
}

fn expect() -> impl Strategy<Value = Expect> {
    prop_oneof![
        Just(Expect::Absent),
        prop_oneof![Just(NOW_S), any::<u64>(), 0_u64..4].prop_map(|now_s| Expect::AbsentOrExpired { now_s }),
        prop_oneof![0_u32..4, any::<u32>(), Just(u32::MAX)].prop_map(Expect::Version),
    ]
}

#[test]
fn random_items_and_conditions_are_evaluated_as_by_dynamodb() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (_, store) = runtime.block_on(database());
    let key = std::sync::atomic::AtomicUsize::new(0);
    let strategy = (proptest::option::of((field(), field())), expect(), any::<bool>());
    TestRunner::new(ProptestConfig::with_cases(400))
        .run(&strategy, |(stored, expect, put)| {
            let key = key.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            runtime.block_on(compare(&store, key, stored, expect, put));
            Ok(())
        })
        .expect("every case agrees");
}

/// A refund's status, current payout and version.
type StoredRefund = Option<(Option<&'static str>, Option<PayoutId>, Field)>;

#[tokio::test]
async fn conditions_on_refunds_are_evaluated_as_by_dynamodb() {
    let (_, store) = database().await;
    let refund = RefundId { key: KeyHash::of(Operation::Refund, "acme", "k"), nonce: Nonce([1; 5]) };
    let (first, second) = (PayoutId::first(refund), PayoutId { refund, number: 2 });
    let mut stored: Vec<StoredRefund> = vec![None];
    for status in [None, Some("pending"), Some("approved"), Some("rejected"), Some("PENDING")] {
        for payout in [None, Some(first), Some(second)] {
            stored.extend([1, 2].map(|version| Some((status, payout, Field::Number(version)))));
            stored.extend([Field::Missing, Field::Text(1)].map(|version| Some((status, payout, version))));
        }
    }
    let mut key = 0;
    for stored in stored {
        let seen = stored.map(|(status, payout, version)| Seen {
            version: version.number().and_then(|number| u32::try_from(number).ok()),
            status: status.and_then(Status::parse),
            payout,
            ..Seen::default()
        });
        for expect in [Expect::RefundPending, Expect::Payout { payout: first, version: 1 }] {
            key += 1;
            let old = stored.map(|(status, payout, version)| {
                let mut old = old_item(key, (version, Field::Missing));
                old.extend(status.map(|status| (STATUS.to_owned(), s(status))));
                old.extend(payout.map(|payout| (PAYOUT_ID.to_owned(), s(payout.to_string()))));
                old
            });
            compare_item(&store, key, old, seen, expect, false).await;
        }
    }
}
