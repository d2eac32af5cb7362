//! The harness itself: processes deliver, die and come back, stand still, and the proxy does what its rules say.

use crate::setup;
use fault::{Action, Rule, World, body::push, canaries::events_seen, wait::eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_accept_deliver_and_relay_through_the_proxy() {
    let world = World::start(setup()).await;
    let id = world.queued(&push("first", "device-of-first")).await;
    world.reaches(&id, "sent").await;
    world.drained().await;
    assert_eq!(world.calls("device-of-first").len(), 1);
    for (operation, key) in
        [("PutItem", id.as_str()), ("SendMessageBatch", &id), ("UpdateItem", "D#"), ("fcm", "device-of-first")]
    {
        let seen = world.proxy.seen(operation, key);
        assert!(!seen.is_empty() && seen.iter().all(|exchange| exchange.status == Some(200)), "{operation}");
    }
    assert_eq!(world.fleet.deaths(), 0);
    // Each process's log is read: a line for the request, and one for the device.
    eventually("the processes are heard", async || (events_seen() >= 2).then_some(())).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_iphone_is_reached_through_the_proxy_too() {
    let world = World::start(setup()).await;
    let mut body = push("ios", "");
    let token = "a1".repeat(32);
    body["to"] = serde_json::json!([{"platform": "ios", "token": token}]);
    let id = world.queued(&body).await;
    world.reaches(&id, "sent").await;
    assert_eq!(world.calls(&token).len(), 1);
    assert_eq!(world.proxy.seen("apns", &token).len(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_dies_at_its_point_and_another_takes_over() {
    let world = World::start(setup()).await;
    world.fleet.kill_after("api", "put", 1);
    let answer = world.post(&push("dies", "device-of-death")).await.expect(502);
    assert_eq!(answer.body["message"], "Internal Server Error");
    world.fleet.reached().await;
    let answer = world.post(&push("dies", "device-of-death")).await.expect(202);
    assert_eq!((answer.said(), world.fleet.deaths()), ("duplicate_ignored", 1));
    // The first died before its inline send; the relay sends.
    world.advance(3).await;
    world.reaches(&answer.id(), "sent").await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_is_used_up_and_in_the_log() {
    let world = World::start(setup()).await;
    let rule = world.rule(Rule::new("PutItem", Action::DropResponse).key("lost").nth(2));
    let first = world.queued(&push("lost-1", "device-of-lost-1")).await;
    let second = world.queued(&push("lost-2", "device-of-lost-2")).await;
    rule.hit().await;
    let third = world.queued(&push("lost-3", "device-of-lost-3")).await;
    let done = |id: &str| world.proxy.seen("PutItem", id).iter().map(|exchange| exchange.done).collect::<Vec<_>>();
    assert_eq!(done(&first), [None]);
    assert_eq!(done(&second), [Some("apply_drop_response"), None]);
    assert_eq!((done(&third), rule.hits()), (vec![None], 1));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_process_stands_still_frozen_or_not() {
    let world = World::start(setup()).await;
    let hold = world.fleet.hold_after("deliver", "claim", 1);
    let id = world.queued(&push("held", "device-of-held")).await;
    let process = hold.process().await;
    process.freeze().await;
    assert_eq!(world.message(&id).await["status"], "sending");
    process.thaw(world.ahead_ms()).await;
    process.release().await;
    world.reaches(&id, "sent").await;
    assert_eq!((world.calls("device-of-held").len(), world.fleet.deaths()), (1, 0));
    world.stop().await;
}
