//! Schedules 11 to 13: the relay, when SQS takes half a batch, when its process dies, and after a long rest (G4, G5).

use crate::setup;
use fault::{
    Action, Rule, World,
    body::{push, tokens},
    wait::progresses,
};
use serde_json::json;

/// Accepts one message for each device while the relay rests and every inline send is lost.
async fn backlog(world: &World, name: &str, count: usize) -> Vec<(String, String)> {
    world.control(&json!({"relay": "pause"}));
    let inline = world.rule(Rule::new("SendMessageBatch", Action::DropRequest).key(name).times(u32::MAX));
    let mut sent = Vec::new();
    for token in tokens(name, count) {
        sent.push((world.queued(&push(&token, &token)).await, token));
    }
    inline.remove();
    sent
}

/// Entries that arrived at the deliveries queue for these devices, whoever sent them.
fn arrived(world: &World, name: &str) -> usize {
    let sends = world.proxy.seen("SendMessageBatch", name);
    let sends = sends.iter().filter(|send| send.done != Some("drop_request"));
    sends.map(|send| send.json()["Entries"].as_array().unwrap().len()).sum()
}

async fn all_called_once(world: &World, sent: &[(String, String)]) {
    for (id, _) in sent {
        world.reaches(id, "sent").await;
    }
    world.drained().await;
    for (_, token) in sent {
        assert_eq!(world.calls(token).len(), 1, "{token}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_11_a_batch_that_half_arrives_or_whose_answer_is_lost_is_repeated_from_there() {
    let world = World::start(setup().processes("deliver", 2)).await;
    let sent = backlog(&world, "s11", 100).await;
    let partly = world.rule(Rule::new("SendMessageBatch", Action::FailEntries(vec![1, 4, 7])).key("s11"));
    // After the repeat of what failed: a batch that arrives, and nobody knows.
    let lost = world.rule(Rule::new("SendMessageBatch", Action::DropResponse).key("s11").nth(3));
    world.control(&json!({"relay": "resume"}));
    world.advance(3).await;
    partly.hit().await;
    lost.hit().await;
    all_called_once(&world, &sent).await;
    let copies = arrived(&world, "s11");
    // At the first entry not confirmed it stops: of the first batch 6 are repeated though they arrived, of the other
    // one all ten, by the SDK itself.
    assert!((100 + 3..=100 + 30).contains(&copies), "{copies} entries for 100 messages");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_12_a_relay_that_dies_after_sending_is_repeated_from_its_checkpoint() {
    let world = World::start(setup().processes("deliver", 2)).await;
    let sent = backlog(&world, "s12", 40).await;
    // Once in the midst of its batches, once between the last of them and the checkpoint.
    world.fleet.kill_after("relay", "send", 2);
    world.fleet.lose_answer("relay");
    world.control(&json!({"relay": "resume"}));
    world.advance(3).await;
    world.fleet.reached().await;
    all_called_once(&world, &sent).await;
    assert!(world.fleet.deaths() >= 2);
    world.stop().await;
}

/// The sweeper of this system is the audit. It walks while the relay rests, and the relay comes back behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_13_an_audit_during_the_relay_s_rest_leaves_nothing_to_enqueue() {
    let world = World::start(setup().production().processes("deliver", 2)).await;
    let sent = backlog(&world, "s13", 100).await;
    world.advance(600).await;
    let report = world.audited().await;
    assert_eq!(report["enqueued"]["no_delivery_item"], 100, "{report}");
    for (id, _) in &sent {
        world.reaches(id, "sent").await;
    }
    world.control(&json!({"relay": "resume"}));
    all_called_once(&world, &sent).await;
    assert_eq!(arrived(&world, "s13"), 100, "the relay looked first");
    world.stop().await;
}

/// The worst of it: nobody consumes either, so nothing tells the one that the other has been there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_13_an_audit_and_a_relay_behind_one_backlog_enqueue_no_more_than_twice() {
    let world = World::start(setup().production().processes("deliver", 2)).await;
    world.control(&json!({"deliver": "pause"}));
    let sent = backlog(&world, "s13", 100).await;
    world.advance(600).await;
    let report = world.audited().await;
    assert_eq!(report["enqueued"]["no_delivery_item"], 100, "{report}");
    world.control(&json!({"relay": "resume"}));
    world.advance(60).await;
    progresses("the relay enqueues", 200, async || arrived(&world, "s13")).await;
    world.control(&json!({"deliver": "resume"}));
    all_called_once(&world, &sent).await;
    assert_eq!(arrived(&world, "s13"), 200, "and nobody after that");
    world.stop().await;
}
