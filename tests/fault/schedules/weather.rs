//! What the emulators never show: throttling, conflicts and errors of the services, reads that are behind, and clocks
//! that disagree (G4, G5).

use crate::setup;
use fault::{
    Action, Rule, World,
    body::{push, tokens, under},
    proxy::Failure,
    wait::eventually,
};
use serde_json::json;

const POLICIES: [&str; 2] = ["at_least_once", "at_most_once"];

/// Sends to devices under both policies; each is a message of its own. Key, id, token.
async fn send_all(world: &World, name: &str, count: usize) -> Vec<(String, String)> {
    let mut sent = Vec::new();
    for (number, token) in tokens(name, count).into_iter().enumerate() {
        let answer = world.until_accepted(&under(POLICIES[number % 2], push(&token, &token))).await;
        sent.push((answer.id(), token));
    }
    sent
}

/// Everything was sent, and nothing twice.
async fn all_once(world: &World, sent: &[(String, String)], what: &str) {
    for (id, token) in sent {
        let message = world.ends(id).await;
        assert_eq!(message["status"], "sent", "{what}: {token}: {message}");
    }
    world.drained().await;
    for (_, token) in sent {
        assert_eq!(world.calls(token).len(), 1, "{what}: {token}");
    }
}

/// An error says that nothing was done, so nothing is lost, and nothing is called twice under either policy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_table_s_errors_lose_and_repeat_nothing() {
    let world = World::start(setup()).await;
    for failure in Failure::DYNAMODB {
        let name = format!("table-{failure:?}").to_lowercase();
        // Writes of whatever item, and reads of messages and their delivery items alone.
        let rules: Vec<_> = [("PutItem", "", 2), ("UpdateItem", "", 4), ("GetItem", "K#", 2), ("Query", "K#", 2)]
            .map(|(operation, key, times)| {
                world.rule(Rule::new(operation, Action::Fail(failure)).key(key).times(times))
            })
            .into();
        let sent = send_all(&world, &name, 4).await;
        world.advance(3).await;
        for (id, _) in &sent {
            eventually("it ends", async || {
                // Who ran out of time on a busy machine leaves a copy that is hidden.
                world.worn_copies_return().await;
                // A read may be the one that fails.
                let answer = world.get(&format!("/v1/messages/{id}")).await;
                (answer.status == 200 && answer.body["status"] == "sent").then_some(())
            })
            .await;
        }
        assert!(
            rules.iter().all(|rule| rule.hits() > 0),
            "{name}: {:?}",
            rules.iter().map(fault::proxy::Handle::hits).collect::<Vec<_>>()
        );
        rules.iter().for_each(fault::proxy::Handle::remove);
        all_once(&world, &sent, &name).await;
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queues_errors_lose_and_repeat_nothing() {
    let world = World::start(setup()).await;
    for failure in Failure::SQS {
        let name = format!("queue-{failure:?}").to_lowercase();
        // Inline sends fail, the relay's first ones too; so do the first successors and releases.
        let sends = world.rule(Rule::new("SendMessageBatch", Action::Fail(failure)).key(&name).times(8));
        let releases = world.rule(Rule::new("ChangeMessageVisibility", Action::Fail(failure)).times(2));
        let sent = send_all(&world, &name, 4).await;
        world.advance(3).await;
        for (id, _) in &sent {
            world.reaches(id, "sent").await;
        }
        sends.hit_times(4).await;
        sends.remove();
        releases.remove();
        all_once(&world, &sent, &name).await;
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successor_that_sqs_refuses_leaves_the_copy_to_do_it() {
    for failure in Failure::SQS {
        let world = World::start(setup()).await;
        world.script("device-of-refused", &json!([{"status": 429, "retry_after": 1}])).await;
        let send = world.rule(Rule::new("SendMessageBatch", Action::Fail(failure)).key("refused").nth(2).times(3));
        let id = world.queued(&push("refused", "device-of-refused")).await;
        send.hit().await;
        world.worn_copies_return().await;
        world.reaches(&id, "sent").await;
        world.drained().await;
        let calls = world.calls("device-of-refused");
        assert_eq!(calls.iter().map(|call| call.status).collect::<Vec<_>>(), [Some(429), Some(200)], "{failure:?}");
        world.stop().await;
    }
}

/// The relay looks with an eventually consistent read. One that is behind costs a copy that finds its item done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_up_that_is_behind_enqueues_again_and_calls_nobody() {
    for policy in POLICIES {
        let world = World::start(setup()).await;
        world.control(&json!({"deliver": "pause", "relay": "pause"}));
        let id = world.queued(&under(policy, push("stale", "device-of-stale"))).await;
        // Looked up before the delivery; the relay dies and looks again after it.
        world.fleet.kill_after("relay", "look", 1);
        world.control(&json!({"relay": "resume"}));
        world.advance(3).await;
        world.fleet.reached().await;
        world.control(&json!({"relay": "pause"}));
        world.control(&json!({"deliver": "resume"}));
        world.reaches(&id, "sent").await;
        world.queues_empty().await;
        let stale = world.rule(Rule::new("Query", Action::Stale).key(&World::pk("stale")).times(10));
        world.control(&json!({"relay": "resume"}));
        world.advance(10).await;
        stale.hit().await;
        eventually("a second copy is sent", async || {
            (world.proxy.seen("SendMessageBatch", &id).len() == 2).then_some(())
        })
        .await;
        stale.remove();
        world.drained().await;
        assert_eq!(world.calls("device-of-stale").len(), 1, "{policy}");
        assert_eq!(world.message(&id).await["deliveries"][0]["attempts"], 1);
        world.stop().await;
    }
}

/// The index of refunds is behind: who was decided a moment ago is listed no more as one that waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_whose_index_is_behind_shows_no_refund_in_a_status_that_is_over() {
    let world = World::start(setup()).await;
    world.control(&json!({"payout": "pause"}));
    let (decided, waits) = (world.asked_back("decided", "pi_a").await, world.asked_back("waits", "pi_b").await);
    let pending = async || {
        let list = world.get("/v1/refunds?status=pending").await.expect(200).body;
        list["refunds"].as_array().unwrap().iter().map(|refund| refund["id"].clone()).collect::<Vec<_>>()
    };
    eventually("both are in the index", async || (pending().await.len() == 2).then_some(())).await;
    world.decide("acme", &decided, "approve").await.expect(200);
    let stale = world.rule(Rule::new("Query", Action::Stale).key("acme#pending").times(u32::MAX));
    assert_eq!(pending().await, [json!(waits)]);
    stale.hit().await;
    stale.remove();
    assert_eq!(pending().await, [json!(waits)]);
    world.stop().await;
}

/// The clocks that a deployment may have at worst: two seconds fast and two seconds slow.
const APART_MS: [i64; 2] = [2_000, -2_000];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thief_with_a_fast_clock_never_calls_beside_an_owner_with_a_slow_one() {
    for policy in POLICIES {
        let world = World::start(setup().production().skewed("deliver", vec![-2_000, 2_000])).await;
        world.control(&json!({"deliver": "pause", "relay": "pause"}));
        let id = world.queued(&under(policy, push("skew", "device-of-skew"))).await;
        let copies = world.copies(1).await;
        let (slow, fast) = (world.fleet.process("deliver", 0).await, world.fleet.process("deliver", 1).await);
        let meets = async {
            slow.holds(1).await;
            // The lease is 75 s by the owner's clock. By the other's it still has 4 s less to go than it has.
            world.advance(69).await;
            assert_eq!(world.hand(&fast, &copies).await, Ok(vec![true]), "its lease is alive");
            assert!(world.calls("device-of-skew").is_empty());
            world.advance(3).await;
            // By the fast clock it is over, by the slow one it is not; the slow one must not call any more.
            assert_eq!(world.hand(&fast, &copies).await, Ok(vec![false]));
            slow.release().await;
        };
        let (first, ()) = tokio::join!(world.hand_and_hold(&slow, &copies, "claim"), meets);
        assert_eq!(first, Ok(vec![false]));
        world.advance(600).await;
        world.control(&json!({"deliver": "resume", "relay": "resume"}));
        world.drained().await;
        let (calls, status) = if policy == "at_least_once" { (1, "sent") } else { (0, "unknown") };
        assert_eq!((world.calls("device-of-skew").len(), &world.message(&id).await["status"]), (calls, &json!(status)));
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_two_seconds_apart_lose_and_repeat_nothing() {
    let mut setup = setup().production();
    for function in fault::function::FUNCTIONS {
        setup = setup.skewed(function, APART_MS.to_vec());
    }
    let world = World::start(setup).await;
    world.control(&json!({"copies": "twice"}));
    let devices = tokens("apart", 30);
    for token in &devices[..10] {
        world.script(token, &json!([{"status": 429, "retry_after": 3}])).await;
    }
    let inline = world.rule(Rule::new("SendMessageBatch", Action::DropRequest).key("apart").nth(5).times(5));
    let sent = send_all(&world, "apart", 30).await;
    inline.hit_times(5).await;
    world.control(&json!({"copies": "once"}));
    for _ in 0..3 {
        world.pass(world.timing.grace + world.timing.window).await;
        world.worn_copies_return().await;
    }
    for (number, (id, token)) in sent.iter().enumerate() {
        let message = world.ends(id).await;
        assert_eq!(message["status"], "sent", "{token}: {message}");
        let calls = world.calls(token);
        assert_eq!(calls.iter().filter(|call| call.accepted).count(), 1, "{token}");
        assert_eq!(calls.len(), if number < 10 { 2 } else { 1 }, "{token}");
    }
    world.drained().await;
    assert!(devices.iter().all(|token| world.calls(token).iter().filter(|call| call.accepted).count() == 1));
    world.stop().await;
}
