//! What the provider says later: each event counts once, in its order, and only if it is the provider's (G7).

use crate::support::{TestApp, first_payout, logs, trail};
use serde_json::{Value, json};

/// A refund that the provider has and has not decided.
async fn submitted(app: &TestApp, key: &str) -> (String, String) {
    let payment = format!("pi_{key}");
    app.script(&payment, &json!(["pending"])).await;
    let id = app.approved(key, &payment).await;
    app.payout_becomes(&id, "submitted").await;
    (id, payment)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pending_payment_is_submitted_until_the_provider_decides() {
    let app = TestApp::start().await;
    let (id, payment) = submitted(&app, "pending").await;
    assert_eq!(app.provider_says(&payment, "succeeded", 1).await, [json!(200)]);
    let shown = app.payout_becomes(&id, "paid").await;
    assert_eq!(trail(&shown), ["created", "approved", "payout_called", "payout_submitted", "payout_paid"]);
    assert_eq!(app.calls(&payment).len(), 1);
    // The copy that waited for it learns so and is acknowledged.
    app.payouts_empty().await;
    // A provider may take a success back.
    app.advance(1);
    assert_eq!(app.provider_says(&payment, "failed", 1).await, [json!(200)]);
    let shown = app.refund(&id).await;
    assert_eq!((&shown["payout"]["status"], &shown["payout"]["reason"]["code"]), (&json!("failed"), &json!("failed")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submitted_payment_is_asked_about_without_a_webhook_too() {
    let app = TestApp::start().await;
    let (id, payment) = submitted(&app, "asked").await;
    app.system.sandbox().settle(&payment, "canceled", None).unwrap();
    let shown = app.payout_becomes(&id, "failed").await;
    assert_eq!(shown["payout"]["reason"]["code"], "canceled");
    assert_eq!(app.calls(&payment).len(), 1);
    app.stop().await;
}

#[tokio::test]
async fn one_event_that_comes_20_times_at_once_counts_once() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let (id, payment) = submitted(&app, "twenty").await;
    assert_eq!(app.provider_says(&payment, "succeeded", 20).await, vec![json!(200); 20]);
    let shown = app.refund(&id).await;
    assert_eq!(shown["payout"]["status"], "paid");
    let by_events =
        shown["events"].as_array().unwrap().iter().filter(|line| line["by"].as_str().unwrap().starts_with("evt_"));
    assert_eq!(by_events.count(), 1);
    let mut outcomes: Vec<String> =
        own.events("webhook").iter().map(|line| line["outcome"].as_str().unwrap().to_owned()).collect();
    outcomes.sort();
    assert_eq!(outcomes.first().map(String::as_str), Some("applied"));
    assert!(outcomes[1..].iter().all(|outcome| outcome == "repeated") && outcomes.len() == 20, "{outcomes:?}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_out_of_order_move_nothing_back() {
    let app = TestApp::start().await;
    let (id, payment) = submitted(&app, "order").await;
    let pending = app.system.sandbox().settle(&payment, "pending", None).unwrap();
    app.advance(2);
    let failed = app.system.sandbox().settle(&payment, "failed", Some("declined")).unwrap();
    let sent = async |event: &sandbox::Webhook| {
        app.webhook("acme", &event.signature, &event.body).await.expect(200).body["result"].clone()
    };
    assert_eq!(sent(&failed).await, "applied");
    assert_eq!(sent(&pending).await, "out_of_order");
    let shown = app.refund(&id).await;
    assert_eq!(
        (&shown["payout"]["status"], &shown["payout"]["reason"]["code"]),
        (&json!("failed"), &json!("declined"))
    );
    assert_eq!(sent(&failed).await, "repeated");
    // One about a payout that has a successor: that it was paid is an alarm, and changes nothing.
    app.advance(11);
    let retry = json!({"payout_id": first_payout(&id)});
    app.post_to(&format!("/v1/refunds/{id}/payout/retry"), "acme", &retry).await.expect(200);
    let second = app.payout_becomes(&id, "paid").await;
    let first = app.system.sandbox().refunds_of(&payment)[0]["id"].as_str().unwrap().to_owned();
    let late = app.system.sandbox().settle(&first, "succeeded", None).unwrap();
    assert_eq!(sent(&late).await, "given_up");
    let still = app.system.sandbox().settle(&first, "failed", None).unwrap();
    // That it failed after all is kept too, and that it did once more is not.
    assert_eq!(sent(&still).await, "applied");
    let again = app.system.sandbox().settle(&first, "failed", None).unwrap();
    assert_eq!(sent(&again).await, "not_current");
    assert_eq!(sent(&late).await, "repeated");
    let shown = app.refund(&id).await;
    assert_eq!(shown["payout"], second["payout"]);
    // The trail says so, once.
    let lines = shown["events"].as_array().unwrap();
    let new = &lines[second["events"].as_array().unwrap().len()..];
    let told: Vec<_> =
        new.iter().map(|line| (&line["what"], &line["payout"], &line["reference"], &line["code"])).collect();
    let expected = ["earlier_payout_found", "failed"].map(|code| (json!("event"), json!(1), json!(first), json!(code)));
    assert_eq!(
        told,
        expected.iter().map(|(what, payout, object, code)| (what, payout, object, code)).collect::<Vec<_>>()
    );
    app.stop().await;
}

/// The provider's word that the first payout was paid after all comes in time: its successor is not called for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successor_is_not_called_for_once_the_provider_says_that_the_first_was_paid() {
    let app = TestApp::start().await;
    let (id, payment) = submitted(&app, "in-time").await;
    let object = app.calls(&payment)[0].id.clone().unwrap();
    let failed = app.system.sandbox().settle(&object, "failed", None).unwrap();
    app.webhook("acme", &failed.signature, &failed.body).await.expect(200);
    app.advance(11);
    app.control(&json!({"payout": "pause", "listings": "lag"}));
    let retry = json!({"payout_id": first_payout(&id)});
    app.post_to(&format!("/v1/refunds/{id}/payout/retry"), "acme", &retry).await.expect(200);
    let paid = app.system.sandbox().settle(&object, "succeeded", None).unwrap();
    assert_eq!(app.webhook("acme", &paid.signature, &paid.body).await.expect(200).body["result"], "given_up");
    app.control(&json!({"payout": "resume"}));
    app.payouts_empty().await;
    let shown = app.refund(&id).await;
    assert_eq!(
        (&shown["payout"]["number"], &shown["payout"]["status"], &shown["payout"]["reason"]["code"]),
        (&json!(2), &json!("review"), &json!("earlier_payout_found"))
    );
    assert_eq!(app.calls(&payment).len(), 1, "the successor was never called for");
    app.stop().await;
}

/// A person found that the first payout's object is what was paid: the provider may take that back too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_about_the_object_that_pays_counts_though_it_names_an_earlier_payout() {
    let app = TestApp::start().await;
    let (id, payment) = submitted(&app, "earlier").await;
    let object = app.calls(&payment)[0].id.clone().unwrap();
    let failed = app.system.sandbox().settle(&object, "failed", None).unwrap();
    app.webhook("acme", &failed.signature, &failed.body).await.expect(200);
    app.advance(11);
    // It turns out to be paid after all, and the successor finds it.
    app.system.sandbox().settle(&object, "succeeded", None).unwrap();
    let retry = json!({"payout_id": first_payout(&id)});
    app.post_to(&format!("/v1/refunds/{id}/payout/retry"), "acme", &retry).await.expect(200);
    let shown = app.payout_becomes(&id, "review").await;
    assert_eq!(shown["payout"]["reason"]["code"], "earlier_payout_found");
    let body = json!({"payout_id": shown["payout"]["id"], "outcome": "paid", "reference": object});
    app.post_to(&format!("/v1/refunds/{id}/payout/resolve"), "acme", &body).await.expect(200);
    app.advance(1);
    let back = app.system.sandbox().settle(&object, "failed", Some("declined")).unwrap();
    assert_eq!(app.webhook("acme", &back.signature, &back.body).await.expect(200).body["result"], "applied");
    let shown = app.refund(&id).await;
    assert_eq!(
        (&shown["payout"]["number"], &shown["payout"]["status"], &shown["payout"]["reason"]["code"]),
        (&json!(2), &json!("failed"), &json!("declined"))
    );
    assert_eq!(app.paid(&payment).len(), 1, "the successor was never called for");
    app.stop().await;
}

/// A webhook for nobody costs no read of the secrets, and is told the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_that_is_not_there_is_told_the_same_as_a_bad_signature() {
    let app = TestApp::start().await;
    let (_, payment) = submitted(&app, "nobody-s").await;
    let event = app.system.sandbox().settle(&payment, "succeeded", None).unwrap();
    let of = async |project: &str, signature: &str| {
        let answer = app.webhook(project, signature, &event.body).await;
        answer.problem(400, "signature_invalid");
        answer.body
    };
    let bad = of("acme", "t=1,v1=00").await;
    // A secret is stored under this name, but there is no such project.
    app.system.sandbox().seed_project("nobody-at-all").unwrap();
    let signature = app.system.sandbox().signature("nobody-at-all", event.body.as_bytes()).unwrap();
    for project in ["nobody-at-all", "a%2Fb", &"x".repeat(3_000)] {
        assert_eq!(of(project, &signature).await, bad, "{project}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_signed_stores_nothing_and_what_is_not_ours_is_counted() {
    let app = TestApp::start().await;
    let (id, payment) = submitted(&app, "signed").await;
    let before = app.refund(&id).await;
    let event = app.system.sandbox().settle(&payment, "succeeded", None).unwrap();
    for (project, signature, body) in [
        ("acme", "", event.body.clone()),
        ("acme", "t=1,v1=00", event.body.clone()),
        ("acme", &event.signature, event.body.replace("succeeded", "failed")),
        ("acme", &event.signature, format!(" {}", event.body)),
        ("globex", &event.signature, event.body.clone()),
        ("nobody", &event.signature, event.body.clone()),
    ] {
        app.webhook(project, signature, &body).await.problem(400, "signature_invalid");
    }
    let sign = |body: &str| app.system.sandbox().signature("acme", body.as_bytes()).unwrap();
    app.webhook("acme", &sign("{"), "{").await.problem(400, "invalid_json");
    assert_eq!(app.refund(&id).await, before);
    let result = async |body: &Value| {
        let body = body.to_string();
        app.webhook("acme", &sign(&body), &body).await.expect(200).body["result"].clone()
    };
    let mut other: Value = serde_json::from_str(&event.body).unwrap();
    other["type"] = json!("charge.refunded");
    assert_eq!(result(&other).await, "unknown_type");
    other["type"] = json!("refund.updated");
    other["data"]["object"]["metadata"] = json!({});
    assert_eq!(result(&other).await, "not_ours");
    let nobody = format!("payout_rf_{}_1", "a".repeat(40));
    other["data"]["object"]["metadata"] = json!({"sendonce_payout": nobody});
    assert_eq!(result(&other).await, "not_ours");
    // Another project's account signs for a refund that is not its own.
    let body = event.body.as_str();
    let globex = app.system.sandbox().signature("globex", body.as_bytes()).unwrap();
    assert_eq!(app.webhook("globex", &globex, body).await.expect(200).body["result"], "not_ours");
    app.payouts_idle().await;
    app.webhook("acme", &event.signature, &event.body).await.expect(200);
    assert_eq!(app.refund(&id).await["payout"]["status"], "paid");
    app.stop().await;
}
