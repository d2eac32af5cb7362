//! Traces in the form in which the model tells its counterexamples, played on the real functions.

use crate::setup;
use fault::replay::{self, Played, play, refunds::PAYMENT, token};
use model::{messages::STORIES, refunds, trace::Trace};
use protocol::content::Policy;
use serde_json::{Value, json};

/// A trace from its steps: function, invocation, effect, number, what is done, what it is about.
fn trace(steps: &[(&str, u32, &str, u32, &str, &str)]) -> Trace {
    let steps: Vec<Value> = steps
        .iter()
        .map(|(function, invocation, effect, nth, what, about)| {
            json!({"function": function, "invocation": invocation, "effect": effect, "nth": nth, "do": what, "about": about})
        })
        .collect();
    serde_json::from_value(json!({"property": "by hand", "steps": steps, "then": []})).unwrap()
}

/// The status of the only message, and how often its device was called.
async fn told(played: Played) -> (Value, usize) {
    let [id] = played.ids.as_slice() else { panic!("{:?}", played.ids) };
    let message = played.world.message(id).await;
    let calls = played.world.calls(&token(0)).len();
    played.world.stop().await;
    (message["status"].clone(), calls)
}

const REQUEST: &str = "project 0 body 0";
const CHUNK: &str = "message 0 chunk 0";
const DEVICE: &str = "message 0 chunk 0 device 0";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_claim() {
    let trace = trace(&[
        ("api", 0, "put", 1, "apply", REQUEST),
        ("api", 0, "send", 1, "apply", REQUEST),
        ("deliver", 0, "receive", 1, "start", CHUNK),
        ("deliver", 0, "prepare", 1, "apply", CHUNK),
        ("deliver", 0, "claim", 1, "crash_after", CHUNK),
        ("time", 0, "lease", 1, "pass", CHUNK),
        ("deliver", 0, "receive", 2, "start", CHUNK),
        ("deliver", 0, "prepare", 2, "apply", CHUNK),
        ("deliver", 0, "read", 1, "apply", CHUNK),
        ("deliver", 0, "claim", 2, "apply", CHUNK),
        ("deliver", 0, "call", 1, "apply", DEVICE),
        ("deliver", 0, "record", 1, "apply", CHUNK),
        ("deliver", 0, "acknowledge", 1, "apply", CHUNK),
    ]);
    let played = play(setup(), "at_least_once", &trace).await.unwrap();
    assert_eq!(played.answers[0].said(), "queued");
    assert_eq!(played.world.fleet.deaths(), 1);
    assert_eq!(told(played).await, (json!("sent"), 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_whose_answer_is_lost() {
    let trace = trace(&[
        ("api", 0, "put", 1, "apply", REQUEST),
        ("api", 0, "send", 1, "apply", REQUEST),
        ("deliver", 0, "receive", 1, "start", CHUNK),
        ("deliver", 0, "prepare", 1, "apply", CHUNK),
        ("deliver", 0, "claim", 1, "apply", CHUNK),
        ("deliver", 0, "call", 1, "apply", DEVICE),
        ("deliver", 0, "record", 1, "apply_drop_response", CHUNK),
        ("deliver", 0, "record", 2, "apply", CHUNK),
        ("deliver", 0, "acknowledge", 1, "apply", CHUNK),
    ]);
    for policy in ["at_least_once", "at_most_once"] {
        let played = play(setup(), policy, &trace).await.unwrap();
        assert_eq!(played.world.fleet.deaths(), 0);
        assert_eq!(told(played).await, (json!("sent"), 1), "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_put_and_one_after_the_call() {
    let trace = trace(&[
        ("api", 0, "put", 1, "crash_after", REQUEST),
        ("api", 1, "put", 2, "apply", REQUEST),
        ("relay", 0, "look", 1, "start", "messages [0]"),
        ("relay", 0, "send", 1, "apply", "messages [0]"),
        ("deliver", 0, "receive", 1, "start", CHUNK),
        ("deliver", 0, "prepare", 1, "apply", CHUNK),
        ("deliver", 0, "read", 1, "apply", CHUNK),
        ("deliver", 0, "claim", 1, "apply", CHUNK),
        ("deliver", 0, "call", 1, "crash_after", DEVICE),
    ]);
    for (policy, end) in [("at_least_once", (json!("sent"), 2)), ("at_most_once", (json!("unknown"), 1))] {
        let played = play(setup(), policy, &trace).await.unwrap();
        assert_eq!((played.answers[0].status.as_u16(), played.answers[1].said()), (502, "duplicate_ignored"));
        assert_eq!(told(played).await, end, "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thief_beside_an_owner_that_sleeps_in_its_call() {
    let trace = trace(&[
        ("api", 0, "put", 1, "apply", REQUEST),
        ("api", 0, "send", 1, "apply", REQUEST),
        ("deliver", 0, "receive", 1, "start", CHUNK),
        ("sqs", 0, "deliver", 1, "duplicate", CHUNK),
        ("deliver", 0, "prepare", 1, "apply", CHUNK),
        ("deliver", 0, "claim", 1, "apply", CHUNK),
        ("deliver", 0, "call", 1, "refuse_for_now", DEVICE),
        ("time", 0, "lease", 1, "pass", CHUNK),
        ("deliver", 1, "receive", 2, "start", CHUNK),
        ("deliver", 1, "prepare", 2, "apply", CHUNK),
        ("deliver", 1, "claim", 2, "apply", CHUNK),
        ("deliver", 1, "claim", 3, "apply", CHUNK),
        ("deliver", 1, "call", 2, "apply", DEVICE),
        ("deliver", 1, "record", 1, "apply", CHUNK),
        ("deliver", 0, "record", 2, "apply", CHUNK),
        ("deliver", 0, "acknowledge", 1, "apply", CHUNK),
        ("deliver", 0, "acknowledge", 2, "apply", CHUNK),
    ]);
    let played = play(setup(), "at_least_once", &trace).await.unwrap();
    assert_eq!(told(played).await, (json!("sent"), 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_proxy_can_do_is_said() {
    let trace = trace(&[("sqs", 0, "dead_letters", 1, "lose", "")]);
    let error = play(setup(), "at_least_once", &trace).await.unwrap_err();
    assert_eq!((error.at, error.step.effect.as_str()), (0, "dead_letters"));
}

/// The model's own schedules, as it tells them, end on the real functions as they do there: the word of the device, the
/// calls, and how many of them were accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_story_of_the_model_ends_as_the_model_says() {
    let ends = [
        ("sent", 1, 1),
        ("failed", 1, 0),
        ("sent", 2, 1),
        ("sent", 2, 2),
        ("sent", 2, 2),
        ("sent", 2, 2),
        ("unknown", 1, 1),
        ("unknown", 0, 0),
        ("unknown", 1, 1),
        ("expired", 0, 0),
        ("sent", 3, 3),
    ];
    for (story, (status, calls, accepted)) in STORIES.iter().zip(ends) {
        let told = story.told().unwrap();
        let policy = match story.policy {
            Policy::AtLeastOnce => "at_least_once",
            Policy::AtMostOnce => "at_most_once",
        };
        let played = play(setup(), policy, &told).await.unwrap_or_else(|error| panic!("{error}\n{told}"));
        let [id] = played.ids.as_slice() else { panic!("{told}{:?}", played.ids) };
        let (message, ledger) = (played.world.message(id).await, played.world.calls(&token(0)));
        let taken = ledger.iter().filter(|call| call.accepted).count();
        assert_eq!((&message["status"], ledger.len(), taken), (&json!(status), calls, accepted), "{told}");
        played.world.stop().await;
    }
}

/// The same of refunds: where the model is after the last step, and after all that follows without faults.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_story_of_a_refund_ends_as_the_model_says() {
    for story in refunds::STORIES {
        let told = story.told().unwrap();
        let trace = &told.trace;
        let played = replay::refunds::play(setup(), &told).await.unwrap_or_else(|error| panic!("{error}\n{trace}"));
        let word = |refund: &Value| {
            let state = if refund["status"] == "approved" { &refund["payout"]["status"] } else { &refund["status"] };
            state.as_str().unwrap().to_owned()
        };
        assert_eq!(
            (word(&played.then).as_str(), played.calls),
            (told.word, told.calls),
            "after the last step: {trace}"
        );
        let made = played.world.paid(PAYMENT).len();
        let drained = word(&played.world.refund(&played.id).await);
        assert_eq!((drained.as_str(), made), (told.drained, told.made), "drained: {trace}");
        let told_so = |result: &str| played.answers.iter().any(|answer| answer.body["result"] == result);
        match story.outcome {
            "a loser is told who approved" => assert!(told_so("already_approved"), "{:?}", played.answers),
            "a loser is told that it is not pending" => {
                let refused = played.answers.iter().filter(|answer| answer.status == 409);
                assert_eq!(refused.count(), 1, "{:?}", played.answers);
            }
            _ => {}
        }
        played.world.stop().await;
    }
}
