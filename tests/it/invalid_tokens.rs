//! GET /v1/invalid-tokens: what providers call dead is told to the project, whole, and to nobody else (G8); what a
//! provider takes again leaves the list; and what is heard late changes nothing that is known since.

use super::support::{Consumer, DELIVERIES, Gate, TestApp, eventually, logs, push, push_to, tokens};
use crate::contract::{fits, schema};
use aws_sdk_sqs::types::Message;
use http::Method;
use platform::rfc3339_ms;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};

const PATH: &str = "/v1/invalid-tokens";
const DAY_S: u64 = 86_400;

fn gone() -> Value {
    json!({"status": 404, "reason": "UNREGISTERED"})
}

fn ios(number: usize) -> String {
    format!("c0ffee{number:058x}")
}

fn to_ios(key: &str, token: &str) -> Value {
    let mut body = push(key, "unused");
    body["to"] = json!([{"platform": "ios", "token": token}]);
    body
}

async fn page(app: &TestApp, key: &str, query: &str) -> Value {
    let answer = app.request(&Method::GET, &format!("{PATH}{query}"), key, &[], "").await.expect(200);
    assert_eq!(answer.header("cache-control"), "no-store");
    fits(&schema(&api::openapi::document(), "InvalidTokens"), &answer.body);
    answer.body
}

/// All of a project's list, by pages.
async fn list(app: &TestApp, key: &str, limit: usize) -> Vec<Value> {
    let (mut rows, mut query) = (Vec::new(), format!("?limit={limit}"));
    loop {
        let page = page(app, key, &query).await;
        rows.extend(page["invalid_tokens"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("?limit={limit}&cursor={cursor}"),
            None => return rows,
        }
    }
}

/// The tokens of acme's list.
async fn listed(app: &TestApp) -> Vec<String> {
    list(app, "acme", 100).await.iter().map(|row| row["token"].as_str().unwrap().to_owned()).collect()
}

/// Sends to a device whose provider answers this, and waits for the end. What is told of a token is written beside the
/// record, and before the copy is gone.
async fn plays(app: &TestApp, body: &Value, outcome: Value, status: &str) {
    let token = body["to"][0]["token"].as_str().unwrap();
    app.script(token, &json!([outcome])).await;
    let id = app.queued(body).await;
    app.reaches(&id, status).await;
    app.queues_empty().await;
}

/// The one copy that waits, hidden from everybody else for longer than the story lasts.
async fn taken(app: &TestApp) -> Vec<Message> {
    eventually("its copy is there", async || {
        let copies = app.queues.take(DELIVERIES, 60).await;
        (!copies.is_empty()).then_some(copies)
    })
    .await
}

#[tokio::test]
async fn a_dead_token_is_told_to_its_project_whole_with_reason_and_time() {
    let app = TestApp::start().await;
    assert_eq!(page(&app, "acme", "").await, json!({"invalid_tokens": [], "next_cursor": null}));
    let before = app.system.clock().now_ms();
    plays(&app, &push("android", "pixel-that-is-gone-0001"), gone(), "failed").await;
    let after = app.system.clock().now_ms();
    let apple = before - 3_600_000;
    let said = json!({"status": 410, "reason": "Unregistered", "timestamp": apple});
    plays(&app, &to_ios("ios", &ios(1).to_uppercase()), said, "failed").await;

    let rows = list(&app, "acme", 20).await;
    let expected = json!({"platform": "ios", "token": ios(1), "reason": "Unregistered", "since": rfc3339_ms(apple)});
    assert_eq!(rows[0], expected, "the latest first, with Apple's own time");
    assert_eq!(
        (&rows[1]["platform"], &rows[1]["token"], &rows[1]["reason"]),
        (&json!("android"), &json!("pixel-that-is-gone-0001"), &json!("UNREGISTERED"))
    );
    // Times in this form sort as texts.
    let since = rows[1]["since"].as_str().unwrap();
    assert!((rfc3339_ms(before).as_str()..=rfc3339_ms(after).as_str()).contains(&since), "{rows:?}");
    assert_eq!(rows.len(), 2);
    // Who may read the project's messages may read its list; nobody else's has anything of it.
    assert_eq!(list(&app, "acme_readonly", 20).await, rows);
    assert_eq!(list(&app, "globex", 20).await, Vec::<Value>::new());
    // A token that two projects have is dead to the one that was told so.
    app.script("pixel-that-is-gone-0001", &json!([gone()])).await;
    let answer = app.post("globex", &[], push("android", "pixel-that-is-gone-0001").to_string()).await.expect(202);
    eventually("globex is told", async || (list(&app, "globex", 20).await.len() == 1).then_some(())).await;
    assert!(answer.id().starts_with("msg_"));
    assert_eq!(list(&app, "acme", 20).await, rows);
    app.stop().await;
}

/// Every other refusal says nothing of the token, or not for sure.
#[tokio::test]
async fn what_is_not_about_the_token_lists_none() {
    let app = TestApp::start().await;
    for (number, (status, reason)) in
        [(400, "DeviceTokenNotForTopic"), (400, "TopicDisallowed"), (413, "PayloadTooLarge"), (400, "BadPriority")]
            .into_iter()
            .enumerate()
    {
        let said = json!({"status": status, "reason": reason});
        plays(&app, &to_ios(&format!("ios-{number}"), &ios(number)), said, "failed").await;
    }
    for (number, (status, reason)) in [(400, "INVALID_ARGUMENT"), (403, "SENDER_ID_MISMATCH")].into_iter().enumerate() {
        let said = json!({"status": status, "reason": reason});
        plays(&app, &push(&format!("fcm-{number}"), &format!("pixel-{number}-is-fine")), said, "failed").await;
    }
    assert_eq!(listed(&app).await, Vec::<String>::new());
    // Nothing but the token itself.
    let said = json!({"status": 400, "reason": "INVALID_ARGUMENT", "field": "message.token"});
    plays(&app, &push("fcm-token", "pixel-is-no-token"), said, "failed").await;
    plays(&app, &to_ios("ios-token", &ios(77)), json!({"status": 400, "reason": "BadDeviceToken"}), "failed").await;
    assert_eq!(listed(&app).await, [ios(77), "pixel-is-no-token".to_owned()]);
    app.stop().await;
}

#[tokio::test]
async fn a_token_that_is_accepted_later_leaves_the_list_and_a_late_answer_does_not_bring_it_back() {
    let app = TestApp::start().await;
    let token = ios(5);
    let at = |at_ms: u64| json!({"status": 410, "reason": "Unregistered", "timestamp": at_ms});
    let first = app.system.clock().now_ms();
    plays(&app, &to_ios("dead", &token), at(first - 1_000), "failed").await;
    assert_eq!(listed(&app).await, [token.as_str()]);
    plays(&app, &to_ios("alive", &token), json!("accept"), "sent").await;
    assert_eq!(listed(&app).await, Vec::<String>::new());
    // An answer about a time before the acceptance, to another instance that has seen nothing of all this.
    let other = Consumer::new(&app).await;
    app.control(&json!({"deliver": "pause"}));
    app.script(&token, &json!([at(first)])).await;
    let id = app.queued(&to_ios("late", &token)).await;
    let copies = taken(&app).await;
    assert_eq!(other.handle(&copies).await, [true]);
    app.reaches(&id, "failed").await;
    assert_eq!(listed(&app).await, Vec::<String>::new());
    app.queues.give_back(&copies).await;
    app.control(&json!({"deliver": "resume"}));
    // A death after the acceptance counts again.
    plays(&app, &to_ios("dead-again", &token), at(app.system.clock().now_ms()), "failed").await;
    assert_eq!(listed(&app).await, [token.as_str()]);
    app.stop().await;
}

#[tokio::test]
async fn a_410_about_a_time_before_an_acceptance_lists_nothing() {
    let app = TestApp::start().await;
    let token = ios(6);
    let before = app.system.clock().now_ms();
    plays(&app, &to_ios("alive", &token), json!("accept"), "sent").await;
    let said = json!({"status": 410, "reason": "Unregistered", "timestamp": before});
    plays(&app, &to_ios("late", &token), said, "failed").await;
    assert_eq!(listed(&app).await, Vec::<String>::new());
    app.stop().await;
}

/// It heard "dead", stood still past its time, and others have reached the device since.
#[tokio::test]
async fn an_instance_that_stood_still_brings_no_death_back() {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause"}));
    app.script("pixel-of-two-minds", &json!([gone(), "accept"])).await;
    let id = app.queued(&push("slow", "pixel-of-two-minds")).await;
    let copies = taken(&app).await;
    let gate = Gate::after("call");
    let slow = Consumer::with(&app, Arc::clone(&gate) as _).await;
    let slow = tokio::spawn(async move { slow.handle(&copies).await });
    gate.holds().await;
    // Past its invocation and not past its lease: its record still counts.
    app.advance(9);
    app.control(&json!({"deliver": "resume"}));
    let quick = app.queued(&push("quick", "pixel-of-two-minds")).await;
    app.reaches(&quick, "sent").await;
    eventually("only the slow one's copy is left", async || (app.queues.left(DELIVERIES).await == 1).then_some(()))
        .await;
    gate.open();
    assert_eq!(slow.await.unwrap(), [true]);
    app.reaches(&id, "failed").await;
    assert_eq!(listed(&app).await, Vec::<String>::new());
    app.stop().await;
}

#[tokio::test]
async fn pages_show_every_token_once_the_latest_first() {
    let app = TestApp::start().await;
    let all = tokens("mass-death", 45);
    let outcome = sandbox::Outcome::Answer {
        status: 404,
        reason: Some("UNREGISTERED".to_owned()),
        retry_after: None,
        timestamp: None,
    };
    for (number, some) in all.chunks(15).enumerate() {
        app.script_all(some, &outcome);
        let id = app.queued(&push_to(&format!("mass-{number}"), some)).await;
        app.reaches(&id, "failed").await;
        app.queues_empty().await;
    }
    let rows = list(&app, "acme", 100).await;
    let shown: Vec<&str> = rows.iter().map(|row| row["token"].as_str().unwrap()).collect();
    assert_eq!(shown.len(), 45);
    for (number, some) in all.chunks(15).rev().enumerate() {
        let part: BTreeSet<&str> = shown[number * 15..number * 15 + 15].iter().copied().collect();
        assert_eq!(part, some.iter().map(String::as_str).collect(), "the latest message's tokens first");
    }
    for limit in [1, 7, 20, 44, 45] {
        assert_eq!(list(&app, "acme", limit).await, rows, "pages of {limit}");
    }
    assert_eq!(page(&app, "acme", "").await["invalid_tokens"].as_array().unwrap().len(), 20, "without a limit");
    // Another project's cursor is a place like any other, and shows nothing of its list.
    let cursor = page(&app, "acme", "?limit=1").await["next_cursor"].as_str().unwrap().to_owned();
    assert_eq!(page(&app, "globex", &format!("?cursor={cursor}")).await["invalid_tokens"], json!([]));
    for query in ["?limit=0", "?limit=101", "?limit=", "?limit=ten", "?cursor=", "?cursor=AAAA", "?limit=0&cursor=x"] {
        let answer = app.get(&format!("{PATH}{query}"), 400).await;
        answer.problem(400, "validation_failed");
        for name in ["limit", "cursor"].into_iter().filter(|name| query.contains(name)) {
            assert!(answer.text.contains(&format!("query parameter {name}")), "{query}: {}", answer.text);
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn a_token_stays_for_ninety_days_and_is_listed_again_if_it_is_still_pushed_to() {
    let app = TestApp::start().await;
    plays(&app, &push("first", "pixel-that-is-gone-0002"), gone(), "failed").await;
    app.drained().await;
    app.advance(90 * DAY_S - 60);
    assert_eq!(listed(&app).await.len(), 1);
    app.advance(60);
    assert_eq!(listed(&app).await, Vec::<String>::new());
    plays(&app, &push("again", "pixel-that-is-gone-0002"), gone(), "failed").await;
    assert_eq!(listed(&app).await.len(), 1);
    app.stop().await;
}

/// Whoever kept a cursor for longer than a token is kept has seen everything that was behind it.
#[tokio::test]
async fn a_cursor_from_before_the_list_is_its_end() {
    let app = TestApp::start().await;
    for number in 0..3 {
        plays(&app, &push(&format!("gone-{number}"), &format!("pixel-that-is-gone-100{number}")), gone(), "failed")
            .await;
    }
    let cursor = page(&app, "acme", "?limit=1").await["next_cursor"].as_str().unwrap().to_owned();
    assert_eq!(page(&app, "acme", &format!("?cursor={cursor}")).await["invalid_tokens"].as_array().unwrap().len(), 2);
    app.drained().await;
    for days in [91, 300] {
        app.advance(days * DAY_S);
        let end = page(&app, "acme", &format!("?cursor={cursor}")).await;
        assert_eq!(end, json!({"invalid_tokens": [], "next_cursor": null}), "{days} days later");
    }
    app.stop().await;
}

/// With the wrong environment in the secret every good token is a BadDeviceToken.
#[tokio::test]
async fn when_most_tokens_of_a_chunk_are_called_bad_none_is_listed() {
    let own = logs::Own::start();
    let app = TestApp::start().await;
    let bad = sandbox::Outcome::Answer {
        status: 400,
        reason: Some("BadDeviceToken".to_owned()),
        retry_after: None,
        timestamp: None,
    };
    let to = |key: &str, numbers: std::ops::Range<usize>| {
        let mut body = push(key, "unused");
        body["to"] = numbers.map(|number| json!({"platform": "ios", "token": ios(number)})).collect();
        body
    };
    let said = || own.lines().iter().filter(|line| line.contains("APNs calls most tokens of a chunk bad")).count();
    // A whole chunk, and most of one; one that really ended is told among them.
    app.script_all(&(100..120).map(ios).collect::<Vec<_>>(), &bad);
    app.script_all(&(200..203).map(ios).collect::<Vec<_>>(), &bad);
    app.script(&ios(203), &json!([{"status": 410, "reason": "Unregistered"}])).await;
    for (numbers, status, listed_after) in [(100..120, "failed", 0), (200..205, "partial", 1)] {
        let id = app.queued(&to(&format!("from-{}", numbers.start), numbers)).await;
        app.reaches(&id, status).await;
        app.queues_empty().await;
        assert_eq!(listed(&app).await.len(), listed_after);
    }
    assert_eq!(listed(&app).await, [ios(203)]);
    assert_eq!(said(), 2);
    assert!(
        own.lines().iter().filter(|line| line.contains("calls most tokens")).all(|line| line.contains("\"ERROR\""))
    );
    // Few of many, and few at all, are believed.
    app.script_all(&(300..305).map(ios).collect::<Vec<_>>(), &bad);
    app.script_all(&(400..404).map(ios).collect::<Vec<_>>(), &bad);
    for (numbers, status) in [(300..310, "partial"), (400..404, "failed")] {
        let id = app.queued(&to(&format!("from-{}", numbers.start), numbers)).await;
        app.reaches(&id, status).await;
        app.queues_empty().await;
    }
    assert_eq!((listed(&app).await.len(), said()), (1 + 5 + 4, 2));
    app.stop().await;
}
