//! Each row of the table of FCM's answers, and what overrides it.

use super::*;
use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use protocol::answer::Answer;
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

/// The class, the code and the wait.
fn sorted(answered: &Answered) -> (Class, String, Option<u64>) {
    let heard = read(answered, false, 0, &[]);
    (heard.class, heard.answer.reason().map(|reason| reason.code.clone()).unwrap_or_default(), heard.answer.asked_ms())
}

#[test]
fn every_documented_answer() {
    let cases = [
        (error(400, "INVALID_ARGUMENT", Some("INVALID_ARGUMENT")), Class::Permanent, "INVALID_ARGUMENT", None),
        (error(400, "INVALID_ARGUMENT", None), Class::OurBug, "INVALID_ARGUMENT", None),
        (error(401, "UNAUTHENTICATED", None), Class::NotNow, "UNAUTHENTICATED", None),
        (error(401, "UNAUTHENTICATED", Some("THIRD_PARTY_AUTH_ERROR")), Class::Hold, "THIRD_PARTY_AUTH_ERROR", None),
        (error(403, "PERMISSION_DENIED", None), Class::Hold, "PERMISSION_DENIED", None),
        (error(403, "PERMISSION_DENIED", Some("SENDER_ID_MISMATCH")), Class::Permanent, "SENDER_ID_MISMATCH", None),
        (error(404, "NOT_FOUND", None), Class::Hold, "NOT_FOUND", None),
        (error(404, "NOT_FOUND", Some("UNREGISTERED")), Class::TokenDead, "UNREGISTERED", None),
        (error(429, "RESOURCE_EXHAUSTED", Some("QUOTA_EXCEEDED")), Class::NotNow, "QUOTA_EXCEEDED", Some(60_000)),
        (error(429, "RESOURCE_EXHAUSTED", None), Class::NotNow, "RESOURCE_EXHAUSTED", Some(60_000)),
        (error(500, "INTERNAL", Some("INTERNAL")), Class::Ambiguous, "INTERNAL", None),
        (error(503, "UNAVAILABLE", Some("UNAVAILABLE")), Class::Ambiguous, "UNAVAILABLE", None),
        // A 5xx is never a refusal for good, whatever it says.
        (error(500, "NOT_FOUND", Some("UNREGISTERED")), Class::Ambiguous, "UNREGISTERED", None),
        // The code counts more than the status and the words around it.
        (error(400, "INVALID_ARGUMENT", Some("UNREGISTERED")), Class::TokenDead, "UNREGISTERED", None),
        (error(429, "UNAVAILABLE", Some("UNAVAILABLE")), Class::Ambiguous, "UNAVAILABLE", None),
        (error(403, "PERMISSION_DENIED", Some("UNSPECIFIED_ERROR")), Class::Hold, "PERMISSION_DENIED", None),
    ];
    for (answered, class, code, wait) in cases {
        assert_eq!(sorted(&answered), (class, code.to_owned(), wait), "{answered:?}");
    }
}

/// Both are 400 INVALID_ARGUMENT; taking one for the other deletes good tokens, or keeps dead ones.
#[test]
fn a_bad_token_is_told_from_a_bad_payload() {
    let fcm = json!({"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": "INVALID_ARGUMENT"});
    let names = |field: &str| json!({"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": field}]});
    let sentence = "The registration token is not a valid FCM registration token";
    let cases = [
        (json!([fcm]), sentence, Class::TokenDead),
        (json!([fcm, names("message.token")]), "words", Class::TokenDead),
        (json!([fcm, names("message.fid")]), "words", Class::TokenDead),
        (json!([names("message.token")]), "words", Class::TokenDead),
        (json!([fcm, names("message.data")]), "words", Class::Permanent),
        (json!([fcm, names("message.android.ttl")]), "words", Class::Permanent),
        (json!([fcm]), "words", Class::Permanent),
        (json!([names("message.data")]), "words", Class::OurBug),
        (json!([]), sentence, Class::OurBug),
    ];
    for (details, message, class) in cases {
        let body =
            json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT", "details": details}});
        let answered = answered(400, None, Some(&body.to_string()));
        assert_eq!(sorted(&answered), (class, "INVALID_ARGUMENT".to_owned(), None), "{body}");
    }
}

#[test]
fn answers_without_a_body_go_by_their_status() {
    let html = Some("<html>502 Bad Gateway</html>");
    for (status, class) in [
        (302, Class::Ambiguous),
        (400, Class::OurBug),
        (401, Class::NotNow),
        (403, Class::Hold),
        (404, Class::Hold),
        (408, Class::NotNow),
        (413, Class::Permanent),
        (418, Class::NotNow),
        (429, Class::NotNow),
        (499, Class::Ambiguous),
        (502, Class::Ambiguous),
        (504, Class::Ambiguous),
        (599, Class::Ambiguous),
        (600, Class::Ambiguous),
    ] {
        for body in [None, Some(""), html, Some("[]"), Some("{\"error\":7}")] {
            let wait = (status == 429).then_some(60_000);
            assert_eq!(sorted(&answered(status, None, body)), (class, format!("HTTP_{status}"), wait), "{body:?}");
        }
    }
}

#[test]
fn what_is_asked_for_counts() {
    for (status, class) in [(429, Class::NotNow), (503, Class::Ambiguous), (401, Class::NotNow), (404, Class::Hold)] {
        assert_eq!(sorted(&answered(status, Some("7"), None)), (class, format!("HTTP_{status}"), Some(7_000)));
    }
}

#[test]
fn a_success_status_is_the_acceptance() {
    let name = "projects/p/messages/0:1500415314455276%31bd1c9631bd1c96";
    let body = json!({ "name": name }).to_string();
    for (body, id) in [(Some(body.as_str()), name), (None, ""), (Some("{\"na"), ""), (Some("{}"), "")] {
        let answer = read(&answered(200, None, body), false, 0, &[]).answer;
        assert_eq!(answer, Answer::Accepted { provider_id: id.to_owned() });
    }
}

#[test]
fn only_a_refused_access_token_is_dropped() {
    assert!(token_refused(&error(401, "UNAUTHENTICATED", None)));
    assert!(!token_refused(&error(401, "UNAUTHENTICATED", Some("THIRD_PARTY_AUTH_ERROR"))));
    assert!(!token_refused(&error(403, "PERMISSION_DENIED", None)));
}

#[test]
fn an_access_token_is_renewed_once_before_the_credentials_are_held() {
    let refused = error(401, "UNAUTHENTICATED", None);
    let heard = [false, true].map(|renewed| read(&refused, renewed, 0, &[]));
    assert_eq!(heard.each_ref().map(|heard| heard.class), [Class::NotNow, Class::Hold]);
    assert_eq!(heard.map(|heard| heard.credentials), [Credentials::Unknown, Credentials::Refused]);
}

#[test]
fn an_echoed_token_does_not_show() {
    let body =
        json!({"error": {"message": "The token dQw4w9WgXcQ:APA91bHun4MxP5 is bad", "status": "BAD dQw4w9WgXcQ"}});
    let answer = read(&answered(400, None, Some(&body.to_string())), false, 0, &["dQw4w9WgXcQ:APA91bHun4MxP5"]).answer;
    let reason = answer.reason().unwrap();
    assert_eq!((reason.code.as_str(), reason.detail.as_str()), ("HTTP_400", "The token … is bad"));
}

#[test]
fn what_is_no_answer_of_fcms_is_kept_as_it_came() {
    let answer = read(&answered(502, None, Some("<html>502 Bad Gateway</html>")), false, 0, &[]).answer;
    assert_eq!(answer.reason().unwrap().detail, "FCM answered 502 <html>502 Bad Gateway</html>");
}
