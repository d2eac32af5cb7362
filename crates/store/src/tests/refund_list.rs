//! Lists of refunds: newest first, page by page, of one project and one status.

use super::{
    refund_support::{NOW, create, decision, pending, request, written},
    support::database,
};
use crate::{RefundCursor, Store, attr::s, names::WHY, refund::item as refund_item, write::Wrote};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, StreamSpecification,
    StreamViewType,
};
use protocol::{
    expect::Expect,
    ids::Nonce,
    refund::{Refund, Status, decide::Verdict, id::RefundId},
};

async fn ids(store: &Store, project: &str, status: Status, limit: u16) -> Vec<Vec<RefundId>> {
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let page = store.refunds(project, status, limit, after).await.expect("a page");
        pages.push(page.refunds.iter().map(|refund| refund.id).collect());
        match page.next {
            Some(next) => {
                assert_eq!(RefundCursor::parse(&next.to_string()), Some(next), "a cursor reads back");
                after = Some(next);
            }
            None => return pages,
        }
    }
}

#[tokio::test]
async fn pages_are_newest_first_and_hold_everything_once() {
    let (_, store) = database().await;
    let mut all = Vec::new();
    for number in 0..7_u8 {
        // Two of each millisecond: then the id decides.
        let at = NOW + u64::from(number / 2);
        let refund = Refund::new("acme", &format!("k{number}"), "shop", Nonce([number; 5]), request(1), at);
        create(&store, &refund).await;
        all.push(refund);
    }
    create(&store, &Refund::new("globex", "k", "shop", Nonce([1; 5]), request(1), NOW)).await;
    all.sort_by_key(|refund| std::cmp::Reverse((refund.at_ms, refund.id.to_string())));
    let expected: Vec<RefundId> = all.iter().map(|refund| refund.id).collect();
    for (limit, sizes) in [(1, vec![1; 7]), (2, vec![2, 2, 2, 1]), (3, vec![3, 3, 1]), (7, vec![7]), (100, vec![7])] {
        let pages = ids(&store, "acme", Status::Pending, limit).await;
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), sizes, "limit {limit}: no empty last page");
        assert_eq!(pages.concat(), expected);
    }
    assert_eq!(ids(&store, "acme", Status::Approved, 20).await, [vec![]]);
    assert_eq!(ids(&store, "nobody", Status::Pending, 20).await, [vec![]]);
    assert_eq!(ids(&store, "globex", Status::Pending, 20).await.concat().len(), 1);
}

#[tokio::test]
async fn a_decision_moves_a_refund_and_rows_are_whole() {
    let (_, store) = database().await;
    for (key, verdict) in [("a", Verdict::Approve), ("r", Verdict::Reject)] {
        create(&store, &pending(key, 1)).await;
        written(&store.decide_refund("acme", pending(key, 1).id, &decision(verdict, 1)).await);
    }
    create(&store, &pending("p", 1)).await;
    for (key, status) in [("a", Status::Approved), ("r", Status::Rejected), ("p", Status::Pending)] {
        let page = store.refunds("acme", status, 20, None).await.unwrap();
        let read = store.refund(pending(key, 1).id).await.unwrap().unwrap();
        assert_eq!(page.refunds, [read], "{key}");
    }
}

/// One that cannot be read hides no other: neither on its page nor behind it.
#[tokio::test]
async fn a_refund_that_cannot_be_read_is_left_out_of_its_list() {
    let (_, store) = database().await;
    for (at, key) in ["a", "b", "c"].into_iter().enumerate() {
        let refund = Refund::new("acme", key, "shop", Nonce([1; 5]), request(1), NOW + at as u64);
        let mut item = refund_item::encode(&refund);
        if key == "b" {
            item.insert(WHY.to_owned(), s("a reason of newer code"));
        }
        assert!(matches!(store.put(item, Expect::Absent).await, Wrote::Written { .. }));
    }
    for (limit, sizes) in [(1, vec![1, 0, 1]), (2, vec![1, 1]), (20, vec![2])] {
        let pages = ids(&store, "acme", Status::Pending, limit).await;
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), sizes, "limit {limit}");
    }
}

#[tokio::test]
async fn a_hundred_rows_fit_a_page() {
    let (_, store) = database().await;
    for number in 0..105_u64 {
        let refund = Refund::new("acme", &number.to_string(), "shop", Nonce([1; 5]), request(1), NOW + number);
        create(&store, &refund).await;
    }
    let sizes: Vec<usize> = ids(&store, "acme", Status::Pending, 100).await.iter().map(Vec::len).collect();
    assert_eq!(sizes, [100, 5]);
}

/// A table of an earlier version, as a folder of `--data` may hold one. A local index is made with its table or never.
#[tokio::test]
async fn a_table_without_the_indexes_is_refused() {
    let (url, store) = database().await;
    let old = Store { table: "old".to_owned(), ..store };
    let (kind, text) = (BillingMode::PayPerRequest, ScalarAttributeType::S);
    let stream = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewAndOldImages)
        .build()
        .unwrap();
    let mut request = old.client.create_table().table_name("old").billing_mode(kind).stream_specification(stream);
    for (name, key) in [("pk", KeyType::Hash), ("sk", KeyType::Range)] {
        let definition = AttributeDefinition::builder().attribute_name(name).attribute_type(text.clone()).build();
        let element = KeySchemaElement::builder().attribute_name(name).key_type(key).build();
        request = request.attribute_definitions(definition.unwrap()).key_schema(element.unwrap());
    }
    request.send().await.unwrap();
    let refused = old.create_table().await.unwrap_err().to_string();
    assert!(refused.contains("lacks an index"), "{url}: {refused}");
}

#[test]
fn what_is_no_cursor_is_refused() {
    let id = pending("k", 1).id;
    assert!(RefundCursor::parse(&format!("{NOW:020}#{id}")).is_some());
    for wrong in ["", "x", "1#x", &format!("{NOW}#{id}"), &format!("+{NOW:019}#{id}")] {
        assert_eq!(RefundCursor::parse(wrong), None, "{wrong}");
    }
}
