//! A backlog that waited for its consumers: no more than two copies of a chunk come of it (G5, and its price). A pass of
//! the audit meanwhile would add one, since it cannot see what waits in a queue; here none comes by.

use crate::setup;
use fault::{
    World,
    body::{push, tokens},
    wait::progresses,
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const MESSAGES: usize = 2_000;
/// Clients at once.
const CLIENTS: usize = 16;

/// The bodies of all copies that were sent, or that somebody tried to send.
fn sent(world: &World) -> Vec<Value> {
    let log = world.proxy.log();
    let sends = log.iter().filter(|exchange| exchange.operation == "SendMessageBatch");
    let entries = sends.flat_map(|send| send.json()["Entries"].as_array().unwrap().clone());
    entries.map(|entry| serde_json::from_str(entry["MessageBody"].as_str().unwrap()).unwrap()).collect()
}

/// Messages of which the relay sent a copy.
fn relayed(world: &World) -> usize {
    let mut ids: Vec<Value> =
        sent(world).into_iter().filter(|body| body["origin"] == "relay").map(|b| b["id"].clone()).collect();
    ids.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
    ids.dedup();
    ids.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backlog_of_2000_makes_at_most_two_copies_of_each_chunk() {
    // Production's durations: an invocation has a minute for a batch, on a busy machine too.
    let world = World::start(setup().production().processes("api", 2).processes("deliver", 4)).await;
    world.control(&json!({"deliver": "pause"}));
    let devices = tokens("backlog", MESSAGES);
    let sends = stream::iter(&devices).map(|token| async { world.queued(&push(token, token)).await });
    let ids: Vec<String> = sends.buffered(CLIENTS).collect().await;
    // The relay sees all of them, finds nothing delivered, and sends copies of its own. The API's own send may have been given
    // up on a busy machine, so the relay's are counted.
    progresses("the relay passes the backlog", MESSAGES, async || {
        world.pass(world.timing.window).await;
        relayed(&world)
    })
    .await;
    world.pass(600_000).await;
    world.control(&json!({"deliver": "resume"}));
    progresses("everything is delivered", MESSAGES, async || world.system.sandbox().ledger(None).len()).await;
    world.drained().await;
    let mut copies: BTreeMap<String, usize> = BTreeMap::new();
    for body in sent(&world) {
        *copies.entry(body["id"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    for (id, token) in ids.iter().zip(&devices) {
        assert!((1..=2).contains(&copies[id]), "{} copies of {token}", copies[id]);
        assert_eq!(world.calls(token).len(), 1, "{token}");
    }
    world.stop().await;
}
