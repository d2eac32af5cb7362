//! More than one object of the provider's for one payout: what happens to one says nothing of the other, and two that
//! pay are an alarm.

use crate::support::{TestApp, eventually, first_payout, logs};
use serde_json::{Value, json};

/// A payout that a person ended: it was paid by hand, under another reference than that of the provider's own object.
async fn paid_by_hand(app: &TestApp, payment: &str) -> (String, String) {
    app.control(&json!({"relay": "pause"}));
    // Paid in another currency than was approved: a person's.
    let id = app.approved(payment, payment).await;
    let shown = app.payout_becomes(&id, "review").await;
    let object = shown["payout"]["provider_id"].as_str().unwrap().to_owned();
    let paid = json!({"outcome": "paid", "reference": "re_by_hand"});
    app.post_to(&format!("/v1/refunds/{id}/payout/resolve"), "acme", &paid).await.expect(200);
    (id, object)
}

async fn told(app: &TestApp, object: &str, status: &str) -> Value {
    let event = app.system.sandbox().settle(object, status, None).unwrap();
    app.webhook("acme", &event.signature, &event.body).await.expect(200).body["result"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_wrong_object_does_not_undo_the_payment_that_a_person_named() {
    let app = TestApp::start().await;
    let (id, object) = paid_by_hand(&app, "pi_eur_by_hand").await;
    assert_eq!(told(&app, &object, "canceled").await, "applied");
    // But whoever named the other one may have mistyped it.
    let shown = app.refund(&id).await;
    let payout = &shown["payout"];
    assert_eq!((&payout["status"], &payout["provider_id"]), (&json!("paid"), &json!("re_by_hand")));
    let line = shown["events"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&line["what"], &line["reference"], &line["code"]),
        (&json!("event"), &json!(object), &json!("other_failed"))
    );
    app.advance(60);
    let again = json!({"payout_id": first_payout(&id)});
    app.post_to(&format!("/v1/refunds/{id}/payout/retry"), "acme", &again).await.problem(409, "payout_not_failed");
    assert_eq!(app.calls("pi_eur_by_hand").len(), 1);
    app.stop().await;
}

#[tokio::test]
async fn a_second_object_that_pays_is_told_and_counted() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    app.script("pi_lost_twice", &json!(["pending"])).await;
    app.control(&json!({"listings": "lag", "relay": "pause"}));
    app.crash("payout", "after_call");
    let id = app.approved("lost-twice", "pi_lost_twice").await;
    app.crashed().await;
    app.payouts_idle().await;
    app.advance(25 * 3_600);
    app.payout_becomes(&id, "review").await;
    let paid = json!({"outcome": "paid", "reference": "re_by_hand"});
    app.post_to(&format!("/v1/refunds/{id}/payout/resolve"), "acme", &paid).await.expect(200);
    // Its only one.
    assert_eq!(told(&app, "pi_lost_twice", "succeeded").await, "applied");
    let shown = app.refund(&id).await;
    let (payout, line) = (&shown["payout"], shown["events"].as_array().unwrap().last().unwrap());
    assert_eq!((&payout["status"], &payout["provider_id"]), (&json!("paid"), &json!("re_by_hand")));
    assert_eq!((&line["what"], &line["code"]), (&json!("event"), &json!("payout_doubled")));
    let object = line["reference"].as_str().unwrap();
    assert!(object.starts_with("re_") && object != "re_by_hand", "{line}");
    let alarm = own.events("payout_doubled").pop().unwrap();
    assert_eq!((&alarm["refund_id"], &alarm["level"]), (&json!(id), &json!("ERROR")));
    app.stop().await;
}

/// A payout that was taken though nobody here knows, and that a person called not paid while the provider's list lagged;
/// what the provider does with its successor is scripted.
async fn retried_too_early(app: &TestApp, payment: &str, successor: Value) -> (String, String) {
    app.script(payment, &json!(["pending", successor])).await;
    app.control(&json!({"listings": "lag", "relay": "pause"}));
    app.crash("payout", "after_call");
    let id = app.approved(payment, payment).await;
    app.crashed().await;
    app.payouts_idle().await;
    app.advance(25 * 3_600);
    app.payout_becomes(&id, "review").await;
    let not_paid = json!({"outcome": "not_paid"});
    app.post_to(&format!("/v1/refunds/{id}/payout/resolve"), "acme", &not_paid).await.expect(200);
    app.advance(60);
    let again = json!({"payout_id": first_payout(&id)});
    let retried = app.post_to(&format!("/v1/refunds/{id}/payout/retry"), "acme", &again).await.expect(200);
    (id, retried.body["payout_id"].as_str().unwrap().to_owned())
}

/// The successor failed, so it could be retried: but the payer has the money.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_earlier_payout_that_was_paid_stops_one_that_failed() {
    let app = TestApp::start().await;
    let payment = "pi_paid_all_the_same";
    let refusal = json!({"status": 400, "reason": "charge_disputed"});
    let (id, second) = retried_too_early(&app, payment, refusal).await;
    app.payout_becomes(&id, "failed").await;
    assert_eq!(told(&app, payment, "succeeded").await, "given_up");
    let shown = app.refund(&id).await;
    let (payout, object) = (&shown["payout"], app.calls(payment)[0].id.clone().unwrap());
    assert_eq!((&payout["status"], &payout["id"]), (&json!("review"), &json!(second)));
    assert_eq!(payout["reason"]["code"], "earlier_payout_found");
    assert!(payout["reason"]["detail"].as_str().unwrap().contains(&object), "{payout}");
    app.advance(60);
    let again = json!({"payout_id": second});
    app.post_to(&format!("/v1/refunds/{id}/payout/retry"), "acme", &again).await.problem(409, "payout_not_failed");
    // There is a way to say what is true.
    let paid = json!({"payout_id": second, "outcome": "paid", "reference": object});
    app.post_to(&format!("/v1/refunds/{id}/payout/resolve"), "acme", &paid).await.expect(200);
    assert_eq!(app.calls(payment).iter().filter(|call| call.accepted).count(), 1);
    app.stop().await;
}

#[tokio::test]
async fn two_payouts_of_one_refund_in_a_listing_are_told() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let (id, second) = retried_too_early(&app, "pi_two_live", json!("pending")).await;
    app.payout_becomes(&id, "submitted").await;
    assert!(own.events("payout_doubled").is_empty());
    app.control(&json!({"listings": "current"}));
    let line = eventually("it is told", async || own.events("payout_doubled").pop()).await;
    assert_eq!((&line["payout_id"], &line["refunds"], &line["level"]), (&json!(second), &json!(2), &json!("ERROR")));
    app.stop().await;
}

/// The provider repeats events for days, and the order is its own: a success from before the failure says nothing new.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_event_about_a_payout_that_failed_does_not_stop_its_successor() {
    let app = TestApp::start().await;
    let payment = "pi_failed_then_paid";
    app.script(payment, &json!(["pending"])).await;
    let id = app.approved(payment, payment).await;
    app.payout_becomes(&id, "submitted").await;
    // A poll would hear of the success.
    app.control(&json!({"payout": "pause"}));
    app.payouts_stop().await;
    let late = app.system.sandbox().settle(payment, "succeeded", None).unwrap();
    app.advance(2);
    assert_eq!(told(&app, payment, "failed").await, "applied");
    app.advance(60);
    let again = json!({"payout_id": first_payout(&id)});
    app.post_to(&format!("/v1/refunds/{id}/payout/retry"), "acme", &again).await.expect(200);
    let answer = app.webhook("acme", &late.signature, &late.body).await.expect(200);
    assert_eq!(answer.body["result"], "out_of_order");
    assert_eq!(app.refund(&id).await["payout"]["status"], "due");
    app.control(&json!({"payout": "resume"}));
    app.payout_becomes(&id, "paid").await;
    assert_eq!(app.calls(payment).len(), 2);
    app.stop().await;
}
