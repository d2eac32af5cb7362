//! Each row of the table of APNs' answers, and what overrides it.

use super::*;
use http::{HeaderMap, HeaderValue, StatusCode, header::RETRY_AFTER};
use serde_json::json;

const ID: &str = "5a3f6c1e-0000-5000-8000-000000000000";

fn answered(status: u16, body: Option<&str>) -> Answered {
    let status = StatusCode::from_u16(status).unwrap();
    Answered { status, headers: HeaderMap::new(), body: body.map(|text| text.to_owned().into()) }
}

fn refused(status: u16, reason: &str) -> Answered {
    answered(status, Some(&json!({ "reason": reason }).to_string()))
}

/// "S" accepted, "P" permanent, "N" not now, "T" not now and the token refused, "A" ambiguous; and the code.
fn sorted(answered: &Answered) -> (&'static str, String) {
    let verdict = read(answered, ID, 0, &[]);
    let kind = match (&verdict.answer, verdict.token_refused) {
        (Answer::Accepted { .. }, false) => "S",
        (Answer::Permanent(_), false) => "P",
        (Answer::NotNow { .. }, false) => "N",
        (Answer::NotNow { .. }, true) => "T",
        (Answer::Ambiguous { .. }, false) => "A",
        _ => "?",
    };
    (kind, verdict.answer.reason().map(|reason| reason.code.clone()).unwrap_or_default())
}

/// Every reason that Apple documents, its status, what it means, and what it says of the connection.
const DOCUMENTED: [(u16, &str, &str, Standing); 32] = [
    (400, "BadCollapseId", "P", Standing::Proven),
    (400, "BadDeviceToken", "P", Standing::Proven),
    (400, "BadExpirationDate", "P", Standing::Proven),
    (400, "BadMessageId", "P", Standing::Proven),
    (400, "BadPriority", "P", Standing::Proven),
    (400, "BadTopic", "P", Standing::Proven),
    (400, "DeviceTokenNotForTopic", "P", Standing::Proven),
    (400, "DuplicateHeaders", "P", Standing::Proven),
    (400, "IdleTimeout", "N", Standing::Spent),
    (400, "InvalidPushType", "P", Standing::Proven),
    (400, "MissingDeviceToken", "P", Standing::Proven),
    (400, "MissingTopic", "P", Standing::Proven),
    (400, "PayloadEmpty", "P", Standing::Proven),
    (400, "TopicDisallowed", "P", Standing::Proven),
    (403, "BadCertificate", "N", Standing::Open),
    (403, "BadCertificateEnvironment", "N", Standing::Open),
    (403, "BadEnvironmentKeyIdInToken", "N", Standing::Open),
    (403, "ExpiredProviderToken", "T", Standing::Open),
    (403, "Forbidden", "N", Standing::Open),
    (403, "InvalidProviderToken", "T", Standing::Open),
    (403, "MissingProviderToken", "N", Standing::Open),
    (403, "UnrelatedKeyIdInToken", "N", Standing::Spent),
    (404, "BadPath", "P", Standing::Open),
    (405, "MethodNotAllowed", "P", Standing::Open),
    (410, "ExpiredToken", "P", Standing::Proven),
    (410, "Unregistered", "P", Standing::Proven),
    (413, "PayloadTooLarge", "P", Standing::Proven),
    (429, "TooManyProviderTokenUpdates", "N", Standing::Open),
    (429, "TooManyRequests", "N", Standing::Open),
    (500, "InternalServerError", "A", Standing::Open),
    (503, "ServiceUnavailable", "N", Standing::Open),
    (503, "Shutdown", "N", Standing::Spent),
];

#[test]
fn every_documented_answer() {
    for (status, reason, kind, connection) in DOCUMENTED {
        let answered = refused(status, reason);
        assert_eq!((sorted(&answered), standing(&answered)), ((kind, reason.to_owned()), connection), "{reason}");
    }
}

#[test]
fn what_is_not_documented_goes_by_its_status() {
    let cases = [
        (302, "A"),
        (400, "P"),
        (401, "N"),
        (403, "N"),
        (404, "P"),
        (405, "P"),
        (408, "N"),
        (410, "P"),
        (413, "P"),
        (418, "N"),
        (429, "N"),
        (499, "A"),
        (500, "A"),
        (501, "A"),
        (502, "A"),
        (503, "N"),
        (504, "A"),
        (599, "A"),
        (600, "A"),
    ];
    for (status, kind) in cases {
        for body in [None, Some(""), Some("<html>"), Some("[]"), Some("{\"reason\":7}"), Some("{\"reason\":\"<b>\"}")] {
            assert_eq!(sorted(&answered(status, body)), (kind, format!("HTTP_{status}")), "{status} {body:?}");
        }
        assert_eq!(sorted(&refused(status, "SomethingNew")), (kind, "SomethingNew".to_owned()), "{status}");
    }
}

#[test]
fn a_success_status_is_the_acceptance() {
    let mut answered = answered(200, None);
    assert_eq!(read(&answered, ID, 0, &[]).answer, Answer::Accepted { provider_id: ID.to_owned() });
    answered.headers.insert("apns-id", HeaderValue::from_static("other"));
    assert_eq!(read(&answered, ID, 0, &[]).answer, Answer::Accepted { provider_id: "other".to_owned() });
    assert_eq!(standing(&answered), Standing::Proven);
}

#[test]
fn what_is_asked_for_counts() {
    for (status, reason) in [(503, "ServiceUnavailable"), (429, "TooManyRequests"), (500, "InternalServerError")] {
        let mut answered = refused(status, reason);
        answered.headers.insert(RETRY_AFTER, HeaderValue::from_static("7"));
        assert_eq!(read(&answered, ID, 0, &[]).answer.asked_ms(), Some(7_000));
    }
}

#[test]
fn a_timestamp_is_kept_and_a_token_is_not() {
    let body = json!({"reason": "Unregistered", "timestamp": 1_508_249_865_488_u64}).to_string();
    let answer = read(&answered(410, Some(&body)), ID, 0, &[]).answer;
    let detail = "APNs answered 410 Unregistered; so since 2017-10-17T14:17:45.488Z";
    assert_eq!(answer.reason().unwrap().detail, detail);
    let echoed = refused(400, "bad c0ffeec0ffeec0ffee");
    assert_eq!(
        read(&echoed, ID, 0, &["c0ffeec0ffeec0ffee"]).answer.reason().unwrap().detail,
        "APNs answered 400 bad …"
    );
}

#[test]
fn every_row_has_a_source_and_can_be_reached() {
    for (at, row) in TABLE.iter().enumerate() {
        assert!(!row.source.is_empty());
        let first = |status: u16| {
            TABLE.iter().position(|r| r.status.contains(&status) && (r.reason.is_none() || r.reason == row.reason))
        };
        assert!(row.status.clone().any(|status| first(status) == Some(at)), "row {at} is hidden");
    }
}
