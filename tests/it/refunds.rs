//! Refunds through HTTP: one key, one refund, for ever; one decision, whatever is clicked (G1, G2, G3, G7, G8).

use crate::support::{Answer, TestApp, eventually, first_payout, push, refund};
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const DAY: u64 = 86_400;

/// Asks until the outcome is known, as a client does that is answered 503; and how often it was not known. A hundred
/// requests at once may take a busy machine longer than one of them may take.
async fn known(ask: impl AsyncFn() -> Answer) -> (Answer, usize) {
    let mut unknown = 0;
    let answer = eventually("the outcome is known", async || {
        let answer = ask().await;
        let known = answer.status.as_u16() != 503;
        unknown += usize::from(!known);
        known.then_some(answer)
    });
    let answer = answer.await;
    (answer, unknown)
}

/// Of many who ask for the same at once, one is the first. If that one's answer was lost, it was told so like the others.
#[track_caller]
fn one_is_first(first: usize, unknown: usize) {
    assert!(first == 1 || (first == 0 && unknown > 0), "{first} are first, and {unknown} answers were lost");
}

#[tokio::test]
async fn a_refund_is_created_once_and_a_repeat_gets_the_first_id() {
    let app = TestApp::start().await;
    let body = refund("r1", "pi_1");
    let id = app.created(&body).await;
    for same in [body.clone(), {
        let mut spelled = body.clone();
        spelled["currency"] = json!("USD");
        spelled["note"] = json!(null);
        spelled
    }] {
        let answer = app.post_to("/v1/refunds", "acme", &same).await.expect(200);
        assert_eq!(answer.body, json!({"status": "duplicate_ignored", "id": id}));
        assert_eq!(answer.header("idempotent-replayed"), "true");
        assert_eq!(answer.header("location"), format!("/v1/refunds/{id}"));
    }
    let mut other = body.clone();
    other["amount"] = json!(4201);
    app.post_to("/v1/refunds", "acme", &other).await.problem(422, "idempotency_key_reused");
    // The same key of another project, and of another operation, is another key.
    let answer = app.post_to("/v1/refunds", "globex", &body).await.expect(201);
    assert_ne!(answer.id(), id);
    app.queued(&push("r1", "device-of-r1")).await;
    let shown = app.refund(&id).await;
    assert_eq!((&shown["status"], &shown["payout"]), (&json!("pending"), &Value::Null));
    assert_eq!(shown["created_by"], "ada@acme.example");
    app.stop().await;
}

#[tokio::test]
async fn a_refused_create_leaves_its_key_free() {
    let app = TestApp::start().await;
    let mut body = refund("fixed", "pi_1");
    body["amount"] = json!(0);
    app.post_to("/v1/refunds", "acme", &body).await.problem(400, "validation_failed");
    body["amount"] = json!(1);
    app.post_to("/v1/refunds", "acme_readonly", &body).await.problem(403, "forbidden");
    app.created(&body).await;
    app.stop().await;
}

#[tokio::test]
async fn a_refund_s_key_is_valid_after_400_days_too() {
    let app = TestApp::start().await;
    let body = refund("old", "pi_1");
    let id = app.created(&body).await;
    app.decide("acme", &id, "reject").await.expect(200);
    app.advance(400 * DAY);
    let answer = app.post_to("/v1/refunds", "acme", &body).await.expect(200);
    assert_eq!(answer.body, json!({"status": "duplicate_ignored", "id": id}));
    let mut other = body.clone();
    other["reason"] = json!("duplicate");
    app.post_to("/v1/refunds", "acme", &other).await.problem(422, "idempotency_key_reused");
    let again = app.decide("acme_second", &id, "reject").await.expect(200);
    assert_eq!(
        (&again.body["result"], &again.body["decided_by"]),
        (&json!("already_rejected"), &json!("ada@acme.example"))
    );
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_decision_says_what_the_first_one_said_and_the_other_one_is_refused() {
    let app = TestApp::start().await;
    let id = app.created(&refund("a", "pi_a")).await;
    let first = app.decide("acme", &id, "approve").await.expect(200).body;
    let mut expected = json!({
        "status": "approved", "id": id, "payout_id": first_payout(&id), "result": "approved",
        "decided_by": "ada@acme.example", "decided_at": first["decided_at"],
    });
    assert_eq!(first, expected);
    expected["result"] = json!("already_approved");
    for key in ["acme", "acme_second"] {
        // A body and a key are ignored.
        let headers = [("idempotency-key", "k"), ("content-type", "text/plain")];
        let path = format!("/v1/refunds/{id}/approve");
        let answer = app.request(&Method::POST, &path, key, &headers, "{").await.expect(200);
        assert_eq!(answer.body, expected);
    }
    let refused = app.decide("acme_second", &id, "reject").await;
    refused.problem(409, "refund_not_pending");
    assert_eq!(
        (&refused.body["decided_by"], &refused.body["decided_at"]),
        (&first["decided_by"], &first["decided_at"])
    );
    let id = app.created(&refund("r", "pi_r")).await;
    let first = app.decide("acme_second", &id, "reject").await.expect(200).body;
    let expected = json!({
        "status": "rejected", "id": id, "result": "rejected", "decided_by": "grace@acme.example",
        "decided_at": first["decided_at"],
    });
    assert_eq!(first, expected);
    let refused = app.decide("acme", &id, "approve").await;
    refused.problem(409, "refund_not_pending");
    assert_eq!(refused.body["decided_by"], "grace@acme.example");
    let shown = app.refund(&id).await;
    assert_eq!((&shown["status"], &shown["payout"]), (&json!("rejected"), &Value::Null));
    let trail: Vec<_> = shown["events"].as_array().unwrap().iter().map(|line| (&line["what"], &line["by"])).collect();
    let (ada, grace) = (json!("ada@acme.example"), json!("grace@acme.example"));
    assert_eq!(trail, [(&json!("created"), &ada), (&json!("rejected"), &grace)]);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_50_approvers_and_50_rejecters_at_once_one_decides_and_all_are_told_so() {
    let app = TestApp::start().await;
    for round in 0..3 {
        let id = app.created(&refund(&format!("race-{round}"), "pi_race")).await;
        let words = ["approve", "reject"].into_iter().cycle().take(100);
        let keys = ["acme", "acme", "acme_second", "acme_second"].into_iter().cycle();
        let asked = words.zip(keys).map(async |(word, key)| {
            let (answer, unknown) = known(async || app.decide(key, &id, word).await).await;
            (word, answer, unknown)
        });
        let answers: Vec<(&str, Answer, usize)> = join_all(asked).await;
        let decided_now = ["approved", "rejected"].map(Value::from);
        let first = answers.iter().filter(|(_, answer, _)| decided_now.contains(&answer.body["result"])).count();
        one_is_first(first, answers.iter().map(|(_, _, unknown)| unknown).sum());
        // Everybody who asked for what was decided is told the same, and everybody else is refused with it.
        let (word, won, _) = answers.iter().find(|(_, answer, _)| answer.status.as_u16() == 200).unwrap();
        let decided = |answer: &Answer| (answer.body["decided_by"].clone(), answer.body["decided_at"].clone());
        for (asked, answer, _) in &answers {
            if asked == word {
                assert_eq!(answer.status.as_u16(), 200, "{}", answer.text);
                assert_eq!(answer.body["payout_id"], won.body["payout_id"]);
            } else {
                answer.problem(409, "refund_not_pending");
            }
            assert_eq!(decided(answer), decided(won), "who decided, and when");
        }
        let shown = app.refund(&id).await;
        assert_eq!(shown["status"], won.body["status"]);
        assert_eq!((shown["decided_by"].clone(), shown["decided_at"].clone()), decided(won));
        assert_eq!(shown["payout"].is_null(), *word == "reject");
        let decisions = shown["events"].as_array().unwrap().iter();
        let decisions = decisions.filter(|line| ["approved", "rejected"].map(Value::from).contains(&line["what"]));
        assert_eq!(decisions.count(), 1);
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_100_equal_creates_at_once_one_creates() {
    let app = TestApp::start().await;
    let body = refund("crowd", "pi_crowd");
    let ask = async || known(async || app.post_to("/v1/refunds", "acme", &body).await).await;
    let answers: Vec<(Answer, usize)> = join_all((0..100).map(|_| ask())).await;
    let ids: BTreeSet<String> = answers.iter().map(|(answer, _)| answer.id()).collect();
    assert_eq!(ids.len(), 1);
    let created = answers.iter().filter(|(answer, _)| answer.status.as_u16() == 201).count();
    one_is_first(created, answers.iter().map(|(_, unknown)| unknown).sum());
    let repeated = answers.iter().filter(|(answer, _)| answer.body["status"] == "duplicate_ignored").count();
    assert_eq!(created + repeated, 100);
    app.stop().await;
}

#[tokio::test]
async fn another_project_s_refund_and_what_is_no_id_are_not_there() {
    let app = TestApp::start().await;
    let id = app.created(&refund("mine", "pi_mine")).await;
    let mut nonce = id.clone();
    let last = if nonce.pop() == Some('a') { 'e' } else { 'a' };
    nonce.push(last);
    for (key, id) in [("globex", id.as_str()), ("acme", &nonce), ("acme", "rf_x"), ("acme", "%FF"), ("acme", &id[..42])]
    {
        let path = format!("/v1/refunds/{id}");
        app.request(&Method::GET, &path, key, &[], "").await.problem(404, "not_found");
        for what in ["approve", "reject"] {
            app.decide(key, id, what).await.problem(404, "not_found");
        }
        let resolve = json!({"outcome": "not_paid"});
        app.post_to(&format!("{path}/payout/resolve"), key, &resolve).await.problem(404, "not_found");
        let retry = json!({"payout_id": first_payout(&app.created(&refund(&format!("x{id}{key}"), "p")).await)});
        app.post_to(&format!("{path}/payout/retry"), key, &retry).await.problem(404, "not_found");
    }
    assert_eq!(app.refund(&id).await["status"], "pending");
    app.stop().await;
}

#[tokio::test]
async fn each_route_asks_for_its_scope() {
    let app = TestApp::start().await;
    let id = app.created(&refund("scoped", "pi_scoped")).await;
    app.request(&Method::GET, &format!("/v1/refunds/{id}"), "acme_readonly", &[], "").await.expect(200);
    app.request(&Method::GET, "/v1/refunds?status=pending", "acme_readonly", &[], "").await.expect(200);
    app.post_to("/v1/refunds", "acme_readonly", &refund("k", "p")).await.problem(403, "forbidden");
    for what in ["approve", "reject", "payout/retry", "payout/resolve"] {
        app.decide("acme_readonly", &id, what).await.problem(403, "forbidden");
    }
    assert_eq!(app.refund(&id).await["status"], "pending");
    app.stop().await;
}
