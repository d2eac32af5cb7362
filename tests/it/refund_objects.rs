//! More than one object of the provider's for one payout: what happens to one says nothing of the other, and two that
//! pay are an alarm.

use crate::support::{TestApp, first_payout, logs};
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
