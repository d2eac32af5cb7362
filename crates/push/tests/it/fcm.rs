//! FCM: Android devices and browsers.

use crate::world::{TIMING, World, answer, code, content, world, world_with};
use futures_util::future::join_all;
use protocol::{
    answer::Answer,
    content::{Device, Platform, Token},
    timing::Timing,
};
use push::{Class, Credentials, NotPrepared, Outgoing, Prepared, Provider, fcm};
use sandbox::Outcome;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

pub(crate) const TOKEN: &str = "dQw4w9WgXcQ:APA91bHun4MxP5egoKMwt2KZFBaFUH";

impl World {
    async fn key_file(&self) -> Value {
        self.secret("sendonce/acme/fcm").await
    }

    /// Stores acme's key file, changed, for another project, and prepares that one.
    async fn prepare_other(&self, change: impl FnOnce(&mut Value)) -> Result<Prepared, NotPrepared> {
        let mut file = self.key_file().await;
        change(&mut file);
        let create = self.secrets.create_secret().name("sendonce/other/fcm").secret_string(file.to_string());
        create.send().await.unwrap();
        self.push.prepare("other", &[android()]).await
    }

    async fn prepare(&self) -> Prepared {
        self.push.prepare("acme", &[android()]).await.unwrap()
    }

    async fn send(&self, outcome: Outcome) -> Answer {
        self.sandbox.script(TOKEN, vec![outcome]).unwrap();
        send(&self.prepare().await).await
    }
}

pub(crate) fn android() -> Device {
    Device { platform: Platform::Android, token: Token(TOKEN.to_owned()) }
}

async fn send(prepared: &Prepared) -> Answer {
    let content = content();
    prepared.send(&android(), &Outgoing::new("msg_1", &content, u64::MAX)).await.answer
}

#[tokio::test]
async fn accepted_with_the_providers_own_id() {
    let world = world().await;
    let answer = world.send(Outcome::Accept).await;
    let ledger = world.sandbox.ledger(Some(TOKEN));
    assert_eq!(ledger.len(), 1);
    assert_eq!(answer, Answer::Accepted { provider_id: ledger[0].id.clone().unwrap() });
    assert_eq!(ledger[0].collapse_id.as_deref(), Some("msg_1"));
    assert_eq!(ledger[0].payload["message"]["data"]["message_id"], "msg_1");
}

#[tokio::test]
async fn a_second_use_reuses_the_connection_and_the_token() {
    let world = world().await;
    world.send(Outcome::Accept).await;
    let connections = world.sandbox.connections();
    world.send(Outcome::Accept).await;
    assert_eq!((world.sandbox.connections(), world.sandbox.tokens_issued()), (connections, 1));
}

#[tokio::test]
async fn those_who_prepare_at_once_share_one_token() {
    let world = world().await;
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let push = world.push.clone();
            tokio::spawn(async move { send(&push.prepare("acme", &[android()]).await.unwrap()).await })
        })
        .collect();
    for task in tasks {
        assert!(matches!(task.await.unwrap(), Answer::Accepted { .. }));
    }
    assert_eq!(world.sandbox.tokens_issued(), 1);
}

/// Every script word, seen by the product's own client; on a fresh connection, and on one that was used before.
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
    for warm in [false, true] {
        for (outcome, accepted, kind, why) in cases.clone() {
            if warm {
                assert!(matches!(world.send(Outcome::Accept).await, Answer::Accepted { .. }));
            }
            world.sandbox.clear_ledger();
            let started = Instant::now();
            let answer = world.send(outcome.clone()).await;
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
            let next = world.send(Outcome::Accept).await;
            assert!(matches!(next, Answer::Accepted { .. }), "the next call is not affected: {outcome:?} {next:?}");
        }
    }
}

fn devices(count: usize) -> Vec<Device> {
    let token = |number: usize| Token(format!("{TOKEN}-{number}"));
    (0..count).map(|number| Device { platform: Platform::Android, token: token(number) }).collect()
}

/// Sends to all devices at once.
async fn all(prepared: &Prepared, devices: &[Device]) -> Vec<Answer> {
    let content = content();
    let outgoing = Outgoing::new("msg_1", &content, u64::MAX);
    join_all(devices.iter().map(async |device| prepared.send(device, &outgoing).await.answer)).await
}

fn accepted(answers: &[Answer]) -> usize {
    answers.iter().filter(|answer| matches!(answer, Answer::Accepted { .. })).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cold_start_opens_one_connection_and_no_stream_too_many() {
    let world = world_with(Timing { call: 2_000, ..TIMING }).await;
    world.sandbox.delay_settings(Duration::from_millis(50));
    let prepared = world.prepare().await;
    let before = world.sandbox.connections();
    let devices = devices(40);
    let answers = all(&prepared, &devices).await;
    assert_eq!(accepted(&answers), 40, "{answers:?}");
    assert!(devices.iter().all(|device| world.sandbox.ledger(Some(&device.token.0)).len() == 1));
    assert_eq!((world.sandbox.connections() - before, world.sandbox.streams_refused()), (1, 0));
}

/// On a cold connection the first call goes alone; what ends it tells nothing of those that waited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ends_a_cold_connection_is_the_first_call_s_alone() {
    for outcome in [Outcome::Goaway, Outcome::GoawayAfterAccept, Outcome::DropAfterAccept, Outcome::Reset] {
        let world = world_with(Timing { call: 2_000, ..TIMING }).await;
        // Nobody else can have a stream before the first call is answered.
        world.sandbox.delay_settings(Duration::from_millis(50));
        let prepared = world.prepare().await;
        let devices = devices(20);
        for device in &devices {
            world.sandbox.script(&device.token.0, vec![outcome.clone()]).unwrap();
        }
        let first = async {
            while world.sandbox.ledger(None).is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // Whoever it was; for the others nothing happens.
            for device in &devices {
                world.sandbox.script(&device.token.0, Vec::new()).unwrap();
            }
        };
        let (answers, ()) = tokio::join!(all(&prepared, &devices), first);
        for (device, answer) in devices.iter().zip(&answers) {
            let calls = world.sandbox.ledger(Some(&device.token.0)).len();
            assert!(calls <= 1, "{outcome:?}: {calls} calls");
            assert!(calls == 1 || matches!(answer, Answer::NotSent(_)), "{outcome:?}: no call, and told {answer:?}");
        }
    }
}

/// The first call hangs, or ends the connection, while 19 others share it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_to_one_call_is_told_truly_of_those_beside_it() {
    for outcome in [Outcome::Hang, Outcome::Reset, Outcome::RefusedStream, Outcome::Goaway, Outcome::DropAfterAccept] {
        let world = world_with(Timing { call: 2_000, ..TIMING }).await;
        let prepared = world.prepare().await;
        let devices = devices(20);
        world.sandbox.script(&devices[7].token.0, vec![outcome.clone()]).unwrap();
        let answers = all(&prepared, &devices).await;
        for (device, answer) in devices.iter().zip(&answers) {
            let calls = world.sandbox.ledger(Some(&device.token.0));
            assert!(calls.len() <= 1, "nothing is repeated: {outcome:?} {calls:?}");
            let got = calls.iter().any(|call| call.accepted);
            match answer {
                Answer::Accepted { .. } => assert!(got, "{outcome:?}"),
                Answer::NotSent(_) => assert!(!got, "{outcome:?} {answer:?}"),
                Answer::Lost(_) => {}
                other => panic!("{outcome:?}: {other:?}"),
            }
        }
        if matches!(outcome, Outcome::Hang | Outcome::Reset | Outcome::RefusedStream) {
            assert_eq!(accepted(&answers), 19, "a stream's end is its own: {outcome:?} {answers:?}");
        }
        let again = all(&prepared, &devices).await;
        assert_eq!(accepted(&again), 20, "new calls get a connection that works: {outcome:?} {again:?}");
    }
}

#[tokio::test]
async fn refusals() {
    let world = world().await;
    let cases = [
        (answer(503, None, Some(2)), "ambiguous", "UNAVAILABLE", Some(2_000)),
        (answer(500, Some("INTERNAL"), None), "ambiguous", "INTERNAL", None),
        (answer(404, Some("UNREGISTERED"), None), "permanent", "UNREGISTERED", None),
        (answer(400, Some("INVALID_ARGUMENT"), None), "permanent", "INVALID_ARGUMENT", None),
        (answer(429, Some("QUOTA_EXCEEDED"), Some(7)), "not now", "QUOTA_EXCEEDED", Some(7_000)),
        (answer(429, Some("QUOTA_EXCEEDED"), None), "not now", "QUOTA_EXCEEDED", Some(60_000)),
        (answer(404, None, None), "not now", "NOT_FOUND", None),
    ];
    for (outcome, kind, word, wait) in cases {
        let answer = world.send(outcome).await;
        let found = match &answer {
            Answer::Ambiguous { .. } => "ambiguous",
            Answer::Permanent(_) => "permanent",
            Answer::NotNow { .. } => "not now",
            Answer::Accepted { .. } | Answer::NotSent(_) | Answer::Lost(_) | Answer::NotCalled(_) => "something else",
        };
        assert_eq!((found, code(&answer), answer.asked_ms()), (kind, word, wait));
    }
    assert!(world.sandbox.ledger(None).iter().all(|entry| !entry.accepted && entry.answered));
}

#[tokio::test]
async fn a_closed_port_is_not_sent() {
    let world = world().await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let prepared = world.prepare_other(|file| file["fcm_base_url"] = json!(format!("http://{closed}"))).await.unwrap();
    let answer = send(&prepared).await;
    assert!(matches!(answer, Answer::NotSent(_)), "{answer:?}");
    assert_eq!(code(&answer), "connect_failed");
}

/// A probe is one call: spent on an access token that has aged it would find out nothing of the credentials.
#[tokio::test]
async fn credentials_that_are_tried_anew_have_a_fresh_token_whose_refusal_counts_at_once() {
    let world = world().await;
    let refusal = || answer(401, None, None);
    let heard = async || {
        let content = content();
        world.prepare().await.send(&android(), &Outgoing::new("msg_1", &content, u64::MAX)).await
    };
    world.prepare().await;
    world.push.try_anew("acme", Provider::Fcm);
    world.sandbox.script(TOKEN, vec![refusal(), Outcome::Accept, refusal()]).unwrap();
    let refused = heard().await;
    assert_eq!((refused.class, refused.credentials), (Class::Hold, Credentials::Refused));
    assert_eq!(world.sandbox.tokens_issued(), 2);
    assert_eq!(heard().await.class, Class::Accepted);
    assert_eq!(world.sandbox.tokens_issued(), 3, "the refused one is replaced");
    assert_eq!(heard().await.class, Class::NotNow, "one that was taken may have aged again");
    // A process that knew nothing so far: its first token is fresh too.
    let push = world.instance();
    push.try_anew("acme", Provider::Fcm);
    let prepared = push.prepare("acme", &[android()]).await.unwrap();
    let content = content();
    world.sandbox.script(TOKEN, vec![refusal()]).unwrap();
    let heard = prepared.send(&android(), &Outgoing::new("msg_1", &content, u64::MAX)).await;
    assert_eq!(heard.class, Class::Hold);
}

#[tokio::test]
async fn a_token_is_used_until_shortly_before_its_end() {
    let world = world().await;
    world.prepare().await;
    world.clock.advance(Duration::from_secs(3_600 - 120 - 5));
    world.prepare().await;
    assert_eq!(world.sandbox.tokens_issued(), 1);
    world.clock.advance(Duration::from_secs(5));
    assert!(matches!(send(&world.prepare().await).await, Answer::Accepted { .. }));
    assert_eq!(world.sandbox.tokens_issued(), 2);
}

#[tokio::test]
async fn a_refused_token_is_not_used_again() {
    let world = world().await;
    let prepared = world.prepare().await;
    // The provider forgets the token; whoever still holds it is refused, and the next to prepare gets another.
    world.clock.advance(Duration::from_secs(3_601));
    let refused = send(&prepared).await;
    assert!(matches!(refused, Answer::NotNow { .. }), "{refused:?}");
    assert_eq!(code(&refused), "UNAUTHENTICATED");
    assert!(matches!(world.send(answer(401, None, None)).await, Answer::NotNow { .. }));
    assert!(matches!(world.send(Outcome::Accept).await, Answer::Accepted { .. }));
    assert_eq!(world.sandbox.tokens_issued(), 3);
}

#[tokio::test]
async fn changed_credentials_are_in_use_after_five_minutes() {
    let world = world().await;
    world.prepare().await;
    let put = world.secrets.put_secret_value().secret_id("sendonce/acme/fcm").secret_string("{}");
    put.send().await.unwrap();
    world.clock.advance(Duration::from_secs(299));
    world.prepare().await;
    world.clock.advance(Duration::from_secs(1));
    let error = world.push.prepare("acme", &[android()]).await.unwrap_err();
    assert_eq!(error.to_string(), "the secret sendonce/acme/fcm cannot be used: member project_id is missing");
    let current = world.push.current_version("acme", Provider::Fcm).await.unwrap();
    assert_eq!(error.version(), Some(current.as_str()), "which credentials it is about");
}

#[tokio::test]
async fn reasons_for_not_being_prepared_are_told_apart() {
    let world = world().await;
    let missing = world.push.prepare("nobody", &[android()]).await.unwrap_err();
    assert_eq!(missing, NotPrepared::CredentialsMissing { name: "sendonce/nobody/fcm".to_owned() });
    assert_eq!(missing.version(), Some(""));
    let refused = world.prepare_other(|file| file["client_email"] = json!("gone@example.com")).await.unwrap_err();
    let current = world.push.current_version("other", Provider::Fcm).await.unwrap();
    let expected = NotPrepared::GrantRefused {
        code: "invalid_grant".to_owned(),
        detail: "Invalid grant: account not found".to_owned(),
        version: current.into(),
    };
    assert_eq!(refused, expected);
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mut file = world.key_file().await;
    file["token_uri"] = json!(format!("http://{closed}/token"));
    let create = world.secrets.create_secret().name("sendonce/third/fcm").secret_string(file.to_string());
    create.send().await.unwrap();
    let unreachable = world.push.prepare("third", &[android()]).await.unwrap_err();
    assert_eq!(unreachable.code(), "token_unavailable");
    assert!(world.sandbox.ledger(None).is_empty());
}

#[tokio::test]
async fn a_token_endpoint_that_says_nothing_costs_the_limit_and_no_more() {
    let world = world().await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/token", silent.local_addr().unwrap());
    let started = Instant::now();
    let error = world.prepare_other(|file| file["token_uri"] = json!(url)).await.unwrap_err();
    assert!(["token_timeout", "token_unavailable"].contains(&error.code()), "{error}");
    assert!(started.elapsed() < Duration::from_millis(TIMING.token + 1_000));
}

#[tokio::test]
async fn the_measured_limit_is_the_providers() {
    let world = world().await;
    let prepared = world.prepare().await;
    for platform in [Platform::Android, Platform::Web] {
        let mut content = content();
        let free = fcm::PAYLOAD_MAX_BYTES - fcm::payload_size(platform, "msg_1", &content) - "k".len();
        for (length, fits) in [(free, true), (free + 1, false)] {
            content.data.insert("k".to_owned(), "x".repeat(length));
            assert_eq!(fcm::payload_size(platform, "msg_1", &content) <= fcm::PAYLOAD_MAX_BYTES, fits);
            let outgoing = Outgoing::new("msg_1", &content, 0);
            let answer = prepared.send(&Device { platform, ..android() }, &outgoing).await.answer;
            assert_eq!(matches!(answer, Answer::Accepted { .. }), fits, "{answer:?}");
            assert!(fits || matches!(answer, Answer::Permanent(_)));
        }
    }
}

#[tokio::test]
async fn nothing_secret_is_shown() {
    let world = world().await;
    let prepared = world.prepare().await;
    let shown = format!("{:?} {prepared:?} {:?}", world.push, world.sandbox);
    assert!(!shown.contains("PRIVATE") && !shown.contains("ya29") && !shown.contains(TOKEN), "{shown}");
}
