//! Each row of the table, by an answer as Stripe writes it.

use super::*;
use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use protocol::refund::{id::PayoutId, request::Why};
use serde_json::json;

fn answered(status: u16, body: &Value) -> Answered {
    let body = Some(body.to_string().into());
    Answered { status: StatusCode::from_u16(status).unwrap(), headers: HeaderMap::new(), body }
}

fn ask() -> Ask<'static> {
    let key = PayoutId::parse("payout_rf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbb_1").unwrap();
    Ask { key, amount: 1_250, payment: "pi_1", currency: "eur", why: Why::Other }
}

fn heard(status: u16, body: &Value) -> Heard {
    read(&answered(status, body), &ask(), 0, &["sk_test_s3cret"])
}

fn error(kind: &str, code: Option<&str>) -> Value {
    json!({"error": {"type": kind, "code": code, "message": "A sentence."}})
}

/// One answer per row, in the table's order, each as it was seen or documented.
#[test]
fn every_row_is_met_by_its_answer() {
    let invalid = "invalid_request_error";
    let met: [(u16, Value, Class); 17] = [
        (409, error(invalid, Some("idempotency_key_in_use")), Class::InProgress),
        (409, error(invalid, None), Class::InProgress),
        (400, error("idempotency_error", None), Class::Mismatch),
        (429, error(invalid, Some("lock_timeout")), Class::NotNow),
        (429, error(invalid, None), Class::RateLimited),
        (400, error(invalid, Some("rate_limit")), Class::RateLimited),
        (401, error(invalid, None), Class::Credentials),
        (403, error(invalid, None), Class::Credentials),
        (400, error(invalid, Some("charge_already_refunded")), Class::Refused),
        (400, error(invalid, Some("charge_disputed")), Class::Refused),
        (400, error(invalid, Some("charge_not_refundable")), Class::Refused),
        (404, error(invalid, Some("resource_missing")), Class::Refused),
        (402, error("card_error", Some("card_declined")), Class::Refused),
        (424, error("api_error", None), Class::Ambiguous),
        (400, error(invalid, None), Class::Refused),
        (404, json!("<html>nothing of Stripe's</html>"), Class::NotNow),
        (500, error("api_error", None), Class::Ambiguous),
    ];
    assert_eq!(met.len(), ANSWERS.len());
    for (at, (status, body, class)) in met.into_iter().enumerate() {
        let heard = heard(status, &body);
        assert_eq!(heard.class, class, "{status} {body}");
        // The answer reaches this row or one that says the same before it.
        let row = &ANSWERS[at];
        let alone = look_up([row], status, body["error"]["type"].as_str(), body["error"]["code"].as_str());
        assert_eq!(alone.map(|row| row.class), Some(class), "row {at} does not cover {status} {body}");
        let kept = match heard.answer {
            Answer::Heard(Finding::Refused(_)) => Class::Refused,
            Answer::Heard(Finding::Unclear { .. }) => Class::Mismatch,
            Answer::Heard(_) => panic!("{status} {body} was taken for a refund"),
            Answer::Later { .. } => class,
        };
        assert_eq!(kept, class, "{status} {body}");
    }
}

/// Every status with every type and code that a row names, with ones that none names, and without.
fn probes() -> Vec<(u16, Option<&'static str>, Option<&'static str>)> {
    let with = |names: Vec<&'static str>| names.into_iter().map(Some).chain([Some("new"), None]).collect::<Vec<_>>();
    let types = with(ANSWERS.iter().flat_map(|row| row.types.iter().copied()).collect());
    let codes = with(ANSWERS.iter().flat_map(|row| row.codes.iter().copied()).collect());
    let mut all = Vec::new();
    for status in 100..=600 {
        for kind in &types {
            all.extend(codes.iter().map(|code| (status, *kind, *code)));
        }
    }
    all
}

#[test]
fn each_row_has_a_source_and_changes_what_some_answer_means() {
    let probes = probes();
    for (at, row) in ANSWERS.iter().enumerate() {
        assert!(row.source.len() > 10, "row {at} has no source");
        let rest = || ANSWERS.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, row)| row);
        let changed = probes.iter().any(|(status, kind, code)| {
            look_up(ANSWERS, *status, *kind, *code).map(|row| row.class)
                != look_up(rest(), *status, *kind, *code).map(|row| row.class)
        });
        assert!(changed, "row {at} says nothing that the others do not: {row:?}");
    }
    assert!(probes.iter().all(|(status, kind, code)| look_up(ANSWERS, *status, *kind, *code).is_some()));
}

fn made_with(changes: Value) -> Heard {
    let mut object =
        json!({"id": "re_1", "object": "refund", "amount": 1_250, "currency": "eur", "status": "succeeded"});
    for (name, value) in changes.as_object().unwrap() {
        object[name] = value.clone();
    }
    heard(200, &object)
}

#[test]
fn a_refund_object_is_what_its_status_says() {
    assert_eq!((made_with(json!({})).class, made_with(json!({})).code()), (Class::Succeeded, None));
    assert_eq!(made_with(json!({"status": "pending"})).class, Class::Pending);
    assert_eq!(made_with(json!({"status": "requires_action"})).class, Class::Pending);
    let failed = made_with(json!({"status": "failed", "failure_reason": "declined"}));
    assert_eq!((failed.class, failed.code()), (Class::Failed, Some("declined")));
}

#[test]
fn another_amount_or_currency_than_asked_for_is_an_alarm() {
    for changes in [json!({"amount": 1_251}), json!({"currency": "usd"})] {
        let heard = made_with(changes);
        assert_eq!((heard.class, heard.code()), (Class::Mismatch, Some("not_as_asked")));
        let Answer::Heard(finding) = &heard.answer else { panic!() };
        assert_eq!(finding.reference(), Some("re_1"), "what was made is looked for by its id");
    }
    assert_eq!(made_with(json!({"currency": "EUR"})).class, Class::Succeeded);
}

#[test]
fn a_success_that_cannot_be_read_is_asked_for_again() {
    for body in [json!({}), json!([]), json!("x")] {
        let heard = heard(200, &body);
        assert_eq!((heard.class, heard.code()), (Class::Ambiguous, Some("unreadable_answer")));
    }
    let cut = Answered { status: StatusCode::OK, headers: HeaderMap::new(), body: None };
    assert!(matches!(read(&cut, &ask(), 0, &[]).answer, Answer::Later { .. }));
}

#[test]
fn a_refusal_keeps_the_providers_words_without_secrets_and_the_wait_that_it_asks_for() {
    let body = json!({"error": {"type": "invalid_request_error", "message": "Invalid API Key: sk_test_s3cret"}});
    let mut refused = answered(401, &body);
    refused.headers.insert(RETRY_AFTER, "7".parse().unwrap());
    let (class, reason, after_ms) = refusal(&refused, 0, &["sk_test_s3cret"]);
    assert_eq!((class, after_ms), (Class::Credentials, Some(7_000)));
    assert_eq!((reason.code.as_str(), reason.detail.as_str()), ("invalid_request_error", "Invalid API Key: …"));
    let coded = heard(400, &error("invalid_request_error", Some("charge_disputed")));
    assert_eq!(coded.code(), Some("charge_disputed"));
    assert_eq!(heard(503, &Value::Null).code(), Some("HTTP_503"));
}

#[test]
fn lost_and_not_sent_are_told_apart() {
    let failed = |failed: Failed| Heard::failed(&failed, &[]);
    let not_sent = failed(Failed::NotSent { code: "connect_failed", detail: String::new() });
    let lost = failed(Failed::Lost { code: "timeout", detail: String::new() });
    assert_eq!((not_sent.class, not_sent.code()), (Class::NotSent, Some("connect_failed")));
    assert_eq!((lost.class, lost.code()), (Class::Lost, Some("timeout")));
}
