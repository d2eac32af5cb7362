//! A process dies at every boundary of every machine, under both policies, in production's durations (G4, G5, G6).
//!
//! After the death every clock moves to the time at which what died must have come back, and no further: a consumer's
//! copy after the visibility timeout, a record after window and grace. That is within grace + window + visibility, by
//! when an at_least_once message is delivered without anybody's hand.

use crate::setup;
use aws_sdk_dynamodb::types::AttributeValue;
use fault::{
    Action, Rule, Setup, World,
    body::{push, under},
    proxy::Failure,
    queues::{DELIVERIES, PARKING},
    wait::eventually,
};
use protocol::machine::{accept, dead_letter, deliver, payout_dead_letter, relay};
use serde_json::json;

const TOKEN: &str = "device-of-kill";
const KEY: &str = "kill";

/// What a busy machine takes for what is due by then, at the most, in ms: half a window, so that nothing that comes one
/// window, one grace or one visibility timeout late passes for work that is slow.
const SLACK_MS: u64 = 10_000;

/// How long what `function` was at stays away after its death: a copy is hidden for a visibility timeout, and a record
/// of the stream waits for a window and its grace.
fn away(world: &World, function: &str) -> u64 {
    match function {
        "api" | "relay" => world.timing.grace + world.timing.window,
        _ => world.timing.visibility,
    }
}

/// Moves the clocks until `function`'s death is so long ago, and not a second further; until when the devices are called
/// at the latest. Real time that passes meanwhile is part of it, so what comes after it is only the work itself.
async fn once(world: &World, function: &str) -> u64 {
    let due_ms = world.system.clock().now_ms() + away(world, function);
    world.pass_until(due_ms).await;
    due_ms + SLACK_MS
}

/// How often the device is accepted: a death after the call was made, before its outcome was written down, repeats it,
/// and one before it leaves it to the next owner, whom at_most_once forbids to call.
fn accepted(effect: &str, policy: &str) -> usize {
    match (effect, policy) {
        ("call", "at_least_once") => 2,
        ("claim", "at_most_once") => 0,
        _ => 1,
    }
}

fn production() -> Setup {
    setup().production()
}

/// What must be true at the end of a death of `function` after `effect`: in the window between claim and record it
/// repeats a call, or under at_most_once leaves it unknown; elsewhere it costs nothing. Whatever is called is called
/// within the bound.
async fn judge(world: &World, id: &str, policy: &str, effect: (&str, &str), refusals: usize, until_ms: u64) {
    let what = format!("{effect:?}, {policy}");
    let message = world.message(id).await;
    let calls = world.calls(TOKEN);
    let got = calls.iter().filter(|call| call.accepted).count();
    assert_eq!(calls.len() - got, refusals, "{what}");
    let of_deliver = if effect.0 == "deliver" { effect.1 } else { "" };
    assert_eq!(got, accepted(of_deliver, policy), "{what}: {calls:?}");
    let window = ["claim", "call"].contains(&of_deliver) && policy == "at_most_once";
    assert_eq!(message["status"], if window { "unknown" } else { "sent" }, "{what}: {message}");
    assert!(calls.iter().all(|call| call.collapse_id.as_deref() == Some(id)));
    let last_ms = calls.last().map_or(0, |call| call.at);
    assert!(last_ms <= until_ms, "{what}: called {} ms too late", last_ms.saturating_sub(until_ms));
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
    let until_ms = once(&world, "deliver").await;
    let ended = world.ends(&id).await;
    if calls {
        judge(&world, &id, policy, ("deliver", effect), refusals, until_ms).await;
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
            let until_ms = once(&world, "api").await;
            world.ends(&id).await;
            world.drained().await;
            judge(&world, &id, policy, ("api", effect), 0, until_ms).await;
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
            let until_ms = once(&world, "relay").await;
            world.ends(&id).await;
            world.drained().await;
            judge(&world, &id, policy, ("relay", effect), 0, until_ms).await;
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
            let until_ms = once(&world, "dead_letter").await;
            let ended = world.ends(&id).await;
            if effect == "settle" {
                assert_eq!((&ended["status"], world.calls(TOKEN).len()), (&json!("expired"), 0), "{what}");
            } else {
                judge(&world, &id, policy, ("dead_letter", effect), 0, until_ms).await;
            }
            world.control(&json!({"relay": "resume"}));
            world.drained().await;
            assert_eq!(world.message(&id).await, ended, "{what}");
            world.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letter_dies_everywhere_with_a_payout_s_letter() {
    for effect in payout_dead_letter::EFFECTS {
        let world = World::start(production()).await;
        world.control(&json!({"payout": "pause", "relay": "pause", "dead_letter": "pause"}));
        let id = world.asked_back("kill-p", "pi_kill").await;
        world.decide("acme", &id, "approve").await.expect(200);
        world.wear_out_payouts(1).await;
        world.fleet.kill_after("dead_letter", effect, 1);
        // The letter alone has to do: the relay rests.
        world.control(&json!({"payout": "resume", "dead_letter": "resume"}));
        world.fleet.reached().await;
        let until_ms = once(&world, "dead_letter").await;
        world.payout_becomes(&id, "paid").await;
        let calls = world.calls("pi_kill");
        assert_eq!((calls.len(), world.paid("pi_kill").len()), (1, 1), "{effect}: {calls:?}");
        assert!(calls[0].at <= until_ms, "{effect}: called {} ms too late", calls[0].at.saturating_sub(until_ms));
        world.control(&json!({"relay": "resume"}));
        world.drained().await;
        assert_eq!((world.paid("pi_kill").len(), world.fleet.deaths()), (1, 1), "{effect}");
        world.stop().await;
    }
}
