//! A key is valid for 30 days and free afterwards, whether the table has deleted its item or not (G1).

use crate::support::{TestApp, eventually, push};
use futures_util::future::join_all;
use protocol::ids::{KeyHash, Operation};
use serde_json::json;

const DAY: u64 = 86_400;

/// Ends the key's validity while its item is still in the table. The local sweep deletes expired items once a minute:
/// a first move, to just before the end, lets it sweep in vain, and the second is over before it sweeps again.
async fn expire_unswept(app: &TestApp, key: &str) {
    let hash = KeyHash::of(Operation::Message, "acme", key);
    app.advance(30 * DAY - 20);
    app.get(&format!("/v1/messages?idempotency_key={key}"), 200).await;
    app.advance(25);
    let stored = app.system.store().message(hash).await.unwrap();
    assert!(stored.is_some(), "this test is about an item that is still there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_free_after_its_validity_though_its_item_is_still_there() {
    let app = TestApp::start().await;
    let body = push("reused", "device-of-reuse");
    let first = app.queued(&body).await;
    app.reaches(&first, "sent").await;
    app.drained().await;
    expire_unswept(&app, "reused").await;
    // Reads go by the clock too.
    app.get(&format!("/v1/messages/{first}"), 404).await.problem(404, "not_found");
    app.get("/v1/messages?idempotency_key=reused", 404).await;

    let mut other = body.clone();
    other["notification"]["title"] = json!("A year later");
    let second = app.queued(&other).await;
    assert_ne!(first, second);
    app.get(&format!("/v1/messages/{first}"), 404).await.problem(404, "not_found");
    assert_eq!(app.get("/v1/messages?idempotency_key=reused", 200).await.id(), second);
    app.duplicate(&other, &second).await;
    app.send(&body, 422).await.problem(422, "idempotency_key_reused");
    app.reaches(&second, "sent").await;
    app.drained().await;
    let calls = app.calls("device-of-reuse");
    assert_eq!(calls.iter().map(|call| call.collapse_id.clone().unwrap()).collect::<Vec<_>>(), [first, second]);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_free_after_its_item_was_deleted() {
    let app = TestApp::start().await;
    let body = push("deleted", "device-of-deleted");
    let first = app.queued(&body).await;
    app.reaches(&first, "sent").await;
    app.drained().await;
    app.advance(31 * DAY);
    let hash = KeyHash::of(Operation::Message, "acme", "deleted");
    eventually("the table deletes the expired item", async || {
        app.system.store().message(hash).await.unwrap().is_none().then_some(())
    })
    .await;
    let second = app.queued(&body).await;
    assert_ne!(first, second);
    app.reaches(&second, "sent").await;
    app.get(&format!("/v1/messages/{first}"), 404).await;
    app.drained().await;
    assert_eq!(app.calls("device-of-deleted").len(), 2);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_reuse_an_expired_key_at_once_one_wins() {
    let app = TestApp::start().await;
    let body = push("reused-at-once", "device-of-reuse-at-once");
    let first = app.queued(&body).await;
    app.reaches(&first, "sent").await;
    app.drained().await;
    expire_unswept(&app, "reused-at-once").await;
    let answers = join_all((0..20).map(|_| app.send(&body, 202))).await;
    let queued: Vec<_> = answers.iter().filter(|answer| answer.body["status"] == "queued").collect();
    assert_eq!(queued.len(), 1);
    let second = queued[0].id();
    assert_ne!(second, first);
    assert!(answers.iter().all(|answer| answer.id() == second));
    app.reaches(&second, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-reuse-at-once").len(), 2);
    app.stop().await;
}
