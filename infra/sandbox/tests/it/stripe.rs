//! Stripe's refunds: what is refused is refused in Stripe's shape, keys are kept as Stripe keeps them, and what was paid is
//! in the ledger.

use crate::client::{Answer, World, world};
use serde_json::{Value, json};
use std::time::Duration;

const PATH: &str = "/v1/refunds";
const KEY: &str = "sk_test_sandbox_acme";
const FORM: &str = "payment_intent=pi_1&amount=500&metadata%5Border%5D=7";

async fn create(world: &World, key: &str, form: &str) -> Option<Answer> {
    let bearer = format!("Bearer {KEY}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/x-www-form-urlencoded"),
        ("idempotency-key", key),
    ];
    world.call("POST", PATH, &headers, form).await
}

async fn made(world: &World, key: &str, form: &str) -> Answer {
    create(world, key, form).await.unwrap()
}

async fn list(world: &World, query: &str) -> Value {
    let bearer = format!("Bearer {KEY}");
    world.call("GET", &format!("{PATH}?{query}"), &[("authorization", &bearer)], "").await.unwrap().json()
}

fn error(answer: &Answer) -> (u16, Value, Value) {
    let body = answer.json();
    (answer.status, body["error"]["type"].clone(), body["error"]["code"].clone())
}

#[tokio::test]
async fn a_refund_is_made_once_under_its_key_and_the_ledger_says_so() {
    let world = world().await;
    let first = made(&world, "k1", FORM).await;
    let again = made(&world, "k1", FORM).await;
    assert_eq!((first.status, first.headers.get("idempotent-replayed")), (200, None));
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(first.json(), again.json());
    let refund = first.json();
    assert_eq!(
        (&refund["amount"], &refund["payment_intent"], &refund["status"]),
        (&json!(500), &json!("pi_1"), &json!("succeeded"))
    );
    assert_eq!(refund["metadata"], json!({"order": "7"}));
    let other = made(&world, "k2", FORM).await.json();
    assert_ne!(other["id"], refund["id"], "another key is another refund, also of the same amount");
    let ledger = world.ledger("?token=pi_1").await;
    let told = |entry: &Value| {
        (
            entry["provider"].clone(),
            entry["idempotency_key"].clone(),
            entry["amount"].clone(),
            entry["accepted"].clone(),
        )
    };
    let expected = |key: &str, accepted: bool| (json!("stripe"), json!(key), json!(500), json!(accepted));
    assert_eq!(
        ledger.iter().map(told).collect::<Vec<_>>(),
        [expected("k1", true), expected("k1", false), expected("k2", true)]
    );
    assert_eq!((&ledger[0]["id"], &ledger[1]["id"]), (&refund["id"], &json!(null)));
    assert_eq!(ledger[0]["headers"]["authorization"], "(not shown)");
}

#[tokio::test]
async fn a_key_with_other_parameters_is_refused_and_forgotten_after_a_day() {
    let world = world().await;
    let first = made(&world, "k", FORM).await.json();
    let other = made(&world, "k", &FORM.replace("500", "501")).await;
    assert_eq!(error(&other), (400, json!("idempotency_error"), json!(null)));
    world.clock.advance(Duration::from_secs(86_399));
    assert_eq!(made(&world, "k", FORM).await.json(), first);
    world.clock.advance(Duration::from_secs(1));
    let anew = made(&world, "k", FORM).await;
    assert_ne!(anew.json()["id"], first["id"], "the key starts a new request: this is what the window is for");
    assert_eq!(world.sandbox.refunds_of("pi_1").len(), 2);
}

#[tokio::test]
async fn errors_of_the_endpoint_are_kept_under_the_key_and_refusals_before_it_are_not() {
    let world = world().await;
    for (status, reason, kept) in [
        (500, "", true),
        (400, "charge_disputed", true),
        (429, "lock_timeout", false),
        (401, "", false),
        (409, "", false),
    ] {
        let key = format!("k{status}{reason}");
        let script =
            if reason.is_empty() { json!([{"status": status}]) } else { json!([{"status": status, "reason": reason}]) };
        world.script("pi_1", &script).await;
        assert_eq!(made(&world, &key, FORM).await.status, status);
        let again = made(&world, &key, FORM).await;
        assert_eq!(again.status, if kept { status } else { 200 }, "{status}");
        assert_eq!(again.headers.contains_key("idempotent-replayed"), kept);
    }
    // A 500 after the payment is kept too, and only a listing tells.
    world.script("pi_2", &json!(["error_after_accept"])).await;
    let form = FORM.replace("pi_1", "pi_2");
    for _ in 0..2 {
        assert_eq!(made(&world, "k-after", &form).await.status, 500);
    }
    assert_eq!(list(&world, "payment_intent=pi_2").await["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_call_that_hangs_holds_its_key_until_its_client_goes_away() {
    let world = world().await;
    for (outcome, paid) in [("hang_after_accept", true), ("hang", false)] {
        let form = FORM.replace("pi_1", outcome);
        world.script(outcome, &json!([outcome])).await;
        let (hung, busy) = tokio::join!(create(&world, outcome, &form), async {
            while world.sandbox.ledger(Some(outcome)).is_empty() {
                tokio::task::yield_now().await;
            }
            made(&world, outcome, &form).await
        });
        assert!(hung.is_none());
        assert_eq!(error(&busy), (409, json!("invalid_request_error"), json!("idempotency_key_in_use")));
        // The client has gone; its connection's end takes a moment to be seen.
        let later = loop {
            let answer = made(&world, outcome, &form).await;
            if answer.status != 409 {
                break answer;
            }
        };
        assert_eq!((later.status, later.headers.contains_key("idempotent-replayed")), (200, paid));
        assert_eq!(world.sandbox.refunds_of(outcome).len(), 1);
    }
}

#[tokio::test]
async fn faults_pay_or_do_not_pay_as_they_say() {
    let world = world().await;
    for (outcome, paid) in
        [("drop_after_accept", true), ("goaway_after_accept", true), ("reset", false), ("refused_stream", false)]
    {
        let form = FORM.replace("pi_1", outcome);
        world.script(outcome, &json!([outcome])).await;
        assert!(create(&world, outcome, &form).await.is_none());
        let first = world.sandbox.ledger(Some(outcome)).remove(0);
        assert_eq!((first.accepted, first.answered, first.status), (paid, false, None), "{outcome}");
        let answer = made(&world, outcome, &form).await;
        assert_eq!(answer.headers.contains_key("idempotent-replayed"), paid, "{outcome}");
        assert_eq!(world.sandbox.refunds_of(outcome).len(), 1);
    }
}

#[tokio::test]
async fn what_stripe_refuses_is_refused_and_not_kept() {
    let world = world().await;
    let bearer = format!("Bearer {KEY}");
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(world.call("POST", PATH, &form, FORM).await.unwrap().status, 401);
    let unformed = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    assert_eq!(world.call("POST", PATH, &unformed, FORM).await.unwrap().status, 400);
    for (form, code) in [
        ("amount=5", json!("parameter_missing")),
        ("charge=ch_1&payment_intent=pi_1&amount=5", json!(null)),
        ("charge=ch_1&amount=0", json!("parameter_invalid_integer")),
        ("charge=ch_1&amount=5.5", json!("parameter_invalid_integer")),
        ("charge=ch_1&amount=5&reason=other", json!("parameter_invalid_enum")),
        ("charge=ch_1&amount=5&note=x", json!("parameter_unknown")),
        ("charge=ch_1&amount=5&metadata[]=x", json!(null)),
    ] {
        let answer = made(&world, "same", form).await;
        assert_eq!(error(&answer), (400, json!("invalid_request_error"), code), "{form}");
    }
    assert_eq!(made(&world, "same", FORM).await.status, 200, "a refused form leaves its key free");
    assert_eq!(made(&world, &"k".repeat(256), FORM).await.status, 400);
    assert!(world.ledger("").await.iter().filter(|entry| entry["accepted"] == true).count() == 1);
}

#[tokio::test]
async fn a_listing_has_pages_and_may_lag() {
    let world = world().await;
    for n in 0..12 {
        made(&world, &format!("k{n}"), FORM).await;
    }
    made(&world, "other", "charge=ch_9&amount=1").await;
    let first = list(&world, "payment_intent=pi_1").await;
    assert_eq!((first["data"].as_array().unwrap().len(), &first["has_more"]), (10, &json!(true)));
    let newest = world.sandbox.refunds_of("pi_1").pop().unwrap();
    assert_eq!(first["data"][0], newest);
    let last = first["data"][9]["id"].as_str().unwrap();
    let rest = list(&world, &format!("payment_intent=pi_1&starting_after={last}")).await;
    assert_eq!((rest["data"].as_array().unwrap().len(), &rest["has_more"]), (2, &json!(false)));
    world.sandbox.lag_listings(true);
    made(&world, "late", FORM).await;
    assert_eq!(list(&world, "payment_intent=pi_1&limit=1").await["data"][0], newest);
    world.sandbox.lag_listings(false);
    assert_ne!(list(&world, "payment_intent=pi_1&limit=1").await["data"][0], newest);
    assert_eq!(list(&world, "limit=0").await["error"]["param"], "limit");
    assert_eq!(world.sandbox.listings(), 5);
}

#[tokio::test]
async fn a_listing_has_a_script_of_its_own() {
    let world = world().await;
    world.script("list:pi_1", &json!([{"status": 400, "reason": "charge_disputed"}, "drop_after_accept"])).await;
    made(&world, "k", FORM).await;
    let refused = list(&world, "payment_intent=pi_1").await;
    assert_eq!(refused["error"]["code"], "charge_disputed");
    let bearer = format!("Bearer {KEY}");
    let path = format!("{PATH}?payment_intent=pi_1");
    assert!(world.call("GET", &path, &[("authorization", &bearer)], "").await.is_none());
    assert_eq!(list(&world, "payment_intent=pi_1").await["data"].as_array().unwrap().len(), 1);
    assert_eq!(world.ledger("").await.len(), 1, "listings leave no entry");
}

#[tokio::test]
async fn ids_of_payments_say_that_they_are_unknown_or_of_another_currency() {
    let world = world().await;
    let none = made(&world, "k", &FORM.replace("pi_1", "pi_unknown_1")).await;
    assert_eq!(error(&none), (404, json!("invalid_request_error"), json!("resource_missing")));
    assert_eq!(list(&world, "charge=ch_unknown").await["error"]["code"], "resource_missing");
    assert!(world.sandbox.refunds_of("pi_unknown_1").is_empty());
    assert_eq!(made(&world, "k", &FORM.replace("pi_1", "pi_eur_1")).await.json()["currency"], "eur");
    for id in ["pi_1", "pi_eur", "pi_no_1", "pi_EUR_1", "eur_1"] {
        assert_eq!(made(&world, id, &FORM.replace("pi_1", id)).await.json()["currency"], json!(null), "{id}");
    }
}

#[tokio::test]
async fn a_refusal_before_keys_are_looked_at_is_not_kept_and_says_nothing_of_the_first_call() {
    let world = world().await;
    world.script("pi_1", &json!(["accept", {"status": 400, "kept": false}])).await;
    let first = made(&world, "k", FORM).await.json();
    assert_eq!(error(&made(&world, "k", FORM).await), (400, json!("invalid_request_error"), json!(null)));
    assert_eq!(made(&world, "k", FORM).await.json(), first);
    assert_eq!(world.sandbox.refunds_of("pi_1").len(), 1);
}

#[tokio::test]
async fn an_event_is_signed_over_its_bytes_and_goes_to_this_machine_only() {
    let world = world().await;
    world.script("pi_1", &json!(["pending"])).await;
    assert_eq!(made(&world, "k", FORM).await.json()["status"], "pending");
    let event = world.sandbox.settle("pi_1", "failed", Some("declined")).unwrap();
    let body: Value = serde_json::from_str(&event.body).unwrap();
    assert_eq!(
        (&body["type"], &body["data"]["object"]["failure_reason"]),
        (&json!("refund.failed"), &json!("declined"))
    );
    assert_eq!(body["data"]["object"], world.sandbox.refunds_of("pi_1")[0]);
    let secret = world.secret("sendonce/acme/stripe").await["webhook_secrets"][0].as_str().unwrap().to_owned();
    let at = event.signature.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, secret.as_bytes());
    let signature = data_encoding::HEXLOWER.decode(at.1.as_bytes()).unwrap();
    aws_lc_rs::hmac::verify(&key, format!("{}.{}", at.0, event.body).as_bytes(), &signature).unwrap();
    assert!(world.sandbox.settle("pi_none", "failed", None).is_err());
    assert!(world.sandbox.settle("pi_1", "paid", None).is_err());
    for elsewhere in ["http://10.0.0.1/x", "https://127.0.0.1/x", "http://example.com/"] {
        assert!(world.sandbox.send_webhooks_to(elsewhere).is_err(), "{elsewhere}");
    }
}

#[tokio::test]
async fn a_payment_is_not_forgotten_with_its_sandbox() {
    let file = std::env::temp_dir().join(format!("sendonce-payments-{}.jsonl", std::process::id()));
    let before = world().await;
    before.sandbox.keep_ledger(&file).unwrap();
    let refund = made(&before, "k", FORM).await.json();
    let after = world().await;
    after.sandbox.keep_ledger(&file).unwrap();
    let again = made(&after, "k", FORM).await;
    assert_eq!((again.headers["idempotent-replayed"].as_bytes(), again.json()), (&b"true"[..], refund));
    std::fs::remove_file(&file).unwrap();
}
