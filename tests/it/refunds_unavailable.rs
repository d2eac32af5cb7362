//! Refunds over a table that does not answer: 503 with Retry-After on every route that promises it, never a guess (G7).

use super::{
    contract::Refused,
    support::{TestApp, first_payout, refund},
};
use api::contract::{ROUTES, RefundRoute, Route};
use http::Method;
use payments::{Payments, PaymentsSettings};
use platform::{AwsTimeouts, NoBoundary, Random, aws_config_at};
use protocol::timing::Timing;
use sendonce_http::{Auth, Code};
use serde_json::json;
use std::sync::Arc;
use store::Store;

/// The refunds function over a table that does not answer; who is calling is still known, and with `projects` also which
/// projects there are.
async fn without_table(app: &TestApp, projects: bool) -> axum::Router {
    let timing = Timing::SHORT;
    // Port 9 of loopback (discard) is closed: connecting is refused at once.
    let nowhere = aws_config_at(AwsTimeouts::within(timing.record), "http://127.0.0.1:9").await;
    let secrets = aws_config_at(AwsTimeouts::within(timing.token), &app.system.ready().sandbox).await;
    let secrets = aws_sdk_secretsmanager::Client::new(&secrets);
    let settings = PaymentsSettings { base_url: app.system.ready().sandbox.clone(), ..PaymentsSettings::default() };
    let (store, clock) = (Store::new(aws_sdk_dynamodb::Client::new(&nowhere), "sendonce"), app.system.clock().clone());
    let there = if projects { app.system.store().clone() } else { store.clone() };
    refunds::router(Arc::new(refunds::Refunds {
        store,
        payouts: queue::Queue::new(aws_sdk_sqs::Client::new(&nowhere), "http://127.0.0.1:9/q"),
        payments: Payments::new(settings, secrets, clock.clone(), timing),
        projects: refunds::Projects::new(there, clock.clone(), 0),
        auth: Auth::new(app.system.store().clone(), clock.clone(), timing.key_cache),
        clock,
        random: Random::system(),
        timing,
        cors: Vec::new(),
        boundary: Arc::new(NoBoundary),
    }))
}

/// A request that would be followed if the table answered.
fn request(app: &TestApp, route: RefundRoute) -> Refused {
    let id = format!("rf_{}", "a".repeat(40));
    let acme = ("authorization", format!("Bearer {}", app.api_key("acme")));
    let kind = ("content-type", "application/json".to_owned());
    let ask = |method: Method, path: &str| Refused(method, path.to_owned(), vec![acme.clone()], String::new());
    let post = |path: &str, body: serde_json::Value| {
        Refused(Method::POST, path.to_owned(), vec![acme.clone(), kind.clone()], body.to_string())
    };
    match route {
        RefundRoute::Create => post("/v1/refunds", refund("k", "pi_1")),
        RefundRoute::List => ask(Method::GET, "/v1/refunds?status=pending"),
        RefundRoute::Show => ask(Method::GET, &format!("/v1/refunds/{id}")),
        RefundRoute::Approve => ask(Method::POST, &format!("/v1/refunds/{id}/approve")),
        RefundRoute::Reject => ask(Method::POST, &format!("/v1/refunds/{id}/reject")),
        RefundRoute::Retry => post(&format!("/v1/refunds/{id}/payout/retry"), json!({"payout_id": first_payout(&id)})),
        RefundRoute::Resolve => post(&format!("/v1/refunds/{id}/payout/resolve"), json!({"outcome": "not_paid"})),
        RefundRoute::Webhook => {
            let refund = json!({"id": "re_1", "object": "refund", "status": "succeeded",
                "metadata": {"sendonce_payout": first_payout(&id)}});
            let event = json!({"id": "evt_1", "object": "event", "created": app.system.clock().now_ms() / 1_000,
                "type": "refund.updated", "data": {"object": refund}});
            let body = event.to_string();
            let signature = app.system.sandbox().signature("acme", body.as_bytes()).unwrap();
            let path = "/v1/webhooks/payments/acme".to_owned();
            Refused(Method::POST, path, vec![("stripe-signature", signature)], body)
        }
    }
}

#[tokio::test]
async fn every_route_of_refunds_is_503_with_retry_after_when_the_table_does_not_answer() {
    let app = TestApp::start().await;
    for projects in [true, false] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(axum::serve(listener, without_table(&app, projects).await).into_future());
        let mut asked = 0;
        for row in ROUTES.iter().filter(|row| row.codes.contains(&Code::Unavailable)) {
            let Route::Refunds(route) = row.route else { continue };
            let Refused(method, path, headers, body) = request(&app, route);
            let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let answer = app.http.send(&method, &format!("{url}{path}"), &headers, body).await;
            answer.problem(503, "unavailable");
            assert_eq!(answer.header("retry-after"), "1", "{}", row.id);
            assert!(!answer.text.contains("127.0.0.1"), "an inner message leaked: {}", answer.text);
            asked += 1;
        }
        assert_eq!(asked, 8, "every route of refunds asks the table");
        server.abort();
    }
    // Nothing was made of the create.
    app.created(&refund("k", "pi_1")).await;
    app.stop().await;
}
