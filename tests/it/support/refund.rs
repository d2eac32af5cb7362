//! Refunds through HTTP.

use super::{Answer, PAYOUTS, PAYOUTS_DEAD, TestApp, eventually};
use ::http::Method;
use protocol::{
    answer::Reason,
    ids::OwnerToken,
    refund::{
        Refund,
        id::{PayoutId, RefundId},
        payout::Finding,
        step::{Next, next, record},
    },
    timing::Timing,
};
use serde_json::{Value, json};
use store::RefundWrite;

/// A refund of 42.00 for a payment, in US dollars.
pub(crate) fn refund(key: &str, payment: &str) -> Value {
    json!({
        "idempotency_key": key, "order_id": format!("order of {key}"), "payment_id": payment, "amount": 4200,
        "currency": "usd", "reason": "requested_by_customer",
    })
}

impl TestApp {
    /// POST with a JSON body, to any path, with the API key of this name.
    pub(crate) async fn post_to(&self, path: &str, key: &str, body: &Value) -> Answer {
        self.request(&Method::POST, path, key, &[("content-type", "application/json")], body.to_string()).await
    }

    /// A create that must be the first of its key; its id.
    pub(crate) async fn created(&self, body: &Value) -> String {
        let answer = self.post_to("/v1/refunds", "acme", body).await.expect(201);
        assert_eq!(answer.body["status"], "pending", "{}", answer.text);
        assert_eq!(answer.header("location"), format!("/v1/refunds/{}", answer.id()));
        answer.id()
    }

    /// `approve` or `reject`, or any other thing to do with a refund, without a body.
    pub(crate) async fn decide(&self, key: &str, id: &str, what: &str) -> Answer {
        self.request(&Method::POST, &format!("/v1/refunds/{id}/{what}"), key, &[], String::new()).await
    }

    /// The refund as it reads now.
    pub(crate) async fn refund(&self, id: &str) -> Value {
        self.get(&format!("/v1/refunds/{id}"), 200).await.body
    }

    /// The refund as it is stored.
    pub(crate) async fn stored_refund(&self, id: &str) -> Refund {
        self.system.store().refund(RefundId::parse(id).unwrap()).await.unwrap().unwrap()
    }

    /// Records a finding about the current payout, as the payout function would.
    pub(crate) async fn found(&self, id: &str, finding: &Finding) {
        let stored = self.stored_refund(id).await;
        let payout = stored.payout_id().unwrap();
        let (next, expect) = record(&stored, payout, finding, self.system.clock().now_ms()).unwrap();
        let wrote = self.system.store().write_refund(&next, expect).await;
        assert!(matches!(wrote, RefundWrite::Written { .. }), "{wrote:?}");
    }

    /// Announces a call of the current payout, as the payout function would.
    pub(crate) async fn stamp(&self, id: &str) {
        let stored = self.stored_refund(id).await;
        let payout = stored.payout_id().unwrap();
        let timing = Timing::SHORT;
        let (caller, now_ms) = (OwnerToken([0; 16]), self.system.clock().now_ms());
        let Next::Stamp(next, expect) = next(&stored, payout, caller, now_ms, &timing) else {
            panic!("{id}: not a call")
        };
        let wrote = self.system.store().write_refund(&next, expect).await;
        assert!(matches!(wrote, RefundWrite::Written { .. }), "{wrote:?}");
    }

    /// The same, that the provider refused it for good.
    pub(crate) async fn payout_refused(&self, id: &str) {
        let reason = Reason { code: "charge_disputed".to_owned(), detail: "It has been charged back.".to_owned() };
        self.found(id, &Finding::Refused(reason)).await;
    }
}

/// The first payout's id of a refund.
pub(crate) fn first_payout(id: &str) -> String {
    PayoutId::first(RefundId::parse(id).unwrap()).to_string()
}

/// Paying, from approval to the provider's ledger.
impl TestApp {
    /// A refund for this payment, approved; its id.
    pub(crate) async fn approved(&self, key: &str, payment: &str) -> String {
        let id = self.created(&refund(key, payment)).await;
        self.decide("acme", &id, "approve").await.expect(200);
        id
    }

    /// The refund, once its payout has this status.
    pub(crate) async fn payout_becomes(&self, id: &str, status: &str) -> Value {
        eventually(&format!("the payout of {id} becomes {status}"), async || {
            let refund = self.refund(id).await;
            (refund["payout"]["status"] == status).then_some(refund)
        })
        .await
    }

    /// Waits until no copy of a payout waits for anything.
    pub(crate) async fn payouts_empty(&self) {
        eventually("the payouts' queues run empty", async || {
            (self.queues.left(PAYOUTS).await == 0 && self.queues.left(PAYOUTS_DEAD).await == 0).then_some(())
        })
        .await;
    }

    /// Waits until copies of payouts are left, but nobody works on one: they are hidden until their time is over.
    pub(crate) async fn payouts_idle(&self) {
        eventually("no payout is worked on", async || {
            let counts = self.queues.counts(PAYOUTS).await;
            (counts.visible == 0 && !self.system.control().is_busy("payout")).then_some(())
        })
        .await;
    }

    /// Lets nobody take a copy of a payout any more, and waits until nobody works on one.
    pub(crate) async fn payouts_stop(&self) {
        let control = self.system.control();
        self.control(&json!({"payout": "pause"}));
        eventually("the payouts that are worked on end", async || (!control.is_busy("payout")).then_some(())).await;
    }

    /// The amounts that the provider paid for a payment, each with its key, oldest first.
    pub(crate) fn paid(&self, payment: &str) -> Vec<(String, u64)> {
        let calls = self.calls(payment).into_iter().filter(|call| call.accepted);
        calls.map(|call| (call.idempotency_key.unwrap(), call.amount.unwrap())).collect()
    }

    /// Lets the provider decide about a payment's newest refund, and tell the system so, so many times at once; what
    /// it was answered.
    pub(crate) async fn provider_says(&self, payment: &str, status: &str, times: usize) -> Vec<Value> {
        let url = format!("{}/webhooks", self.system.ready().sandbox);
        let order = json!({"refund": payment, "status": status, "times": times});
        let sent = self.http.send(&Method::POST, &url, &[], order.to_string()).await.expect(200);
        sent.body["answers"].as_array().unwrap().clone()
    }

    /// POST of a webhook as it is.
    pub(crate) async fn webhook(&self, project: &str, signature: &str, body: &str) -> Answer {
        let path = format!("/v1/webhooks/payments/{project}");
        let headers = [("stripe-signature", signature)];
        self.http.send(&Method::POST, &format!("{}{path}", self.system.ready().api), &headers, body.to_owned()).await
    }
}

/// What happened to a refund, in one word each.
pub(crate) fn trail(refund: &Value) -> Vec<&str> {
    refund["events"].as_array().unwrap().iter().map(|line| line["what"].as_str().unwrap()).collect()
}
