//! Many requests under one key at the same moment: one wins, and nobody is told anything else (G1, G2).

use crate::support::{Answer, TestApp, push};
use futures_util::future::join_all;
use serde_json::{Value, json};

async fn all_at_once(app: &TestApp, bodies: &[Value]) -> Vec<Answer> {
    join_all(bodies.iter().map(|body| app.post("acme", &[], body.to_string()))).await
}

fn with_status<'a>(answers: &'a [Answer], status: &str) -> Vec<&'a Answer> {
    answers.iter().filter(|answer| answer.body["status"] == status).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_200_equal_sends_at_once_one_is_queued_and_one_push_goes_out() {
    let app = TestApp::start().await;
    let body = push("race", "device-of-race");
    let answers = all_at_once(&app, &vec![body.clone(); 200]).await;
    for answer in &answers {
        answer.clone().expect(202);
    }
    let queued = with_status(&answers, "queued");
    assert_eq!((queued.len(), with_status(&answers, "duplicate_ignored").len()), (1, 199));
    let id = queued[0].id();
    for answer in &answers {
        assert_eq!(answer.id(), id);
        let replayed = answer.body["status"] == "duplicate_ignored";
        assert_eq!(answer.header("idempotent-replayed") == "true", replayed);
    }
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-race").len(), 1);
    app.duplicate(&body, &id).await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_bodies_that_race_for_a_key_the_winner_s_is_pushed() {
    let app = TestApp::start().await;
    let mut other = push("race", "device-of-race");
    other["notification"]["title"] = json!("Delayed");
    let two = [push("race", "device-of-race"), other];
    let bodies: Vec<Value> = two.iter().cycle().take(50).cloned().collect();
    let answers = all_at_once(&app, &bodies).await;
    let queued = with_status(&answers, "queued");
    assert_eq!(queued.len(), 1);
    let id = queued[0].id();
    let winner = answers.iter().position(|answer| answer.body["status"] == "queued").unwrap() % 2;
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
    app.duplicate(&two[winner], &id).await;
    app.stop().await;
}
