//! Schedule 24: copies that SQS gave up on, and copies that come when everything about them is gone (G4, G6).

use crate::setup;
use fault::{
    Action, Rule, World,
    body::{push, under},
    queues::{DEAD, DELIVERIES, PARKING},
    wait::eventually,
};
use serde_json::{Value, json};

/// A message whose only copy became a dead letter without any call; all consumers rest.
async fn worn_out(body: &Value) -> (World, String) {
    let world = World::start(setup()).await;
    world.control(&json!({"deliver": "pause", "relay": "pause", "dead_letter": "pause"}));
    let id = world.queued(body).await;
    world.wear_out(1).await;
    (world, id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_24_a_letter_that_nobody_claimed_is_sent_after_all() {
    let (world, id) = worn_out(&push("s24", "device-of-s24")).await;
    assert_eq!(world.message(&id).await["status"], "queued");
    world.control(&json!({"dead_letter": "resume", "deliver": "resume", "relay": "resume"}));
    world.reaches(&id, "sent").await;
    world.drained().await;
    assert_eq!(world.calls("device-of-s24").len(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_24_a_letter_under_a_live_lease_is_left() {
    let world = World::start(setup()).await;
    let hold = world.fleet.hold_after("deliver", "claim", 1);
    let id = world.queued(&push("s24", "device-of-s24")).await;
    let holder = hold.process().await;
    // Another copy is given up while the consumer is at it; garbage behind it shows that the function has been there.
    let copy = world.proxy.seen("SendMessageBatch", &id)[0].json()["Entries"][0]["MessageBody"].clone();
    world.queues.send(DEAD, copy.as_str().unwrap()).await;
    eventually("the letter is read", async || {
        (!world.proxy.seen("GetItem", &World::pk("s24")).is_empty()).then_some(())
    })
    .await;
    world.queues.send(DEAD, "garbage").await;
    eventually("the garbage is parked", async || (world.queues.held(PARKING) == 1).then_some(())).await;
    assert_eq!(world.queues.held(DELIVERIES), 1, "the consumer's own, nothing re-driven");
    holder.release().await;
    world.reaches(&id, "sent").await;
    world.seen_again().await;
    world.drained().await;
    assert_eq!(world.calls("device-of-s24").len(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_24_a_letter_after_a_lost_answer_and_the_deadline_is_unknown() {
    let world = World::start(setup()).await;
    world.script("device-of-s24", &json!(["drop_after_accept"])).await;
    world.fleet.kill_after("deliver", "record", 1);
    let mut body = push("s24", "device-of-s24");
    body["ttl_seconds"] = json!(10);
    let id = world.queued(&body).await;
    world.fleet.reached().await;
    world.control(&json!({"deliver": "pause", "relay": "pause"}));
    world.seen_again().await;
    world.wear_out(1).await;
    let settled = eventually("it is settled", async || {
        let stored = world.delivery(&id, 0).await?;
        (stored.state == protocol::delivery::State::Done).then_some(stored)
    })
    .await;
    assert_eq!(settled.devices[0].letter.as_char(), 'U');
    world.control(&json!({"deliver": "resume", "relay": "resume"}));
    world.drained().await;
    let message = world.message(&id).await;
    assert_eq!((&message["status"], world.calls("device-of-s24").len()), (&json!("unknown"), 1));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_24_a_letter_of_what_was_sent_is_deleted() {
    let (world, id) = worn_out(&push("s24", "device-of-s24")).await;
    // The relay's copy overtakes the dead one.
    world.advance(3).await;
    world.control(&json!({"deliver": "resume", "relay": "resume"}));
    world.reaches(&id, "sent").await;
    assert_eq!(world.queues.held(DEAD), 1);
    world.control(&json!({"dead_letter": "resume"}));
    world.drained().await;
    assert_eq!(world.calls("device-of-s24").len(), 1);
    world.stop().await;
}

/// The function dies after SQS or the table did what it asked, before its letter is deleted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_24_a_letter_s_function_may_die_between_its_write_and_the_deletion() {
    for (effect, ttl_seconds, status, calls) in [("redrive", 3_600, "sent", 1), ("settle", 10, "expired", 0)] {
        let mut body = push("s24", "device-of-s24");
        body["ttl_seconds"] = json!(ttl_seconds);
        let (world, id) = worn_out(&body).await;
        world.advance(11).await;
        world.fleet.kill_after("dead_letter", effect, 1);
        world.control(&json!({"dead_letter": "resume"}));
        world.fleet.reached().await;
        world.seen_again().await;
        world.control(&json!({"deliver": "resume", "relay": "resume"}));
        world.reaches(&id, status).await;
        world.drained().await;
        assert_eq!(world.calls("device-of-s24").len(), calls, "{effect}");
        world.stop().await;
    }
}

/// The re-drive's own faults: a lost answer costs a second copy, and no second call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_24_a_re_drive_whose_answer_is_lost_is_one_call() {
    let (world, id) = worn_out(&push("s24", "device-of-s24")).await;
    let lost = world.rule(Rule::new("SendMessageBatch", Action::DropResponse).key(&id).times(3));
    world.control(&json!({"dead_letter": "resume"}));
    lost.hit().await;
    world.control(&json!({"deliver": "resume", "relay": "resume"}));
    world.reaches(&id, "sent").await;
    world.drained().await;
    assert_eq!(world.calls("device-of-s24").len(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_24_a_copy_that_comes_after_its_item_was_deleted_makes_no_call() {
    for policy in ["at_least_once", "at_most_once"] {
        let world = World::start(setup()).await;
        let id = world.queued(&under(policy, push("s24", "device-of-s24"))).await;
        world.reaches(&id, "sent").await;
        world.drained().await;
        let copy = world.proxy.seen("SendMessageBatch", &id)[0].json()["Entries"][0]["MessageBody"].clone();
        let expires_ms = world.delivery(&id, 0).await.unwrap().expires_s * 1_000;
        let lives_ms = protocol::timing::Timing::DELIVERY_LIVES;
        assert!(expires_ms + 60_000 > world.system.clock().now_ms() + lives_ms, "until no copy of it can be left");
        world.advance(46 * 86_400).await;
        eventually("the items are deleted", async || world.delivery(&id, 0).await.is_none().then_some(())).await;
        for queue in [DELIVERIES, DEAD] {
            world.queues.send(queue, copy.as_str().unwrap()).await;
            world.worn_copies_return().await;
        }
        assert_eq!(world.calls("device-of-s24").len(), 1, "{policy}");
        let _ = world.get(&format!("/v1/messages/{id}")).await.expect(404);
        world.stop().await;
    }
}
