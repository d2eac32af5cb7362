//! APNs: iOS devices, one at a time.

use crate::world::{TIMING, World, answer, code, content, world};
use protocol::{
    answer::Answer,
    content::{Device, Platform, Token},
};
use push::{NotPrepared, Outgoing, Prepared, apns};
use sandbox::Outcome;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

pub(crate) const TOKEN: &str = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0";

pub(crate) fn ios(token: &str) -> Device {
    Device { platform: Platform::Ios, token: Token(token.to_owned()) }
}

pub(crate) async fn send_to(prepared: &Prepared, token: &str) -> Answer {
    let content = content();
    prepared.send(&ios(token), &Outgoing::new("msg_1", &content, u64::MAX)).await.answer
}

impl World {
    pub(crate) async fn ready(&self) -> Prepared {
        self.push.prepare("acme", &[ios(TOKEN)]).await.unwrap()
    }

    async fn plays(&self, outcome: Outcome) -> Answer {
        self.sandbox.script(TOKEN, vec![outcome]).unwrap();
        send_to(&self.ready().await, TOKEN).await
    }

    /// Stores acme's signing key, changed, for another project, and prepares that one.
    async fn prepare_changed(&self, change: impl FnOnce(&mut Value)) -> Result<Prepared, NotPrepared> {
        let mut secret = self.secret("sendonce/acme/apns").await;
        change(&mut secret);
        let create = self.secrets.create_secret().name("sendonce/other/apns").secret_string(secret.to_string());
        create.send().await.unwrap();
        self.push.prepare("other", &[ios(TOKEN)]).await
    }
}

#[tokio::test]
async fn accepted_with_apples_headers() {
    let world = world().await;
    let answer = world.plays(Outcome::Accept).await;
    let ledger = world.sandbox.ledger(Some(TOKEN));
    assert_eq!(ledger.len(), 1, "{ledger:?}");
    let entry = &ledger[0];
    assert_eq!(answer, Answer::Accepted { provider_id: entry.id.clone().unwrap() });
    assert_eq!((entry.provider, entry.accepted, entry.status), ("apns", true, Some(200)));
    assert_eq!(entry.collapse_id.as_deref(), Some("msg_1"));
    assert_eq!(entry.payload["message_id"], "msg_1");
    let shown = |name: &str| entry.headers[name].as_str();
    assert_eq!(shown("apns-topic"), "com.example.acme");
    assert_eq!((shown("apns-push-type"), shown("apns-priority")), ("alert", "10"));
    assert_eq!(shown("authorization"), "(not shown)");
    let days: u64 = shown("apns-expiration").parse::<u64>().unwrap() - world.clock.now_ms() / 1_000;
    assert!((29 * 86_400..=30 * 86_400).contains(&days));
}

#[tokio::test]
async fn a_message_goes_to_the_app_it_names_and_to_no_app_that_the_credentials_do_not_list() {
    let world = world().await;
    let prepared = world.ready().await;
    let mut content = content();
    let mut answers = Vec::new();
    for app in ["com.example.acme.beta", "com.example.gone"] {
        content.app = Some(app.to_owned());
        let outgoing = Outgoing::new("msg_1", &content, u64::MAX);
        answers.push(prepared.send(&ios(TOKEN), &outgoing).await.answer);
    }
    assert!(matches!(answers[0], Answer::Accepted { .. }), "{answers:?}");
    // The credentials lag behind: they may list it soon.
    assert!(matches!(answers[1], Answer::NotCalled(_)), "{answers:?}");
    assert_eq!(code(&answers[1]), "app_not_in_credentials");
    let ledger = world.sandbox.ledger(Some(TOKEN));
    assert_eq!(ledger.len(), 1, "nobody is called for an app that is not there: {ledger:?}");
    assert_eq!(ledger[0].headers["apns-topic"], "com.example.acme.beta");
    assert_eq!(ledger[0].payload.get("app"), None);
}

#[tokio::test]
async fn a_repeat_has_the_same_id_and_another_device_has_not() {
    let world = world().await;
    let prepared = world.ready().await;
    let ids: Vec<Answer> =
        [send_to(&prepared, TOKEN).await, send_to(&prepared, TOKEN).await, send_to(&prepared, "c0ff").await].into();
    assert!(ids[0] == ids[1] && ids[0] != ids[2], "{ids:?}");
}

#[tokio::test]
async fn a_silent_push_is_taken_as_background() {
    let world = world().await;
    let mut content = content();
    content.notification = None;
    let outgoing = Outgoing::new("msg_1", &content, 0);
    let answer = world.ready().await.send(&ios(TOKEN), &outgoing).await.answer;
    assert!(matches!(answer, Answer::Accepted { .. }), "{answer:?}");
    let entry = &world.sandbox.ledger(None)[0];
    assert_eq!(
        (entry.headers["apns-push-type"].as_str(), entry.headers["apns-expiration"].as_str()),
        ("background", "0")
    );
}

#[tokio::test]
async fn what_was_not_processed_is_told_from_what_may_have_been() {
    let world = world().await;
    let cases = [
        (Outcome::DropAfterAccept, true, "lost", "connection_lost"),
        (Outcome::HangAfterAccept, true, "lost", "timeout"),
        (Outcome::Hang, false, "lost", "timeout"),
        (Outcome::Reset, false, "lost", "connection_lost"),
        (Outcome::GoawayAfterAccept, true, "lost", "connection_lost"),
        (Outcome::Goaway, false, "not sent", "not_processed"),
        (Outcome::RefusedStream, false, "not sent", "not_processed"),
    ];
    // On a fresh connection, and on one that is proven.
    for warm in [false, true] {
        for (outcome, accepted, kind, why) in cases.clone() {
            if warm {
                world.plays(Outcome::Accept).await;
            }
            world.sandbox.clear_ledger();
            let started = Instant::now();
            let answer = world.plays(outcome.clone()).await;
            let found = match &answer {
                Answer::Lost(_) => "lost",
                Answer::NotSent(_) => "not sent",
                _ => "something else",
            };
            assert_eq!((found, code(&answer)), (kind, why), "{outcome:?} {warm}");
            assert_eq!(why == "timeout", started.elapsed() >= Duration::from_millis(TIMING.call), "{outcome:?}");
            let ledger = world.sandbox.ledger(None);
            assert_eq!(ledger.len(), 1, "one call, never repeated: {outcome:?}");
            assert_eq!((ledger[0].accepted, ledger[0].answered, ledger[0].status), (accepted, false, None));
            let next = world.plays(Outcome::Accept).await;
            assert!(matches!(next, Answer::Accepted { .. }), "the next call is not affected: {outcome:?} {next:?}");
        }
    }
}

#[tokio::test]
async fn refusals() {
    let world = world().await;
    let cases = [
        (answer(400, Some("BadDeviceToken"), None), "permanent", "BadDeviceToken", None),
        (answer(410, Some("Unregistered"), None), "permanent", "Unregistered", None),
        (answer(429, Some("TooManyRequests"), Some(7)), "not now", "TooManyRequests", Some(7_000)),
        (answer(429, Some("TooManyProviderTokenUpdates"), None), "not now", "TooManyProviderTokenUpdates", None),
        (answer(403, Some("Forbidden"), None), "not now", "Forbidden", None),
        (answer(503, Some("ServiceUnavailable"), Some(2)), "not now", "ServiceUnavailable", Some(2_000)),
        (answer(503, Some("Shutdown"), None), "not now", "Shutdown", None),
        (answer(500, Some("InternalServerError"), None), "ambiguous", "InternalServerError", None),
        (answer(502, None, None), "ambiguous", "InternalServerError", None),
    ];
    for (outcome, kind, word, wait) in cases {
        let answer = world.plays(outcome).await;
        let found = match &answer {
            Answer::Ambiguous { .. } => "ambiguous",
            Answer::Permanent(_) => "permanent",
            Answer::NotNow { .. } => "not now",
            Answer::Accepted { .. } | Answer::NotSent(_) | Answer::Lost(_) | Answer::NotCalled(_) => "something else",
        };
        assert_eq!((found, code(&answer), answer.asked_ms()), (kind, word, wait));
    }
    assert!(world.sandbox.ledger(None).iter().all(|entry| !entry.accepted && entry.answered));
    assert_eq!(world.sandbox.provider_tokens_seen(), 1, "none of them is a reason to sign a new token");
}

#[tokio::test]
async fn a_closed_port_is_not_sent() {
    let world = world().await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = format!("http://{closed}");
    let prepared = world.prepare_changed(|secret| secret["base_url"] = json!(url)).await.unwrap();
    let answer = send_to(&prepared, TOKEN).await;
    assert!(matches!(answer, Answer::NotSent(_)), "{answer:?}");
    assert_eq!(code(&answer), "connect_failed");
}

#[tokio::test]
async fn missing_and_bad_credentials_are_told_apart() {
    let world = world().await;
    let missing = world.push.prepare("nobody", &[ios(TOKEN)]).await.unwrap_err();
    assert_eq!(missing, NotPrepared::CredentialsMissing { name: "sendonce/nobody/apns".to_owned() });
    let invalid = world.prepare_changed(|secret| secret["key"] = json!("s3cret")).await.unwrap_err();
    let words = "the secret sendonce/other/apns cannot be used: member key must be an EC key on P-256 as PKCS#8 PEM: \
                 it is not PEM";
    assert_eq!(invalid.to_string(), words);
}

#[tokio::test]
async fn one_providers_missing_credentials_do_not_keep_the_others_devices_back() {
    let world = world().await;
    let android = Device { platform: Platform::Android, token: Token("an-fcm-token".to_owned()) };
    let prepared = world.prepare_changed(|_| {}).await.unwrap();
    assert!(matches!(send_to(&prepared, TOKEN).await, Answer::Accepted { .. }));
    // A platform that nobody asked for is not sent to.
    let content = content();
    let outgoing = Outgoing::new("msg_1", &content, 0);
    assert_eq!(code(&prepared.send(&android, &outgoing).await.answer), "not_prepared");
    let both = world.push.prepare("other", &[ios(TOKEN), android.clone()]).await.unwrap();
    assert!(matches!(send_to(&both, TOKEN).await, Answer::Accepted { .. }));
    let refused = both.send(&android, &outgoing).await.answer;
    assert!(matches!(refused, Answer::NotCalled(_)));
    assert_eq!(code(&refused), "credentials_missing");
    assert!(world.push.prepare("other", &[android]).await.is_err());
}

#[tokio::test]
async fn the_measured_limit_is_apples() {
    let world = world().await;
    let prepared = world.ready().await;
    let mut content = content();
    content.data.insert("k".to_owned(), String::new());
    let free = apns::PAYLOAD_MAX_BYTES - apns::payload_size("msg_1", &content);
    for (length, fits) in [(free, true), (free + 1, false)] {
        content.data.insert("k".to_owned(), "x".repeat(length));
        assert_eq!(apns::payload_size("msg_1", &content) <= apns::PAYLOAD_MAX_BYTES, fits);
        let outgoing = Outgoing::new("msg_1", &content, 0);
        let answer = prepared.send(&ios(TOKEN), &outgoing).await.answer;
        assert_eq!(matches!(answer, Answer::Accepted { .. }), fits, "{answer:?}");
        assert!(fits || code(&answer) == "PayloadTooLarge");
    }
}

#[tokio::test]
async fn nothing_secret_is_shown() {
    let world = world().await;
    let prepared = world.ready().await;
    let shown = format!("{:?} {prepared:?} {:?}", world.push, world.sandbox);
    assert!(!shown.contains("PRIVATE") && !shown.contains("eyJ") && !shown.contains(TOKEN), "{shown}");
}
