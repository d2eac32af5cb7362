//! The lists of dead tokens against the database: who writes, in which order they are read, what it takes.

use super::support::{Answer, Proxy, database, store_at};
use crate::{
    DeadToken, DeadTokenWrite, Place, Store,
    attr::s,
    names::{SINCE, dead_token_sk, dead_tokens_pk},
};
use protocol::{
    content::{Device, Platform, Token},
    dead_token::{Entry, KEPT_MS, Said, TokenKey, hear},
    expect::Expect,
};
use std::collections::BTreeSet;

const NOW: u64 = 1_790_000_000_000;

fn device(number: usize) -> Device {
    let platform = [Platform::Ios, Platform::Android, Platform::Web][number % 3];
    Device { platform, token: Token(format!("{number:0>163}")) }
}

fn dead(since_ms: u64) -> Said {
    Said::Dead { since_ms, reason: "UNREGISTERED".into() }
}

/// Writes what was said over what is stored, as a first writer does.
async fn said(store: &Store, project: &str, device: &Device, said: &Said, now_ms: u64) -> (Entry, DeadTokenWrite) {
    let stored = store.dead_tokens(project, [TokenKey::of(device)]).await.expect("read");
    let (entry, expect) = hear(stored.first().map(|(_, entry)| entry), said, now_ms).expect("it says something new");
    let write = store.write_dead_token(project, device, &entry, expect).await;
    (entry, write)
}

async fn list(store: &Store, project: &str, device: &Device, listed_ms: u64) {
    let (_, write) = said(store, project, device, &dead(listed_ms - 1), listed_ms).await;
    assert!(matches!(write, DeadTokenWrite::Written { .. }), "{write:?}");
}

/// Every row, by pages of `limit`.
async fn walk(store: &Store, project: &str, limit: u16, now_ms: u64) -> Vec<DeadToken> {
    let (mut rows, mut after): (Vec<DeadToken>, Option<Place>) = (Vec::new(), None);
    loop {
        let (page, next) = store.dead_token_page(project, after.as_ref(), limit, now_ms).await.expect("read");
        assert!(page.len() <= usize::from(limit) && (next.is_none() || page.len() == usize::from(limit)));
        rows.extend(page);
        // A place goes through its text, as a caller's cursor does.
        after = next.map(|place| Place::parse(&place.to_text()).expect("a place"));
        if after.is_none() {
            return rows;
        }
    }
}

#[tokio::test]
async fn of_two_who_write_at_once_one_does_and_the_other_sees_it() {
    let (_, store) = database().await;
    let device = device(1);
    let (entry, _) = hear(None, &dead(5), NOW).expect("new");
    let expect = Expect::AbsentOrExpired { now_s: NOW / 1_000 };
    assert!(matches!(store.write_dead_token("acme", &device, &entry, expect).await, DeadTokenWrite::Written { .. }));
    let DeadTokenWrite::Conflict(Some(winner)) = store.write_dead_token("acme", &device, &entry, expect).await else {
        panic!("both wrote it")
    };
    assert_eq!(winner, entry);
    // By version, over what was read and over nothing else.
    let (left, expect) = hear(Some(&winner), &Said::Accepted { at_ms: 6 }, NOW).expect("new");
    assert!(matches!(store.write_dead_token("acme", &device, &left, expect).await, DeadTokenWrite::Written { .. }));
    let late = store.write_dead_token("acme", &device, &entry, expect).await;
    assert!(matches!(&late, DeadTokenWrite::Conflict(Some(stored)) if *stored == left), "{late:?}");
    let gone = store.write_dead_token("globex", &device, &entry, Expect::Version(1)).await;
    assert!(matches!(gone, DeadTokenWrite::Conflict(None)), "{gone:?}");
    // Deleted or not, after its time it is written over.
    let later = NOW + KEPT_MS + 2_000;
    let (anew, _) = hear(None, &dead(later), later).expect("new");
    let expect = Expect::AbsentOrExpired { now_s: later / 1_000 };
    assert!(matches!(store.write_dead_token("acme", &device, &anew, expect).await, DeadTokenWrite::Written { .. }));
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_meets_itself_and_has_nothing_to_add() {
    let (upstream, plain) = database().await;
    let (proxy, url) = Proxy::start(&upstream).await;
    let store = store_at(&url, 6_000).await;
    proxy.lose(&[Answer::Close]);
    let (entry, _) = hear(None, &dead(5), NOW).expect("new");
    let DeadTokenWrite::Conflict(stored) = store.write_dead_token("acme", &device(1), &entry, Expect::Absent).await
    else {
        panic!("the SDK does not repeat a write whose answer was lost")
    };
    assert_eq!(stored.as_ref(), Some(&entry));
    assert_eq!(hear(stored.as_ref(), &dead(5), NOW), None);
    assert_eq!(walk(&plain, "acme", 9, NOW).await.len(), 1);
}

#[tokio::test]
async fn the_latest_listed_come_first_and_pages_of_any_size_show_each_once() {
    let (_, store) = database().await;
    let mut expected = Vec::new();
    for number in 0..17 {
        // Three in each millisecond, of all parts and platforms.
        let listed_ms = NOW + number as u64 / 3;
        list(&store, "acme", &device(number), listed_ms).await;
        let key = dead_token_sk(&TokenKey::of(&device(number)));
        expected.push((listed_ms, key, device(number)));
    }
    expected.sort();
    expected.reverse();
    let expected: Vec<Device> = expected.into_iter().map(|(.., device)| device).collect();
    let shards: BTreeSet<u8> = expected.iter().map(|device| TokenKey::of(device).shard()).collect();
    assert_eq!(shards.len(), 4, "choose other tokens");
    for limit in [1, 2, 3, 5, 16, 17, 18, 100] {
        let rows = walk(&store, "acme", limit, NOW).await;
        assert_eq!(rows.iter().map(|row| row.device.clone()).collect::<Vec<_>>(), expected, "pages of {limit}");
    }
    // What is listed while somebody walks comes before what he has, and moves nothing.
    let (page, next) = store.dead_token_page("acme", None, 5, NOW).await.expect("read");
    list(&store, "acme", &device(99), NOW + 50).await;
    let (rest, _) = store.dead_token_page("acme", next.as_ref(), 100, NOW).await.expect("read");
    let walked: Vec<Device> = page.into_iter().chain(rest).map(|row| row.device).collect();
    assert_eq!(walked, expected);
    // Another project's, and one whose name looks like a part of this one's.
    for other in ["globex", "acme#0", "acm"] {
        assert_eq!(walk(&store, other, 100, NOW).await, []);
    }
}

#[tokio::test]
async fn only_what_is_listed_and_not_over_is_shown_and_a_damaged_item_hides_no_other() {
    let (_, store) = database().await;
    for number in 0..4 {
        list(&store, "acme", &device(number), NOW + number as u64).await;
    }
    let (_, left) = said(&store, "acme", &device(2), &Said::Accepted { at_ms: NOW + 9 }, NOW + 9).await;
    assert!(matches!(left, DeadTokenWrite::Written { .. }));
    let shown =
        async |now_ms| walk(&store, "acme", 9, now_ms).await.into_iter().map(|row| row.device).collect::<Vec<_>>();
    assert_eq!(shown(NOW).await, [device(3), device(1), device(0)]);
    assert_eq!(shown(NOW + KEPT_MS).await, [device(3), device(1)], "to the millisecond");
    assert_eq!(shown(NOW + KEPT_MS + 3).await, []);
    // By a hand that is not ours.
    let key = TokenKey::of(&device(3));
    #[expect(clippy::disallowed_methods, reason = "a hand that is not ours damages an item")]
    let update = store.client.update_item().table_name(&store.table);
    update
        .key("pk", s(dead_tokens_pk("acme", key.shard())))
        .key("sk", s(dead_token_sk(&key)))
        .update_expression("SET #since = :since")
        .expression_attribute_names("#since", SINCE)
        .expression_attribute_values(":since", s("yesterday"))
        .send()
        .await
        .expect("damaged");
    assert_eq!(shown(NOW).await, [device(1), device(0)]);
    assert!(store.dead_tokens("acme", [key]).await.is_err());
}

/// Whoever kept a cursor for as long as a token is kept has seen the end of the list.
#[tokio::test]
async fn behind_a_place_that_has_ended_there_is_nothing() {
    let (_, store) = database().await;
    for number in 0..3 {
        list(&store, "acme", &device(number), NOW + number as u64).await;
    }
    let (page, place) = store.dead_token_page("acme", None, 2, NOW).await.expect("read");
    assert_eq!(page.len(), 2);
    for later in [KEPT_MS - 1, KEPT_MS + 1, KEPT_MS + 2, KEPT_MS + 3, 2 * KEPT_MS] {
        let (page, next) = store.dead_token_page("acme", place.as_ref(), 2, NOW + later).await.expect("read");
        assert_eq!((page.len(), next), (usize::from(later < KEPT_MS), None), "{later} ms later");
    }
}

#[tokio::test]
async fn a_part_is_known_whole_until_it_is_too_long_and_holds_what_has_left_the_list_too() {
    let (_, store) = database().await;
    let mine: Vec<Device> = (0..40).map(device).filter(|device| TokenKey::of(device).shard() == 1).collect();
    assert!(mine.len() > 4, "choose other tokens");
    assert_eq!(store.dead_token_keys("acme", 1, 3).await.expect("read"), Some(vec![]));
    for (number, device) in mine.iter().take(4).enumerate() {
        list(&store, "acme", device, NOW).await;
        let known = store.dead_token_keys("acme", 1, 3).await.expect("read");
        assert_eq!(known.map(|keys| keys.len()), (number < 3).then_some(number + 1));
    }
    said(&store, "acme", &mine[0], &Said::Accepted { at_ms: NOW }, NOW).await;
    let known = store.dead_token_keys("acme", 1, 4).await.expect("read").expect("not too long");
    assert!(known.contains(&TokenKey::of(&mine[0])));
    assert_eq!(store.dead_token_keys("acme", 2, 3).await.expect("read"), Some(vec![]));
    assert_eq!(store.dead_token_keys("globex", 1, 3).await.expect("read"), Some(vec![]));
}

/// docs/PUSH.md says what is paid.
#[tokio::test]
async fn a_dead_token_takes_two_units_to_list_and_two_to_take_off() {
    let (_, store) = database().await;
    let units = |write: DeadTokenWrite| match write {
        DeadTokenWrite::Written { units: Some(units) } => units,
        other => panic!("{other:?}"),
    };
    let listed = units(said(&store, "acme", &device(1), &dead(NOW), NOW).await.1);
    let left = units(said(&store, "acme", &device(1), &Said::Accepted { at_ms: NOW + 1 }, NOW + 1).await.1);
    assert!((listed - 2.0).abs() < f64::EPSILON && (left - 2.0).abs() < f64::EPSILON, "{listed} and {left}");
}
