//! No attribute is named in an expression: every name goes through ExpressionAttributeNames, so that none can be a
//! reserved word, and every value through a placeholder that is used.

use super::support::{FCM_NAME, Proxy, database, delivery, id, message, request, store_at};
use protocol::{answer::Reason, expect::Expect};
use serde_json::Value;
use std::collections::BTreeSet;

const KEYWORDS: [&str; 7] = ["SET", "REMOVE", "AND", "OR", "attribute_not_exists", "begins_with", ""];

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
    assert_eq!(operations, BTreeSet::from(["GetItem", "PutItem", "Query", "UpdateItem"]));
    let reads = seen.iter().filter(|(_, body)| body["ConsistentRead"] == true).count();
    assert_eq!(reads, 2, "a caller's read and a consumer's read are consistent; the relay's look-up need not be");
}
