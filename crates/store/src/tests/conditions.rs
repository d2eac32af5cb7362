//! Each condition as DynamoDB evaluates it is what `Expect::holds` says, and a lost write brings back what is stored.

use super::support::database;
use crate::{
    Store,
    attr::{Item, n, s},
    names::{EXPIRES, PK, SK, VERSION},
    write::Wrote,
};
use aws_sdk_dynamodb::types::AttributeValue;
use proptest::{prelude::*, test_runner::TestRunner};
use protocol::expect::{Expect, Seen};

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
    let old = stored.map(|fields| old_item(key, fields));
    if let Some(old) = &old {
        assert!(matches!(store.put(old.clone(), Expect::Absent).await, Wrote::Written { .. }));
    }
    let mut new = item(key);
    new.insert(VERSION.to_owned(), n(77));
    new.insert("added".to_owned(), s("new"));
    let wrote =
        if put { store.put(new.clone(), expect).await } else { store.update(new.clone(), &["drop"], expect).await };
    let here = format!("{stored:?} {expect:?} {}", if put { "put" } else { "update" });
    let holds = expect.holds(seen(stored).as_ref());
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
