//! Schedules 17 to 23: one consumer and its provider, when the process, the table or the provider fails (G5, G6). The
//! process's own boundaries are in `kill_points`; here are the places between them.

use crate::setup;
use fault::{
    Action, Rule, World,
    body::{push, push_to, tokens, under},
    proxy::{Exchange, Failure},
    queues::DELIVERIES,
    wait::eventually,
};
use protocol::delivery::State;
use serde_json::json;
use std::collections::BTreeSet;

const POLICIES: [&str; 2] = ["at_least_once", "at_most_once"];

/// A rule for the first claim of an item.
fn claims(action: Action) -> Rule {
    Rule::new("UpdateItem", action).key("attribute_not_exists")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_17_a_death_while_the_request_is_under_way_may_repeat_it_or_leaves_unknown() {
    for (policy, calls, status) in [("at_least_once", 2, "sent"), ("at_most_once", 1, "unknown")] {
        let world = World::start(setup()).await;
        let under_way = world.rule(Rule::new("fcm", Action::Hold).key("device-of-s17"));
        let id = world.queued(&under(policy, push("s17", "device-of-s17"))).await;
        under_way.hit().await;
        world.fleet.process("deliver", 0).await.kill().await;
        under_way.release();
        world.called("device-of-s17", 1).await;
        // Whoever is at work when the clock moves runs out of time: a death more.
        world.nobody_works().await;
        world.seen_again().await;
        world.reaches(&id, status).await;
        world.drained().await;
        assert_eq!(world.calls("device-of-s17").len(), calls, "{policy}");
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_17_a_death_before_the_acknowledgement_costs_nothing() {
    for policy in POLICIES {
        let world = World::start(setup()).await;
        // A busy machine takes longer than the relay waits, and a copy of its own is another story.
        world.control(&json!({"relay": "pause"}));
        world.fleet.lose_answer("deliver");
        let id = world.queued(&under(policy, push("s17", "device-of-s17"))).await;
        world.fleet.reached().await;
        assert_eq!(world.message(&id).await["status"], "sent");
        assert_eq!(world.queues.held(DELIVERIES), 1, "nobody deleted the copy");
        world.control(&json!({"relay": "resume"}));
        world.nobody_works().await;
        world.seen_again().await;
        world.drained().await;
        assert_eq!((world.calls("device-of-s17").len(), world.fleet.deaths()), (1, 1), "{policy}");
        assert_eq!(world.message(&id).await["status"], "sent");
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_18_a_claim_whose_answer_is_lost_is_resumed_by_its_owner() {
    for policy in POLICIES {
        let world = World::start(setup()).await;
        let lost = world.rule(claims(Action::DropResponse));
        let id = world.queued(&under(policy, push("s18", "device-of-s18"))).await;
        world.reaches(&id, "sent").await;
        lost.hit().await;
        world.drained().await;
        assert_eq!(world.calls("device-of-s18").len(), 1, "{policy}");
        let message = world.message(&id).await;
        assert_eq!((&message["status"], &message["deliveries"][0]["attempts"]), (&json!("sent"), &json!(1)));
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_18_no_two_receives_share_an_owner_token() {
    let world = World::start(setup()).await;
    let refused = json!([{"status": 429, "retry_after": 1}, {"status": 429, "retry_after": 1}, "accept"]);
    world.script("device-of-s18", &refused).await;
    let id = world.queued(&push("s18", "device-of-s18")).await;
    world.called("device-of-s18", 1).await;
    world.pass(60_000).await;
    world.reaches(&id, "sent").await;
    // One process, three receives: its claims name three owners.
    let writes = world.proxy.seen("UpdateItem", &World::pk("s18"));
    let owners: BTreeSet<String> = writes
        .iter()
        .flat_map(|write| write.json()["ExpressionAttributeValues"].as_object().unwrap().clone())
        .filter_map(|(_, value)| value["B"].as_str().map(ToOwned::to_owned))
        .collect();
    assert_eq!((owners.len(), world.fleet.deaths()), (3, 0), "{owners:?}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_19_a_record_that_is_lost_lost_again_and_throttled_is_joined_once() {
    for policy in POLICIES {
        let world = World::start(setup().production()).await;
        let pk = World::pk("s19");
        let lost = world.rule(Rule::new("UpdateItem", Action::DropResponse).key(&pk).nth(2).times(2));
        let throttled = world.rule(Rule::new("UpdateItem", Action::Fail(Failure::Throttling)).key(&pk).nth(4));
        let id = world.queued(&under(policy, push("s19", "device-of-s19"))).await;
        world.reaches(&id, "sent").await;
        lost.hit_times(2).await;
        throttled.hit().await;
        world.drained().await;
        assert_eq!(world.calls("device-of-s19").len(), 1, "{policy}");
        let stored = world.delivery(&id, 0).await.unwrap();
        assert_eq!((stored.state, stored.version, stored.attempt), (State::Done, 2, 1), "{policy}");
        // Whatever the network did, every write after the claim asked for the one step from version 1.
        let writes = world.proxy.seen("UpdateItem", &pk);
        let expected = |write: &Exchange| write.json()["ExpressionAttributeValues"][":c_v"]["N"].clone();
        assert!(writes.len() >= 4 && writes[1..].iter().all(|write| expected(write) == "1"), "{writes:?}");
        world.stop().await;
    }
}

/// Frame by frame, the providers' faults are the sandbox's own; nothing stands between it and the processes here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_20_what_the_provider_did_not_do_is_told_from_what_nobody_knows() {
    let mut setup = setup();
    setup.proxied_providers = false;
    let world = World::start(setup).await;
    let ios = |number: u32| format!("{number:064x}");
    // Script, accepted calls at the end, all calls that are in the ledger, status.
    let cases = [
        (json!(["drop_after_accept"]), 2, 2, "sent"),
        (json!(["goaway_after_accept"]), 2, 2, "sent"),
        (json!(["hang_after_accept"]), 2, 2, "sent"),
        (json!(["goaway"]), 1, 2, "sent"),
        (json!(["refused_stream"]), 1, 2, "sent"),
        (json!([{"status": 503}]), 1, 2, "sent"),
        (json!(["drop_after_accept", {"status": 410, "reason": "Unregistered"}]), 1, 2, "unknown"),
        (json!(["hang_after_accept", {"status": 410, "reason": "Unregistered"}]), 1, 2, "unknown"),
        (json!(["hang", {"status": 410, "reason": "Unregistered"}]), 0, 2, "unknown"),
        (json!([{"status": 410, "reason": "Unregistered"}]), 0, 1, "failed"),
    ];
    let mut ids = Vec::new();
    for (number, (script, ..)) in (1..).zip(&cases) {
        let token = ios(number);
        world.script(&token, script).await;
        let mut body = push(&token, "");
        body["to"] = json!([{"platform": "ios", "token": token}]);
        let id = world.queued(&body).await;
        world.called(&token, 1).await;
        ids.push(id);
    }
    for (number, ((script, accepted, all, status), id)) in (1..).zip(cases.iter().zip(&ids)) {
        let message = world.reaches(id, status).await;
        let calls = world.calls(&ios(number));
        assert_eq!(calls.len(), *all, "{script}: {message}");
        assert_eq!(calls.iter().filter(|call| call.accepted).count(), *accepted, "{script}");
        assert!(calls.iter().all(|call| call.collapse_id.as_ref() == Some(id)));
    }
    world.drained().await;
    for (number, (script, _, all, _)) in (1..).zip(&cases) {
        assert_eq!(world.calls(&ios(number)).len(), *all, "{script}");
    }
    world.stop().await;
}

/// The size of a chunk.
const CHUNK: usize = 20;

/// 24 chunks, which are three batches of copies: as many devices as a request may name, twenty of them twice. In
/// production's durations, so that a busy machine is no stall that outlives a lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_21_a_fan_out_whose_senders_die_calls_every_device_once() {
    let world = World::start(setup().production().processes("deliver", 2)).await;
    // Where the API dies, how many of its three batches are lost before, and after which of its batches the relay dies.
    let cases = [("put", 0, 1), ("send", 2, 1), ("send", 3, 2), ("put", 0, 3)];
    for (number, (effect, lost, relayed)) in cases.into_iter().enumerate() {
        let name = format!("s21-{number}");
        let devices = tokens(&name, 480);
        let mut named = devices.clone();
        named.extend_from_slice(&devices[..20]);
        // Nobody claims before the relay has died, so that it has every batch to send; and nobody is at work when the
        // clock moves.
        world.control(&json!({"relay": "pause", "deliver": "pause"}));
        let rule = world.rule(Rule::new("SendMessageBatch", Action::DropRequest).key(&name).times(lost.max(1)));
        if lost == 0 {
            rule.remove();
        }
        world.fleet.kill_after("api", effect, 1);
        world.post(&push_to(&name, &named)).await.expect(502);
        world.fleet.reached().await;
        assert_eq!(rule.hits(), lost);
        rule.remove();
        // It dies, and then is asked once more for what it had done.
        world.fleet.kill_after("relay", "send", relayed);
        world.control(&json!({"relay": "resume"}));
        world.advance(60).await;
        world.fleet.reached().await;
        world.fleet.lose_answer("relay");
        world.advance(60).await;
        world.fleet.reached().await;
        world.control(&json!({"deliver": "resume"}));
        let id = world.until_accepted(&push_to(&name, &named)).await.id();
        let message = world.reaches(&id, "sent").await;
        assert_eq!(message["counts"]["sent"], 480, "those named twice count once");
        world.drained().await;
        for token in &devices {
            assert_eq!(world.calls(token).len(), 1, "{token}");
        }
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_21_a_fan_out_under_deaths_and_doubled_copies_calls_every_device() {
    let world = World::start(setup().processes("deliver", 2)).await;
    world.control(&json!({"copies": "twice"}));
    let devices = tokens("s21", 200);
    // Once before anything is claimed, once after a claim, once in the midst of the records.
    for (effect, nth) in [("prepare", 1), ("claim", 2), ("record", 3)] {
        world.fleet.kill_after("deliver", effect, nth);
    }
    let mut named = devices.clone();
    named.extend_from_slice(&devices[..50]);
    let id = world.queued(&push_to("s21", &named)).await;
    // Each death leaves copies that are hidden, whose receives are the next one's: time passes whenever nobody is at work.
    world.worn_copies_return().await;
    world.fleet.reached().await;
    world.control(&json!({"copies": "once"}));
    world.worn_copies_return().await;
    let message = world.reaches(&id, "sent").await;
    world.drained().await;
    assert_eq!(message["counts"]["sent"], 200, "those named twice count once");
    let mut repeated = 0;
    for (number, token) in devices.iter().enumerate() {
        let calls = world.calls(token).len();
        let stored = world.delivery(&id, u16::try_from(number / CHUNK).unwrap()).await.unwrap();
        // A second call only after a second claim, and that only after a death.
        assert!((1..=usize::from(stored.attempt)).contains(&calls), "{token}: {calls} calls, {}", stored.attempt);
        repeated += usize::from(calls > 1);
    }
    assert!(repeated < 200, "chunks that nobody died over are called once");
    // One for each point, and whoever ran out of time on a busy machine.
    assert!(world.fleet.deaths() >= 3);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_22_a_chunk_that_is_tried_again_never_calls_the_devices_it_knows_of() {
    let world = World::start(setup()).await;
    let devices = tokens("s22", CHUNK);
    let (reached, refused) = devices.split_at(7);
    for token in refused {
        world.script(token, &json!([{"status": 429, "retry_after": 2}])).await;
    }
    let id = world.queued(&push_to("s22", &devices)).await;
    eventually("the first attempt is recorded", async || {
        let counts = world.message(&id).await["counts"].clone();
        (counts["sent"] == 7 && counts["sending"] == 13).then_some(())
    })
    .await;
    // The second attempt dies with 7 answers received and nothing recorded.
    world.fleet.kill_after("deliver", "call", 7);
    world.advance(3).await;
    world.fleet.reached().await;
    world.seen_again().await;
    let message = world.reaches(&id, "sent").await;
    world.drained().await;
    assert_eq!(message["counts"]["sent"], CHUNK);
    for token in reached {
        assert_eq!(world.calls(token).len(), 1, "{token} was reached and recorded");
    }
    for token in refused {
        let calls = world.calls(token);
        let accepted = calls.iter().filter(|call| call.accepted).count();
        assert!((1..=2).contains(&accepted) && calls.len() == 1 + accepted, "{token}: {accepted}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_23_a_batch_that_runs_out_of_time_keeps_what_it_finished() {
    let world = World::start(setup()).await;
    world.control(&json!({"deliver": "pause"}));
    let devices = tokens("s23", 10);
    let mut ids = Vec::new();
    for token in &devices {
        ids.push(world.queued(&push(token, token)).await);
    }
    eventually("all copies wait", async || (world.queues.held(DELIVERIES) >= 10).then_some(())).await;
    // Two of them cannot be claimed, and one call never ends.
    let mut unclaimed = Vec::new();
    for number in [3, 7] {
        let rule = Rule::new("UpdateItem", Action::Fail(Failure::InternalServerError)).times(3);
        unclaimed.push(world.rule(rule.key(&World::pk(&devices[number]))));
    }
    let endless = world.rule(Rule::new("fcm", Action::HoldThenDrop).key(&devices[9]));
    world.control(&json!({"deliver": "resume"}));
    endless.hit().await;
    let finished = |number: &usize| ![3, 7, 9].contains(number);
    for number in (0..10).filter(finished) {
        world.reaches(&ids[number], "sent").await;
    }
    for rule in &unclaimed {
        rule.hit().await;
    }
    world.advance(9).await;
    endless.release();
    world.worn_copies_return().await;
    for (number, id) in ids.iter().enumerate() {
        world.reaches(id, "sent").await;
        assert_eq!(world.calls(&devices[number]).len(), 1, "{number}");
    }
    world.drained().await;
    for token in &devices {
        assert_eq!(world.calls(token).len(), 1);
    }
    world.stop().await;
}
