//! No attribute is named in an expression: every name goes through ExpressionAttributeNames, so that none can be a
//! reserved word, and every value through a placeholder that is used.

use super::refund_support::{decision, pending};
use super::support::{FCM_NAME, Proxy, database, delivery, id, message, request, store_at};
use crate::{ApiKey, Project};
use protocol::{
    answer::Reason,
    dead_token::{SHARDS, Said, TokenKey, hear},
    expect::Expect,
    refund::{Status, decide::Verdict, id::PayoutId},
};
use serde_json::Value;
use std::collections::BTreeSet;

const KEYWORDS: [&str; 10] = [
    "SET",
    "REMOVE",
    "AND",
    "OR",
    "BETWEEN",
    "attribute_not_exists",
    "attribute_exists",
    "begins_with",
    "list_append",
    "",
];

fn keys(body: &Value, member: &str) -> BTreeSet<String> {
    body[member].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

/// The placeholders of all expressions of a request; panics at a bare name.
fn placeholders(body: &Value) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for (member, expression) in body.as_object().into_iter().flatten() {
        if !member.ends_with("Expression") {
            continue;
        }
        for token in expression.as_str().expect("an expression is text").split([' ', '(', ')', ',', '=', '<', '>']) {
            if token.starts_with(['#', ':']) {
                used.insert(token.to_owned());
            } else {
                assert!(KEYWORDS.contains(&token), "{token:?} in {expression}");
            }
        }
    }
    used
}

#[tokio::test]
async fn every_token_of_every_expression_is_a_placeholder_or_a_keyword() {
    let (upstream, _) = database().await;
    let (proxy, url) = Proxy::start(&upstream).await;
    let store = store_at(&url, 10_000).await;
    let id = id("k", 1);
    let accepted = message(id, "k", &request(21, "body"));
    store.accept(&accepted, accepted.at_ms).await;
    let mut full = delivery(20);
    store.write_delivery(id, 0, &full, Expect::Absent).await;
    full.devices[0].provider_id = Some(FCM_NAME.into());
    full.devices[1].error = Some(Reason { code: "UNREGISTERED".into(), detail: "gone".into() });
    full.owner = None;
    store.write_delivery(id, 0, &full, Expect::Version(1)).await;
    store.message(id.key).await.expect("read");
    store.chunks_present(id).await.expect("read");
    store.delivery(id, 0).await.expect("read");
    let refund = pending("k", 1);
    store.create_refund(&refund).await;
    store.decide_refund("acme", refund.id, &decision(Verdict::Approve, 1)).await;
    let mut approved = store.refund(refund.id).await.expect("read").expect("stored");
    approved.version += 1;
    let payout = PayoutId::first(refund.id);
    store.write_refund(&approved, Expect::Payout { payout, version: approved.version - 1 }).await;
    let cursor = store.refunds("acme", Status::Approved, 1, None).await.expect("a page").next;
    store.refunds("acme", Status::Approved, 1, cursor).await.expect("a page");
    let (entry, expect) = hear(None, &Said::Dead { since_ms: 1, reason: "UNREGISTERED".into() }, 2).expect("new");
    let device = &accepted.devices[0];
    store.write_dead_token("acme", device, &entry, expect).await;
    store.dead_tokens("acme", [TokenKey::of(device)]).await.expect("read");
    store.dead_token_keys("acme", 0, 5).await.expect("read");
    store.dead_token_page("acme", None, 5, 2).await.expect("read");
    // What only the admin command asks.
    let key = ApiKey { project: "acme".into(), name: "ada".into(), scopes: vec![], revoked_at_ms: None };
    let project = |app: &str| Project { apps: vec![app.into()] };
    store.create_api_key(&[7; 32], &key, Some(1)).await;
    store.replace_api_key(&[7; 32], 9, &[8; 32]).await;
    store.revoke_api_key(&[7; 32], 5).await;
    store.add_project("acme", &project("a")).await;
    store.change_project("acme", &project("a"), &project("b")).await;
    assert_eq!(store.api_keys("acme", "").await.expect("read").len(), 1);
    assert_eq!(store.projects().await.expect("read").len(), 1);
    assert_eq!(store.raw_message(id.key).await.expect("read").len(), 2);

    let seen = proxy.seen();
    let mut operations = BTreeSet::new();
    for (operation, body) in &seen {
        operations.insert(operation.as_str());
        let mut defined = keys(body, "ExpressionAttributeNames");
        defined.extend(keys(body, "ExpressionAttributeValues"));
        assert_eq!(placeholders(body), defined, "{operation}: every placeholder is defined and used");
        if ["PutItem", "UpdateItem"].contains(&operation.as_str()) {
            assert!(body["ConditionExpression"].is_string(), "every write is conditional");
            assert_eq!(body["ReturnValuesOnConditionCheckFailure"], "ALL_OLD");
        }
    }
    assert_eq!(operations, BTreeSet::from(["BatchGetItem", "GetItem", "PutItem", "Query", "UpdateItem"]));
    let reads = seen.iter().filter(|(_, body)| body["ConsistentRead"] == true).count();
    // Those of the list of keys, of each key in it, of the list of projects, and of the items as they are; and the list
    // of dead tokens takes one for each part.
    let expected = 4 + 3 + usize::from(SHARDS);
    assert_eq!(
        reads, expected,
        "what a caller or a consumer reads is consistent; what only looks things up need not be"
    );
    let batches = seen.iter().filter(|(operation, _)| operation == "BatchGetItem");
    assert!(batches.clone().all(|(_, body)| body["RequestItems"]["sendonce"]["ConsistentRead"] == true));
}
