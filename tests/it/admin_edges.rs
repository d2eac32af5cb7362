//! The admin command where something stands in its way: a clock that is ahead, an answer that nobody reads, others who do the
//! same at the same time, letters that somebody else holds, and command lines and settings that cannot be.

use super::support::{DEAD, DELIVERIES, PARKING, PAYOUTS, TestApp, logs, push};
use crate::admin::{Said, Sendonce};
use futures_util::future::join_all;
use platform::Clock;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What AWS lets a clock be ahead, in ms.
const AHEAD: u64 = 15 * 60 * 1_000;

async fn create(sendonce: &Sendonce) -> Value {
    let create = ["keys", "create", "--project", "acme", "--name", "ci@acme.example", "--scope", "messages:read"];
    let made = sendonce.json(&create, 0).await;
    logs::secret(made["api_key"].as_str().unwrap());
    made
}

/// The keys of acme that are valid and have no end, by their ids.
async fn endless(sendonce: &Sendonce) -> BTreeSet<String> {
    let listed = sendonce.json(&["keys", "list", "--project", "acme"], 0).await;
    let keys = listed["keys"].as_array().unwrap().iter();
    keys.filter(|key| key["revoked_at"].is_null()).map(|key| key["id"].as_str().unwrap().to_owned()).collect()
}

/// The stored end of a key, in ms.
async fn end(app: &TestApp, id: &str) -> Option<u64> {
    let listed = app.system.store().api_keys("acme", id.strip_prefix("key_").unwrap()).await.unwrap();
    assert_eq!(listed.len(), 1);
    listed[0].key.as_ref().unwrap().revoked_at_ms
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_key_ends_on_every_clock_that_aws_lets_through() {
    let app = TestApp::start().await;
    let sendonce = Sendonce::of(&app).await;
    let made = create(&sendonce).await;
    let id = made["id"].as_str().unwrap();
    let said = sendonce.run(&["keys", "revoke", id, "--project", "acme"]).await;
    // True beside any durations: the ones that this command was told may not be the deployment's.
    assert!(said.out.contains("It opens nothing anywhere within 60 s."), "{said:?}");
    let latest = Clock::system().now_ms() - AHEAD;
    assert!(end(&app, id).await.unwrap() <= latest);
    // A rotation that leaves the old key no time is the same.
    let made = create(&sendonce).await;
    let id = made["id"].as_str().unwrap();
    let next = sendonce.json(&["keys", "rotate", id, "--project", "acme", "--overlap-hours", "0"], 0).await;
    logs::secret(next["api_key"].as_str().unwrap());
    assert!(end(&app, id).await.unwrap() <= Clock::system().now_ms() - AHEAD);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_nobody_sees_is_named() {
    let app = TestApp::start().await;
    let sendonce = Sendonce::of(&app).await;
    let before = endless(&sendonce).await;
    let create_one = ["keys", "create", "--project", "acme", "--name", "ci@acme.example", "--scope", "messages:read"];
    let named = async |said: Said, before: &BTreeSet<String>| {
        let new: Vec<_> = endless(&sendonce).await.difference(before).cloned().collect();
        assert_eq!(new.len(), 1, "{said:?}");
        assert_eq!(said.code, 1, "{said:?}");
        let what = format!("sendonce keys revoke {} --project acme", new[0]);
        assert!(said.err.contains("could not be written") && said.err.contains(&what), "{said:?}");
        new[0].clone()
    };
    let id = named(sendonce.unread(&create_one).await, &before).await;
    let mut json = vec!["--json"];
    json.extend(["keys", "rotate", &id, "--project", "acme"]);
    let said = sendonce.unread(&json).await;
    let error: Value = serde_json::from_str(&said.err).unwrap();
    let told = error["error"].as_str().unwrap();
    assert!(told.contains(&format!("The old one, {id}, works until ")), "{told}");
    named(said, &before).await;
    // Nothing was made, so nothing is to be done.
    let said = sendonce.unread(&["projects", "list"]).await;
    assert!(said.code == 1 && said.err.trim_end().ends_with("(os error 28)"), "{said:?}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_rotations_one_shows_a_key() {
    let app = TestApp::start().await;
    let sendonce = Sendonce::of(&app).await;
    let made = create(&sendonce).await;
    let id = made["id"].as_str().unwrap();
    let before = endless(&sendonce).await;
    let rotate = ["--json", "keys", "rotate", id, "--project", "acme"];
    let said = join_all((0..6).map(|_| sendonce.run(&rotate))).await;
    let (won, lost): (Vec<_>, Vec<_>) = said.iter().partition(|said| said.code == 0);
    assert_eq!(won.len(), 1, "{said:?}");
    let next = won[0].json(0);
    logs::secret(next["api_key"].as_str().unwrap());
    for said in lost {
        assert!(said.code == 1 && said.out.is_empty(), "{said:?}");
        let known = said.err.contains("at the same time") || said.err.contains("is revoked since");
        assert!(known, "{said:?}");
    }
    // The old one has an end now, and the new one is the only other.
    let after = endless(&sendonce).await;
    assert!(!after.contains(id) && after.contains(next["id"].as_str().unwrap()));
    assert_eq!(after.len(), before.len());
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_look_like_the_service_are_refused() {
    let app = TestApp::start().await;
    let sendonce = Sendonce::of(&app).await;
    for name in [
        " payout",
        "payout ",
        "Payout",
        "PAY-OUT",
        "pay\u{200b}out",
        "EVT_1",
        "\u{202e}tuoyap",
        "ada\u{a0}",
        "a\u{feff}da",
    ] {
        let create = ["keys", "create", "--project", "acme", "--name", name, "--scope", "refunds:decide"];
        sendonce.run(&create).await.failed("a key's name ");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letters_that_stay_are_told_and_go_back_to_their_own_queue_only() {
    let app = TestApp::start().await;
    let sendonce = Sendonce::of(&app).await;
    app.control(&json!({"deliver": "pause", "relay": "pause", "dead_letter": "pause"}));
    app.queued(&push("worn", "device-of-worn-000001")).await;
    app.queued(&push("worn-2", "device-of-worn-000002")).await;
    app.queues.wear_out(2).await;
    // Letters of deliveries are none of payouts', and what is parked is nobody's.
    let (payouts, parking) = (app.queues.url(PAYOUTS).await, app.queues.url(PARKING).await);
    let deliveries = app.queues.url(DELIVERIES).await;
    app.queues.send(PARKING, r#"{"type":"parked_v1","reason":"no id","what":{}}"#).await;
    for (arguments, to) in [
        (vec!["dead-letters", "redrive", "--to", &payouts], &payouts),
        (vec!["dead-letters", "redrive", "--queue", &parking, "--to", &deliveries], &deliveries),
        (vec!["dead-letters", "redrive", "--queue", &deliveries, "--to", &payouts], &payouts),
        (vec!["dead-letters", "redrive", "--of", &deliveries, "--to", &parking], &parking),
    ] {
        let said = sendonce.run(&arguments).await;
        said.failed("letters go back only to the queue they came from");
        assert!(said.err.contains(to.as_str()), "{said:?}");
    }
    assert_eq!((app.queues.left(DEAD).await, app.queues.left(PARKING).await), (2, 1));

    // Somebody else holds one of the two, and then both.
    let dead = app.queues.url(DEAD).await;
    let hold = || app.queues.client.receive_message().queue_url(&dead).max_number_of_messages(1).visibility_timeout(60);
    let held = hold().send().await.unwrap().messages.unwrap();
    assert_eq!(held.len(), 1);
    let said = sendonce.json(&["dead-letters", "redrive", "--to", &deliveries], 3).await;
    assert_eq!((&said["moved"], &said["kept"], &said["left"]), (&json!(1), &json!(0), &json!(1)), "{said}");
    let said = sendonce.json(&["dead-letters", "redrive"], 3).await;
    assert_eq!((&said["moved"], &said["left"]), (&json!(0), &json!(1)), "{said}");
    let text = sendonce.run(&["dead-letters", "redrive"]).await;
    assert!(text.code == 3 && text.out.contains("About 1 were left"), "{text:?}");
    let receipt = held[0].receipt_handle().unwrap();
    let show = app.queues.client.change_message_visibility().queue_url(&dead).receipt_handle(receipt);
    show.visibility_timeout(0).send().await.unwrap();
    let said = sendonce.json(&["dead-letters", "redrive"], 0).await;
    assert_eq!((&said["moved"], &said["left"]), (&json!(1), &json!(0)), "{said}");

    // Who parked a letter is no project.
    let request = app.queues.client.send_message().queue_url(&parking).message_group_id("dead-letter");
    request.message_body(r#"{"type":"parked_v1","reason":"grouped","what":{}}"#).send().await.unwrap();
    let shown = sendonce.json(&["dead-letters", "show", "--queue", &parking], 0).await;
    for letter in shown["letters"].as_array().unwrap() {
        assert_eq!(letter["project"], Value::Null, "{letter}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_line_that_cannot_be_is_told_in_json_where_json_was_asked_for() {
    let app = TestApp::start().await;
    let sendonce = Sendonce::of(&app).await;
    for arguments in [
        &["--json", "projects"] as &[&str],
        &["projects", "sing", "--json"],
        &["keys", "create", "--project", "acme", "--name", "a", "--json"],
        &["--json", "dead-letters", "show", "--limit", "0"],
        &["--json", "--nonsense"],
        &["--json"],
    ] {
        let said = sendonce.run(arguments).await;
        assert_eq!((said.code, said.out.as_str(), said.err.lines().count()), (2, "", 1), "{arguments:?}: {said:?}");
        let error: Value = serde_json::from_str(&said.err).unwrap();
        assert!(error["error"].as_str().is_some_and(|text| text.len() > 10 && !text.starts_with("error")), "{error}");
    }
    // Behind "--" it is a name like any other.
    let said = sendonce.run(&["projects", "show", "--", "a", "--json"]).await;
    assert!(said.code == 2 && said.err.starts_with("error: "), "{said:?}");
    let said = sendonce.run(&["--json", "--help"]).await;
    assert!(said.code == 0 && said.out.contains("Usage: sendonce"), "{said:?}");
    let said = sendonce.run(&["--timing", "--help"]).await;
    assert_ne!(said.code, 1, "{said:?}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_and_credentials_that_cannot_be_are_named() {
    let app = TestApp::start().await;
    let mut sendonce = Sendonce::of(&app).await;
    let check = ["credentials", "check", "--project", "acme"];
    let good = sendonce.environment.clone();
    for (name, value, why) in [
        ("STRIPE_URL", "https://stripe.example:99999", "STRIPE_URL must be an https URL"),
        ("STRIPE_URL", "https://stripe.example?k=v", "STRIPE_URL must be an https URL"),
        ("STRIPE_URL", "https://...", "STRIPE_URL must be an https URL"),
        ("STRIPE_URL", "https://user:a-word-of-nobody@stripe.example", "STRIPE_URL must be an https URL"),
        ("SECRET_NAME", "a b/{project}/{provider}", "SECRET_NAME must be a name that holds"),
        ("RUST_LOG", "nonsense=", "RUST_LOG must be a level"),
    ] {
        sendonce.environment.insert(name, value.to_owned());
        let said = sendonce.run(&check).await;
        said.failed(why);
        assert!(!said.err.contains("a-word-of-nobody"), "{said:?}");
        sendonce.environment.clone_from(&good);
    }
    sendonce.json(&["projects", "create", "initech", "--app", "com.example.initech"], 0).await;
    for provider in ["apns", "fcm", "stripe"] {
        let put = ["credentials", "put", "--project", "initech", "--provider", provider, "--file", "-", "--no-check"];
        for (file, why) in [
            ("", "it is empty"),
            ("\n", "it is empty"),
            ("\u{feff}{}", "byte order mark"),
            ("key: value", "it is not JSON at all"),
            ("[]", "it is not a JSON object"),
        ] {
            sendonce.with_input(&put, file).await.failed(why);
        }
    }
    app.stop().await;
}
