//! Each row of the table of APNs' answers, and what overrides it.

use super::*;
use crate::answers::look_up;
use http::{HeaderMap, HeaderValue, StatusCode, header::RETRY_AFTER};
use protocol::answer::Answer;
use serde_json::json;

const ID: &str = "5a3f6c1e-0000-5000-8000-000000000000";

fn answered(status: u16, body: Option<&str>) -> Answered {
    let status = StatusCode::from_u16(status).unwrap();
    Answered { status, headers: HeaderMap::new(), body: body.map(|text| text.to_owned().into()) }
}

fn refused(status: u16, reason: &str) -> Answered {
    answered(status, Some(&json!({ "reason": reason }).to_string()))
}

/// The class, the code, and whether the provider token is refused.
fn sorted(answered: &Answered) -> (Class, String, bool) {
    let heard = read(answered, ID, false, 0, &[]);
    let code = heard.answer.reason().map(|reason| reason.code.clone()).unwrap_or_default();
    (heard.class, code, token_refused(answered))
}

/// Every reason that Apple documents, its status, what it means, and what it says of the connection.
const DOCUMENTED: [(u16, &str, Class, Standing); 32] = [
    (400, "BadCollapseId", Class::OurBug, Standing::Proven),
    (400, "BadDeviceToken", Class::TokenDead, Standing::Proven),
    (400, "BadExpirationDate", Class::OurBug, Standing::Proven),
    (400, "BadMessageId", Class::OurBug, Standing::Proven),
    (400, "BadPriority", Class::OurBug, Standing::Proven),
    (400, "BadTopic", Class::OurBug, Standing::Proven),
    (400, "DeviceTokenNotForTopic", Class::Permanent, Standing::Proven),
    (400, "DuplicateHeaders", Class::OurBug, Standing::Proven),
    (400, "IdleTimeout", Class::NotNow, Standing::Spent),
    (400, "InvalidPushType", Class::OurBug, Standing::Proven),
    (400, "MissingDeviceToken", Class::OurBug, Standing::Proven),
    (400, "MissingTopic", Class::OurBug, Standing::Proven),
    (400, "PayloadEmpty", Class::OurBug, Standing::Proven),
    (400, "TopicDisallowed", Class::Permanent, Standing::Proven),
    (403, "BadCertificate", Class::Hold, Standing::Open),
    (403, "BadCertificateEnvironment", Class::Hold, Standing::Open),
    (403, "BadEnvironmentKeyIdInToken", Class::Hold, Standing::Open),
    (403, "ExpiredProviderToken", Class::NotNow, Standing::Open),
    (403, "Forbidden", Class::Hold, Standing::Open),
    (403, "InvalidProviderToken", Class::Hold, Standing::Open),
    (403, "MissingProviderToken", Class::Hold, Standing::Open),
    (403, "UnrelatedKeyIdInToken", Class::NotNow, Standing::Spent),
    (404, "BadPath", Class::OurBug, Standing::Open),
    (405, "MethodNotAllowed", Class::OurBug, Standing::Open),
    (410, "ExpiredToken", Class::TokenDead, Standing::Proven),
    (410, "Unregistered", Class::TokenDead, Standing::Proven),
    (413, "PayloadTooLarge", Class::Permanent, Standing::Proven),
    (429, "TooManyProviderTokenUpdates", Class::NotNow, Standing::Open),
    (429, "TooManyRequests", Class::NotNow, Standing::Open),
    (500, "InternalServerError", Class::Ambiguous, Standing::Open),
    (503, "ServiceUnavailable", Class::NotNow, Standing::Open),
    (503, "Shutdown", Class::NotNow, Standing::Spent),
];

#[test]
fn every_documented_answer() {
    for (status, reason, class, connection) in DOCUMENTED {
        let answered = refused(status, reason);
        let token = reason == "ExpiredProviderToken";
        assert_eq!(
            (sorted(&answered), standing(&answered)),
            ((class, reason.to_owned(), token), connection),
            "{reason}"
        );
        assert!(look_up(ANSWERS, status, Some(reason)).unwrap().reasons.contains(&reason), "{reason} has no row");
    }
    let named: usize = ANSWERS.iter().map(|row| row.reasons.len()).sum();
    assert_eq!(named, DOCUMENTED.len(), "a row names a reason that Apple does not document with it");
}

#[test]
fn what_is_not_documented_goes_by_its_status() {
    let cases = [
        (302, Class::Ambiguous),
        (400, Class::OurBug),
        (401, Class::NotNow),
        (403, Class::Hold),
        (404, Class::OurBug),
        (405, Class::OurBug),
        (408, Class::NotNow),
        (410, Class::TokenDead),
        (413, Class::Permanent),
        (418, Class::NotNow),
        (429, Class::NotNow),
        (499, Class::Ambiguous),
        (500, Class::Ambiguous),
        (501, Class::Ambiguous),
        (502, Class::Ambiguous),
        (503, Class::NotNow),
        (504, Class::Ambiguous),
        (599, Class::Ambiguous),
        (600, Class::Ambiguous),
    ];
    for (status, class) in cases {
        for body in [Some(""), Some("<html>"), Some("[]"), Some("{\"reason\":7}"), Some("{\"reason\":\"<b>\"}")] {
            assert_eq!(sorted(&answered(status, body)), (class, format!("HTTP_{status}"), false), "{status} {body:?}");
        }
        assert_eq!(sorted(&refused(status, "SomethingNew")), (class, "SomethingNew".to_owned(), false), "{status}");
    }
}

/// Which of the documented refusals it was nobody knows, so it ends no device, holds no project and says nothing of the
/// credentials; what is not told apart by a body stays what it is.
#[test]
fn a_refusal_whose_body_was_lost_is_asked_again() {
    for status in [400, 401, 403, 404, 405, 408, 410, 413, 418, 429, 498] {
        let mut answered = answered(status, None);
        answered.headers.insert(RETRY_AFTER, HeaderValue::from_static("7"));
        assert_eq!(sorted(&answered), (Class::NotNow, format!("HTTP_{status}"), false), "{status}");
        let heard = read(&answered, ID, true, 0, &[]);
        assert_eq!((heard.credentials, heard.dead_since_ms), (Credentials::Unknown, None), "{status}");
        assert_eq!((heard.answer.asked_ms(), standing(&answered)), (Some(7_000), Standing::Spent), "{status}");
        let detail = format!("APNs answered {status} and the rest of its answer was lost");
        assert_eq!(heard.answer.reason().unwrap().detail, detail);
    }
    for (status, class) in
        [(302, Class::Ambiguous), (499, Class::Ambiguous), (500, Class::Ambiguous), (503, Class::NotNow)]
    {
        let answered = answered(status, None);
        assert_eq!((sorted(&answered).0, standing(&answered)), (class, Standing::Spent), "{status}");
    }
}

#[test]
fn a_success_status_is_the_acceptance() {
    let mut answered = answered(200, None);
    assert_eq!(read(&answered, ID, false, 0, &[]).answer, Answer::Accepted { provider_id: ID.to_owned() });
    answered.headers.insert("apns-id", HeaderValue::from_static("other"));
    assert_eq!(read(&answered, ID, false, 0, &[]).answer, Answer::Accepted { provider_id: "other".to_owned() });
    assert_eq!(standing(&answered), Standing::Proven);
}

#[test]
fn what_is_asked_for_counts() {
    for (status, reason) in [(503, "ServiceUnavailable"), (429, "TooManyRequests"), (500, "InternalServerError")] {
        let mut answered = refused(status, reason);
        answered.headers.insert(RETRY_AFTER, HeaderValue::from_static("7"));
        assert_eq!(read(&answered, ID, false, 0, &[]).answer.asked_ms(), Some(7_000));
    }
}

/// What is wrong with one member of the body takes nothing from the other.
#[test]
fn a_reason_counts_whatever_its_timestamp_is() {
    for timestamp in [json!(1.5e12), json!("1508249865488"), json!(-1), json!(0), json!(null), json!([])] {
        let body = json!({"reason": "BadDeviceToken", "timestamp": timestamp}).to_string();
        let heard = read(&answered(400, Some(&body)), ID, false, 0, &[]);
        assert_eq!((heard.class, heard.dead_since_ms), (Class::TokenDead, None), "{body}");
    }
    let heard = read(&answered(410, Some(&json!({"reason": 5, "timestamp": 7}).to_string())), ID, false, 0, &[]);
    assert_eq!((heard.class, heard.dead_since_ms), (Class::TokenDead, Some(7)));
}

#[test]
fn a_timestamp_is_kept_and_a_token_is_not() {
    let body = json!({"reason": "Unregistered", "timestamp": 1_508_249_865_488_u64}).to_string();
    let heard = read(&answered(410, Some(&body)), ID, false, 0, &[]);
    assert_eq!((heard.class, heard.dead_since_ms), (Class::TokenDead, Some(1_508_249_865_488)));
    let answer = heard.answer;
    let detail = "APNs answered 410 Unregistered; so since 2017-10-17T14:17:45.488Z";
    assert_eq!(answer.reason().unwrap().detail, detail);
    let echoed = refused(400, "bad c0ffeec0ffeec0ffee");
    assert_eq!(
        read(&echoed, ID, false, 0, &["c0ffeec0ffeec0ffee"]).answer.reason().unwrap().detail,
        "APNs answered 400 bad …"
    );
}

#[test]
fn a_provider_token_is_renewed_once_before_the_credentials_are_held() {
    let expired = refused(403, "ExpiredProviderToken");
    let classes = [false, true].map(|renewed| read(&expired, ID, renewed, 0, &[]).class);
    assert_eq!(classes, [Class::NotNow, Class::Hold]);
}

#[test]
fn what_an_answer_says_of_the_credentials() {
    for (status, reason, class, _) in DOCUMENTED {
        let expected = match class {
            Class::Hold => Credentials::Refused,
            // A path or a method that APNs does not have: nobody looked at the token.
            Class::OurBug if [404, 405].contains(&status) => Credentials::Unknown,
            Class::Permanent | Class::TokenDead | Class::OurBug => Credentials::Taken,
            _ if reason == "TooManyRequests" => Credentials::Taken,
            _ => Credentials::Unknown,
        };
        assert_eq!(read(&refused(status, reason), ID, false, 0, &[]).credentials, expected, "{reason}");
    }
}

/// A proxy answers with the same statuses, and has looked at no credentials and knows no token.
#[test]
fn an_answer_that_is_not_apns_own_counts_for_the_message_alone() {
    for (status, class) in [(400, Class::OurBug), (410, Class::TokenDead), (413, Class::Permanent)] {
        for body in ["", "<html>gone</html>", "[]", "{\"message\":\"gone\"}", "{\"reason\":\"two words\"}"] {
            let foreign = answered(status, Some(body));
            let heard = read(&foreign, ID, false, 0, &[]);
            assert_eq!((heard.class, heard.own, heard.is_token_dead()), (class, false, false), "{status} {body}");
            assert_eq!((heard.credentials, standing(&foreign)), (Credentials::Unknown, Standing::Open), "{body}");
        }
        // A reason that Apple has added since is Apple's all the same.
        let own = refused(status, "SomethingNew");
        let heard = read(&own, ID, false, 0, &[]);
        assert_eq!((heard.class, heard.is_token_dead()), (class, class == Class::TokenDead), "{status}");
        assert_eq!((heard.credentials, standing(&own)), (Credentials::Taken, Standing::Proven), "{status}");
    }
}

#[test]
fn what_is_no_answer_of_apns_is_kept_as_it_came_masked_and_cut() {
    let page = format!("<html>no c0ffeec0ffeec0ffee {}", "x".repeat(500));
    let reason =
        read(&answered(502, Some(&page)), ID, false, 0, &["c0ffeec0ffeec0ffee"]).answer.reason().unwrap().clone();
    assert!(reason.detail.starts_with("APNs answered 502 <html>no … xxx"), "{}", reason.detail);
    assert_eq!((reason.code.as_str(), reason.detail.chars().count()), ("HTTP_502", 200));
}
