//! The main stories once more, against whatever DynamoDB and SQS the environment names: a second reading of AWS's
//! semantics by code that shares nothing with the built-in stand-ins.
//!
//! `AWS_ENDPOINT_URL_DYNAMODB` and `AWS_ENDPOINT_URL_SQS` say where, to every test of this crate (see
//! `tests/ministack`); without them the built-in ones are used, so these tests always run. Time is real here: the short
//! profile's waits are waited for, because no clock but the built-in ones' can be moved.
//!
//! `tests/ministack` runs these and nearly every other test of this crate, and names what it leaves out and why.
//!
//! Where ministack 1.5.33 is known to differ from AWS, measured by boto3 checks run on it; nothing here touches these:
//! - SQS: a second delete of one receipt, and a delete by a stale receipt, are `ReceiptHandleIsInvalid`. AWS documents
//!   success for both ("DeleteMessage", Amazon SQS API Reference). The consumers bear either.
//! - SQS: `DelaySeconds` above 900, `WaitTimeSeconds` above 20, visibility above 43,200 s are accepted (refused by AWS).
//! - SQS: a bad entry of a batch fails the whole batch rather than being named in `Failed`.
//! - SQS: `ChangeMessageVisibility` of a message that is not in flight is no `MessageNotInflight`;
//!   `ListDeadLetterSourceQueues` does not work.
//! - DynamoDB: overlapping update paths, and a filter on an index key, are accepted (refused by AWS); a consistent read
//!   of 5 KB is counted as one unit.
//! - DynamoDB: stream → function mappings ignore partial failures. Our own poller reads its streams instead.

use crate::support::{Answer, DEAD, DELIVERIES, PARKING, TestApp, eventually, push, push_to, tokens};
use futures_util::future::join_all;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_repeat_and_mismatch() {
    let app = TestApp::start().await;
    let body = push("story", "device-of-story");
    let id = app.queued(&body).await;
    app.duplicate(&body, &id).await;
    app.reaches(&id, "sent").await;
    app.duplicate(&body, &id).await;
    let mut other = body.clone();
    other["notification"]["title"] = json!("Delayed");
    app.send(&other, 422).await.problem(422, "idempotency_key_reused");
    app.duplicate(&body, &id).await;
    app.drained().await;
    assert_eq!(app.calls("device-of-story").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_means_another_message_in_another_project() {
    let app = TestApp::start().await;
    let (ours, theirs) = (push("shared", "device-of-acme"), push("shared", "device-of-globex"));
    let id = app.queued(&ours).await;
    let answer = app.post("globex", &[], theirs.to_string()).await.expect(202);
    assert_eq!(answer.body["status"], "queued");
    assert_ne!(answer.id(), id);
    app.reaches(&id, "sent").await;
    app.get(&format!("/v1/messages/{}", answer.id()), 404).await.problem(404, "not_found");
    app.called("device-of-globex", 1).await;
    app.drained().await;
    assert_eq!((app.calls("device-of-acme").len(), app.calls("device-of-globex").len()), (1, 1));
    app.stop().await;
}

async fn all_at_once(app: &TestApp, bodies: &[Value]) -> Vec<Answer> {
    join_all(bodies.iter().map(|body| app.post("acme", &[], body.to_string()))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_50_equal_sends_at_once_one_is_queued() {
    let app = TestApp::start().await;
    let body = push("race", "device-of-race");
    let answers = all_at_once(&app, &vec![body.clone(); 50]).await;
    let id = answers[0].clone().expect(202).id();
    let queued = answers.iter().filter(|answer| answer.body["status"] == "queued").count();
    assert_eq!(queued, 1);
    for answer in answers {
        assert_eq!(answer.expect(202).id(), id);
    }
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-race").len(), 1);
    app.stop().await;
}

/// The losers learn what won from the item that the refused write gives back (`ALL_OLD`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_bodies_that_race_for_a_key_one_wins() {
    let app = TestApp::start().await;
    let mut other = push("race", "device-of-race");
    other["notification"]["title"] = json!("Delayed");
    let two = [push("race", "device-of-race"), other];
    let bodies: Vec<Value> = two.iter().cycle().take(20).cloned().collect();
    let answers = all_at_once(&app, &bodies).await;
    let winners: Vec<usize> = (0..20).filter(|n| answers[*n].body["status"] == "queued").collect();
    assert_eq!(winners.len(), 1);
    let (winner, id) = (winners[0] % 2, answers[winners[0]].id());
    for (position, answer) in answers.iter().enumerate() {
        if position % 2 == winner {
            assert_eq!(answer.clone().expect(202).id(), id);
        } else {
            answer.problem(422, "idempotency_key_reused");
        }
    }
    app.reaches(&id, "sent").await;
    app.drained().await;
    let calls = app.calls("device-of-race");
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].payload["message"]["notification"], two[winner]["notification"]);
    app.stop().await;
}

/// One chunk, and the first device of a second one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_and_twenty_one_devices_are_called_once_each() {
    let app = TestApp::start().await;
    for count in [20, 21] {
        let name = format!("crowd-{count}");
        let devices = tokens(&name, count);
        let id = app.queued(&push_to(&name, &devices)).await;
        assert_eq!(app.reaches(&id, "sent").await["counts"]["sent"], count);
    }
    app.drained().await;
    for (count, token) in
        [20, 21].into_iter().flat_map(|n| tokens(&format!("crowd-{n}"), n).into_iter().map(move |t| (n, t)))
    {
        assert_eq!(app.calls(&token).len(), 1, "{token} of {count}");
    }
    app.stop().await;
}

/// The relay reads the table's stream: shards, iterators and records of whatever DynamoDB it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_crash_behind_the_write_the_relay_delivers() {
    let app = TestApp::start().await;
    app.crash("api", "after_put");
    let devices = tokens("abandoned", 45);
    app.send(&push_to("abandoned", &devices), 502).await;
    let id = app.get("/v1/messages?idempotency_key=abandoned", 200).await.id();
    app.reaches(&id, "sent").await;
    app.drained().await;
    for token in &devices {
        assert_eq!(app.calls(token).len(), 1, "{token}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_dies_is_repeated_from_the_stream() {
    let app = TestApp::start().await;
    app.control(&json!({"relay": "pause", "inline_send": "fail"}));
    let devices = tokens("relayed", 5);
    let mut ids = Vec::new();
    for token in &devices {
        ids.push(app.queued(&push(token, token)).await);
    }
    assert_eq!(app.queues.left(DELIVERIES).await, 0);
    app.crash("relay", "after_look");
    app.crash("relay", "after_send");
    app.control(&json!({"relay": "resume", "inline_send": "work"}));
    app.crashed().await;
    for id in &ids {
        app.reaches(id, "sent").await;
    }
    app.drained().await;
    for token in &devices {
        assert_eq!(app.calls(token).len(), 1, "{token}");
    }
    app.stop().await;
}

/// The retry is a delayed copy (`DelaySeconds`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_503_the_device_is_tried_again_and_reached() {
    let app = TestApp::start().await;
    app.script("device-of-503", &json!([{"status": 503}, "accept"])).await;
    let id = app.queued(&push("503", "device-of-503")).await;
    let message = app.reaches(&id, "sent").await;
    app.drained().await;
    let statuses: Vec<_> = app.calls("device-of-503").iter().map(|call| call.status).collect();
    assert_eq!(statuses, [Some(503), Some(200)]);
    assert_eq!(message["deliveries"][0]["attempts"], 2);
    app.stop().await;
}

/// SQS counts receives and gives up (`RedrivePolicy`); what the dead-letter function then cannot read is parked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_is_redriven_by_sqs_and_parked() {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause", "dead_letter": "pause"}));
    app.queues.send(DELIVERIES, "not json").await;
    app.queues.wear_out(1).await;
    app.control(&json!({"deliver": "resume", "dead_letter": "resume"}));
    let parked = eventually("it is parked", async || app.queues.take(PARKING, 600).await.pop()).await;
    assert_eq!(parked.body(), Some("not json"));
    let reason = parked.message_attributes().and_then(|all| all.get("reason")?.string_value());
    assert!(reason.is_some_and(|reason| reason.contains("no envelope")), "{parked:?}");
    app.drained().await;
    app.stop().await;
}

/// A copy that was only received too often is a copy again, and is sent once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_that_was_never_called_for_is_sent_once() {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause", "relay": "pause", "dead_letter": "pause"}));
    let id = app.queued(&push("dead", "device-of-dead")).await;
    app.queues.wear_out(1).await;
    assert_eq!(app.message(&id).await["status"], "queued");
    app.control(&json!({"dead_letter": "resume"}));
    eventually("the letter is a copy again", async || {
        (app.queues.left(DEAD).await == 0 && app.queues.left(DELIVERIES).await == 1).then_some(())
    })
    .await;
    app.control(&json!({"deliver": "resume", "relay": "resume"}));
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-dead").len(), 1);
    app.stop().await;
}

/// What every client of SQS may do to us: copies of a copy. The lease and the delivery's state sort them out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_of_a_copy_cause_one_call() {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause", "relay": "pause"}));
    let id = app.queued(&push("copied", "device-of-copied")).await;
    let copy = eventually("the copy is there", async || app.queues.take(DELIVERIES, 0).await.pop()).await;
    for _ in 0..5 {
        app.queues.send(DELIVERIES, copy.body().unwrap()).await;
    }
    app.control(&json!({"deliver": "resume", "relay": "resume"}));
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-copied").len(), 1);
    assert_eq!(app.message(&id).await["deliveries"][0]["attempts"], 1);
    app.stop().await;
}

/// The consumer dies after `effect`. Nobody but SQS brings the copy back, when its visibility timeout is over.
async fn dies(effect: &str, delivery: &str, status: &str, calls: usize) {
    let app = TestApp::start().await;
    app.control(&json!({"relay": "pause"}));
    app.crash("deliver", &format!("after_{effect}"));
    let mut body = push("crash", "device-of-crash");
    body["delivery"] = json!(delivery);
    let id = app.queued(&body).await;
    app.crashed().await;
    assert_eq!(app.queues.left(DELIVERIES).await, 1, "the copy is hidden, not gone");
    app.pass(45).await;
    app.reaches(&id, status).await;
    app.control(&json!({"relay": "resume"}));
    app.drained().await;
    assert_eq!(app.calls("device-of-crash").len(), calls);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_visibility_timeout_repairs_a_crash_after_the_claim() {
    dies("claim", "at_least_once", "sent", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_visibility_timeout_brings_no_second_call_at_most_once() {
    dies("call", "at_most_once", "unknown", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_visibility_timeout_ends_the_copy_of_a_crash_after_the_record() {
    dies("record", "at_least_once", "sent", 1).await;
}
