//! A refusal is the end of a payout that was called for once. After another call, which may have been taken, nobody calls
//! again, and a person looks (G7).

use crate::support::{TestApp, eventually, first_payout, trail};
use serde_json::{Value, json};

/// A refusal that the provider does not keep under the key: it says nothing about the call before it.
fn not_kept() -> Value {
    json!({"status": 400, "reason": "invalid_request_error", "kept": false})
}

/// Waits for the mark of a refusal.
async fn refused(app: &TestApp, id: &str) -> Value {
    eventually("the refusal is kept", async || {
        let shown = app.refund(id).await;
        let is_kept = trail(&shown).last() == Some(&"payout_refused");
        is_kept.then_some(shown)
    })
    .await
}

/// The first call is paid and its answer lost, the second one refused, and the listing lags, however long: that is a
/// person's. `crash`: the first caller dies with its answer.
async fn lost_then_refused(crash: bool) {
    let app = TestApp::start().await;
    // One copy only.
    app.control(&json!({"relay": "pause", "listings": "lag"}));
    app.script("pi_double", &json!(["drop_after_accept", not_kept()])).await;
    if crash {
        app.crash("payout", "after_call");
    }
    let id = app.approved("double", "pi_double").await;
    if crash {
        app.crashed().await;
        app.payouts_idle().await;
        // The copy was hidden by whoever died with it.
        app.advance(49);
    }
    let shown = refused(&app, &id).await;
    assert_eq!(trail(&shown), ["created", "approved", "payout_called", "payout_refused"]);
    let payout = &shown["payout"];
    assert_eq!((&payout["status"], &payout["reason"]["code"]), (&json!("due"), &json!("invalid_request_error")));
    let (retry, resolve) = (format!("/v1/refunds/{id}/payout/retry"), format!("/v1/refunds/{id}/payout/resolve"));
    let again = json!({"payout_id": first_payout(&id)});
    let paid = json!({"outcome": "paid", "reference": app.calls("pi_double")[0].id});
    app.post_to(&retry, "acme", &again).await.problem(409, "payout_not_failed");
    app.post_to(&resolve, "acme", &paid).await.problem(409, "payout_not_in_review");
    // Whoever announced a call before the refusal was kept is gone.
    app.payouts_idle().await;
    app.advance(11);
    let shown = app.payout_becomes(&id, "review").await;
    let reason = &shown["payout"]["reason"];
    assert_eq!(reason["code"], "refused_after_other_call");
    assert!(reason["detail"].as_str().unwrap().contains("invalid_request_error"), "{reason}");
    app.payouts_empty().await;
    assert_eq!((app.calls("pi_double").len(), app.paid("pi_double").len()), (2, 1), "nobody called again");
    app.advance(60);
    app.post_to(&retry, "acme", &again).await.problem(409, "payout_not_failed");
    app.post_to(&resolve, "acme", &paid).await.expect(200);
    app.post_to(&retry, "acme", &again).await.problem(409, "payout_not_failed");
    assert_eq!(app.refund(&id).await["payout"]["status"], "paid");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_after_a_lost_answer_is_a_person_s_while_the_listing_lags() {
    lost_then_refused(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_after_a_death_with_the_answer_is_a_person_s_while_the_listing_lags() {
    lost_then_refused(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_listing_shows_after_all_ends_the_wait() {
    let app = TestApp::start().await;
    app.control(&json!({"relay": "pause", "listings": "lag"}));
    app.script("pi_late_list", &json!(["drop_after_accept", not_kept()])).await;
    let id = app.approved("late-list", "pi_late_list").await;
    refused(&app, &id).await;
    app.control(&json!({"listings": "current"}));
    let shown = app.payout_becomes(&id, "paid").await;
    assert_eq!(shown["payout"]["reason"], Value::Null);
    assert_eq!(trail(&shown), ["created", "approved", "payout_called", "payout_refused", "payout_paid"]);
    app.payouts_empty().await;
    assert_eq!((app.calls("pi_late_list").len(), app.paid("pi_late_list").len()), (2, 1));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_of_the_only_call_is_kept_until_a_listing_is_got_and_then_believed() {
    let app = TestApp::start().await;
    app.control(&json!({"relay": "pause"}));
    app.script("pi_only", &json!([{"status": 400, "reason": "charge_disputed", "kept": false}])).await;
    app.script("list:pi_only", &json!([{"status": 503}, {"status": 503}])).await;
    let id = app.approved("only", "pi_only").await;
    let shown = app.payout_becomes(&id, "failed").await;
    assert_eq!(shown["payout"]["reason"]["code"], "charge_disputed");
    assert_eq!(trail(&shown), ["created", "approved", "payout_called", "payout_refused", "payout_failed"]);
    assert_eq!(app.calls("pi_only").len(), 1, "refused once, it is not called for again");
    app.payouts_empty().await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listing_that_never_answers_is_a_person_s_two_windows_after_the_first_call() {
    let app = TestApp::start().await;
    app.control(&json!({"relay": "pause"}));
    app.crash("payout", "after_call");
    app.script("list:pi_silent", &Value::Array(vec![json!({"status": 503}); 100])).await;
    let id = app.approved("silent", "pi_silent").await;
    app.crashed().await;
    app.payouts_idle().await;
    // Past the window, and not past two of them.
    app.advance(45 * 3_600);
    eventually("a listing is asked for", async || (app.system.sandbox().listings() > 0).then_some(())).await;
    app.payouts_idle().await;
    assert_eq!(app.refund(&id).await["payout"]["status"], "due");
    app.advance(3_600);
    let shown = app.payout_becomes(&id, "review").await;
    assert_eq!(shown["payout"]["reason"]["code"], "listing_failed");
    app.payouts_empty().await;
    assert_eq!((app.calls("pi_silent").len(), app.paid("pi_silent").len()), (1, 1));
    app.stop().await;
}
