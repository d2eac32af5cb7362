//! A crowd at the people's way out: fifty persons retry one failed payout, or resolve one in review differently, at the
//! same moment: one of them does it, and everybody is told the same about it (G7).

use crate::support::{Answer, TestApp, eventually, first_payout, refund, trail};
use futures_util::future::join_all;
use protocol::{answer::Reason, refund::payout::Finding};
use serde_json::{Value, json};

const CROWD: usize = 50;

/// Approved, and no copy of it anywhere: nobody but these people changes it.
async fn quiet(app: &TestApp, key: &str) -> String {
    app.control(&json!({"relay": "pause", "inline_send": "fail"}));
    let id = app.created(&refund(key, &format!("pi of {key}"))).await;
    app.decide("acme", &id, "approve").await.expect(200);
    id
}

/// Everybody at once, each asking again while the outcome is not known, as the contract tells callers.
async fn crowd(app: &TestApp, path: &str, body: impl Fn(usize) -> Value) -> Vec<Answer> {
    let bodies: Vec<(usize, Value)> = (0..CROWD).map(|n| (n, body(n))).collect();
    join_all(bodies.iter().map(async |(n, body)| {
        let key = if n % 2 == 0 { "acme" } else { "acme_second" };
        eventually("the outcome is known", async || {
            let answer = app.post_to(path, key, body).await;
            (answer.status.as_u16() != 503).then_some(answer)
        })
        .await
    }))
    .await
}

fn with_result(answers: &[Answer], result: &str) -> usize {
    answers.iter().filter(|answer| answer.body["result"] == result).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_who_retry_at_once_one_makes_the_successor_and_it_is_paid_once() {
    let app = TestApp::start().await;
    let id = quiet(&app, "crowd-retries").await;
    app.payout_refused(&id).await;
    app.advance(60);
    let answers =
        crowd(&app, &format!("/v1/refunds/{id}/payout/retry"), |_| json!({"payout_id": first_payout(&id)})).await;
    for answer in &answers {
        answer.clone().expect(200);
        assert_eq!(answer.body["payout_id"], answers[0].body["payout_id"], "one successor");
    }
    // A 503 may have hidden the first one's answer; nobody else's can say so.
    assert!(with_result(&answers, "retried") <= 1);
    assert_eq!(with_result(&answers, "retried") + with_result(&answers, "already_retried"), CROWD);
    let retried = |shown: &Value| {
        let events = shown["events"].as_array().unwrap();
        events.iter().filter(|line| line["what"] == "payout_retried").count()
    };
    let shown = app.refund(&id).await;
    assert_eq!((retried(&shown), &shown["payout"]["number"]), (1, &json!(2)));
    app.control(&json!({"relay": "resume", "inline_send": "work"}));
    let shown = app.payout_becomes(&id, "paid").await;
    app.payouts_empty().await;
    let successor = shown["payout"]["id"].as_str().unwrap().to_owned();
    assert_eq!(app.paid("pi of crowd-retries"), [(successor, 4200)]);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_who_resolve_a_review_differently_one_is_believed() {
    let app = TestApp::start().await;
    let id = quiet(&app, "crowd-resolves").await;
    let reason = Reason { code: "not_found".to_owned(), detail: "Nobody can know.".to_owned() };
    app.found(&id, &Finding::Unclear { reference: None, reason }).await;
    let said = [
        json!({"payout_id": first_payout(&id), "outcome": "paid", "reference": "re_seen"}),
        json!({"payout_id": first_payout(&id), "outcome": "not_paid"}),
        json!({"payout_id": first_payout(&id), "outcome": "paid", "reference": "re_other"}),
    ];
    let answers = crowd(&app, &format!("/v1/refunds/{id}/payout/resolve"), |n| said[n % said.len()].clone()).await;
    let shown = app.refund(&id).await;
    let won = match (shown["payout"]["status"].as_str().unwrap(), shown["payout"]["provider_id"].as_str()) {
        ("paid", Some("re_seen")) => 0,
        ("failed", None) => 1,
        ("paid", Some("re_other")) => 2,
        other => panic!("{other:?}"),
    };
    for (n, answer) in answers.iter().enumerate() {
        if n % said.len() == won {
            let body = answer.clone().expect(200).body;
            assert_eq!(body["payout_status"], shown["payout"]["status"], "{}", answer.text);
        } else {
            answer.problem(409, "payout_not_in_review");
        }
    }
    assert!(with_result(&answers, "resolved") <= 1);
    let agreed = (0..CROWD).filter(|n| n % said.len() == won).count();
    assert_eq!(with_result(&answers, "resolved") + with_result(&answers, "already_resolved"), agreed);
    let trail = trail(&shown);
    let ends = trail.iter().filter(|what| ["payout_paid", "payout_failed"].contains(what)).count();
    assert_eq!(ends, 1, "{trail:?}");
    assert_eq!(app.paid("pi of crowd-resolves"), []);
    app.stop().await;
}
