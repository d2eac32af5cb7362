//! Schedules 14 to 16: two consumers of one copy, of which one dies or stands still at the worst moment (G4, G5, G6).

use crate::setup;
use aws_sdk_sqs::types::Message;
use fault::{
    Action, Rule, Setup, World,
    body::{push, under},
    process::Process,
    queues::event,
    wait::eventually,
};
use futures_util::FutureExt;
use serde_json::json;
use std::sync::Arc;

/// Longer than a lease, shorter than what hides the copies of these tests; the short profile.
const PAST_THE_LEASE: u64 = 11;

/// One copy in nobody's hands but the test's, and two consumers.
struct Stage {
    world: World,
    id: String,
    copies: Vec<Message>,
    first: Arc<Process>,
    second: Arc<Process>,
}

impl Stage {
    async fn set(token: &str, policy: &str) -> Self {
        Self::of(setup(), token, policy).await
    }

    async fn of(setup: Setup, token: &str, policy: &str) -> Self {
        let world = World::start(setup.processes("deliver", 2)).await;
        world.control(&json!({"deliver": "pause", "relay": "pause"}));
        let id = world.queued(&under(policy, push("stage", token))).await;
        let copies = world.copies(1).await;
        let (first, second) = (world.fleet.process("deliver", 0).await, world.fleet.process("deliver", 1).await);
        Self { world, id, copies, first, second }
    }

    /// The first is frozen after `effect`, its lease runs out, the second handles the copy, and the first wakes.
    /// Whether each of them wants the copy kept.
    async fn overtake(&self, effect: &str) -> (bool, bool) {
        let overtaken = async {
            self.first.holds(1).await;
            self.first.freeze().await;
            self.world.advance(PAST_THE_LEASE).await;
            let second = self.world.hand(&self.second, &self.copies).await.unwrap();
            self.first.thaw(self.world.ahead_ms()).await;
            self.first.release().await;
            second[0]
        };
        let (first, second) = tokio::join!(self.world.hand_and_hold(&self.first, &self.copies, effect), overtaken);
        (first.unwrap()[0], second)
    }

    /// Gives the system its consumers back until nothing is left to do.
    async fn finish(self, token: &str, calls: usize, status: &str) {
        let world = self.world;
        world.advance(600).await;
        world.control(&json!({"deliver": "resume", "relay": "resume"}));
        world.drained().await;
        let made = world.calls(token);
        assert_eq!(made.len(), calls);
        assert!(made.iter().all(|call| call.collapse_id.as_deref() == Some(self.id.as_str())));
        assert_eq!(world.message(&self.id).await["status"], status);
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_14_who_finds_a_live_lease_keeps_the_copy_and_it_outlives_its_holder() {
    let stage = Stage::set("device-of-s14", "at_least_once").await;
    let meets = async {
        stage.first.holds(1).await;
        assert_eq!(stage.world.hand(&stage.second, &stage.copies).await, Ok(vec![true]));
        assert!(stage.world.calls("device-of-s14").is_empty());
        stage.first.kill().await;
    };
    let (first, ()) = tokio::join!(stage.world.hand_and_hold(&stage.first, &stage.copies, "claim"), meets);
    assert!(first.is_err(), "the first is dead");
    stage.finish("device-of-s14", 1, "sent").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_15_who_wakes_after_its_lease_does_not_call() {
    let stage = Stage::set("device-of-s15", "at_least_once").await;
    assert_eq!(stage.overtake("claim").await, (false, false));
    assert_eq!(stage.world.message(&stage.id).await["status"], "sent");
    stage.finish("device-of-s15", 1, "sent").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_15_who_wakes_after_its_lease_does_not_call_at_most_once_either() {
    let stage = Stage::set("device-of-s15", "at_most_once").await;
    // The second cannot know whether the first called; the first did not and must not any more.
    assert_eq!(stage.overtake("claim").await, (false, false));
    stage.finish("device-of-s15", 0, "unknown").await;
}

/// Past the check of its lease nothing can stop a call any more: the one stall that repeats, longer than the margin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_15_a_stall_in_the_midst_of_a_call_may_repeat_it_under_one_collapse_id() {
    let stage = Stage::set("device-of-s15", "at_least_once").await;
    let under_way = stage.world.rule(Rule::new("fcm", Action::Hold).key("device-of-s15"));
    let overtaken = async {
        under_way.hit().await;
        stage.first.freeze().await;
        stage.world.advance(PAST_THE_LEASE).await;
        assert_eq!(stage.world.hand(&stage.second, &stage.copies).await, Ok(vec![false]));
        assert_eq!(stage.world.calls("device-of-s15").len(), 1);
        under_way.release();
        stage.world.called("device-of-s15", 2).await;
        stage.first.thaw(stage.world.ahead_ms()).await;
    };
    let (first, ()) = tokio::join!(stage.world.hand(&stage.first, &stage.copies), overtaken);
    assert_eq!(first, Ok(vec![false]));
    stage.finish("device-of-s15", 2, "sent").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_16_a_late_record_of_sent_is_not_overwritten_by_the_thief_s_refusal() {
    let stage = Stage::set("device-of-s16", "at_least_once").await;
    stage.world.script("device-of-s16", &json!(["accept", {"status": 429, "retry_after": 5}])).await;
    // The thief goes on with a successor; the first has everything to say that there is to say.
    assert_eq!(stage.overtake("call").await, (false, false));
    let calls = stage.world.calls("device-of-s16");
    assert_eq!(calls.iter().map(|call| call.status).collect::<Vec<_>>(), [Some(200), Some(429)]);
    let message = stage.world.message(&stage.id).await;
    assert_eq!(message["status"], "sent");
    assert_eq!(message["deliveries"][0]["provider_id"].as_str(), calls[0].id.as_deref());
    stage.finish("device-of-s16", 2, "sent").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_16_the_thief_s_record_after_it_joins_what_the_late_one_said() {
    let stage = Stage::set("device-of-s16b", "at_least_once").await;
    stage.world.script("device-of-s16b", &json!(["accept", {"status": 429, "retry_after": 5}])).await;
    let (world, first, second) = (&stage.world, &stage.first, &stage.second);
    let late = world.hand_and_hold(first, &stage.copies, "call");
    let overtaken = async {
        first.holds(1).await;
        first.freeze().await;
        world.advance(PAST_THE_LEASE).await;
        let thief = world.hand_and_hold(second, &stage.copies, "call");
        let wakes = async {
            second.holds(1).await;
            first.thaw(world.ahead_ms()).await;
            first.release().await;
            // The late record is in the table before the thief writes its own.
            eventually("the late record is stored", async || {
                (world.message(&stage.id).await["deliveries"][0]["status"] == "sent").then_some(())
            })
            .await;
            second.release().await;
        };
        tokio::join!(thief, wakes).0
    };
    let (first, second) = tokio::join!(late, overtaken);
    assert_eq!((first.unwrap(), second.unwrap()), (vec![false], vec![false]));
    let calls = world.calls("device-of-s16b");
    assert_eq!(calls.iter().map(|call| call.status).collect::<Vec<_>>(), [Some(200), Some(429)]);
    let message = world.message(&stage.id).await;
    assert_eq!(message["deliveries"][0]["provider_id"].as_str(), calls[0].id.as_deref());
    stage.finish("device-of-s16b", 2, "sent").await;
}

/// The lease is 75 s long, and what is left of the invocation is enough for a claim, a call and its record, and
/// not for the margin too. In production's durations: seconds of a busy machine only make it less.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invocation_that_ends_within_the_margin_does_not_call() {
    let stage = Stage::of(setup().production(), "device-of-margin", "at_least_once").await;
    let (world, timing) = (&stage.world, stage.world.timing);
    let enough = timing.record + timing.call + timing.record;
    let left = enough + timing.margin - 1_000;
    assert!(enough < left && left < timing.lease);
    let ends_ms = world.system.clock().now_ms() + left;
    let answer = world.fleet.hand(&stage.first, &event(&stage.copies), ends_ms).await.unwrap();
    assert_eq!(answer["batchItemFailures"].as_array().map(Vec::len), Some(1), "the copy is kept: {answer}");
    assert!(world.calls("device-of-margin").is_empty());
    stage.finish("device-of-margin", 1, "sent").await;
}

/// A frozen process holds its invocation; the poller's timeout is what ends it, and the copy comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_stays_frozen_loses_its_invocation_and_not_the_message() {
    let world = World::start(setup().processes("deliver", 2)).await;
    let hold = world.fleet.hold_after("deliver", "claim", 1);
    let id = world.queued(&push("frozen", "device-of-frozen")).await;
    let process = hold.process().await;
    process.freeze().await;
    world.advance(9).await;
    process.dies().await;
    assert!(world.calls("device-of-frozen").is_empty());
    world.seen_again().await;
    world.reaches(&id, "sent").await;
    world.drained().await;
    assert_eq!(world.calls("device-of-frozen").len(), 1);
    assert!(process.dies().now_or_never().is_some());
    world.stop().await;
}
