//! A process dies at every boundary of every machine, under both policies, in production's durations (G4, G5, G6).
//!
//! After the death every clock moves by grace + window + visibility and no further: by then an at_least_once message is
//! delivered without anybody's hand.

use crate::setup;
use aws_sdk_dynamodb::types::AttributeValue;
use fault::{
    Action, Rule, Setup, World,
    body::{push, under},
    proxy::Failure,
    queues::{DELIVERIES, PARKING},
    wait::eventually,
};
use protocol::machine::{accept, dead_letter, deliver, relay};
use serde_json::json;

const TOKEN: &str = "device-of-kill";
const KEY: &str = "kill";

/// grace + window + visibility, and not a second more.
async fn once(world: &World) {
    let timing = world.timing;
    world.pass(timing.grace + timing.window + timing.visibility).await;
}

fn production() -> Setup {
    setup().production()
}

/// What must be true at the end: a death in the window between claim and record may repeat a call, or under
/// at_most_once leave it unknown; elsewhere it costs nothing.
async fn judge(world: &World, id: &str, policy: &str, window: bool, refusals: usize, what: &str) {
    let message = world.message(id).await;
    let calls = world.calls(TOKEN);
    let accepted = calls.iter().filter(|call| call.accepted).count();
    assert_eq!(calls.len() - accepted, refusals, "{what}");
    match (policy, window) {
        ("at_least_once", _) => {
            assert_eq!(message["status"], "sent", "{what}: {message}");
            assert!(accepted == 1 || (window && accepted == 2), "{what}: {accepted} calls");
        }
        (_, true) => {
            assert_eq!(message["status"], "unknown", "{what}: {message}");
            assert!(accepted <= 1, "{what}: {accepted} calls");
        }
        (_, false) => assert_eq!((&message["status"], accepted), (&json!("sent"), 1), "{what}: {message}"),
    }
    assert!(calls.iter().all(|call| call.collapse_id.as_deref() == Some(id)));
}

async fn deliver_dies(effect: &str, policy: &str) {
    let world = World::start(production()).await;
    let what = format!("deliver, {effect}, {policy}");
    let mut body = under(policy, push(KEY, TOKEN));
    let (mut refusals, mut calls) = (0, true);
    let mut inline = None;
    match effect {
        "prepare" | "claim" | "call" | "record" => {}
        // The relay's copy is read first.
        "read" => inline = Some(world.no_inline_send(KEY)),
        "successor" => {
            refusals = 1;
            world.script(TOKEN, &json!([{"status": 429}])).await;
        }
        "settle" => {
            calls = false;
            body["ttl_seconds"] = json!(120);
            world.control(&json!({"deliver": "pause", "relay": "pause"}));
        }
        // No credentials: the copy is put back.
        "release" => {
            let _ = world.rule(Rule::new("GetSecretValue", Action::Fail(Failure::InternalServerError)).times(3));
        }
        other => panic!("{other} is a new effect of deliver: say here how it comes about"),
    }
    world.fleet.kill_after("deliver", effect, 1);
    let id = world.queued(&body).await;
    if effect == "settle" {
        eventually("the copy waits", async || (world.queues.held(DELIVERIES) == 1).then_some(())).await;
        world.advance(121).await;
        world.control(&json!({"deliver": "resume", "relay": "resume"}));
    }
    if let Some(inline) = inline {
        inline.hit().await;
        world.pass(world.timing.grace + world.timing.window).await;
    }
    world.fleet.reached().await;
    once(&world).await;
    let ended = world.ends(&id).await;
    if calls {
        judge(&world, &id, policy, ["claim", "call"].contains(&effect), refusals, &what).await;
    } else {
        assert_eq!((&ended["status"], world.calls(TOKEN).len()), (&json!("expired"), 0), "{what}");
    }
    world.drained().await;
    assert_eq!(world.message(&id).await, ended, "what has ended stays as it is");
    assert_eq!(world.fleet.deaths(), 1, "{what}");
    world.stop().await;
}

async fn deliver_dies_everywhere(policy: &str) {
    for effect in deliver::EFFECTS {
        deliver_dies(effect, policy).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliver_dies_everywhere_at_least_once() {
    deliver_dies_everywhere("at_least_once").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliver_dies_everywhere_at_most_once() {
    deliver_dies_everywhere("at_most_once").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn api_dies_everywhere() {
    for effect in accept::EFFECTS {
        for policy in ["at_least_once", "at_most_once"] {
            let world = World::start(production()).await;
            let body = under(policy, push(KEY, TOKEN));
            world.fleet.kill_after("api", effect, 1);
            let _ = world.post(&body).await.expect(502);
            world.fleet.reached().await;
            let id = world.get(&format!("/v1/messages?idempotency_key={KEY}")).await.expect(200).id();
            once(&world).await;
            world.ends(&id).await;
            world.drained().await;
            judge(&world, &id, policy, false, 0, &format!("api, {effect}, {policy}")).await;
            world.duplicate(&body, &id).await;
            world.stop().await;
        }
    }
}

/// An item in the table that nobody can read as a message.
#[expect(clippy::disallowed_methods, reason = "writes what nobody of the service would")]
async fn corrupt(world: &World) {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let put = world.table().await.put_item().table_name("sendonce");
    put.item("pk", text("K#unreadable")).item("sk", text("M")).send().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relay_dies_everywhere() {
    for effect in relay::EFFECTS {
        for policy in ["at_least_once", "at_most_once"] {
            let world = World::start(production()).await;
            world.control(&json!({"relay": "pause"}));
            if effect == "park" {
                corrupt(&world).await;
            }
            let inline = world.no_inline_send(KEY);
            let id = world.queued(&under(policy, push(KEY, TOKEN))).await;
            inline.hit().await;
            world.fleet.kill_after("relay", effect, 1);
            world.control(&json!({"relay": "resume"}));
            world.pass(world.timing.window).await;
            world.fleet.reached().await;
            once(&world).await;
            world.ends(&id).await;
            world.drained().await;
            judge(&world, &id, policy, false, 0, &format!("relay, {effect}, {policy}")).await;
            if effect == "park" {
                // Parked before the death and again after it: what nobody can read blocks nobody and is not lost.
                assert_eq!(world.queues.held(PARKING), 2);
            }
            world.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letter_dies_everywhere() {
    for effect in dead_letter::EFFECTS {
        for policy in ["at_least_once", "at_most_once"] {
            let world = World::start(production()).await;
            let what = format!("dead_letter, {effect}, {policy}");
            world.control(&json!({"deliver": "pause", "relay": "pause", "dead_letter": "pause"}));
            let mut body = under(policy, push(KEY, TOKEN));
            body["ttl_seconds"] = json!(if effect == "settle" { 120 } else { 86_400 });
            let id = world.queued(&body).await;
            world.wear_out(1).await;
            if effect == "settle" {
                world.advance(121).await;
            }
            world.fleet.kill_after("dead_letter", effect, 1);
            // The dead letter's copy alone has to do: the relay rests.
            world.control(&json!({"deliver": "resume", "dead_letter": "resume"}));
            world.fleet.reached().await;
            once(&world).await;
            let ended = world.ends(&id).await;
            if effect == "settle" {
                assert_eq!((&ended["status"], world.calls(TOKEN).len()), (&json!("expired"), 0), "{what}");
            } else {
                judge(&world, &id, policy, false, 0, &what).await;
            }
            world.control(&json!({"relay": "resume"}));
            world.drained().await;
            assert_eq!(world.message(&id).await, ended, "{what}");
            world.stop().await;
        }
    }
}
