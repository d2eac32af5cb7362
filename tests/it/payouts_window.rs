//! Past the window of the provider's key nobody calls blindly: a listing tells, or a person (G7).

use crate::support::{TestApp, first_payout, trail};
use serde_json::json;

/// Longer than the provider's key lives.
const TWENTY_FIVE_HOURS: u64 = 90_000;

/// A refund whose first call was taken by the provider and recorded by nobody, a day ago.
async fn forgotten(app: &TestApp, key: &str) -> String {
    app.crash("payout", "after_call");
    // One copy only: its consumer dies.
    app.control(&json!({"relay": "pause"}));
    let id = app.approved(key, &format!("pi_{key}")).await;
    app.crashed().await;
    app.payouts_idle().await;
    assert_eq!(app.refund(&id).await["payout"]["status"], "due");
    app.advance(TWENTY_FIVE_HOURS);
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_paid_is_found_in_the_listing_and_not_paid_again() {
    let app = TestApp::start().await;
    let id = forgotten(&app, "found").await;
    let shown = app.payout_becomes(&id, "paid").await;
    let calls = app.calls("pi_found");
    assert_eq!(calls.len(), 1, "the key would have started a new payment");
    assert_eq!(shown["payout"]["provider_id"], json!(calls[0].id));
    assert_eq!(trail(&shown), ["created", "approved", "payout_called", "payout_paid"]);
    app.payouts_empty().await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_lagging_listing_does_not_show_is_a_person_s_and_never_called_for() {
    let app = TestApp::start().await;
    app.control(&json!({"listings": "lag"}));
    let id = forgotten(&app, "lagging").await;
    let shown = app.payout_becomes(&id, "review").await;
    assert_eq!(shown["payout"]["reason"]["code"], "not_found");
    app.payouts_empty().await;
    assert_eq!(app.paid("pi_lagging"), [(first_payout(&id), 4_200)]);
    assert_eq!(app.calls("pi_lagging").len(), 1);
    let path = format!("/v1/refunds/{id}/payout/resolve");
    let resolve = json!({"outcome": "paid", "reference": app.calls("pi_lagging")[0].id});
    app.post_to(&path, "acme", &resolve).await.expect(200);
    assert_eq!(app.refund(&id).await["payout"]["status"], "paid");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_that_was_wrong_is_put_right_by_the_provider_s_event() {
    let app = TestApp::start().await;
    app.control(&json!({"listings": "lag"}));
    let id = forgotten(&app, "event").await;
    app.payout_becomes(&id, "review").await;
    assert_eq!(app.provider_says("pi_event", "succeeded", 1).await, [json!(200)]);
    assert_eq!(app.refund(&id).await["payout"]["status"], "paid");
    assert_eq!(app.calls("pi_event").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_that_the_provider_keeps_is_not_called_a_failure() {
    let app = TestApp::start().await;
    // Paid, answered with 500, and so again for as long as the key lives.
    app.script("pi_500", &json!(["error_after_accept"])).await;
    let id = app.approved("kept", "pi_500").await;
    app.called("pi_500", 3).await;
    assert_eq!(app.refund(&id).await["payout"]["status"], "due");
    app.control(&json!({"payout": "pause"}));
    app.payouts_idle().await;
    app.advance(TWENTY_FIVE_HOURS);
    app.control(&json!({"payout": "resume"}));
    app.payout_becomes(&id, "paid").await;
    assert_eq!(app.paid("pi_500").len(), 1);
    assert!(app.calls("pi_500").iter().all(|call| call.status == Some(500)), "the last word was the listing's");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_that_nobody_called_for_is_called_for_after_any_time() {
    let app = TestApp::start().await;
    app.control(&json!({"payout": "pause"}));
    let id = app.approved("late", "pi_late").await;
    app.advance(3 * 86_400);
    app.control(&json!({"payout": "resume"}));
    app.payout_becomes(&id, "paid").await;
    assert_eq!(app.paid("pi_late"), [(first_payout(&id), 4_200)]);
    app.stop().await;
}
