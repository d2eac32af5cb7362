//! What a person does about a payout in trouble: retry what failed, resolve what nobody can know (G7).

use crate::support::{TestApp, first_payout, refund};
use protocol::{
    answer::Reason,
    refund::{
        id::{PayoutId, RefundId},
        payout::Finding,
    },
    timing::Timing,
};
use serde_json::json;

/// An approved refund of which no copy is in any queue.
async fn quiet(app: &TestApp, key: &str) -> String {
    app.control(&json!({"relay": "pause", "inline_send": "fail"}));
    let id = app.created(&refund(key, &format!("pi of {key}"))).await;
    app.decide("acme", &id, "approve").await.expect(200);
    id
}

fn second_payout(id: &str) -> String {
    PayoutId { refund: RefundId::parse(id).unwrap(), number: 2 }.to_string()
}

#[tokio::test]
async fn a_failed_payout_is_retried_once_its_callers_are_gone() {
    let app = TestApp::start().await;
    let id = quiet(&app, "failed").await;
    let path = format!("/v1/refunds/{id}/payout/retry");
    let body = json!({"payout_id": first_payout(&id)});
    app.post_to(&path, "acme", &body).await.problem(409, "payout_not_failed");
    app.payout_refused(&id).await;
    let shown = app.refund(&id).await;
    assert_eq!(
        (&shown["payout"]["status"], &shown["payout"]["reason"]["code"]),
        (&json!("failed"), &json!("charge_disputed"))
    );
    let busy = app.post_to(&path, "acme", &body).await;
    busy.problem(409, "payout_busy");
    let timing = Timing::SHORT;
    let wait: u64 = busy.header("retry-after").parse().unwrap();
    assert!((1..=(timing.function + timing.call + timing.skew).div_ceil(1_000)).contains(&wait), "{wait}");
    app.advance(wait);
    let retried = app.post_to(&path, "acme_second", &body).await.expect(200).body;
    let mut expected =
        json!({"id": id, "payout_id": second_payout(&id), "retry_of": first_payout(&id), "result": "retried"});
    assert_eq!(retried, expected);
    expected["result"] = json!("already_retried");
    for key in ["acme", "acme_second"] {
        assert_eq!(app.post_to(&path, key, &body).await.expect(200).body, expected);
    }
    let shown = app.refund(&id).await;
    let payout = json!({
        "id": second_payout(&id), "number": 2, "status": "due", "provider_id": null, "reason": null,
        "first_call_at": null, "calls": 0,
    });
    assert_eq!(shown["payout"], payout);
    let trail: Vec<&str> =
        shown["events"].as_array().unwrap().iter().map(|line| line["what"].as_str().unwrap()).collect();
    assert_eq!(trail, ["created", "approved", "payout_failed", "payout_retried"]);
    // The payout that is shown is the successor; what became of the first is in the trail.
    let about = |at: usize| {
        let line = &shown["events"][at];
        (line["payout"].clone(), line["reference"].clone(), line["code"].clone())
    };
    assert_eq!(about(0), (json!(null), json!(null), json!(null)));
    assert_eq!(about(2), (json!(1), json!(null), json!("charge_disputed")));
    assert_eq!(about(3), (json!(2), json!(null), json!(null)));
    // The successor has not failed, and there is no third; approving again still names the first.
    app.post_to(&path, "acme", &json!({"payout_id": second_payout(&id)})).await.problem(409, "payout_not_failed");
    let third = second_payout(&id).replace("_2", "_3");
    app.post_to(&path, "acme", &json!({"payout_id": third})).await.problem(404, "not_found");
    let again = app.decide("acme", &id, "approve").await.expect(200).body;
    assert_eq!((&again["result"], &again["payout_id"]), (&json!("already_approved"), &json!(first_payout(&id))));
    app.stop().await;
}

#[tokio::test]
async fn a_review_is_ended_once_and_a_repeat_changes_nothing() {
    for (outcome, status, other) in [
        (json!({"outcome": "paid", "reference": "re_seen"}), "paid", json!({"outcome": "not_paid"})),
        (json!({"outcome": "not_paid"}), "failed", json!({"outcome": "paid", "reference": "re_seen"})),
    ] {
        let app = TestApp::start().await;
        let id = quiet(&app, "review").await;
        let path = format!("/v1/refunds/{id}/payout/resolve");
        app.post_to(&path, "acme", &outcome).await.problem(409, "payout_not_in_review");
        let reason = Reason { code: "not_found".to_owned(), detail: "Nobody can know.".to_owned() };
        app.found(&id, &Finding::Unclear { reference: None, reason }).await;
        assert_eq!(app.refund(&id).await["payout"]["status"], "review");
        // Whoever looked at another payout does not speak of this one.
        let mut elsewhere = outcome.clone();
        elsewhere["payout_id"] = json!(second_payout(&id));
        let refused = app.post_to(&path, "acme", &elsewhere).await;
        refused.problem(409, "payout_not_in_review");
        assert!(refused.body["detail"].as_str().unwrap().contains(&first_payout(&id)), "{}", refused.text);
        let resolved = app.post_to(&path, "acme", &outcome).await.expect(200).body;
        assert_eq!(resolved, json!({"id": id, "payout_status": status, "result": "resolved"}));
        let repeated = app.post_to(&path, "acme_second", &outcome).await.expect(200).body;
        assert_eq!(repeated["result"], "already_resolved");
        let mut named = outcome.clone();
        named["payout_id"] = json!(first_payout(&id));
        assert_eq!(app.post_to(&path, "acme", &named).await.expect(200).body["result"], "already_resolved");
        if status == "paid" {
            named["reference"] = json!("re_another");
            app.post_to(&path, "acme", &named).await.problem(409, "payout_not_in_review");
        }
        app.post_to(&path, "acme", &other).await.problem(409, "payout_not_in_review");
        let shown = app.refund(&id).await;
        assert_eq!(shown["payout"]["status"], status);
        assert_eq!(shown["payout"]["provider_id"], outcome.get("reference").cloned().unwrap_or_default());
        let last = shown["events"].as_array().unwrap().last().unwrap().clone();
        assert_eq!((&last["what"], &last["by"]), (&json!(format!("payout_{status}")), &json!("ada@acme.example")));
        app.stop().await;
    }
}

#[tokio::test]
async fn what_became_of_a_payout_stays_in_the_trail_after_its_retry() {
    let app = TestApp::start().await;
    let id = quiet(&app, "kept").await;
    let reason = Reason { code: "declined".to_owned(), detail: "The bank says no.".to_owned() };
    app.found(&id, &Finding::Failed { reference: "re_first".to_owned(), reason }).await;
    app.advance(11);
    let retry = json!({"payout_id": first_payout(&id)});
    app.post_to(&format!("/v1/refunds/{id}/payout/retry"), "acme", &retry).await.expect(200);
    let shown = app.refund(&id).await;
    assert_eq!((&shown["payout"]["provider_id"], &shown["payout"]["number"]), (&json!(null), &json!(2)));
    let failed = &shown["events"][2];
    assert_eq!(
        (&failed["what"], &failed["payout"], &failed["reference"], &failed["code"]),
        (&json!("payout_failed"), &json!(1), &json!("re_first"), &json!("declined"))
    );
    app.stop().await;
}

#[tokio::test]
async fn a_refund_without_a_payout_has_nothing_to_resolve_or_retry() {
    let app = TestApp::start().await;
    let id = app.created(&refund("none", "pi_none")).await;
    for rejected in [false, true] {
        if rejected {
            app.decide("acme", &id, "reject").await.expect(200);
        }
        let resolve = json!({"outcome": "not_paid"});
        let path = format!("/v1/refunds/{id}/payout");
        app.post_to(&format!("{path}/resolve"), "acme", &resolve).await.problem(409, "payout_not_in_review");
        let retry = json!({"payout_id": first_payout(&id)});
        app.post_to(&format!("{path}/retry"), "acme", &retry).await.problem(404, "not_found");
    }
    app.stop().await;
}
