//! Webhooks: events about refunds, signed as Stripe signs them, sent when a test or a person asks for it.
//!
//! `POST /webhooks` `{"refund": "re_…" or a payment's id, "status"?: …, "failure_reason"?: …, "type"?: …, "times"?: N,
//! "secret"?: …}` lets the provider decide and tells the system so, N times at once with one event. They go to this machine
//! only.

use super::{Object, refunds};
use crate::{Sandbox, respond::json};
use aws_lc_rs::hmac;
use axum::{extract::State, response::Response};
use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde::Deserialize;
use serde_json::{Value, json};

/// How a project's API key begins, in the sandbox.
pub(crate) const API_KEYS: &str = "sk_test_sandbox_";
/// Most deliveries of one event at once.
const TIMES_MAX: usize = 100;
/// What a refund may become.
const STATUSES: [&str; 5] = ["pending", "requires_action", "succeeded", "failed", "canceled"];
/// The version that events are rendered in.
const API_VERSION: &str = "2026-06-24.dahlia";

/// Why no event was made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettleFault {
    /// No refund has this id, and no payment of this id has one.
    #[error("there is no such refund")]
    NoRefund,
    /// Stripe has no such status.
    #[error("the statuses are {}", STATUSES.join(", "))]
    Status,
    /// The machine has no random numbers.
    #[error("no id could be made")]
    Random,
}

/// An event, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// Whose it is.
    pub project: String,
    /// The event's id.
    pub id: String,
    /// The value of Stripe-Signature.
    pub signature: String,
    /// The bytes that were signed.
    pub body: String,
}

impl Sandbox {
    /// Where webhooks go: the start of an address, to which the project's name is added. On this machine only.
    ///
    /// # Errors
    /// When the address is another machine's.
    pub fn send_webhooks_to(&self, url: &str) -> Result<(), String> {
        let uri: Uri = url.parse().map_err(|_| "no address".to_owned())?;
        if uri.scheme_str() != Some("http") || uri.host() != Some("127.0.0.1") {
            return Err("webhooks go to 127.0.0.1 only".to_owned());
        }
        self.state().stripe.webhooks_to = Some(url.trim_end_matches('/').to_owned());
        Ok(())
    }

    /// The secret with which a project's webhooks are signed.
    #[must_use]
    pub fn webhook_secret(&self, project: &str) -> Option<String> {
        self.state().stripe.webhook_secrets.get(project).cloned()
    }

    /// The provider decides about a refund (its id, or that of a payment, whose newest is meant), and makes an event of the
    /// usual type about it, signed now.
    ///
    /// # Errors
    /// See [`SettleFault`].
    pub fn settle(&self, refund: &str, status: &str, failure_reason: Option<&str>) -> Result<Webhook, SettleFault> {
        let kind = if status == "failed" { "refund.failed" } else { "refund.updated" };
        self.event(refund, Some(status), failure_reason, kind, None)
    }

    /// Any body, signed as a project's webhooks are, now.
    #[must_use]
    pub fn signature(&self, project: &str, body: &[u8]) -> Option<String> {
        let secret = self.webhook_secret(project)?;
        Some(sign(&secret, self.shared.clock.now_ms() / 1_000, body))
    }

    fn event(
        &self,
        refund: &str,
        status: Option<&str>,
        failure_reason: Option<&str>,
        kind: &str,
        secret: Option<&str>,
    ) -> Result<Webhook, SettleFault> {
        if status.is_some_and(|status| !STATUSES.contains(&status)) {
            return Err(SettleFault::Status);
        }
        let now_s = self.shared.clock.now_ms() / 1_000;
        let id = refunds::fresh_id(&self.shared.random, "evt_").map_err(|_| SettleFault::Random)?;
        let mut state = self.state();
        let object: &mut Object = state.stripe.newest_mut(refund).ok_or(SettleFault::NoRefund)?;
        if let Some(status) = status {
            object.settle(status, failure_reason);
        }
        let project = object.account.clone();
        let body = json!({
            "id": id, "object": "event", "api_version": API_VERSION, "created": now_s, "livemode": false,
            "pending_webhooks": 1, "request": {"id": null, "idempotency_key": null}, "type": kind,
            "data": {"object": object.shown()},
        })
        .to_string();
        let own = state.stripe.webhook_secrets.get(&project).cloned().unwrap_or_default();
        let signature = sign(secret.unwrap_or(&own), now_s, body.as_bytes());
        Ok(Webhook { project, id, signature, body })
    }
}

/// Stripe-Signature of a body.
pub(crate) fn sign(secret: &str, at_s: u64, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let text = [at_s.to_string().as_bytes(), b".", body].concat();
    format!("t={at_s},v1={}", HEXLOWER.encode(hmac::sign(&key, &text).as_ref()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    refund: String,
    status: Option<String>,
    failure_reason: Option<String>,
    r#type: Option<String>,
    times: Option<usize>,
    secret: Option<String>,
}

pub(crate) async fn handle(State(sandbox): State<Sandbox>, body: Bytes) -> Response {
    match order(&sandbox, &body).await {
        Ok(answer) => json(StatusCode::OK, &answer),
        Err(why) => json(StatusCode::BAD_REQUEST, &json!({ "error": why })),
    }
}

async fn order(sandbox: &Sandbox, body: &[u8]) -> Result<Value, String> {
    let order: Order = serde_json::from_slice(body).map_err(|error| format!("the order cannot be read: {error}"))?;
    let times = order.times.unwrap_or(1);
    if !(1..=TIMES_MAX).contains(&times) {
        return Err(format!("times is 1 to {TIMES_MAX}"));
    }
    let to = sandbox.state().stripe.webhooks_to.clone().ok_or("nobody wants webhooks")?;
    let usual = if order.status.as_deref() == Some("failed") { "refund.failed" } else { "refund.updated" };
    let kind = order.r#type.as_deref().unwrap_or(usual);
    let (status, reason) = (order.status.as_deref(), order.failure_reason.as_deref());
    let event =
        sandbox.event(&order.refund, status, reason, kind, order.secret.as_deref()).map_err(|e| e.to_string())?;
    let url = format!("{to}/{}", event.project);
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let sends = (0..times).map(|_| {
        let request = Request::builder()
            .method(Method::POST)
            .uri(&url)
            .header("content-type", "application/json; charset=utf-8")
            .header("stripe-signature", &event.signature)
            .body(Full::from(event.body.clone()));
        let client = client.clone();
        async move {
            let answer = client.request(request.ok()?).await.ok()?;
            let status = answer.status().as_u16();
            let _ = answer.into_body().collect().await;
            Some(status)
        }
    });
    let answers = futures_util::future::join_all(sends).await;
    Ok(json!({"event": event.id, "answers": answers}))
}
