//! Each row of the table of FCM's answers, and what overrides it.

use super::*;
use crate::answers::PROVIDER_ID_MAX_BYTES;
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
        // What carries an FcmError is about a device or a message, whatever its code: no project waits for it.
        (error(403, "PERMISSION_DENIED", Some("UNSPECIFIED_ERROR")), Class::Permanent, "PERMISSION_DENIED", None),
        (error(404, "NOT_FOUND", Some("UNSPECIFIED_ERROR")), Class::Permanent, "NOT_FOUND", None),
        (error(404, "NOT_FOUND", Some("INSTALLATION_RETIRED")), Class::Permanent, "INSTALLATION_RETIRED", None),
        (error(404, "NOT_FOUND", Some("unregistered")), Class::Permanent, "unregistered", None),
        (error(403, "PERMISSION_DENIED", Some("DEVICE_BLOCKED")), Class::Permanent, "DEVICE_BLOCKED", None),
        (error(404, "NOT_FOUND", Some("no word")), Class::Permanent, "NOT_FOUND", None),
        (error(400, "INVALID_ARGUMENT", Some("DEVICE_BLOCKED")), Class::OurBug, "DEVICE_BLOCKED", None),
        (error(401, "UNAUTHENTICATED", Some("DEVICE_BLOCKED")), Class::NotNow, "DEVICE_BLOCKED", None),
        (error(409, "ABORTED", Some("DEVICE_BLOCKED")), Class::NotNow, "DEVICE_BLOCKED", None),
        (error(503, "UNAVAILABLE", Some("DEVICE_BLOCKED")), Class::Ambiguous, "DEVICE_BLOCKED", None),
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
        // Where the payload is complained about too, in whatever order, the token may be good.
        (json!([fcm, names("message.data"), names("message.token")]), "words", Class::Permanent),
        (json!([fcm, names("message.token"), names("message.data")]), sentence, Class::Permanent),
        (json!([names("message.token"), names("message.data")]), "words", Class::OurBug),
        (json!([fcm, names("message.data")]), sentence, Class::Permanent),
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
fn answers_without_a_body_of_fcms_go_by_their_status() {
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
        for body in [Some(""), html, Some("[]"), Some("{\"error\":7}")] {
            let wait = (status == 429).then_some(60_000);
            assert_eq!(sorted(&answered(status, None, body)), (class, format!("HTTP_{status}"), wait), "{body:?}");
        }
    }
}

/// A 404 or a 403 may be about one device or about the whole project, and only its body says which: without it nobody is
/// held, no device is ended, and nothing is said of the credentials.
#[test]
fn a_refusal_whose_body_was_lost_is_asked_again() {
    for status in [400, 401, 403, 404, 408, 413, 418, 429, 498] {
        let lost = answered(status, None, None);
        let wait = (status == 429).then_some(60_000);
        assert_eq!(sorted(&lost), (Class::NotNow, format!("HTTP_{status}"), wait), "{status}");
        let heard = read(&lost, true, 0, &[]);
        assert_eq!((heard.class, heard.credentials), (Class::NotNow, Credentials::Unknown), "{status}");
        assert!(!token_refused(&lost), "{status}");
        let detail = format!("FCM answered {status}, and the rest of its answer was lost");
        assert_eq!(heard.answer.reason().unwrap().detail, detail);
        assert_eq!(sorted(&answered(status, Some("7"), None)), (Class::NotNow, format!("HTTP_{status}"), Some(7_000)));
    }
    for status in [302, 499, 500, 502, 503, 504, 599] {
        assert_eq!(sorted(&answered(status, None, None)), (Class::Ambiguous, format!("HTTP_{status}"), None));
    }
}

#[test]
fn what_is_asked_for_counts() {
    for (status, class) in [(429, Class::NotNow), (503, Class::Ambiguous), (401, Class::NotNow), (404, Class::Hold)] {
        assert_eq!(sorted(&answered(status, Some("7"), Some(""))), (class, format!("HTTP_{status}"), Some(7_000)));
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
    for (length, kept) in [(PROVIDER_ID_MAX_BYTES, PROVIDER_ID_MAX_BYTES), (PROVIDER_ID_MAX_BYTES + 1, 0), (21_000, 0)]
    {
        let body = json!({"name": "x".repeat(length)}).to_string();
        let answer = read(&answered(200, None, Some(&body)), false, 0, &[]).answer;
        assert_eq!(answer, Answer::Accepted { provider_id: "x".repeat(kept) });
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
    assert_eq!((reason.code.as_str(), reason.detail.as_str()), ("HTTP_400", "FCM answered 400: The token … is bad"));
}

/// Of all that an answer holds, what a person needs beside FCM's sentence: the status, its word, and the first field.
#[test]
fn the_status_and_the_field_are_kept_with_the_sentence_and_a_token_for_a_field_is_not() {
    let detail = |status: u16, word: &str, field: &str, message: &str| {
        let violations = json!([{"description": "no"}, {"field": field}, {"field": "message.data"}]);
        let details = json!([{"fieldViolations": violations}]);
        let body = json!({"error": {"status": word, "message": message, "details": details}});
        let heard = read(&answered(status, None, Some(&body.to_string())), false, 0, &["dQw4w9WgXcQ.APA91bHun4MxP5"]);
        heard.answer.reason().unwrap().detail.clone()
    };
    assert_eq!(
        detail(400, "INVALID_ARGUMENT", "message.android.ttl", "Invalid value"),
        "FCM answered 400 INVALID_ARGUMENT, message.android.ttl: Invalid value"
    );
    assert_eq!(detail(404, "two words", "a field", "Gone"), "FCM answered 404, message.data: Gone");
    assert_eq!(detail(400, "X", "dQw4w9WgXcQ.APA91bHun4MxP5", "No"), "FCM answered 400 X, …: No");
    let long = detail(400, "X", "message.data[0].key", &"x".repeat(500));
    assert!(long.starts_with("FCM answered 400 X, message.data[0].key: xxx") && long.chars().count() == 200, "{long}");
}

/// A proxy answers with the same statuses, and has not looked at the credentials.
#[test]
fn an_answer_that_is_not_fcms_own_counts_for_the_message_alone() {
    for (status, class) in [(400, Class::OurBug), (413, Class::Permanent)] {
        for body in ["", "<html>no</html>", "[]", "{\"error\":\"no\"}", "{\"error\":{\"status\":\"two words\"}}"] {
            let heard = read(&answered(status, None, Some(body)), false, 0, &[]);
            assert_eq!((heard.class, heard.credentials), (class, Credentials::Unknown), "{status} {body}");
        }
        let heard = read(&error(status, "INVALID_ARGUMENT", None), false, 0, &[]);
        assert_eq!((heard.class, heard.credentials), (class, Credentials::Taken), "{status}");
    }
    for code in ["UNREGISTERED", "INVALID_ARGUMENT", "SENDER_ID_MISMATCH", "SOMETHING_NEW"] {
        let heard = read(&error(404, "two words", Some(code)), false, 0, &[]);
        assert_eq!((heard.credentials, heard.is_token_dead()), (Credentials::Taken, code == "UNREGISTERED"), "{code}");
    }
}

#[test]
fn what_is_no_answer_of_fcms_is_kept_as_it_came() {
    let answer = read(&answered(502, None, Some("<html>502 Bad Gateway</html>")), false, 0, &[]).answer;
    assert_eq!(answer.reason().unwrap().detail, "FCM answered 502 <html>502 Bad Gateway</html>");
}
