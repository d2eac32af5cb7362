//! Schedules 7 to 10: what a key is, when it ends, and who may see what is under it (G1, G2, G8).

use crate::setup;
use aws_sdk_dynamodb::types::AttributeValue;
use fault::{Action, Rule, World, body::push};
use http::Method;
use protocol::ids::{KeyHash, Operation};
use serde_json::{Value, json};

const DAY: u64 = 86_400;

/// Ends the validity of keys while their items are still in the table. The local sweep deletes expired items once a
/// minute: a first move, to just before the end, lets it sweep in vain, and the second is over before it sweeps again.
async fn expire_unswept(world: &World, keys: &[&str]) {
    world.advance(30 * DAY - 20).await;
    for key in keys {
        let _ = world.get(&format!("/v1/messages?idempotency_key={key}")).await.expect(200);
    }
    world.advance(25).await;
    for key in keys {
        let stored = world.system.store().message(KeyHash::of(Operation::Message, "acme", key)).await.unwrap();
        assert!(stored.is_some(), "this test is about an item that is still there");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_07_an_expired_key_is_free_before_its_item_is_deleted() {
    let world = World::start(setup().processes("api", 2)).await;
    let mut first = Vec::new();
    for key in ["s07-lost", "s07-race"] {
        first.push(world.queued(&push(key, "device-of-s07")).await);
    }
    for id in &first {
        world.reaches(id, "sent").await;
    }
    world.drained().await;
    expire_unswept(&world, &["s07-lost", "s07-race"]).await;

    // The overwrite's answer is lost; the SDK's repeat meets its own item.
    let lost = world.rule(Rule::new("PutItem", Action::DropResponse).key("s07-lost"));
    let again = world.queued(&push("s07-lost", "device-of-s07-new")).await;
    lost.hit().await;
    assert_ne!(again, first[0]);

    // Two that reuse the key at one moment, with different bodies: one of them wins.
    let barrier = world.rule(Rule::new("PutItem", Action::Hold).key("s07-race").times(10));
    let bodies = ["device-of-s07-a", "device-of-s07-b"].map(|token| push("s07-race", token));
    let opens = async {
        barrier.hit_times(2).await;
        barrier.release();
    };
    let (one, other, ()) = tokio::join!(world.post(&bodies[0]), world.post(&bodies[1]), opens);
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 422]);
    let winner = if one.status == 202 { one } else { other };
    assert_eq!(winner.said(), "queued");
    for id in [again, winner.id()] {
        world.reaches(&id, "sent").await;
    }
    world.drained().await;
    assert_eq!(world.calls("device-of-s07").len(), 2);
    assert_eq!(world.calls("device-of-s07-new").len(), 1);
    assert_eq!(world.calls("device-of-s07-a").len() + world.calls("device-of-s07-b").len(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "deletes as the table's TTL does")]
async fn schedule_08_the_loser_answers_from_the_item_that_it_lost_to() {
    let world = World::start(setup()).await;
    let body = push("s08", "device-of-s08");
    let id = world.queued(&body).await;
    world.reaches(&id, "sent").await;
    let held = world.rule(Rule::new("PutItem", Action::HoldResponse).key("s08"));
    let deletes = async {
        held.hit().await;
        let table = world.table().await;
        let key = |text: &str| AttributeValue::S(text.to_owned());
        let delete = table.delete_item().table_name("sendonce").key("pk", key(&World::pk("s08"))).key("sk", key("M"));
        delete.send().await.unwrap();
        held.release();
    };
    let (answer, ()) = tokio::join!(world.post(&body), deletes);
    assert_eq!(answer.expect(202).body, json!({"status": "duplicate_ignored", "id": id}));
    assert!(world.system.store().message(KeyHash::of(Operation::Message, "acme", "s08")).await.unwrap().is_none());
    world.drained().await;
    assert_eq!(world.calls("device-of-s08").len(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_09_keys_and_projects_never_meet() {
    let world = World::start(setup()).await;
    let keys = ["a#b", "a", "K#a/M", "caf\u{e9}", "cafe\u{301}", &"\u{1f4e6}".repeat(32)];
    assert_eq!(keys[5].len(), 128);
    let mut ids: Vec<(&str, String)> = Vec::new();
    for project in ["acme", "globex"] {
        for (number, key) in keys.iter().enumerate() {
            let body = push(key, &format!("device-of-s09-{project}-{number}")).to_string();
            let answer = world.request(&Method::POST, "/v1/messages", project, body.clone()).await.expect(202);
            assert_eq!(answer.said(), "queued", "{project} {key}");
            let again = world.request(&Method::POST, "/v1/messages", project, body).await.expect(202);
            assert_eq!((again.said(), again.id()), ("duplicate_ignored", answer.id()));
            ids.push((project, answer.id()));
        }
    }
    // No control characters in a key: NUL is refused before anything is looked at.
    let nul = world.post(&push("a\0b", "device-of-s09")).await.expect(400);
    assert_eq!(nul.body["code"], "idempotency_key_invalid");
    for (project, id) in &ids {
        for reader in ["acme", "globex"] {
            let path = format!("/v1/messages/{id}");
            let status = world.request(&Method::GET, &path, reader, String::new()).await.status;
            assert_eq!(status, if reader == *project { 200 } else { 404 });
        }
    }
    world.drained().await;
    for project in ["acme", "globex"] {
        for number in 0..keys.len() {
            assert_eq!(world.calls(&format!("device-of-s09-{project}-{number}")).len(), 1);
        }
    }
    world.stop().await;
}

/// Version 1 is the only one there is; an item of a later one is what a rolled back deployment meets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "writes what only later code would")]
async fn schedule_10_a_retry_meets_the_hash_of_its_item_s_version() {
    let world = World::start(setup()).await;
    let body = push("s10", "device-of-s10");
    let id = world.queued(&body).await;
    world.reaches(&id, "sent").await;
    let version = async |version: &str| {
        let key = |text: &str| AttributeValue::S(text.to_owned());
        let table = world.table().await;
        let update = table.update_item().table_name("sendonce").key("pk", key(&World::pk("s10"))).key("sk", key("M"));
        let update = update.update_expression("SET #hv = :hv").expression_attribute_names("#hv", "hv");
        update.expression_attribute_values(":hv", AttributeValue::N(version.to_owned())).send().await.unwrap();
    };
    world.duplicate(&body, &id).await;
    version("2").await;
    // It cannot be said whether it is the same request, so neither a replay nor a refusal is given.
    let answer = world.post(&body).await.expect(503);
    assert_eq!(answer.body["code"], "unavailable");
    version("1").await;
    world.duplicate(&body, &id).await;
    let mut other: Value = body.clone();
    other["notification"]["title"] = json!("Another");
    let _ = world.post(&other).await.expect(422);
    world.drained().await;
    assert_eq!(world.calls("device-of-s10").len(), 1);
    world.stop().await;
}
