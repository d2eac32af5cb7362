//! Paying an approved refund: one payment, whatever the provider answers or does not answer (G7).

use crate::support::{PAYOUTS, TestApp, first_payout, logs, refund, trail};
use http::Method;
use protocol::refund::id::PayoutId;
use queue::{Envelope, Origin, PayoutV1};
use serde_json::{Value, json};

/// Another copy of a refund's first payout.
async fn another_copy(app: &TestApp, id: &str) {
    let payout = PayoutId::parse(&first_payout(id)).unwrap();
    let copy = PayoutV1 { payout, project: "acme".to_owned(), origin: Origin::Relay };
    app.queues.send(PAYOUTS, &Envelope::Payout(copy).to_body().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approved_refund_is_paid_once_under_its_payout_s_id() {
    let app = TestApp::start().await;
    // One copy only.
    app.control(&json!({"relay": "pause"}));
    let id = app.approved("paid", "pi_paid").await;
    let shown = app.payout_becomes(&id, "paid").await;
    let calls = app.calls("pi_paid");
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].provider, calls[0].accepted, calls[0].amount), ("stripe", true, Some(4_200)));
    assert_eq!(calls[0].idempotency_key, Some(first_payout(&id)));
    assert_eq!(calls[0].payload["reason"], "requested_by_customer");
    assert_eq!(shown["payout"]["provider_id"], json!(calls[0].id));
    assert_eq!(trail(&shown), ["created", "approved", "payout_called", "payout_paid"]);
    // A copy that comes late changes nothing and is acknowledged.
    another_copy(&app, &id).await;
    app.payouts_empty().await;
    assert_eq!((app.calls("pi_paid").len(), app.refund(&id).await), (1, shown));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_copies_at_the_same_moment_pay_once() {
    let app = TestApp::start().await;
    app.control(&json!({"payout": "pause"}));
    // The first call takes its time, so that the second one comes while it runs.
    app.script("pi_two", &json!(["hang_after_accept"])).await;
    let id = app.approved("two", "pi_two").await;
    another_copy(&app, &id).await;
    app.control(&json!({"copies": "twice", "payout": "resume"}));
    app.payout_becomes(&id, "paid").await;
    app.control(&json!({"copies": "once"}));
    app.payouts_idle().await;
    app.advance(49);
    app.payouts_empty().await;
    assert_eq!(app.paid("pi_two"), [(first_payout(&id), 4_200)]);
    let statuses: Vec<Option<u16>> = app.calls("pi_two").iter().map(|call| call.status).collect();
    assert!(statuses.contains(&Some(409)), "a second call met the first one: {statuses:?}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_answered_is_asked_for_again_under_the_same_key() {
    let app = TestApp::start().await;
    let cases = [
        json!("drop_after_accept"),
        json!("goaway_after_accept"),
        json!("hang_after_accept"),
        json!("hang"),
        json!("reset"),
        json!("goaway"),
        json!("refused_stream"),
        json!({"status": 429, "retry_after": 1}),
        json!({"status": 409, "reason": "idempotency_key_in_use"}),
        json!({"status": 401}),
    ];
    let mut ids = Vec::new();
    for (n, outcome) in cases.iter().enumerate() {
        let payment = format!("pi_{n}");
        app.script(&payment, &json!([outcome])).await;
        ids.push((app.approved(&format!("lost-{n}"), &payment).await, payment, outcome));
    }
    for (id, payment, outcome) in ids {
        app.payout_becomes(&id, "paid").await;
        let calls = app.calls(&payment);
        // One more, perhaps, while the provider has not noticed yet that the first caller is gone.
        assert!((2..=3).contains(&calls.len()), "{outcome}: {} calls", calls.len());
        assert!(calls.iter().all(|call| call.idempotency_key == Some(first_payout(&id))), "{outcome}");
        assert_eq!(app.paid(&payment), [(first_payout(&id), 4_200)], "{outcome}");
        assert_eq!(calls[0].payload, calls[1].payload, "{outcome}");
    }
    app.payouts_empty().await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_ends_it_with_the_provider_s_reason_and_a_retry_pays_under_the_next_id() {
    let app = TestApp::start().await;
    app.script("pi_no", &json!([{"status": 400, "reason": "charge_disputed"}])).await;
    let id = app.approved("refused", "pi_no").await;
    let shown = app.payout_becomes(&id, "failed").await;
    assert_eq!(shown["payout"]["reason"]["code"], "charge_disputed");
    assert_eq!(trail(&shown), ["created", "approved", "payout_called", "payout_failed"]);
    app.payouts_empty().await;
    let path = format!("/v1/refunds/{id}/payout/retry");
    let body = json!({"payout_id": first_payout(&id)});
    app.post_to(&path, "acme", &body).await.problem(409, "payout_busy");
    app.advance(11);
    let successor = app.post_to(&path, "acme", &body).await.expect(200).body["payout_id"].clone();
    let shown = app.payout_becomes(&id, "paid").await;
    assert_eq!((&shown["payout"]["id"], &shown["payout"]["number"]), (&successor, &json!(2)));
    assert_eq!(app.paid("pi_no"), [(successor.as_str().unwrap().to_owned(), 4_200)]);
    app.payouts_empty().await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_of_one_call_is_no_end_if_another_one_was_taken() {
    let app = TestApp::start().await;
    // The first call pays, and its answer is lost; the second one is refused for good, before its key is looked at.
    app.script("pi_both", &json!(["hang_after_accept", {"status": 400, "kept": false}])).await;
    let id = app.approved("both", "pi_both").await;
    let shown = app.payout_becomes(&id, "paid").await;
    let calls = app.calls("pi_both");
    assert_eq!((calls.len(), calls[1].status), (2, Some(400)), "the refusal was the last word, and no end");
    assert_eq!(app.paid("pi_both").len(), 1);
    assert_eq!(shown["payout"]["provider_id"], json!(calls[0].id));
    assert!(app.system.sandbox().listings() >= 1, "a listing knows better than the refusal");
    app.stop().await;
}

#[tokio::test]
async fn other_parameters_under_the_key_are_an_alarm_and_a_person_s() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let id = app.created(&refund("used-before", "pi_mismatch")).await;
    // Somebody used the key before, for another amount.
    let form = "payment_intent=pi_mismatch&amount=1";
    let key = first_payout(&id);
    let headers = [
        ("authorization", "Bearer sk_test_sandbox_acme"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("idempotency-key", key.as_str()),
    ];
    let url = format!("{}/v1/refunds", app.system.ready().sandbox);
    app.http.send(&Method::POST, &url, &headers, form).await.expect(200);
    app.decide("acme", &id, "approve").await.expect(200);
    let shown = app.payout_becomes(&id, "review").await;
    assert_eq!(shown["payout"]["reason"]["code"], "idempotency_error");
    app.payouts_empty().await;
    let calls = app.calls("pi_mismatch");
    assert_eq!(calls.iter().map(|call| call.status).collect::<Vec<_>>(), [Some(200), Some(400)], "never a new key");
    let line = own.events("payout_call").pop().unwrap();
    assert_eq!((&line["class"], &line["level"]), (&json!("mismatch"), &json!("ERROR")));
    let state = own.events("payout_state").pop().unwrap();
    assert_eq!((&state["state"], &state["level"]), (&json!("review"), &json!("ERROR")));
    // The person looks, and says that nothing of it was this refund.
    let resolve = json!({"outcome": "not_paid"});
    app.post_to(&format!("/v1/refunds/{id}/payout/resolve"), "acme_second", &resolve).await.expect(200);
    app.advance(11);
    let retry = json!({"payout_id": key});
    app.post_to(&format!("/v1/refunds/{id}/payout/retry"), "acme", &retry).await.expect(200);
    app.payout_becomes(&id, "paid").await;
    let paid: Vec<u64> = app.paid("pi_mismatch").into_iter().map(|(_, amount)| amount).collect();
    assert_eq!(paid, [1, 4_200]);
    app.stop().await;
}

/// The payment is in another currency than was approved: what the provider makes of it is a person's, for good.
#[tokio::test]
async fn what_is_made_otherwise_than_asked_for_is_never_paid_whoever_says_so() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let id = app.approved("in-euros", "pi_eur_1042").await;
    let made = async || app.calls("pi_eur_1042")[0].id.clone().unwrap();
    let in_review = async || {
        let shown = app.payout_becomes(&id, "review").await;
        let payout = &shown["payout"];
        assert_eq!((&payout["reason"]["code"], &payout["provider_id"]), (&json!("not_as_asked"), &json!(made().await)));
    };
    in_review().await;
    app.payouts_empty().await;
    assert_eq!(own.events("payout_call").pop().unwrap()["class"], "mismatch");
    // The provider says that it is paid, and so it is; but not what was approved.
    assert_eq!(app.provider_says("pi_eur_1042", "succeeded", 1).await, [json!(200)]);
    in_review().await;
    // Nor is it paid by what a listing shows, when nobody heard the answer.
    app.crash("payout", "after_call");
    app.control(&json!({"relay": "pause"}));
    let unheard = app.approved("in-euros-unheard", "pi_eur_1043").await;
    app.crashed().await;
    app.payouts_idle().await;
    app.advance(25 * 3_600);
    let shown = app.payout_becomes(&unheard, "review").await;
    assert_eq!(shown["payout"]["reason"]["code"], "not_as_asked");
    assert_eq!((app.calls("pi_eur_1043").len(), app.paid("pi_eur_1043").len()), (1, 1));
    // The person who looked ends it.
    let body = json!({"payout_id": first_payout(&id), "outcome": "paid", "reference": made().await});
    app.post_to(&format!("/v1/refunds/{id}/payout/resolve"), "acme", &body).await.expect(200);
    assert_eq!(app.refund(&id).await["payout"]["status"], "paid");
    app.stop().await;
}

/// A payment that the provider does not know: the call is refused, and so is the listing that would say that none was made.
#[tokio::test]
async fn a_listing_that_is_refused_is_a_person_s_and_not_an_empty_one() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    // It was called for once, so that the refusal is the end.
    app.control(&json!({"relay": "pause"}));
    let id = app.approved("unknown", "pi_unknown_1").await;
    let shown = app.payout_becomes(&id, "failed").await;
    let reason = &shown["payout"]["reason"];
    assert_eq!(reason["code"], "resource_missing");
    app.payouts_empty().await;
    let calls = own.events("payout_call");
    let told: Vec<_> = calls.iter().map(|line| (&line["call"], &line["class"])).collect();
    assert_eq!(told, [(&json!("create"), &json!("refused")), (&json!("list"), &json!("refused"))]);
    // One that is submitted comes to an end too.
    app.script("pi_hidden", &json!(["pending"])).await;
    app.script("list:pi_hidden", &json!([{"status": 503}, {"status": 400, "reason": "charge_disputed"}])).await;
    let id = app.approved("hidden", "pi_hidden").await;
    let shown = app.payout_becomes(&id, "review").await;
    assert_eq!(trail(&shown), ["created", "approved", "payout_called", "payout_submitted", "payout_review"]);
    assert_eq!(shown["payout"]["provider_id"], json!(app.calls("pi_hidden")[0].id));
    app.payouts_empty().await;
    app.stop().await;
}

/// Two refunds of the provider's name one payout: which must not be, and is told.
#[tokio::test]
async fn a_payout_that_the_provider_has_twice_is_an_alarm() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    app.script("pi_twice", &json!(["pending"])).await;
    let id = app.created(&refund("made-twice", "pi_twice")).await;
    let payout = first_payout(&id);
    // Somebody made one under another key, with our metadata.
    let form = format!("payment_intent=pi_twice&amount=4200&metadata[sendonce_payout]={payout}");
    let headers = [
        ("authorization", "Bearer sk_test_sandbox_acme"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("idempotency-key", "another"),
    ];
    let url = format!("{}/v1/refunds", app.system.ready().sandbox);
    app.http.send(&Method::POST, &url, &headers, form).await.expect(200);
    app.script("pi_twice", &json!(["pending"])).await;
    app.decide("acme", &id, "approve").await.expect(200);
    let line = crate::support::eventually("it is told", async || own.events("payout_doubled").pop()).await;
    assert_eq!((&line["payout_id"], &line["refunds"], &line["level"]), (&json!(payout), &json!(2), &json!("ERROR")));
    assert!(logs::metrics().iter().any(|line| line["PayoutsDoubled"] == 1));
    app.stop().await;
}

#[tokio::test]
async fn without_credentials_nothing_is_stamped_and_the_payout_waits_for_them() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let secrets = |secret: Value| {
        let url = app.system.ready().sandbox.clone();
        let body = json!({"SecretId": "sendonce/acme/stripe", "SecretString": secret.to_string()}).to_string();
        let http = app.http.clone();
        async move {
            let target = [("x-amz-target", "secretsmanager.PutSecretValue")];
            http.send(&Method::POST, &url, &target, body).await.expect(200);
        }
    };
    secrets(json!({"api_key": ""})).await;
    let id = app.approved("waits", "pi_waits").await;
    crate::support::eventually("a payout waits", async || own.events("payout_waiting").pop()).await;
    assert_eq!(own.events("payout_waiting")[0]["code"], "credentials_invalid");
    let shown = app.refund(&id).await;
    assert_eq!((&shown["payout"]["status"], &shown["payout"]["first_call_at"]), (&json!("due"), &Value::Null));
    secrets(json!({"api_key": "sk_test_sandbox_acme"})).await;
    app.payout_becomes(&id, "paid").await;
    // The relay may have added a copy, since nobody had called.
    assert_eq!(app.paid("pi_waits"), [(first_payout(&id), 4_200)]);
    app.stop().await;
}
