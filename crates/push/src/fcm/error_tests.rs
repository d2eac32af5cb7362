//! Each row of the table of FCM's answers, and what overrides it.

use super::*;
use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use serde_json::json;

fn answered(status: u16, retry_after: Option<&str>, body: Option<&str>) -> Answered {
    let mut headers = HeaderMap::new();
    if let Some(value) = retry_after {
        headers.insert(RETRY_AFTER, value.parse().unwrap());
    }
    let status = StatusCode::from_u16(status).unwrap();
    Answered { status, headers, body: body.map(|text| text.to_owned().into()) }
}

fn error(status: u16, word: &str, code: Option<&str>) -> Answered {
    let fcm = "type.googleapis.com/google.firebase.fcm.v1.FcmError";
    let details = code.map_or_else(|| json!([]), |code| json!([{"@type": fcm, "errorCode": code}]));
    let body = json!({"error": {"code": status, "message": "words", "status": word, "details": details}});
    answered(status, None, Some(&body.to_string()))
}

/// "S" accepted, "P" permanent, "N" not now, "A" ambiguous, with the code and the wait.
fn sorted(answered: &Answered) -> (&'static str, String, Option<u64>) {
    let answer = read(answered, 0, &[]).answer;
    let kind = match &answer {
        Answer::Accepted { .. } => "S",
        Answer::Permanent(_) => "P",
        Answer::NotNow { .. } => "N",
        Answer::Ambiguous { .. } => "A",
        Answer::NotSent(_) | Answer::Lost(_) => "?",
    };
    (kind, answer.reason().map(|reason| reason.code.clone()).unwrap_or_default(), answer.asked_ms())
}

#[test]
fn every_documented_answer() {
    let cases = [
        (error(400, "INVALID_ARGUMENT", Some("INVALID_ARGUMENT")), "P", "INVALID_ARGUMENT", None),
        (error(400, "INVALID_ARGUMENT", None), "P", "INVALID_ARGUMENT", None),
        (error(401, "UNAUTHENTICATED", None), "N", "UNAUTHENTICATED", None),
        (error(401, "UNAUTHENTICATED", Some("THIRD_PARTY_AUTH_ERROR")), "N", "THIRD_PARTY_AUTH_ERROR", None),
        (error(403, "PERMISSION_DENIED", None), "N", "PERMISSION_DENIED", None),
        (error(403, "PERMISSION_DENIED", Some("SENDER_ID_MISMATCH")), "P", "SENDER_ID_MISMATCH", None),
        (error(404, "NOT_FOUND", None), "N", "NOT_FOUND", None),
        (error(404, "NOT_FOUND", Some("UNREGISTERED")), "P", "UNREGISTERED", None),
        (error(429, "RESOURCE_EXHAUSTED", Some("QUOTA_EXCEEDED")), "N", "QUOTA_EXCEEDED", Some(60_000)),
        (error(429, "RESOURCE_EXHAUSTED", None), "N", "RESOURCE_EXHAUSTED", Some(60_000)),
        (error(500, "INTERNAL", Some("INTERNAL")), "A", "INTERNAL", None),
        (error(503, "UNAVAILABLE", Some("UNAVAILABLE")), "A", "UNAVAILABLE", None),
        // A 5xx is never a refusal for good, whatever it says.
        (error(500, "NOT_FOUND", Some("UNREGISTERED")), "A", "UNREGISTERED", None),
        // The code counts more than the status words around it.
        (error(400, "INVALID_ARGUMENT", Some("UNREGISTERED")), "P", "UNREGISTERED", None),
        (error(403, "PERMISSION_DENIED", Some("UNSPECIFIED_ERROR")), "N", "PERMISSION_DENIED", None),
    ];
    for (answered, kind, code, wait) in cases {
        assert_eq!(sorted(&answered), (kind, code.to_owned(), wait), "{answered:?}");
    }
}

#[test]
fn answers_without_a_body_go_by_their_status() {
    let html = Some("<html>502 Bad Gateway</html>");
    for (status, kind) in [
        (302, "A"),
        (400, "P"),
        (403, "N"),
        (404, "N"),
        (408, "N"),
        (413, "P"),
        (418, "N"),
        (429, "N"),
        (499, "A"),
        (502, "A"),
        (504, "A"),
        (599, "A"),
        (600, "A"),
    ] {
        for body in [None, Some(""), html, Some("[]"), Some("{\"error\":7}")] {
            let wait = (status == 429).then_some(60_000);
            assert_eq!(sorted(&answered(status, None, body)), (kind, format!("HTTP_{status}"), wait), "{body:?}");
        }
    }
}

#[test]
fn what_is_asked_for_counts() {
    for (status, kind) in [(429, "N"), (503, "A"), (401, "N"), (404, "N")] {
        assert_eq!(sorted(&answered(status, Some("7"), None)), (kind, format!("HTTP_{status}"), Some(7_000)));
    }
}

#[test]
fn a_success_status_is_the_acceptance() {
    let name = "projects/p/messages/0:1500415314455276%31bd1c9631bd1c96";
    let body = json!({ "name": name }).to_string();
    for (body, id) in [(Some(body.as_str()), name), (None, ""), (Some("{\"na"), ""), (Some("{}"), "")] {
        let answer = read(&answered(200, None, body), 0, &[]).answer;
        assert_eq!(answer, Answer::Accepted { provider_id: id.to_owned() });
    }
}

#[test]
fn only_a_refused_access_token_is_dropped() {
    assert!(read(&error(401, "UNAUTHENTICATED", None), 0, &[]).token_refused);
    assert!(!read(&error(401, "UNAUTHENTICATED", Some("THIRD_PARTY_AUTH_ERROR")), 0, &[]).token_refused);
    assert!(!read(&error(403, "PERMISSION_DENIED", None), 0, &[]).token_refused);
}

#[test]
fn an_echoed_token_does_not_show() {
    let body =
        json!({"error": {"message": "The token dQw4w9WgXcQ:APA91bHun4MxP5 is bad", "status": "BAD dQw4w9WgXcQ"}});
    let answer = read(&answered(400, None, Some(&body.to_string())), 0, &["dQw4w9WgXcQ:APA91bHun4MxP5"]).answer;
    let reason = answer.reason().unwrap();
    assert_eq!((reason.code.as_str(), reason.detail.as_str()), ("HTTP_400", "The token … is bad"));
}

#[test]
fn every_row_has_a_source_and_can_be_reached() {
    for (at, row) in TABLE.iter().enumerate() {
        assert!(!row.source.is_empty());
        let status = *row.status.start();
        let reached = TABLE.iter().position(|r| r.status.contains(&status) && (r.code.is_none() || r.code == row.code));
        // A row's first status may belong to an earlier row; then another of its statuses must be its own.
        let own = row.status.clone().any(|s| {
            TABLE.iter().position(|r| r.status.contains(&s) && (r.code.is_none() || r.code == row.code)) == Some(at)
        });
        assert!(own, "row {at} is hidden by row {reached:?}");
    }
}
