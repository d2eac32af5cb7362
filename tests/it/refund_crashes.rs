//! A refunds function that dies between its write and its queue send, and the relay that repairs it (G7).

use crate::support::{PAYOUTS, PAYOUTS_DEAD, Table, TestApp, eventually, first_payout, refund, trail};
use protocol::{
    machine::{change_payout, create_refund},
    refund::payout::Finding,
};
use queue::{Envelope, Origin, PayoutV1};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Waits until so many copies were sent for payouts, and takes them.
async fn copies(app: &TestApp, count: usize) -> Vec<PayoutV1> {
    let mut taken = Vec::new();
    eventually("a payout is enqueued", async || {
        for message in app.queues.take(PAYOUTS, 30).await {
            match Envelope::parse(message.body().unwrap()).unwrap() {
                Envelope::Payout(copy) => taken.push(copy),
                Envelope::Deliver(other) => panic!("{other:?} in the payouts queue"),
            }
        }
        (taken.len() >= count).then_some(())
    })
    .await;
    taken
}

/// No payout is made meanwhile: these tests are about what is enqueued.
fn hold_payouts(app: &TestApp) {
    if app.system.control().knows("payout") {
        app.control(&json!({"payout": "pause"}));
    }
}

async fn approved(app: &TestApp, key: &str) -> (String, Value) {
    let id = app.created(&refund(key, &format!("pi of {key}"))).await;
    let answer = app.decide("acme", &id, "approve").await;
    (id, answer.body)
}

/// A barrier: once the relay has enqueued this one's payout, it is done with everything before it.
async fn relayed(app: &TestApp, key: &str) -> String {
    app.control(&json!({"inline_send": "fail"}));
    let (id, _) = approved(app, key).await;
    app.control(&json!({"inline_send": "work"}));
    app.advance(3);
    first_payout(&id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_is_enqueued_inline_and_the_relay_adds_nothing_once_it_was_called_for() {
    let app = TestApp::start().await;
    hold_payouts(&app);
    app.control(&json!({"relay": "pause"}));
    let (id, body) = approved(&app, "order-inline-1").await;
    let sent = copies(&app, 1).await;
    assert_eq!(
        sent.iter().map(|copy| (copy.payout.to_string(), copy.origin)).collect::<Vec<_>>(),
        [(body["payout_id"].as_str().unwrap().to_owned(), Origin::Inline)]
    );
    assert_eq!(sent[0].project, "acme");
    // Somebody calls for it: then the relay need not send another copy.
    app.stamp(&id).await;
    app.control(&json!({"relay": "resume"}));
    let barrier = relayed(&app, "order-barrier-1").await;
    let later = copies(&app, 1).await;
    assert_eq!(later.iter().map(|copy| copy.payout.to_string()).collect::<Vec<_>>(), [barrier]);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_that_dies_before_its_send_is_enqueued_by_the_relay_once() {
    for point in ["after_decide", "after_send"] {
        let app = TestApp::start().await;
        hold_payouts(&app);
        let id = app.created(&refund("crashed", "pi_crashed")).await;
        app.crash("refunds", point);
        let lost = app.decide("acme", &id, "approve").await.expect(502);
        assert_eq!(lost.body, json!({"message": "Internal Server Error"}), "as API Gateway words it");
        // The retry is told what the first request decided.
        let retry = app.decide("acme", &id, "approve").await.expect(200);
        assert_eq!(
            (&retry.body["result"], &retry.body["payout_id"]),
            (&json!("already_approved"), &json!(first_payout(&id)))
        );
        app.advance(3);
        let barrier = relayed(&app, "order-barrier-1").await;
        let expected = if point == "after_decide" { 2 } else { 3 };
        let sent: Vec<(String, Origin)> =
            copies(&app, expected).await.into_iter().map(|copy| (copy.payout.to_string(), copy.origin)).collect();
        let of = |origin| sent.iter().filter(|copy| **copy == (first_payout(&id), origin)).count();
        assert_eq!(of(Origin::Relay), 1, "{point}: {sent:?}");
        assert_eq!(of(Origin::Inline), usize::from(point == "after_send"), "{point}: {sent:?}");
        assert_eq!(sent.iter().filter(|(payout, _)| *payout == barrier).count(), 1);
        assert_eq!(app.refund(&id).await["payout"]["status"], "due");
        app.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_that_dies_before_its_send_is_enqueued_by_the_relay_and_the_failed_payout_is_not() {
    let app = TestApp::start().await;
    hold_payouts(&app);
    app.control(&json!({"relay": "pause", "inline_send": "fail"}));
    let (id, _) = approved(&app, "order-retried-1").await;
    app.payout_refused(&id).await;
    // Longer than a call for the failed payout can still be under way.
    app.advance(20);
    app.crash("refunds", "after_write");
    let path = format!("/v1/refunds/{id}/payout/retry");
    let failed = json!({"payout_id": first_payout(&id)});
    app.post_to(&path, "acme", &failed).await.expect(502);
    let again = app.post_to(&path, "acme", &failed).await.expect(200).body;
    assert_eq!(again["result"], "already_retried");
    app.control(&json!({"relay": "resume"}));
    let barrier = relayed(&app, "order-barrier-1").await;
    let sent: Vec<(String, Origin)> =
        copies(&app, 2).await.into_iter().map(|copy| (copy.payout.to_string(), copy.origin)).collect();
    let successor = again["payout_id"].as_str().unwrap().to_owned();
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert!(sent.contains(&(successor, Origin::Relay)) && sent.contains(&(barrier, Origin::Relay)), "{sent:?}");
    app.stop().await;
}

/// What nobody can read stops nothing behind it in the stream, and is not lost either: mended, it is paid.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_that_cannot_be_read_does_not_hold_up_the_stream_and_is_paid_once_it_can() {
    let app = TestApp::start().await;
    app.control(&json!({"relay": "pause", "inline_send": "fail"}));
    let (id, _) = approved(&app, "order-unreadable-1").await;
    let text = |text: &str| aws_sdk_dynamodb::types::AttributeValue::S(text.to_owned());
    let table = Table::of(&app).await;
    table.change_refund(&id, "rs", text("a reason of newer code")).await;
    app.control(&json!({"relay": "resume"}));
    let (behind, _) = approved(&app, "order-behind-it-1").await;
    app.advance(3);
    app.payout_becomes(&behind, "paid").await;
    // Its copy waits in the queue.
    eventually("its copy is kept", async || (app.queues.left(PAYOUTS).await == 1).then_some(())).await;
    assert!(app.calls("pi of order-unreadable-1").is_empty());
    table.change_refund(&id, "rs", text("requested_by_customer")).await;
    app.advance(49);
    app.payout_becomes(&id, "paid").await;
    assert_eq!(app.paid("pi of order-unreadable-1"), [(first_payout(&id), 4_200)]);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_of_the_relay_repeats_and_loses_nothing() {
    for point in ["after_look", "after_send"] {
        let app = TestApp::start().await;
        hold_payouts(&app);
        app.control(&json!({"inline_send": "fail"}));
        app.crash("relay", point);
        let (id, _) = approved(&app, "order-relayed-1").await;
        app.advance(3);
        app.crashed().await;
        let sent = copies(&app, 1).await;
        assert!(sent.iter().all(|copy| copy.payout.to_string() == first_payout(&id)), "{sent:?}");
        app.stop().await;
    }
}

/// What dies before its write has done nothing, and what dies after it is known to its repeat.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_word_of_a_person_and_an_event_die_anywhere_and_count_once() {
    assert_eq!(change_payout::EFFECTS, ["read", "write", "send"], "neither of them sends");
    for (effect, resolved, event) in [("read", "resolved", "applied"), ("write", "already_resolved", "repeated")] {
        let app = TestApp::start().await;
        hold_payouts(&app);
        let (id, _) = approved(&app, "order-reviewed-1").await;
        app.found(&id, &Finding::unclear("not_found", "Nobody can know.")).await;
        let path = format!("/v1/refunds/{id}/payout/resolve");
        let word = json!({"outcome": "not_paid"});
        app.crash("refunds", &format!("after_{effect}"));
        app.post_to(&path, "acme", &word).await.expect(502);
        let again = app.post_to(&path, "acme", &word).await.expect(200).body;
        assert_eq!((&again["result"], &again["payout_status"]), (&json!(resolved), &json!("failed")), "{effect}");
        let shown = app.refund(&id).await;
        assert_eq!(trail(&shown), ["created", "approved", "payout_review", "payout_failed"], "{effect}");

        app.control(&json!({"payout": "resume"}));
        app.script("pi_told", &json!(["pending"])).await;
        let id = app.approved("order-told-1", "pi_told").await;
        app.payout_becomes(&id, "submitted").await;
        let told = app.system.sandbox().settle("pi_told", "succeeded", None).unwrap();
        app.crash("refunds", &format!("after_{effect}"));
        app.webhook("acme", &told.signature, &told.body).await.expect(502);
        let again = app.webhook("acme", &told.signature, &told.body).await.expect(200).body;
        assert_eq!(again["result"], event, "{effect}");
        let shown = app.payout_becomes(&id, "paid").await;
        let expected = ["created", "approved", "payout_called", "payout_submitted", "payout_paid"];
        assert_eq!(trail(&shown), expected, "{effect}");
        app.stop().await;
    }
}

/// A person was wrong, the provider's event said so, and the person's request is repeated: by a client that got no answer,
/// or by a second admin who saw the first review.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_repeat_of_not_paid_does_not_end_the_review_that_the_provider_began() {
    let app = TestApp::start().await;
    app.script("pi_late", &json!(["pending"])).await;
    let id = app.approved("order-late-1", "pi_late").await;
    app.payout_becomes(&id, "submitted").await;
    app.payouts_stop().await;
    let unknown = app.system.sandbox().settle("pi_late", "pending", None).unwrap();
    app.found(&id, &Finding::unclear("not_found", "Nobody can know.")).await;
    let path = format!("/v1/refunds/{id}/payout/resolve");
    let word = json!({"outcome": "not_paid"});
    app.post_to(&path, "acme", &word).await.expect(200);
    app.webhook("acme", &unknown.signature, &unknown.body).await.expect(200);
    let shown = app.refund(&id).await;
    let object = shown["payout"]["provider_id"].as_str().unwrap().to_owned();
    assert_eq!(shown["payout"]["status"], "review");
    for key in ["acme", "acme_second"] {
        let refused = app.post_to(&path, key, &word).await;
        refused.problem(409, "payout_not_in_review");
        assert!(refused.body["detail"].as_str().unwrap().contains(&object), "{}", refused.text);
    }
    assert_eq!(app.refund(&id).await, shown);
    let named = json!({"outcome": "not_paid", "reference": object});
    assert_eq!(app.post_to(&path, "acme", &named).await.expect(200).body["result"], "resolved");
    assert_eq!(app.post_to(&path, "acme", &word).await.expect(200).body["result"], "already_resolved");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_that_dies_after_its_write_is_a_duplicate_for_the_retry() {
    assert_eq!(create_refund::EFFECTS, ["put"]);
    let app = TestApp::start().await;
    let body = refund("dead", "pi_dead");
    app.crash("refunds", "after_put");
    app.post_to("/v1/refunds", "acme", &body).await.expect(502);
    let retry = app.post_to("/v1/refunds", "acme", &body).await.expect(200);
    assert_eq!(retry.body["status"], "duplicate_ignored");
    assert_eq!(app.refund(&retry.id()).await["status"], "pending");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_enqueues_a_payout_whose_copy_was_purged_and_no_settled_one() {
    let app = TestApp::start().await;
    hold_payouts(&app);
    app.control(&json!({"relay": "pause", "inline_send": "fail"}));
    let (due, _) = approved(&app, "order-of-due-1").await;
    let (submitted, _) = approved(&app, "order-of-submitted-1").await;
    app.stamp(&submitted).await;
    app.found(&submitted, &Finding::Pending { reference: "re_1".to_owned() }).await;
    let (settled, _) = approved(&app, "order-of-settled-1").await;
    app.payout_refused(&settled).await;
    let counts = async || {
        let report = app.system.control().run_audit().await.unwrap();
        assert_eq!((&report["finished"], &report["not_repaired"]), (&json!(true), &json!(0)), "{report}");
        ["payouts_due", "payouts_submitted"].map(|count| report["enqueued"][count].as_u64().unwrap())
    };
    assert_eq!(counts().await, [0, 0], "too young");
    // One that waits for a person is told, and nothing is sent for it.
    let (review, _) = approved(&app, "order-of-review-1").await;
    app.found(&review, &Finding::unclear("not_found", "Nobody can know.")).await;
    assert_eq!(app.system.control().run_audit().await.unwrap()["payouts_in_review"], 1);
    app.advance(60);
    let (young, _) = approved(&app, "order-of-young-1").await;
    assert_eq!(counts().await, [1, 1]);
    let sent: BTreeSet<String> = copies(&app, 2)
        .await
        .into_iter()
        .map(|copy| {
            assert_eq!((copy.origin, copy.project.as_str()), (Origin::Audit, "acme"));
            copy.payout.to_string()
        })
        .collect();
    assert_eq!(sent, BTreeSet::from([first_payout(&due), first_payout(&submitted)]), "not {young} or {settled}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_of_an_open_payout_is_sent_again_and_of_a_settled_one_deleted() {
    let app = TestApp::start().await;
    hold_payouts(&app);
    app.control(&json!({"relay": "pause", "inline_send": "fail"}));
    let (open, _) = approved(&app, "order-of-open-1").await;
    let (settled, _) = approved(&app, "order-of-settled-1").await;
    app.payout_refused(&settled).await;
    for id in [&open, &settled] {
        let payout = app.stored_refund(id).await.payout_id().unwrap();
        let copy = PayoutV1 { payout, project: "acme".to_owned(), origin: Origin::Inline };
        app.queues.send(PAYOUTS_DEAD, &Envelope::Payout(copy).to_body().unwrap()).await;
    }
    let sent = copies(&app, 1).await;
    assert_eq!(
        sent.iter().map(|copy| (copy.payout.to_string(), copy.origin)).collect::<Vec<_>>(),
        [(first_payout(&open), Origin::Redrive)]
    );
    eventually("both letters are gone", async || (app.queues.left(PAYOUTS_DEAD).await == 0).then_some(())).await;
    app.stop().await;
}
