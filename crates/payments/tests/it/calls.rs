//! Calls and listings.

use crate::world::{PAYOUT, World, ask, payout, world};
use payments::{Ask, Class, Looked};
use protocol::{
    machine::payout::Answer,
    refund::{id::PayoutId, payout::Finding, step::Listed, terms::Terms},
};
use sandbox::Outcome;
use serde_json::json;

async fn class(world: &World, payment: &str) -> (Class, Option<String>) {
    let heard = world.prepared().await.create(&ask(payment)).await;
    (heard.class, heard.code().map(str::to_owned))
}

#[tokio::test]
async fn a_call_says_what_is_stored_and_nothing_else() {
    let world = world().await;
    let heard = world.prepared().await.create(&ask("pi_1")).await;
    let entry = world.sandbox.ledger(None).remove(0);
    assert_eq!(entry.payload, json!({"payment_intent": "pi_1", "amount": "1250", "metadata[sendonce_payout]": PAYOUT}));
    assert_eq!(entry.headers["idempotency-key"], PAYOUT);
    assert_eq!(entry.headers["stripe-version"], "2026-06-24.dahlia");
    assert_eq!(heard.answer, Answer::Heard(Finding::Succeeded { reference: entry.id.unwrap() }));
    // The same again: the same answer, and nothing is paid.
    assert_eq!(world.prepared().await.create(&ask("pi_1")).await, heard);
    assert_eq!(world.sandbox.ledger(None).iter().map(|entry| entry.accepted).collect::<Vec<_>>(), [true, false]);
}

#[tokio::test]
async fn each_fault_is_called_what_it_is_and_is_never_repeated() {
    let world = world().await;
    let answer = |status, reason: Option<&str>| Outcome::Answer {
        status,
        reason: reason.map(str::to_owned),
        retry_after: Some(3),
        timestamp: None,
    };
    let cases = [
        ("drop", Outcome::DropAfterAccept, Class::Lost, Some("connection_lost")),
        ("hang", Outcome::Hang, Class::Lost, Some("timeout")),
        ("hung", Outcome::HangAfterAccept, Class::Lost, Some("timeout")),
        ("reset", Outcome::Reset, Class::Lost, Some("connection_lost")),
        ("refused", Outcome::RefusedStream, Class::NotSent, Some("not_processed")),
        ("goaway", Outcome::Goaway, Class::NotSent, Some("not_processed")),
        ("late", Outcome::GoawayAfterAccept, Class::Lost, Some("connection_lost")),
        ("pending", Outcome::Pending, Class::Pending, None),
        ("e500", answer(500, None), Class::Ambiguous, Some("api_error")),
        ("paid500", Outcome::ErrorAfterAccept, Class::Ambiguous, Some("api_error")),
        ("e429", answer(429, Some("lock_timeout")), Class::NotNow, Some("lock_timeout")),
        ("disputed", answer(400, Some("charge_disputed")), Class::Refused, Some("charge_disputed")),
        ("in_use", answer(409, Some("idempotency_key_in_use")), Class::InProgress, Some("idempotency_key_in_use")),
        ("mismatch", answer(400, Some("idempotency_error")), Class::Mismatch, Some("idempotency_error")),
    ];
    // A key of its own for each payment, since the key is the payout's.
    for (number, (payment, outcome, expected, code)) in (1..).zip(cases) {
        world.script(payment, vec![outcome]);
        let ask = Ask { key: PayoutId { number, ..payout() }, ..ask(payment) };
        let heard = world.prepared().await.create(&ask).await;
        assert_eq!((heard.class, heard.code()), (expected, code), "{payment}");
        assert_eq!(world.sandbox.ledger(Some(payment)).len(), 1, "{payment} was called for more than once");
        if let Answer::Later { after_ms: Some(after_ms), .. } = heard.answer {
            assert_eq!(after_ms, 3_000, "{payment}");
        }
    }
}

#[tokio::test]
async fn other_parameters_under_the_key_are_an_alarm_and_not_a_payment() {
    let world = world().await;
    assert_eq!(class(&world, "pi_1").await, (Class::Succeeded, None));
    assert_eq!(class(&world, "pi_2").await, (Class::Mismatch, Some("idempotency_error".to_owned())));
    assert!(world.sandbox.refunds_of("pi_2").is_empty());
}

#[tokio::test]
async fn a_listing_is_read_to_its_last_page_and_keeps_only_ours() {
    let world = world().await;
    assert_eq!(world.list("pi_1").await, Looked::Listed(Vec::new()));
    assert_eq!(class(&world, "pi_1").await.0, Class::Succeeded);
    let reference = world.sandbox.ledger(None)[0].id.clone().unwrap();
    let other = PayoutId::parse(&PAYOUT.replace("bbbb_1", "cccc_1")).unwrap();
    // More than two pages of another refund's payouts on the same payment, all newer than ours.
    for number in 1..=201 {
        let ask = Ask { key: PayoutId { number, ..other }, ..ask("pi_1") };
        assert_eq!(world.prepared().await.create(&ask).await.class, Class::Succeeded);
    }
    let before = world.sandbox.listings();
    let finding = Finding::Succeeded { reference: reference.clone() };
    let found = Listed { payout: payout(), finding, terms: Terms { amount: Some(1_250), currency: None } };
    assert_eq!(world.list("pi_1").await, Looked::Listed(vec![found]));
    assert_eq!(world.sandbox.listings() - before, 3);
    // What becomes of it is seen, and what a listing does not show is not there.
    world.sandbox.settle(&reference, "failed", Some("declined")).unwrap();
    let Looked::Listed(list) = world.list("pi_1").await else { panic!() };
    assert!(matches!(&list[0].finding, Finding::Failed { reason, .. } if reason.code == "declined"));
    world.sandbox.lag_listings(true);
    let ask = Ask { key: PayoutId { number: 2, ..payout() }, ..ask("pi_3") };
    world.prepared().await.create(&ask).await;
    assert_eq!(world.list("pi_3").await, Looked::Listed(Vec::new()));
}

#[tokio::test]
async fn a_listing_that_is_refused_is_told_from_one_that_comes_later() {
    let world = world().await;
    let answer = |status, reason: Option<&str>| Outcome::Answer {
        status,
        reason: reason.map(str::to_owned),
        retry_after: None,
        timestamp: None,
    };
    for (outcome, class) in [
        (answer(400, Some("charge_disputed")), Class::Refused),
        (answer(404, Some("resource_missing")), Class::Refused),
        (answer(401, None), Class::Credentials),
        (answer(429, None), Class::RateLimited),
        (answer(404, None), Class::NotNow),
        (answer(500, None), Class::Ambiguous),
        (Outcome::Reset, Class::Lost),
    ] {
        world.script("list:pi_1", vec![outcome.clone()]);
        match world.list("pi_1").await {
            Looked::Refused { class: of, reason } => {
                assert_eq!((class, of), (Class::Refused, Class::Refused));
                assert!(["charge_disputed", "resource_missing"].contains(&reason.code.as_str()), "{reason:?}");
            }
            Looked::Failed { class: of, .. } => assert_eq!(of, class, "{outcome:?}"),
            Looked::Listed(list) => panic!("{outcome:?}: {list:?}"),
        }
    }
    assert_eq!(world.list("pi_1").await, Looked::Listed(Vec::new()));
    assert!(matches!(world.list("pi_unknown").await, Looked::Refused { .. }), "there is no such payment");
    assert_eq!(class(&world, "pi_unknown").await, (Class::Refused, Some("resource_missing".to_owned())));
}

/// What the provider made is held against what was asked for by whoever has both; here it is only told.
#[tokio::test]
async fn another_currency_is_told_by_a_listing_and_an_event_too() {
    let world = world().await;
    assert_eq!(class(&world, "pi_usd_1").await, (Class::Mismatch, Some("not_as_asked".to_owned())));
    let terms = Terms { amount: Some(1_250), currency: Some("usd".to_owned()) };
    let Looked::Listed(list) = world.list("pi_usd_1").await else { panic!() };
    assert_eq!(list.iter().map(|listed| &listed.terms).collect::<Vec<_>>(), [&terms]);
    let event = world.sandbox.settle("pi_usd_1", "succeeded", None).unwrap();
    let payments::webhook::Said::About(said) = payments::webhook::read(event.body.as_bytes()).unwrap() else {
        panic!()
    };
    assert_eq!(said.terms, terms);
}

#[tokio::test]
async fn refused_credentials_are_read_again_and_missing_ones_named() {
    let world = world().await;
    let mut secret = json!({"api_key": "sk_test_wrong_one", "webhook_secrets": ["whsec_x"]});
    world.put_secret(&secret).await;
    let heard = world.prepared().await.create(&ask("pi_1")).await;
    assert_eq!(heard.class, Class::Credentials);
    assert!(!format!("{heard:?}").contains("wrong_one"));
    assert!(matches!(world.list("pi_1").await, Looked::Failed { class: Class::Credentials, .. }));
    secret["api_key"] = json!("sk_test_sandbox_acme");
    world.put_secret(&secret).await;
    assert_eq!(class(&world, "pi_1").await, (Class::Succeeded, None));
    assert_eq!(world.payments.prepare("nobody").await.unwrap_err().code(), "credentials_missing");
    world.put_secret(&json!({})).await;
    world.clock.advance(std::time::Duration::from_secs(300));
    assert_eq!(world.payments.prepare("acme").await.unwrap_err().code(), "credentials_invalid");
}
