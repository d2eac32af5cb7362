//! The contract holds: openapi.json is what is served, its examples work, and every route gives every answer that its
//! row of the table promises (G2, G3, G8 at the boundary).

use super::{
    load::PATIENT,
    support::{Answer, TestApp, first_payout, push, push_to, refund, tokens},
};
use api::contract::{ROUTES, RefundRoute, Route};
use http::Method;
use jsonschema::Validator;
use platform::{AwsTimeouts, Clock, NoBoundary, Random, aws_config_at};
use protocol::{
    answer::Reason,
    refund::payout::Finding,
    timing::{KEY_VALID_DAYS_DEFAULT, Timing},
};
use sendonce_http::{Auth, CODES, Code};
use serde_json::{Value, json};
use std::sync::Arc;
use store::Store;

/// A validator for a schema of the document.
pub(crate) fn schema(document: &Value, name: &str) -> Validator {
    let schema = json!({"$ref": format!("#/components/schemas/{name}"), "components": document["components"]});
    jsonschema::validator_for(&schema).unwrap()
}

#[track_caller]
pub(crate) fn fits(validator: &Validator, value: &Value) {
    let faults: Vec<String> = validator.iter_errors(value).map(|e| format!("{} at {}", e, e.instance_path())).collect();
    assert!(faults.is_empty(), "{faults:#?}\n{value:#}");
}

async fn get(app: &TestApp, path: &str) -> Answer {
    app.http.send(&Method::GET, &format!("{}{path}", app.system.ready().api), &[], "").await
}

#[tokio::test]
async fn the_document_is_served_and_every_example_is_accepted_and_fits_its_schema() {
    let app = TestApp::start().await;
    let document = get(&app, "/openapi.json").await.expect(200).body;
    assert_eq!(document, api::openapi::document());
    let (send, accepted, message) =
        (schema(&document, "Send"), schema(&document, "Accepted"), schema(&document, "Message"));
    let media = &document["paths"]["/v1/messages"]["post"]["requestBody"]["content"]["application/json"];
    let examples = media["examples"].as_object().unwrap();
    assert!(examples.len() >= 3);
    for example in examples.values() {
        fits(&send, &example["value"]);
        let answer = app.send(&example["value"], 202).await;
        fits(&accepted, &answer.body);
        fits(&message, &app.message(&answer.id()).await);
        fits(&message, &app.reaches(&answer.id(), "sent").await);
    }
    refund_examples(&app, &document).await;
    fits(&schema(&document, "Health"), &get(&app, "/healthz").await.expect(200).body);
    fits(&schema(&document, "Document"), &document);
    app.stop().await;
}

/// Every example of a refund is created, and every answer about it fits its schema.
async fn refund_examples(app: &TestApp, document: &Value) {
    let of = |name: &str| schema(document, name);
    let media = &document["paths"]["/v1/refunds"]["post"]["requestBody"]["content"]["application/json"];
    let examples = media["examples"].as_object().unwrap();
    assert!(examples.len() >= 2);
    app.control(&json!({"relay": "pause", "inline_send": "fail"}));
    for example in examples.values() {
        fits(&of("RefundRequest"), &example["value"]);
        let answer = app.post_to("/v1/refunds", "acme", &example["value"]).await.expect(201);
        fits(&of("RefundCreated"), &answer.body);
        let id = answer.id();
        fits(&of("RefundCreated"), &app.post_to("/v1/refunds", "acme", &example["value"]).await.expect(200).body);
        fits(&of("Refund"), &app.refund(&id).await);
        fits(&of("Decided"), &app.decide("acme", &id, "approve").await.expect(200).body);
        fits(&of("Problem"), &app.decide("acme", &id, "reject").await.expect(409).body);
        app.payout_refused(&id).await;
        fits(&of("Refund"), &app.refund(&id).await);
        app.advance(60);
        let retry = json!({"payout_id": first_payout(&id)});
        fits(&of("RetryRequest"), &retry);
        let retried = app.post_to(&format!("/v1/refunds/{id}/payout/retry"), "acme", &retry).await.expect(200);
        fits(&of("Retried"), &retried.body);
        let reason = Reason { code: "not_found".to_owned(), detail: "Nobody can know.".to_owned() };
        app.found(&id, &Finding::Unclear { reference: None, reason }).await;
        let payout = app.refund(&id).await["payout"]["id"].clone();
        let resolve = json!({"payout_id": payout, "outcome": "paid", "reference": "re_1"});
        fits(&of("ResolveRequest"), &resolve);
        let resolved = app.post_to(&format!("/v1/refunds/{id}/payout/resolve"), "acme", &resolve).await.expect(200);
        fits(&of("Resolved"), &resolved.body);
        fits(&of("Refund"), &app.refund(&id).await);
    }
    fits(&of("RefundPage"), &app.get("/v1/refunds?status=approved&limit=1", 200).await.body);
    app.control(&json!({"relay": "resume", "inline_send": "work"}));
}

/// Refunds to be refused with: one approved, whose payout is due, and of which one failed a moment ago; one rejected.
#[derive(Default)]
struct Refunds {
    approved: String,
    failed: String,
    rejected: String,
}

impl Refunds {
    async fn of(app: &TestApp) -> Self {
        app.control(&json!({"relay": "pause", "inline_send": "fail"}));
        let mut ids = Vec::new();
        for (key, decision) in [("key-of-yes", "approve"), ("key-of-failure", "approve"), ("key-of-no", "reject")] {
            let id = app.created(&refund(key, "pi_1")).await;
            app.decide("acme", &id, decision).await.expect(200);
            ids.push(id);
        }
        app.payout_refused(&ids[1]).await;
        app.control(&json!({"inline_send": "work"}));
        let [approved, failed, rejected] = ids.try_into().unwrap();
        Self { approved, failed, rejected }
    }
}

/// A request to a refunds route that must be refused with `code`.
fn refund_refused(app: &TestApp, refunds: &Refunds, route: RefundRoute, code: Code) -> Option<Refused> {
    let nobody = format!("rf_{}", "a".repeat(40));
    let id = match code {
        Code::NotFound => &nobody,
        Code::PayoutBusy => &refunds.failed,
        _ if route == RefundRoute::Approve => &refunds.rejected,
        _ => &refunds.approved,
    };
    let (method, path) = match route {
        RefundRoute::Create => (Method::POST, "/v1/refunds".to_owned()),
        RefundRoute::List => (Method::GET, "/v1/refunds?status=pending".to_owned()),
        RefundRoute::Show => (Method::GET, format!("/v1/refunds/{id}")),
        RefundRoute::Approve => (Method::POST, format!("/v1/refunds/{id}/approve")),
        RefundRoute::Reject => (Method::POST, format!("/v1/refunds/{id}/reject")),
        RefundRoute::Retry => (Method::POST, format!("/v1/refunds/{id}/payout/retry")),
        RefundRoute::Resolve => (Method::POST, format!("/v1/refunds/{id}/payout/resolve")),
        RefundRoute::Webhook => return webhook_refused(app, code),
    };
    let acme = ("authorization", format!("Bearer {}", app.api_key("acme")));
    let kind = ("content-type", "application/json".to_owned());
    let with = |body: String| Refused(method.clone(), path.clone(), vec![acme.clone(), kind.clone()], body);
    let plain = |path: &str| Refused(method.clone(), path.to_owned(), vec![acme.clone()], String::new());
    // A body that would be right.
    let right = match route {
        RefundRoute::Create => refund("k", "pi_1"),
        RefundRoute::Retry => json!({"payout_id": first_payout(if id == &nobody { &refunds.approved } else { id })}),
        _ => json!({"outcome": "not_paid"}),
    };
    let takes_body = matches!(route, RefundRoute::Create | RefundRoute::Retry | RefundRoute::Resolve);
    Some(match code {
        Code::Unauthorized => Refused(method.clone(), path.clone(), vec![], String::new()),
        Code::Forbidden => {
            let none = ("authorization", "Bearer scopeless".to_owned());
            Refused(method.clone(), path.clone(), vec![none], String::new())
        }
        Code::ValidationFailed if route == RefundRoute::List => plain("/v1/refunds"),
        Code::NotFound
        | Code::RefundNotPending
        | Code::PayoutBusy
        | Code::PayoutNotFailed
        | Code::PayoutNotInReview => {
            if takes_body {
                with(right.to_string())
            } else {
                plain(&path)
            }
        }
        _ if !takes_body => return None,
        Code::UnsupportedMediaType => plain(&path),
        Code::BodyTooLarge => with("x".repeat(300_000)),
        Code::InvalidJson => with("{".to_owned()),
        Code::DuplicateMember => with(r#"{"a":1,"a":2}"#.to_owned()),
        Code::NumberNotExact => with(r#"{"amount":9007199254740993}"#.to_owned()),
        Code::UnknownMember => with(r#"{"sum":1}"#.to_owned()),
        Code::ValidationFailed if route == RefundRoute::Create => with(r#"{"idempotency_key":"k"}"#.to_owned()),
        Code::ValidationFailed | Code::IdempotencyKeyMissing => with("{}".to_owned()),
        Code::IdempotencyKeyInvalid => with(r#"{"idempotency_key":7}"#.to_owned()),
        Code::IdempotencyKeyConflict => {
            let Refused(method, path, mut headers, body) = with(right.to_string());
            headers.push(("idempotency-key", "b".to_owned()));
            Refused(method, path, headers, body)
        }
        Code::IdempotencyKeyReused => with(refund("key-of-yes", "pi_2").to_string()),
        _ => return None,
    })
}

/// A webhook that must be refused with `code`.
fn webhook_refused(app: &TestApp, code: Code) -> Option<Refused> {
    let signed = |body: &str| {
        let signature = app.system.sandbox().signature("acme", body.as_bytes()).unwrap();
        let headers = vec![("stripe-signature", signature)];
        Some(Refused(Method::POST, "/v1/webhooks/payments/acme".to_owned(), headers, body.to_owned()))
    };
    match code {
        Code::BodyTooLarge => signed(&"x".repeat(300_000)),
        Code::InvalidJson => signed("{"),
        Code::SignatureInvalid => {
            let Refused(method, path, headers, _) = signed("{}")?;
            Some(Refused(method, path, headers, "{ }".to_owned()))
        }
        _ => None,
    }
}

/// How to be refused with a code: method, path, headers, body.
pub(crate) struct Refused(
    pub(crate) Method,
    pub(crate) String,
    pub(crate) Vec<(&'static str, String)>,
    pub(crate) String,
);

/// A request to `route` that must be refused with `code`; `None` where the row promises one that nobody wrote down here.
fn refused(app: &TestApp, refunds: &Refunds, route: Route, code: Code) -> Option<Refused> {
    let key = |name: &str| ("authorization", format!("Bearer {}", app.api_key(name)));
    let json = ("content-type", "application/json".to_owned());
    let (method, path) = match route {
        Route::Send => (Method::POST, "/v1/messages"),
        Route::Find => (Method::GET, "/v1/messages?idempotency_key=k"),
        Route::Show => (Method::GET, "/v1/messages/msg_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        Route::InvalidTokens => (Method::GET, "/v1/invalid-tokens"),
        Route::Healthz | Route::OpenApi => return None,
        Route::Refunds(route) => return refund_refused(app, refunds, route, code),
    };
    let plain = |path: &str| Some(Refused(method.clone(), path.to_owned(), vec![key("acme")], String::new()));
    let post =
        |body: &str| Some(Refused(Method::POST, path.to_owned(), vec![key("acme"), json.clone()], body.to_owned()));
    match (route, code) {
        (_, Code::Unauthorized) => Some(Refused(method, path.to_owned(), vec![], String::new())),
        (_, Code::Forbidden) => {
            let none = ("authorization", "Bearer scopeless".to_owned());
            Some(Refused(method, path.to_owned(), vec![none], String::new()))
        }
        (Route::Find | Route::Show, Code::NotFound) => plain(path),
        (Route::Find, Code::ValidationFailed) => plain("/v1/messages"),
        (Route::InvalidTokens, Code::ValidationFailed) => plain("/v1/invalid-tokens?limit=0"),
        (Route::Find, Code::IdempotencyKeyInvalid) => plain("/v1/messages?idempotency_key=%FF"),
        (Route::Send, Code::UnsupportedMediaType) => plain(path),
        (Route::Send, Code::BodyTooLarge) => post(&"x".repeat(300_000)),
        (Route::Send, Code::InvalidJson) => post("{"),
        (Route::Send, Code::DuplicateMember) => post(r#"{"data":{"a":"1","a":"2"}}"#),
        (Route::Send, Code::NumberNotExact) => post(r#"{"data":{"id":9007199254740993}}"#),
        (Route::Send, Code::UnknownMember) => post(r#"{"ttl":1}"#),
        (Route::Send, Code::IdempotencyKeyMissing) => post("{}"),
        (Route::Send, Code::IdempotencyKeyInvalid) => post(r#"{"idempotency_key":7}"#),
        (Route::Send, Code::IdempotencyKeyConflict) => {
            let Refused(method, path, mut headers, body) = post(r#"{"idempotency_key":"a"}"#)?;
            headers.push(("idempotency-key", "b".to_owned()));
            Some(Refused(method, path, headers, body))
        }
        (Route::Send, Code::ValidationFailed) => post(r#"{"idempotency_key":"k"}"#),
        (Route::Send, Code::PayloadTooLargeForProvider) => {
            let mut body = push("k", "device-0000001");
            body["data"] = json!({"a": "x".repeat(5_000)});
            post(&body.to_string())
        }
        (Route::Send, Code::IdempotencyKeyReused) => post(&push("taken", "device-0000002").to_string()),
        _ => None,
    }
}

#[tokio::test]
async fn every_route_refuses_with_every_code_of_its_row() {
    let app = TestApp::start().await;
    app.queued(&push("taken", "device-0000001")).await;
    let refunds = Refunds::of(&app).await;
    let scopeless = store::ApiKey {
        project: "acme".to_owned(),
        name: "nobody".to_owned(),
        scopes: Vec::new(),
        revoked_at_ms: None,
    };
    use sha2::Digest;
    let hash = sha2::Sha256::digest(b"scopeless").into();
    assert!(matches!(app.system.store().add_api_key(&hash, &scopeless).await, store::SeedOutcome::Stored));
    let problem = schema(&api::openapi::document(), "Problem");
    for row in ROUTES {
        for code in row.codes.iter().filter(|code| **code != Code::Unavailable) {
            let Refused(method, path, headers, body) = refused(&app, &refunds, row.route, *code)
                .unwrap_or_else(|| panic!("{} promises {}: add a request that gets it", row.id, code.word()));
            let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let url = format!("{}{path}", app.system.ready().api);
            let answer = app.http.send(&method, &url, &headers, body).await;
            answer.problem(code.row().status.as_u16(), code.word());
            fits(&problem, &answer.body);
            assert_eq!(!answer.header("www-authenticate").is_empty(), *code == Code::Unauthorized);
        }
        assert_eq!(row.scope.is_some(), row.codes.contains(&Code::Unauthorized), "{}: 401 goes with a scope", row.id);
        assert_eq!(row.scope.is_some(), row.codes.contains(&Code::Forbidden), "{}: 403 goes with a scope", row.id);
    }
    // Nothing was stored under the key that the refused sends named.
    app.get("/v1/messages?idempotency_key=k", 404).await;
    app.queued(&push("k", "device-0000003")).await;
    app.created(&refund("k", "pi_1")).await;
    app.stop().await;
}

/// The API over a table that does not answer; who is calling is still known.
async fn without_table(app: &TestApp) -> axum::Router {
    let timing = Timing::SHORT;
    // Port 9 of loopback (discard) is closed: connecting is refused at once.
    let nowhere = aws_config_at(AwsTimeouts::within(timing.record), "http://127.0.0.1:9").await;
    let clock = Clock::system();
    api::router(Arc::new(api::Api {
        projects: api::Projects::new(Store::new(aws_sdk_dynamodb::Client::new(&nowhere), "sendonce"), clock.clone(), 0),
        store: Store::new(aws_sdk_dynamodb::Client::new(&nowhere), "sendonce"),
        deliveries: queue::Queue::new(aws_sdk_sqs::Client::new(&nowhere), "http://127.0.0.1:9/q"),
        auth: Auth::new(app.system.store().clone(), clock.clone(), timing.key_cache),
        clock,
        random: Random::system(),
        timing,
        key_valid_days: KEY_VALID_DAYS_DEFAULT,
        cors: vec!["http://page.example".parse().unwrap()],
        boundary: Arc::new(NoBoundary),
    }))
}

#[tokio::test]
async fn a_table_that_does_not_answer_is_503_with_retry_after_and_never_a_guess() {
    let app = TestApp::start().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(axum::serve(listener, without_table(&app).await).into_future());
    let authorization = format!("Bearer {}", app.api_key("acme"));
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    let mut body = push("k", "device-0000001");
    let plain = body.to_string();
    // Whether the project has the app is not known then, and not guessed.
    body["app"] = json!("com.example.nope");
    let names_an_app = body.to_string();
    for (method, path, body) in [
        (Method::POST, "/v1/messages", plain.as_str()),
        (Method::POST, "/v1/messages", names_an_app.as_str()),
        (Method::GET, "/v1/messages?idempotency_key=k", ""),
        (Method::GET, "/v1/messages/msg_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", ""),
        (Method::GET, "/v1/invalid-tokens", ""),
    ] {
        let answer = app.http.send(&method, &format!("{url}{path}"), &headers, body.to_owned()).await;
        answer.problem(503, "unavailable");
        assert_eq!(answer.header("retry-after"), "1");
        assert!(!answer.text.contains("127.0.0.1"), "an inner message leaked: {}", answer.text);
    }
    // A refused send touches nothing: with a table that never answers it is refused all the same.
    let send = ROUTES.iter().find(|row| row.route == Route::Send).unwrap();
    let needs_table = [Code::Unavailable, Code::IdempotencyKeyReused, Code::Unauthorized, Code::Forbidden];
    for code in send.codes.iter().filter(|code| !needs_table.contains(code)) {
        let Refused(method, path, headers, body) = refused(&app, &Refunds::default(), Route::Send, *code).unwrap();
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = app.http.send(&method, &format!("{url}{path}"), &headers, body).await;
        answer.problem(code.row().status.as_u16(), code.word());
    }
    // healthz asks nobody, and CORS is on here for one origin, on the routes that exist.
    app.http.send(&Method::GET, &format!("{url}/healthz"), &[], "").await.expect(200);
    let preflight = [("origin", "http://page.example"), ("access-control-request-method", "POST")];
    let answer = app.http.send(&Method::OPTIONS, &format!("{url}/v1/messages"), &preflight, "").await.expect(200);
    assert_eq!(answer.header("access-control-allow-origin"), "http://page.example");
    let other = [("origin", "http://other.example"), ("access-control-request-method", "POST")];
    let answer = app.http.send(&Method::OPTIONS, &format!("{url}/v1/messages"), &other, "").await;
    assert_eq!(answer.header("access-control-allow-origin"), "");
    app.http.send(&Method::OPTIONS, &format!("{url}/nope"), &preflight, "").await.problem(404, "not_found");
    server.abort();
    app.stop().await;
}

/// One request with every fault there is, mended step by step: the refusals come in the order of the contract.
#[tokio::test]
async fn a_request_is_refused_for_the_first_of_its_faults() {
    let app = TestApp::start().await;
    let api = app.system.ready().api.clone();
    let key = |name: &str| format!("Bearer {}", app.api_key(name));
    let (none, readonly, acme) = (String::new(), key("acme_readonly"), key("acme"));
    let broken = "{".to_owned() + &" ".repeat(300_000);
    let steps: Vec<(Method, &str, &str, &str, String, u16, &str)> = vec![
        (Method::PUT, "/nope", &none, "text/plain", broken.clone(), 404, "not_found"),
        (Method::PUT, "/v1/messages", &none, "text/plain", broken.clone(), 405, "method_not_allowed"),
        (Method::POST, "/v1/messages", &none, "text/plain", broken.clone(), 401, "unauthorized"),
        (Method::POST, "/v1/messages", &readonly, "text/plain", broken.clone(), 403, "forbidden"),
        (Method::POST, "/v1/messages", &acme, "text/plain", broken.clone(), 415, "unsupported_media_type"),
        (Method::POST, "/v1/messages", &acme, "application/json", broken, 413, "body_too_large"),
    ];
    let send = |body: &str| (Method::POST, "/v1/messages", acme.as_str(), "application/json", body.to_owned());
    let bodies = [
        (r#"{"ttl":1,"ttl":1,"to":[]"#, 400, "duplicate_member"),
        (r#"{"ttl":1e400,"to":[]"#, 400, "number_not_exact"),
        (r#"{"ttl":1,"to":[]"#, 400, "invalid_json"),
        (r#"{"ttl":1,"to":[]}"#, 400, "unknown_member"),
        (r#"{"idempotency_key":"","to":[]}"#, 400, "idempotency_key_invalid"),
        (r#"{"idempotency_key":"order","to":[]}"#, 400, "validation_failed"),
    ];
    let bodies = bodies.into_iter().map(|(body, status, code)| {
        let (method, path, key, kind, body) = send(body);
        (method, path, key, kind, body, status, code)
    });
    for (method, path, key, kind, body, status, code) in steps.into_iter().chain(bodies) {
        let headers = [("authorization", key), ("content-type", kind)];
        let headers: Vec<(&str, &str)> = headers.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        app.http.send(&method, &format!("{api}{path}"), &headers, body).await.problem(status, code);
    }
    app.queued(&push("order", "device-0000001")).await;
    app.send(&push("order", "device-0000002"), 422).await.problem(422, "idempotency_key_reused");
    app.stop().await;
}

#[tokio::test]
async fn so_many_devices_and_each_once() {
    // Five hundred devices at once on a busy machine: a record that misses the short limit costs a second call.
    let app = TestApp::start_with(PATIENT).await;
    for count in [1, 2, 19, 20, 21, 40, 499, 500] {
        let tokens = tokens(&format!("of{count}"), count);
        let id = app.queued(&push_to(&format!("many-{count}"), &tokens)).await;
        let message = app.reaches(&id, "sent").await;
        assert_eq!(message["counts"]["sent"], count);
        for token in &tokens {
            assert_eq!(app.calls(token).len(), 1, "{token}");
        }
    }
    let too_many = push_to("many-501", &tokens("of501", 501));
    let answer = app.send(&too_many, 400).await;
    answer.problem(400, "validation_failed");
    assert_eq!(answer.pointers(), ["/to"]);
    // 500 entries, half of them duplicates: 250 devices in the order of their first entries.
    let mut doubled = tokens("doubled", 250);
    doubled.extend(tokens("doubled", 250));
    let id = app.queued(&push_to("doubled", &doubled)).await;
    assert_eq!(app.reaches(&id, "sent").await["counts"]["sent"], 250);
    assert!(tokens("doubled", 250).iter().all(|token| app.calls(token).len() == 1));
    app.stop().await;
}

#[test]
fn every_code_has_a_route_or_is_the_router_s() {
    for row in CODES {
        let routed = ROUTES.iter().any(|route| route.codes.contains(&row.code));
        assert!(routed || row.code == Code::MethodNotAllowed, "{} is given by no route", row.word);
    }
}
