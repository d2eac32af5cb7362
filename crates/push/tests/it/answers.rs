//! Every documented answer of both providers, played by the sandbox and heard by the real client.
//!
//! The lists are written from the providers' pages, not from the tables: an answer whose row is removed or changed is
//! heard as something else here, and an answer that a table names and no list has is found too.

use crate::{
    apns::{TOKEN as IOS, ios},
    fcm::{TOKEN as ANDROID, android},
    world::{World, content, world},
};
use protocol::{answer::Answer, content::Device};
use push::{
    Class, Heard, Outgoing,
    answers::{Also, Row, look_up},
    apns, fcm,
};
use sandbox::Outcome;
use std::collections::BTreeSet;

/// Status, reason, what it means, and what else is to be done.
type Documented = (u16, Option<&'static str>, Class, Also);

const fn just(status: u16, reason: &'static str, class: Class) -> Documented {
    (status, Some(reason), class, Also::Nothing)
}

/// Apple, "Handling notification responses from APNs"; 502 and 504 come from what stands before APNs.
const APNS: [Documented; 37] = [
    just(400, "BadCollapseId", Class::OurBug),
    just(400, "BadDeviceToken", Class::TokenDead),
    just(400, "BadExpirationDate", Class::OurBug),
    just(400, "BadMessageId", Class::OurBug),
    just(400, "BadPriority", Class::OurBug),
    just(400, "BadTopic", Class::OurBug),
    just(400, "DeviceTokenNotForTopic", Class::Permanent),
    just(400, "DuplicateHeaders", Class::OurBug),
    (400, Some("IdleTimeout"), Class::NotNow, Also::Reconnect),
    just(400, "InvalidPushType", Class::OurBug),
    just(400, "MissingDeviceToken", Class::OurBug),
    just(400, "MissingTopic", Class::OurBug),
    just(400, "PayloadEmpty", Class::OurBug),
    just(400, "TopicDisallowed", Class::Permanent),
    just(400, "SomethingNew", Class::OurBug),
    just(403, "BadCertificate", Class::Hold),
    just(403, "BadCertificateEnvironment", Class::Hold),
    just(403, "BadEnvironmentKeyIdInToken", Class::Hold),
    (403, Some("ExpiredProviderToken"), Class::Hold, Also::RenewToken),
    just(403, "Forbidden", Class::Hold),
    just(403, "InvalidProviderToken", Class::Hold),
    just(403, "MissingProviderToken", Class::Hold),
    (403, Some("UnrelatedKeyIdInToken"), Class::NotNow, Also::Reconnect),
    just(403, "SomethingNew", Class::Hold),
    just(404, "BadPath", Class::OurBug),
    just(405, "MethodNotAllowed", Class::OurBug),
    just(410, "ExpiredToken", Class::TokenDead),
    just(410, "Unregistered", Class::TokenDead),
    just(413, "PayloadTooLarge", Class::Permanent),
    just(429, "TooManyProviderTokenUpdates", Class::NotNow),
    just(429, "TooManyRequests", Class::NotNow),
    just(418, "SomethingNew", Class::NotNow),
    just(500, "InternalServerError", Class::Ambiguous),
    just(502, "SomethingNew", Class::Ambiguous),
    just(504, "SomethingNew", Class::Ambiguous),
    just(503, "ServiceUnavailable", Class::NotNow),
    (503, Some("Shutdown"), Class::NotNow, Also::Reconnect),
];

const WAIT: Also = Also::WaitMs(60_000);
const TOKEN_FAULT: &str = "INVALID_ARGUMENT (message.token)";
const OTHER_CODE: &str = "any other FcmError";
/// The sandbox makes an FcmError of what is no google.rpc code.
const NEW_CODE: &str = "INSTALLATION_RETIRED";

/// FCM v1 reference, `ErrorCode`; "FCM error codes"; "Best practices when sending at scale"; google.rpc codes where there
/// is no FcmError.
const FCM: [Documented; 20] = [
    just(400, "INVALID_ARGUMENT", Class::Permanent),
    just(400, TOKEN_FAULT, Class::TokenDead),
    (400, None, Class::OurBug, Also::Nothing),
    (401, None, Class::Hold, Also::RenewToken),
    just(401, "THIRD_PARTY_AUTH_ERROR", Class::Hold),
    just(403, "SENDER_ID_MISMATCH", Class::Permanent),
    // A code that was added since: about a device or a message all the same.
    just(403, OTHER_CODE, Class::Permanent),
    just(404, OTHER_CODE, Class::Permanent),
    (403, None, Class::Hold, Also::Nothing),
    just(404, "UNREGISTERED", Class::TokenDead),
    (404, None, Class::Hold, Also::Nothing),
    (413, None, Class::Permanent, Also::Nothing),
    (418, None, Class::NotNow, Also::Nothing),
    (429, None, Class::NotNow, WAIT),
    (429, Some("QUOTA_EXCEEDED"), Class::NotNow, WAIT),
    just(500, "INTERNAL", Class::Ambiguous),
    (502, None, Class::Ambiguous, Also::Nothing),
    just(503, "UNAVAILABLE", Class::Ambiguous),
    // A code under a status that is not its own.
    just(409, "INTERNAL", Class::Ambiguous),
    (504, None, Class::Ambiguous, Also::Nothing),
];

/// As the sandbox plays it.
fn outcome(status: u16, reason: Option<&str>) -> Outcome {
    match reason {
        Some(TOKEN_FAULT) => Outcome::AnswerAbout {
            status,
            reason: Some("INVALID_ARGUMENT".to_owned()),
            field: Some("message.token".to_owned()),
            retry_after_date: None,
        },
        Some(OTHER_CODE) => outcome(status, Some(NEW_CODE)),
        reason => Outcome::Answer { status, reason: reason.map(str::to_owned), retry_after: None, timestamp: None },
    }
}

impl World {
    async fn hears(&self, device: &Device, outcome: Outcome) -> Heard {
        self.sandbox.script(&device.token.0, vec![outcome]).unwrap();
        let prepared = self.push.prepare("acme", std::slice::from_ref(device)).await.unwrap();
        let content = content();
        prepared.send(device, &Outgoing::new("msg_1", &content, u64::MAX)).await
    }

    /// Plays them, and demands that each is heard as it is documented, in all that a row of the table decides: what it
    /// means, whether a new token is got first, how long is waited, and whether the connection is given up.
    async fn plays_all(&self, device: &Device, documented: &[Documented], rows: &[Row]) {
        let mut played = BTreeSet::new();
        assert_eq!(self.hears(device, Outcome::Accept).await.class, Class::Accepted, "a connection to begin with");
        for (status, reason, class, also) in documented {
            let what = format!("{status} {reason:?}");
            played.extend(rows.iter().position(|row| Some(row) == look_up(rows, *status, *reason)));
            let connections = self.sandbox.connections();
            let heard = self.hears(device, outcome(*status, *reason)).await;
            if *also == Also::RenewToken {
                assert_eq!(heard.class, Class::NotNow, "{what}: a new token first");
                assert_eq!(self.hears(device, outcome(*status, *reason)).await.class, *class, "{what}: that one too");
            } else {
                assert_eq!(heard.class, *class, "{what}");
            }
            let expected = match class {
                Class::Permanent | Class::TokenDead | Class::OurBug => "permanent",
                Class::NotNow | Class::Hold => "not now",
                _ => "ambiguous",
            };
            let told = match &heard.answer {
                Answer::Permanent(_) => "permanent",
                Answer::NotNow { .. } => "not now",
                Answer::Ambiguous { .. } => "ambiguous",
                Answer::Accepted { .. } | Answer::NotSent(_) | Answer::Lost(_) | Answer::NotCalled(_) => {
                    "something else"
                }
            };
            assert_eq!(told, expected, "{what}");
            let wait = if let Also::WaitMs(wait_ms) = also { Some(*wait_ms) } else { None };
            assert_eq!(heard.answer.asked_ms(), wait, "{what}");
            let word = match reason {
                Some(OTHER_CODE) => NEW_CODE,
                reason => reason.map_or("", |reason| reason.split(' ').next().unwrap()),
            };
            let code = &heard.answer.reason().unwrap().code;
            assert!(word.is_empty() || code == word, "{what}: {code}");
            assert_eq!(self.hears(device, Outcome::Accept).await.class, Class::Accepted, "{what}: the next one");
            // Credentials that were refused are read again, which may take a connection of its own.
            if *class != Class::Hold {
                let opened = self.sandbox.connections() - connections;
                assert_eq!(opened, u64::from(*also == Also::Reconnect), "{what}: connections");
            }
        }
        assert!(played.into_iter().eq(0..rows.len()), "a row of the table was not played against the sandbox");
    }
}

/// The list and the table name the same answers, each with the same meaning.
fn agree(documented: &[Documented], rows: &[Row]) {
    for (status, reason, class, also) in documented {
        let row = look_up(rows, *status, *reason).unwrap();
        assert_eq!((row.class, row.also), (*class, *also), "{status} {reason:?}");
    }
    let listed: BTreeSet<&str> = documented.iter().filter_map(|row| row.1).filter(|r| *r != "SomethingNew").collect();
    let named: BTreeSet<&str> = rows.iter().flat_map(|row| row.reasons).copied().collect();
    assert_eq!(listed, named);
}

/// No row can be left out: some documented answer would mean something else, and [`World::plays_all`] would hear it.
fn each_row_counts(documented: &[Documented], rows: &[Row]) {
    for (at, row) in rows.iter().enumerate() {
        let rest = rows.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, row)| row);
        let rest: Vec<&Row> = rest.collect();
        let missed = documented.iter().any(|(status, reason, class, also)| {
            look_up(rest.iter().copied(), *status, *reason).map(|row| (row.class, row.also)) != Some((*class, *also))
        });
        assert!(missed, "without row {at} every documented answer means the same: {row:?}");
    }
}

#[test]
fn the_tables_are_what_the_providers_document() {
    agree(&APNS, apns::ANSWERS);
    agree(&FCM, fcm::ANSWERS);
    each_row_counts(&APNS, apns::ANSWERS);
    each_row_counts(&FCM, fcm::ANSWERS);
}

#[tokio::test]
async fn every_documented_answer_of_apns() {
    world().await.plays_all(&ios(IOS), &APNS, apns::ANSWERS).await;
}

#[tokio::test]
async fn every_documented_answer_of_fcm() {
    world().await.plays_all(&android(), &FCM, fcm::ANSWERS).await;
}

#[tokio::test]
async fn apples_timestamp_goes_with_a_dead_token_and_with_nothing_else() {
    let world = world().await;
    let at = |status, reason: &str| Outcome::Answer {
        status,
        reason: Some(reason.to_owned()),
        retry_after: None,
        timestamp: Some(1_508_249_865_488),
    };
    let dead = world.hears(&ios(IOS), at(410, "Unregistered")).await;
    assert_eq!((dead.class, dead.dead_since_ms), (Class::TokenDead, Some(1_508_249_865_488)));
    let alive = world.hears(&ios(IOS), at(429, "TooManyRequests")).await;
    assert_eq!((alive.class, alive.dead_since_ms), (Class::NotNow, None));
    assert_eq!(world.hears(&ios(IOS), outcome(410, Some("Unregistered"))).await.dead_since_ms, None);
}

#[tokio::test]
async fn retry_after_is_understood_as_seconds_and_as_a_date() {
    let world = world().await;
    for device in [ios(IOS), android()] {
        for (status, reason) in [(429, None), (503, None), (500, None)] {
            let seconds = Outcome::Answer { status, reason, retry_after: Some(100), timestamp: None };
            assert_eq!(world.hears(&device, seconds).await.answer.asked_ms(), Some(100_000), "{status}");
            let date = Outcome::AnswerAbout { status, reason: None, field: None, retry_after_date: Some(100) };
            let asked = world.hears(&device, date).await.answer.asked_ms().unwrap();
            assert!((95_000..=101_000).contains(&asked), "{status}: {asked}");
        }
    }
}

#[tokio::test]
async fn what_the_provider_said_is_kept_without_the_token() {
    let world = world().await;
    let heard = world.hears(&android(), outcome(400, Some(TOKEN_FAULT))).await;
    let reason = heard.answer.reason().unwrap();
    let detail = "FCM answered 400 INVALID_ARGUMENT, message.token: \
                  The registration token is not a valid FCM registration token";
    assert_eq!(reason.detail, detail);
    for heard in [heard.clone(), world.hears(&ios(IOS), outcome(400, Some("BadDeviceToken"))).await] {
        let shown = format!("{heard:?}");
        assert!(!shown.contains(ANDROID) && !shown.contains(IOS), "{shown}");
    }
}
