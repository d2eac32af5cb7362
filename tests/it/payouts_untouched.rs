//! Calls that certainly did nothing: they neither use up the provider's memory of the key nor cast doubt on a refusal.

use crate::support::{TestApp, eventually, first_payout, trail};
use serde_json::{Value, json};

/// Waits until a call was taken back; the refund with the reason.
async fn taken_back(app: &TestApp, id: &str) -> Value {
    eventually("a call is taken back", async || {
        let shown = app.refund(id).await;
        let payout = &shown["payout"];
        (payout["first_call_at"].is_null() && !payout["reason"].is_null()).then_some(shown)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_after_calls_that_were_not_looked_at_is_the_end() {
    let app = TestApp::start().await;
    app.control(&json!({"relay": "pause"}));
    let not_looked_at = json!({"status": 429, "kept": false});
    app.script("pi_busy", &json!([not_looked_at, "refused_stream", {"status": 402, "reason": "card_declined"}])).await;
    let id = app.approved("busy", "pi_busy").await;
    let shown = app.payout_becomes(&id, "failed").await;
    let payout = &shown["payout"];
    assert_eq!((&payout["reason"]["code"], &payout["calls"]), (&json!("card_declined"), &json!(1)));
    assert_eq!(trail(&shown), ["created", "approved", "payout_called", "payout_failed"]);
    app.payouts_empty().await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_api_key_uses_up_nothing_however_long_it_is_refused() {
    let app = TestApp::start().await;
    // One copy only.
    app.control(&json!({"relay": "pause", "audit": "pause"}));
    app.script("pi_key", &Value::Array(vec![json!({"status": 401, "kept": false}); 100])).await;
    let id = app.approved("key", "pi_key").await;
    let payout = &taken_back(&app, &id).await["payout"];
    assert_eq!((&payout["status"], &payout["calls"]), (&json!("due"), &json!(0)));
    // Two windows later the key is repaired, and nobody has to look. No call is under way meanwhile.
    app.payouts_stop().await;
    app.advance(48 * 3_600);
    app.script("pi_key", &json!([])).await;
    app.control(&json!({"payout": "resume"}));
    let shown = app.payout_becomes(&id, "paid").await;
    assert_eq!((&shown["payout"]["reason"], &shown["payout"]["calls"]), (&Value::Null, &json!(1)));
    assert_eq!(app.paid("pi_key"), [(first_payout(&id), 4_200)]);
    app.payouts_empty().await;
    app.stop().await;
}

/// A death between the call and its being taken back leaves what is stricter: the call counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_not_taken_back_counts() {
    let app = TestApp::start().await;
    app.control(&json!({"relay": "pause"}));
    app.crash("payout", "after_call");
    app.script("pi_counts", &json!([{"status": 429, "kept": false}])).await;
    let id = app.approved("counts", "pi_counts").await;
    app.crashed().await;
    app.payouts_idle().await;
    let payout = &app.refund(&id).await["payout"];
    assert_eq!((&payout["status"], &payout["calls"], &payout["reason"]), (&json!("due"), &json!(1), &Value::Null));
    app.advance(49);
    assert_eq!(app.payout_becomes(&id, "paid").await["payout"]["calls"], 2);
    assert_eq!(app.paid("pi_counts"), [(first_payout(&id), 4_200)]);
    app.stop().await;
}
