//! A consumer that stands still past its lease while another takes over: what it does afterwards must neither call
//! again (G5) nor take back what the other one wrote (G6).

use crate::support::{Consumer, DELIVERIES, Gate, TestApp, eventually, push};
use aws_sdk_sqs::types::Message;
use serde_json::json;

/// Longer than a lease, shorter than what hides the copies of these tests.
const PAST_THE_LEASE: u64 = 11;

struct Stage {
    app: TestApp,
    id: String,
    copies: Vec<Message>,
}

impl Stage {
    /// One copy of a message to `device`, in nobody's hands but the test's.
    async fn set(device: &str, delivery: &str) -> Self {
        let app = TestApp::start().await;
        app.control(&json!({"deliver": "pause", "relay": "pause"}));
        let mut body = push("stalled", device);
        body["delivery"] = json!(delivery);
        let id = app.queued(&body).await;
        let copies = eventually("the copy is there", async || {
            let copies = app.queues.take(DELIVERIES, 600).await;
            (!copies.is_empty()).then_some(copies)
        })
        .await;
        Self { app, id, copies }
    }

    /// One consumer is held after `effect`, its lease runs out, another handles the copy, then the first goes on.
    /// What each of them said of the copy.
    async fn overtake(&self, effect: &'static str) -> (bool, bool) {
        let gate = Gate::after(effect);
        let first = Consumer::with(&self.app, gate.clone()).await;
        let second = Consumer::new(&self.app).await;
        let overtaken = async {
            gate.holds().await;
            self.app.advance(PAST_THE_LEASE);
            let second = second.handle(&self.copies).await;
            gate.open();
            second
        };
        let (first, second) = tokio::join!(first.handle(&self.copies), overtaken);
        (first[0], second[0])
    }

    /// Gives the system its consumers back until nothing is left to do.
    async fn finish(self, device: &str, calls: usize, status: &str) {
        self.app.queues.give_back(&self.copies).await;
        self.app.advance(600);
        self.app.control(&json!({"deliver": "resume", "relay": "resume"}));
        self.app.drained().await;
        let made = self.app.calls(device);
        assert_eq!(made.len(), calls);
        assert!(made.iter().all(|call| call.collapse_id.as_deref() == Some(self.id.as_str())));
        assert_eq!(self.app.message(&self.id).await["status"], status);
        self.app.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_wakes_after_its_lease_does_not_call() {
    let stage = Stage::set("device-of-sleeper", "at_least_once").await;
    assert_eq!(stage.overtake("claim").await, (true, true));
    assert_eq!(stage.app.calls("device-of-sleeper").len(), 1);
    let message = stage.app.message(&stage.id).await;
    assert_eq!(message["status"], "sent");
    stage.finish("device-of-sleeper", 1, "sent").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_wakes_after_its_lease_does_not_call_at_most_once_either() {
    let stage = Stage::set("device-of-sleeper", "at_most_once").await;
    // The second cannot know whether the first called; the first did not and must not any more.
    assert_eq!(stage.overtake("claim").await, (true, true));
    stage.finish("device-of-sleeper", 0, "unknown").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_record_of_sent_survives_the_thief_s_refusal() {
    let stage = Stage::set("device-of-late", "at_least_once").await;
    stage.app.script("device-of-late", &json!(["accept", {"status": 429, "retry_after": 5}])).await;
    let (first, second) = stage.overtake("call").await;
    // The thief goes on with a successor; the first has everything to say that there is to say.
    assert_eq!((first, second), (true, true));
    let calls = stage.app.calls("device-of-late");
    assert_eq!(calls.iter().map(|call| call.status).collect::<Vec<_>>(), [Some(200), Some(429)]);
    let message = stage.app.message(&stage.id).await;
    assert_eq!(message["status"], "sent");
    assert_eq!(message["deliveries"][0]["provider_id"].as_str(), calls[0].id.as_deref());
    stage.finish("device-of-late", 2, "sent").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_answer_turns_unknown_into_sent() {
    let stage = Stage::set("device-of-late", "at_most_once").await;
    // The second settles what it cannot know; then the first tells that the provider took it.
    assert_eq!(stage.overtake("call").await, (true, true));
    assert_eq!(stage.app.message(&stage.id).await["status"], "sent");
    stage.finish("device-of-late", 1, "sent").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_refusal_does_not_take_back_what_the_thief_sent() {
    let stage = Stage::set("device-of-late", "at_least_once").await;
    stage.app.script("device-of-late", &json!([{"status": 404, "reason": "UNREGISTERED"}, "accept"])).await;
    assert_eq!(stage.overtake("call").await, (true, true));
    let message = stage.app.message(&stage.id).await;
    assert_eq!((&message["status"], &message["deliveries"][0]["last_error"]), (&json!("sent"), &json!(null)));
    stage.finish("device-of-late", 2, "sent").await;
}
