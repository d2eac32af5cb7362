//! Refused credentials: the project's devices of that provider wait, nobody else does, no attempt is spent, and what was
//! accepted is delivered once they are mended (G4) or expires truthfully (G6). The ledger shows probes and nothing else.

use crate::support::{Consumer, DELIVERIES, TestApp, eventually, push};
use aws_sdk_secretsmanager::Client;
use aws_sdk_sqs::types::Message;
use platform::{AwsTimeouts, aws_config_at};
use protocol::{
    hold::{Hold, Provider},
    timing::Timing,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A system and its secrets.
pub(crate) struct Stage {
    pub(crate) app: TestApp,
    secrets: Client,
}

pub(crate) fn ios(number: usize) -> String {
    format!("c0ffee{number:058x}")
}

/// A push that is worth trying for an hour.
pub(crate) fn to(key: &str, devices: &[(&str, &str)]) -> Value {
    let mut body = push(key, "unused");
    let devices: Vec<Value> =
        devices.iter().map(|(platform, token)| json!({"platform": platform, "token": token})).collect();
    body["to"] = json!(devices);
    body["ttl_seconds"] = json!(3600);
    body
}

impl Stage {
    pub(crate) async fn set() -> Self {
        let app = TestApp::start().await;
        let config = aws_config_at(AwsTimeouts::within(5_000), &app.system.ready().sandbox).await;
        Self { app, secrets: Client::new(&config) }
    }

    pub(crate) async fn secret(&self, project: &str, provider: &str) -> Value {
        let id = format!("sendonce/{project}/{provider}");
        let secret = self.secrets.get_secret_value().secret_id(id).send().await.unwrap();
        serde_json::from_str(secret.secret_string().unwrap()).unwrap()
    }

    pub(crate) async fn put(&self, project: &str, provider: &str, secret: &Value) {
        let id = format!("sendonce/{project}/{provider}");
        self.secrets.put_secret_value().secret_id(id).secret_string(secret.to_string()).send().await.unwrap();
    }

    /// Stores a signing key for acme that is not its team's; gives the good secret back.
    pub(crate) async fn break_apns(&self) -> Value {
        let good = self.secret("acme", "apns").await;
        let mut bad = good.clone();
        bad["key"] = self.secret("globex", "apns").await["key"].clone();
        self.put("acme", "apns", &bad).await;
        good
    }

    pub(crate) async fn hold(&self, provider: Provider) -> Option<Hold> {
        self.app.system.store().hold("acme", provider).await.unwrap().filter(|hold| hold.held)
    }

    /// The message, once it says that it is held.
    async fn held(&self, id: &str) -> Value {
        eventually("it is held", async || {
            let message = self.app.message(id).await;
            (!message["held"].is_null()).then_some(message)
        })
        .await
    }

    /// The message, once it says that it is not.
    async fn lifted(&self, provider: Provider) {
        eventually("the hold is lifted", async || self.hold(provider).await.is_none().then_some(())).await;
    }

    /// All calls to APNs that were refused for the credentials.
    pub(crate) fn refused(&self) -> usize {
        let ledger = self.app.system.sandbox().ledger(None);
        ledger.iter().filter(|entry| entry.provider == "apns" && entry.status == Some(403)).count()
    }
}

fn attempts(message: &Value) -> u64 {
    message["deliveries"][0]["attempts"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_project_s_refused_key_holds_its_ios_devices_and_nothing_else() {
    let stage = Stage::set().await;
    let app = &stage.app;
    let good = stage.break_apns().await;
    let first = app.queued(&to("first", &[("ios", &ios(0))])).await;
    let held = stage.held(&first).await["held"].clone();
    assert_eq!((&held["provider"], &held["reason"]), (&json!("apns"), &json!("InvalidProviderToken")));
    let document =
        app.http.send(&http::Method::GET, &format!("{}/openapi.json", app.system.ready().api), &[], "").await.body;
    crate::contract::fits(&crate::contract::schema(&document, "Message"), &app.message(&first).await);
    assert!(held["since"].as_str().unwrap().ends_with('Z') && held["detail"].as_str().unwrap().contains("403"));

    let mut waiting = Vec::new();
    for number in 1..6 {
        waiting.push(app.queued(&to(&format!("waiting-{number}"), &[("ios", &ios(number))])).await);
    }
    // Another provider of the same project, and the same provider of another project.
    let android = app.queued(&to("android", &[("android", "device-of-the-other-provider")])).await;
    let globex = app.post("globex", &[], to("globex", &[("ios", &ios(77))]).to_string()).await.expect(202).id();
    let sent = app.reaches(&android, "sent").await;
    assert_eq!(sent["held"], Value::Null, "what is final waits for nobody");
    eventually("globex is served", async || {
        let path = format!("/v1/messages/{globex}");
        let message = app.request(&http::Method::GET, &path, "globex", &[], String::new()).await.expect(200).body;
        (message["status"] == "sent" && message["held"].is_null()).then_some(())
    })
    .await;

    // Time for several probes; each is one call.
    for _ in 0..4 {
        app.advance(11);
        let due = stage.hold(Provider::Apns).await.unwrap();
        eventually("somebody probes", async || {
            let hold = stage.hold(Provider::Apns).await.unwrap();
            (hold.version > due.version).then_some(())
        })
        .await;
    }
    app.control(&json!({"deliver": "pause"}));
    eventually("the consumers are done", async || (app.queues.counts(DELIVERIES).await.in_flight == 0).then_some(()))
        .await;
    let probes = usize::from(stage.hold(Provider::Apns).await.unwrap().probes);
    // The clock that is moved ends invocations, so a probe may have come to nothing.
    assert!((2..=1 + probes).contains(&stage.refused()), "{} calls, {probes} probes", stage.refused());
    assert!(probes >= 4);
    let mut calls = 0;
    for id in waiting.iter().chain([&first]) {
        let message = app.message(id).await;
        assert!(["queued", "sending"].contains(&message["status"].as_str().unwrap()));
        assert_eq!(message["held"]["since"], held["since"], "it is one hold all the time");
        calls += attempts(&message);
    }
    assert!(usize::try_from(calls).unwrap() <= 1 + probes, "no attempt but the first and the probes");

    app.control(&json!({"deliver": "resume"}));
    stage.put("acme", "apns", &good).await;
    for id in waiting.iter().chain([&first]) {
        assert_eq!(app.reaches(id, "sent").await["held"], Value::Null);
    }
    assert!(stage.hold(Provider::Apns).await.is_none());
    let stored = app.system.store().hold("acme", Provider::Apns).await.unwrap().unwrap();
    assert!(!stored.held);
    app.drained().await;
    for number in 0..6 {
        assert_eq!(app.calls(&ios(number)).iter().filter(|call| call.accepted).count(), 1);
    }
    stage.app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_held_devices_of_a_mixed_message_wait_and_the_others_do_not() {
    let stage = Stage::set().await;
    let app = &stage.app;
    let good = stage.break_apns().await;
    let first = app.queued(&to("first", &[("ios", &ios(0))])).await;
    stage.held(&first).await;
    let mixed = [("ios", ios(1)), ("android", "device-of-mixed-1".to_owned()), ("web", "device-of-mixed-2".to_owned())];
    let mixed: Vec<(&str, &str)> = mixed.iter().map(|(platform, token)| (*platform, token.as_str())).collect();
    let mut body = to("mixed", &mixed);
    body["delivery"] = json!("at_most_once");
    let id = app.queued(&body).await;
    let message = eventually("the others are reached", async || {
        let message = app.message(&id).await;
        (message["counts"]["sent"] == 2).then_some(message)
    })
    .await;
    assert_eq!((&message["status"], &message["deliveries"][0]["status"]), (&json!("sending"), &json!("sending")));
    assert_eq!((&message["held"]["provider"], attempts(&message)), (&json!("apns"), 0));
    stage.put("acme", "apns", &good).await;
    let sent = app.reaches(&id, "sent").await;
    assert_eq!((&sent["held"], attempts(&sent)), (&Value::Null, 1));
    app.drained().await;
    for token in [ios(1).as_str(), "device-of-mixed-1", "device-of-mixed-2"] {
        assert_eq!(app.calls(token).len(), 1, "{token}");
    }
    stage.app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_whose_deadline_passes_under_a_hold_has_expired() {
    let stage = Stage::set().await;
    let app = &stage.app;
    stage.put("acme", "fcm", &json!({})).await;
    let mut body = to("brief", &[("android", "device-of-brief")]);
    body["ttl_seconds"] = json!(10);
    body["delivery"] = json!("at_most_once");
    let id = app.queued(&body).await;
    assert_eq!(stage.held(&id).await["held"]["reason"], "credentials_invalid");
    app.advance(11);
    let message = app.reaches(&id, "expired").await;
    assert_eq!((attempts(&message), &message["held"]), (0, &Value::Null));
    app.worn_copies_return().await;
    assert!(app.calls("device-of-brief").is_empty());
    stage.app.stop().await;
}

/// What is wrong with a key file is found before the claim; it is mended as soon as another version is stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_that_cannot_be_used_spend_no_attempt() {
    let stage = Stage::set().await;
    let app = &stage.app;
    let good = stage.secret("acme", "fcm").await;
    let mut gone = good.clone();
    gone["client_email"] = json!("gone@example.com");
    for (number, (bad, reason)) in
        [(json!({"project_id": "p"}), "credentials_invalid"), (gone, "credentials_refused")].into_iter().enumerate()
    {
        stage.put("acme", "fcm", &bad).await;
        // What is in memory is good for five minutes.
        app.advance(301);
        let token = format!("device-of-{reason}");
        let id = app.queued(&to(&format!("case-{number}"), &[("android", &token)])).await;
        let held = stage.held(&id).await;
        assert_eq!((&held["held"]["provider"], &held["held"]["reason"]), (&json!("fcm"), &json!(reason)));
        assert!(!held.to_string().contains("PRIVATE"));
        stage.put("acme", "fcm", &good).await;
        let sent = app.reaches(&id, "sent").await;
        assert_eq!((attempts(&sent), app.calls(&token).len()), (1, 1));
        stage.lifted(Provider::Fcm).await;
    }
    stage.app.stop().await;
}

/// The first 401 may only mean that the access token is gone. So may a project's API be switched off for a while: nobody
/// changes the credentials then, and a later probe finds out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fcm_holds_for_a_second_401_and_at_once_for_what_no_new_token_mends() {
    let stage = Stage::set().await;
    let app = &stage.app;
    let cases = [
        (json!([{"status": 401}, "accept"]), "sent", 2, false),
        (json!([{"status": 401}, {"status": 401}, "accept"]), "sent", 3, true),
        (json!([{"status": 403}, "accept"]), "sent", 2, true),
        (json!([{"status": 404}, "accept"]), "sent", 2, true),
        (json!([{"status": 401, "reason": "THIRD_PARTY_AUTH_ERROR"}, "accept"]), "sent", 2, true),
        (json!([{"status": 403, "reason": "SENDER_ID_MISMATCH"}]), "failed", 1, false),
        (json!([{"status": 404, "reason": "UNREGISTERED"}]), "failed", 1, false),
    ];
    for (number, (script, status, calls, holds)) in cases.into_iter().enumerate() {
        let token = format!("device-of-case-{number}");
        app.script(&token, &script).await;
        let before = app.system.store().hold("acme", Provider::Fcm).await.unwrap().map_or(0, |hold| hold.version);
        let id = app.queued(&to(&format!("case-{number}"), &[("android", &token)])).await;
        if holds {
            stage.held(&id).await;
        }
        app.reaches(&id, status).await;
        assert_eq!(app.calls(&token).len(), calls, "{script}");
        stage.lifted(Provider::Fcm).await;
        let after = app.system.store().hold("acme", Provider::Fcm).await.unwrap().map_or(0, |hold| hold.version);
        assert_eq!(after > before, holds, "{script}");
    }
    app.drained().await;
    stage.app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_instances_that_find_a_probe_due_one_probes() {
    let stage = Stage::set().await;
    let app = &stage.app;
    stage.break_apns().await;
    let first = app.queued(&to("first", &[("ios", &ios(0))])).await;
    stage.held(&first).await;
    app.control(&json!({"deliver": "pause", "relay": "pause"}));
    eventually("the consumers are done", async || (app.queues.counts(DELIVERIES).await.in_flight == 0).then_some(()))
        .await;
    for number in 1..=6 {
        app.queued(&to(&format!("more-{number}"), &[("ios", &ios(number))])).await;
    }
    for _ in 0..3 {
        let instances = [Consumer::new(app).await, Consumer::new(app).await, Consumer::new(app).await];
        let before = (stage.refused(), stage.hold(Provider::Apns).await.unwrap());
        app.advance(Timing::SHORT.hold_probe.last().unwrap() / 1_000 + 1);
        let mut copies = Vec::new();
        eventually("enough copies are visible", async || {
            copies.extend(app.queues.take(DELIVERIES, 600).await);
            (copies.len() >= 6).then_some(())
        })
        .await;
        let (a, b, c) = tokio::join!(
            instances[0].handle(&copies[..2]),
            instances[1].handle(&copies[2..4]),
            instances[2].handle(&copies[4..])
        );
        assert!([a, b, c].concat().iter().all(|deleted| *deleted), "each has a successor");
        let hold = stage.hold(Provider::Apns).await.unwrap();
        assert_eq!((stage.refused(), hold.version), (before.0 + 1, before.1.version + 1), "one call, by one of them");
    }
    stage.app.stop().await;
}

/// The copies of the deliveries queue, taken so that nobody else sees them for the length of a story.
pub(crate) async fn taken(app: &TestApp, least: usize) -> Vec<Message> {
    let mut copies = Vec::new();
    eventually("the copies are visible", async || {
        copies.extend(app.queues.take(DELIVERIES, 600).await);
        (copies.len() >= least).then_some(())
    })
    .await;
    copies
}

/// The copy that comes when a probe is due is a mixed message's, and its iOS device was reached long ago: nobody is called
/// for the held provider, so the next copy has the probe, and the hold stands no longer for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_that_meets_nobody_to_call_is_the_next_copy_s() {
    let stage = Stage::set().await;
    let app = &stage.app;
    app.script("device-of-mixed-3", &json!([{"status": 429, "retry_after": 600}])).await;
    let mixed = app.queued(&to("mixed", &[("ios", &ios(1)), ("android", "device-of-mixed-3")])).await;
    app.called("device-of-mixed-3", 1).await;
    app.only_a_successor_waits().await;
    assert_eq!(app.calls(&ios(1)).len(), 1);
    stage.break_apns().await;
    // The good key is in memory for five minutes.
    app.advance(301);
    let first = app.queued(&to("first", &[("ios", &ios(0))])).await;
    stage.held(&first).await;
    // One that waits because of the first; that leaves the next probe to others.
    let second = app.queued(&to("second", &[("ios", &ios(2))])).await;
    stage.held(&second).await;
    app.control(&json!({"deliver": "pause", "relay": "pause"}));
    eventually("the consumers are done", async || (app.queues.counts(DELIVERIES).await.in_flight == 0).then_some(()))
        .await;
    app.advance(301);
    let copies = taken(app, 3).await;
    let of = |id: &str| -> Vec<Message> {
        copies.iter().filter(|copy| copy.body().unwrap().contains(id)).cloned().collect()
    };
    let before = (stage.refused(), stage.hold(Provider::Apns).await.unwrap());
    assert!(before.1.probe_at_ms <= app.system.clock().now_ms(), "a probe is due");
    let now_ms = app.system.clock().now_ms();
    assert_eq!(Consumer::new(app).await.handle(&of(&mixed)).await, [true]);
    assert_eq!(app.message(&mixed).await["status"], "sent");
    let hold = stage.hold(Provider::Apns).await.unwrap();
    assert_eq!((stage.refused(), hold.probes), (before.0, before.1.probes), "nobody was asked");
    assert_eq!(hold.version, before.1.version + 2, "it was the probe, and gave it back");
    assert!((now_ms..=app.system.clock().now_ms()).contains(&hold.probe_at_ms), "the next one need not wait");
    assert_eq!(Consumer::new(app).await.handle(&of(&second)).await, [true]);
    assert_eq!(stage.refused(), before.0 + 1, "and has asked");
    stage.app.stop().await;
}

/// The same where nobody can say whether the credentials are good: no token can be had just now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_that_cannot_be_prepared_is_the_next_copy_s() {
    let stage = Stage::set().await;
    let app = &stage.app;
    let good = stage.secret("acme", "fcm").await;
    stage.put("acme", "fcm", &json!({})).await;
    let first = app.queued(&to("first", &[("android", "device-of-silence")])).await;
    stage.held(&first).await;
    app.control(&json!({"deliver": "pause", "relay": "pause"}));
    eventually("the consumers are done", async || (app.queues.counts(DELIVERIES).await.in_flight == 0).then_some(()))
        .await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mut silent = good.clone();
    silent["token_uri"] = json!(format!("http://{closed}/token"));
    stage.put("acme", "fcm", &silent).await;
    app.advance(11);
    let copies = taken(app, 1).await;
    let before = stage.hold(Provider::Fcm).await.unwrap();
    let now_ms = app.system.clock().now_ms();
    assert_eq!(Consumer::new(app).await.handle(&copies).await, [true], "it has a successor");
    let hold = stage.hold(Provider::Fcm).await.unwrap();
    assert_eq!(hold.version, before.version + 2, "it was the probe, and gave it back");
    assert!((now_ms..=app.system.clock().now_ms()).contains(&hold.probe_at_ms), "the next one need not wait");
    stage.put("acme", "fcm", &good).await;
    app.control(&json!({"deliver": "resume", "relay": "resume"}));
    app.reaches(&first, "sent").await;
    stage.app.stop().await;
}

/// A web device whose push key is missing in Firebase is refused each time, and no other device of the project is: it
/// begins the hold, and the probe is another's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_chunk_that_was_refused_leaves_the_probe_to_the_others() {
    let stage = Stage::set().await;
    let app = &stage.app;
    let refusals = vec![json!({"status": 401, "reason": "THIRD_PARTY_AUTH_ERROR"}); 50];
    app.script("web-without-key", &json!(refusals)).await;
    let web = app.queued(&to("web", &[("web", "web-without-key")])).await;
    stage.held(&web).await;
    app.control(&json!({"deliver": "pause", "relay": "pause"}));
    eventually("the consumers are done", async || (app.queues.counts(DELIVERIES).await.in_flight == 0).then_some(()))
        .await;
    let good = app.queued(&to("good", &[("android", "device-with-all")])).await;
    let due_ms = stage.hold(Provider::Fcm).await.unwrap().probe_at_ms;
    let wait_ms = due_ms.saturating_sub(app.system.clock().now_ms());
    app.advance(wait_ms / 1_000 + 1);
    let copies = taken(app, 2).await;
    let of = |id: &str| -> Vec<Message> {
        copies.iter().filter(|copy| copy.body().unwrap().contains(id)).cloned().collect()
    };
    let before = app.calls("web-without-key").len();
    // It comes first, and may not.
    if app.system.clock().now_ms() < due_ms + Timing::SHORT.hold_head_start() {
        assert_eq!(Consumer::new(app).await.handle(&of(&web)).await, [true]);
        assert_eq!(app.calls("web-without-key").len(), before, "it lets the others try");
    }
    assert_eq!(Consumer::new(app).await.handle(&of(&good)).await, [true]);
    assert_eq!(app.message(&good).await["status"], "sent");
    assert!(stage.hold(Provider::Fcm).await.is_none());
    stage.app.stop().await;
}

/// Credentials that are taken for one device of a chunk are not what another was refused for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chunk_whose_other_devices_are_taken_begins_no_hold() {
    let stage = Stage::set().await;
    let app = &stage.app;
    app.script(&ios(3), &json!([{"status": 403, "reason": "InvalidProviderToken"}])).await;
    let devices: Vec<String> = (0..4).map(ios).collect();
    let devices: Vec<(&str, &str)> = devices.iter().map(|token| ("ios", token.as_str())).collect();
    let id = app.queued(&to("one-of-four", &devices)).await;
    let sent = app.reaches(&id, "sent").await;
    assert_eq!(sent["deliveries"][3]["attempts"], 2, "it was called again");
    assert_eq!(app.system.store().hold("acme", Provider::Apns).await.unwrap(), None);
    stage.app.stop().await;
}

/// One device's answer that carries an FcmError is that device's, whatever the code.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_fcm_error_of_an_unknown_code_holds_nobody() {
    let stage = Stage::set().await;
    let app = &stage.app;
    for (number, (status, code)) in [(404, "INSTALLATION_RETIRED"), (403, "UNSPECIFIED_ERROR")].into_iter().enumerate()
    {
        let token = format!("device-of-code-{number}");
        app.script(&token, &json!([{"status": status, "reason": code}])).await;
        let id = app.queued(&to(&format!("code-{number}"), &[("android", &token)])).await;
        app.reaches(&id, "failed").await;
    }
    assert_eq!(app.system.store().hold("acme", Provider::Fcm).await.unwrap(), None);
    stage.app.stop().await;
}

/// The audit sees chunks that wait for a hold, and knows that none of their copies is missed; unless all of them are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_leaves_what_waits_for_a_hold_alone() {
    let stage = Stage::set().await;
    let app = &stage.app;
    let good = stage.break_apns().await;
    let ids =
        [app.queued(&to("held-0", &[("ios", &ios(0))])).await, app.queued(&to("held-1", &[("ios", &ios(1))])).await];
    for id in &ids {
        stage.held(id).await;
    }
    // Older than the audit's least age, while their copies go on looking.
    let due = stage.hold(Provider::Apns).await.unwrap();
    app.advance(60);
    eventually("somebody probes", async || {
        (stage.hold(Provider::Apns).await.unwrap().version > due.version).then_some(())
    })
    .await;
    let url = format!("{}/control", app.system.ready().sandbox);
    let audit = async || {
        let asked = json!({"audit": "run"}).to_string();
        let report = app.http.send(&http::Method::POST, &url, &[], asked).await.expect(200).body;
        report["enqueued"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(audit().await, 0);
    // Every copy is taken away by hand: nobody probes any more, and that is seen.
    app.control(&json!({"deliver": "pause", "dead_letter": "pause"}));
    for queue in [DELIVERIES, crate::support::DEAD] {
        app.queues.client.purge_queue().queue_url(app.queues.url(queue).await).send().await.unwrap();
    }
    app.advance(10 + 2 + 48 + 1);
    assert_eq!(audit().await, 2);
    app.control(&json!({"deliver": "resume", "dead_letter": "resume"}));
    stage.put("acme", "apns", &good).await;
    for id in &ids {
        app.reaches(id, "sent").await;
    }
    stage.app.drained().await;
    stage.app.stop().await;
}
