//! Functions that die at each point between a decision and its payment: paid once all the same (G7).

use crate::support::{TestApp, first_payout, trail};
use protocol::machine::payout::EFFECTS;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_that_dies_anywhere_is_paid_once() {
    let app = TestApp::start().await;
    for effect in EFFECTS {
        let payment = format!("pi_{effect}");
        // What leads to this effect: one that is not decided is looked for and released.
        let look = ["look", "release"].contains(&effect);
        if look {
            app.script(&payment, &json!(["pending"])).await;
        }
        if effect == "withdraw" {
            app.script(&payment, &json!([{"status": 429, "kept": false}])).await;
        }
        app.crash("payout", &format!("after_{effect}"));
        let id = app.approved(effect, &payment).await;
        app.crashed().await;
        if look {
            app.provider_says(&payment, "succeeded", 1).await;
        }
        app.payouts_idle().await;
        // The copy was hidden by whoever died with it.
        app.advance(49);
        let shown = app.payout_becomes(&id, "paid").await;
        assert_eq!(app.paid(&payment), [(first_payout(&id), 4_200)], "{effect}");
        let stamps = trail(&shown).into_iter().filter(|what| *what == "payout_called").count();
        assert_eq!(stamps, 1, "{effect}: the first call is stamped once");
        app.payouts_empty().await;
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_that_dies_before_its_send_is_paid_once() {
    for point in ["after_decide", "after_send"] {
        let app = TestApp::start().await;
        app.crash("refunds", point);
        let id = app.created(&crate::support::refund("killed", "pi_killed")).await;
        app.decide("acme", &id, "approve").await.expect(502);
        let retry = app.decide("acme_second", &id, "approve").await.expect(200);
        assert_eq!(retry.body["result"], "already_approved");
        if point == "after_decide" {
            // The stream's window and the grace that is left to inline sends. Nothing runs meanwhile.
            app.advance(3);
        }
        app.payout_becomes(&id, "paid").await;
        app.payouts_empty().await;
        assert_eq!(app.paid("pi_killed"), [(first_payout(&id), 4_200)], "{point}");
        app.stop().await;
    }
}
