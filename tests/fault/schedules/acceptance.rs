//! Schedules 1 to 6: the write that accepts a message, when its answer, its process or the network fails (G1, G4).

use crate::setup;
use fault::{Action, Rule, World, body::push, wait::eventually};
use futures_util::future::join_all;
use serde_json::{Value, json};

/// Tries of one operation by the SDK (`platform::AwsTimeouts::within`).
const TRIES: u32 = 3;

/// The ids that the requests for `key` wanted to store, in the order in which the table saw them.
fn ids_put(world: &World, key: &str) -> Vec<String> {
    let puts = world.proxy.seen("PutItem", key);
    puts.iter().map(|put| put.json()["Item"]["id"]["S"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_01_a_lost_answer_to_the_put_is_still_queued() {
    let world = World::start(setup()).await;
    let lost = world.rule(Rule::new("PutItem", Action::DropResponse).key("s01"));
    let id = world.queued(&push("s01", "device-of-s01")).await;
    lost.hit().await;
    let puts = world.proxy.seen("PutItem", "s01");
    assert_eq!(puts.iter().map(|put| put.done).collect::<Vec<_>>(), [Some("apply_drop_response"), None]);
    assert_eq!(puts[1].status, Some(400), "the repeat loses against its own first try");
    assert_eq!(ids_put(&world, "s01"), [id.clone(), id.clone()]);
    world.reaches(&id, "sent").await;
    world.drained().await;
    assert_eq!(world.calls("device-of-s01").len(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_02_when_every_answer_is_lost_the_client_s_retry_finds_out() {
    let world = World::start(setup()).await;
    let lost = world.rule(Rule::new("PutItem", Action::DropResponse).key("s02").times(TRIES));
    let body = push("s02", "device-of-s02");
    let answer = world.post(&body).await.expect(503);
    assert!(answer.headers.contains_key("retry-after") && answer.body["code"] == "unavailable", "{}", answer.body);
    lost.hit().await;
    lost.remove();
    let answer = world.post(&body).await.expect(202);
    assert_eq!((answer.said(), answer.id()), ("duplicate_ignored", ids_put(&world, "s02")[0].clone()));
    world.advance(3).await;
    world.reaches(&answer.id(), "sent").await;
    world.drained().await;
    assert_eq!(world.calls("device-of-s02").len(), 1);
    world.stop().await;
}

/// Sends all bodies at once through three processes whose Puts all wait for each other; every answer.
async fn at_a_barrier(world: &World, key: &str, bodies: &[Value]) -> Vec<fault::http::Answer> {
    let barrier = world.rule(Rule::new("PutItem", Action::Hold).key(key).times(1_000));
    let all = join_all(bodies.iter().map(|body| world.post(body)));
    let opens = async {
        barrier.hit_times(u32::try_from(bodies.len()).unwrap()).await;
        barrier.release();
    };
    tokio::join!(all, opens).0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_03_of_fifty_equal_sends_at_a_barrier_one_is_queued() {
    let world = World::start(setup().processes("api", 3)).await;
    let answers = at_a_barrier(&world, "s03", &vec![push("s03", "device-of-s03"); 50]).await;
    let ids: Vec<String> = answers.iter().map(|answer| answer.clone().expect(202).id()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "one id");
    assert_eq!(answers.iter().filter(|answer| answer.said() == "queued").count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.said() == "duplicate_ignored").count(), 49);
    world.reaches(&ids[0], "sent").await;
    world.drained().await;
    assert_eq!(world.calls("device-of-s03").len(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_04_of_two_bodies_racing_for_a_key_one_wins_and_the_other_is_refused() {
    let world = World::start(setup().processes("api", 3)).await;
    let bodies: Vec<Value> = (0..50)
        .map(|number| push("s04", if number % 2 == 0 { "device-of-s04-a" } else { "device-of-s04-b" }))
        .collect();
    let answers = at_a_barrier(&world, "s04", &bodies).await;
    let winner = answers.iter().position(|answer| answer.said() == "queued").expect("one is queued");
    for (number, answer) in answers.iter().enumerate() {
        if number % 2 == winner % 2 {
            let said = if number == winner { "queued" } else { "duplicate_ignored" };
            assert_eq!((answer.status.as_u16(), answer.said()), (202, said));
            assert_eq!(answer.id(), answers[winner].id());
        } else {
            assert_eq!((answer.status.as_u16(), &answer.body["code"]), (422, &json!("idempotency_key_reused")));
        }
    }
    world.reaches(&answers[winner].id(), "sent").await;
    world.drained().await;
    let calls = ["device-of-s04-a", "device-of-s04-b"].map(|token| world.calls(token).len());
    assert_eq!(calls, if winner % 2 == 0 { [1, 0] } else { [0, 1] });
    world.stop().await;
}

/// Nothing of the message was stored: nobody is called, and the key is as free as before.
async fn was_never_accepted(world: &World, key: &str, token: &str) {
    let _ = world.get(&format!("/v1/messages?idempotency_key={key}")).await.expect(404);
    world.drained().await;
    assert!(world.calls(token).is_empty());
    let id = world.queued(&push(key, token)).await;
    world.reaches(&id, "sent").await;
    world.drained().await;
    assert_eq!(world.calls(token).len(), 1);
}

/// It was stored: the relay delivers it once, and the client's retry is a duplicate.
async fn was_accepted(world: &World, key: &str, token: &str) {
    let id = world.get(&format!("/v1/messages?idempotency_key={key}")).await.expect(200).id();
    world.advance(3).await;
    world.reaches(&id, "sent").await;
    world.drained().await;
    assert_eq!(world.calls(token).len(), 1);
    world.duplicate(&push(key, token), &id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_05_an_api_that_dies_before_its_put_arrives_accepted_nothing() {
    let world = World::start(setup()).await;
    let put = world.rule(Rule::new("PutItem", Action::HoldThenDrop).key("s05"));
    let body = push("s05", "device-of-s05");
    let dies = async {
        put.hit().await;
        world.fleet.process("api", 0).await.kill().await;
        put.release();
    };
    let (answer, ()) = tokio::join!(world.post(&body), dies);
    let _ = answer.expect(502);
    was_never_accepted(&world, "s05", "device-of-s05").await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_05_an_api_that_dies_while_its_put_is_under_way_accepted_it() {
    let world = World::start(setup()).await;
    let put = world.rule(Rule::new("PutItem", Action::Hold).key("s05"));
    let body = push("s05", "device-of-s05");
    let dies = async {
        put.hit().await;
        world.fleet.process("api", 0).await.kill().await;
        put.release();
    };
    let (answer, ()) = tokio::join!(world.post(&body), dies);
    let _ = answer.expect(502);
    eventually("the put arrives", async || (!world.proxy.seen("PutItem", "s05").is_empty()).then_some(())).await;
    was_accepted(&world, "s05", "device-of-s05").await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_05_an_api_that_dies_after_its_put_or_its_send_accepted_it() {
    let world = World::start(setup()).await;
    for effect in ["put", "send"] {
        world.fleet.kill_after("api", effect, 1);
        let (key, token) = (format!("s05-{effect}"), format!("device-of-s05-{effect}"));
        let _ = world.post(&push(&key, &token)).await.expect(502);
        world.fleet.reached().await;
        was_accepted(&world, &key, &token).await;
    }
    assert_eq!(world.fleet.deaths(), 2);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_06_a_put_that_arrives_after_the_retry_s_leaves_no_trace() {
    let world = World::start(setup().processes("api", 2)).await;
    let late = world.rule(Rule::new("PutItem", Action::Hold).key("s06"));
    let body = push("s06", "device-of-s06");
    let retry = async {
        late.hit().await;
        // The first process is gone, and its client asks another.
        world.fleet.process("api", 0).await.kill().await;
        let id = world.queued(&body).await;
        world.reaches(&id, "sent").await;
        late.release();
        id
    };
    let (answer, id) = tokio::join!(world.post(&body), retry);
    let _ = answer.expect(502);
    eventually("the late put ends", async || (ids_put(&world, "s06").len() == 2).then_some(())).await;
    let zombie = world.proxy.seen("PutItem", "s06").into_iter().find(|put| put.done == Some("hold")).unwrap();
    assert_eq!(zombie.status, Some(400));
    let zombie = zombie.json()["Item"]["id"]["S"].as_str().unwrap().to_owned();
    assert_ne!(zombie, id);
    let _ = world.get(&format!("/v1/messages/{zombie}")).await.expect(404);
    world.drained().await;
    let calls = world.calls("device-of-s06");
    assert_eq!(calls.iter().map(|call| call.collapse_id.as_deref()).collect::<Vec<_>>(), [Some(id.as_str())]);
    assert!(world.proxy.seen("SendMessageBatch", &zombie).is_empty());
    world.duplicate(&body, &id).await;
    world.stop().await;
}
