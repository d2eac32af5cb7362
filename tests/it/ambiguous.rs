//! Answers after which nobody knows whether the device was reached: repeated under the same collapse id or tag, within
//! bounds, or not at all (G5, G6); and what the provider is told of the time that is left.

use crate::support::{TestApp, push};
use sandbox::Entry;
use serde_json::{Value, json};

/// A device of each platform.
const DEVICES: [(&str, &str); 3] = [
    ("ios", "c0ffee00000000000000000000000000000000000000000000000000000000ad"),
    ("android", "device-of-ambiguous-1"),
    ("web", "device-of-ambiguous-2"),
];

fn to(key: &str, platform: &str, token: &str) -> Value {
    let mut body = push(key, token);
    body["to"][0]["platform"] = json!(platform);
    body
}

/// Where the app finds the message id, and by which name a repeat replaces its first on the screen.
fn told(platform: &str, call: &Entry) -> (Value, Value) {
    let payload = &call.payload;
    match platform {
        "ios" => (payload["message_id"].clone(), json!(call.headers["apns-collapse-id"])),
        "android" => (
            payload["message"]["data"]["message_id"].clone(),
            payload["message"]["android"]["notification"]["tag"].clone(),
        ),
        _ => (
            payload["message"]["data"]["message_id"].clone(),
            payload["message"]["webpush"]["notification"]["tag"].clone(),
        ),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_says_that_it_is_one_on_every_platform() {
    let app = TestApp::start().await;
    // Lost answers, and one that was answered with an error though the device may have got it.
    let script = json!(["drop_after_accept", {"status": 500}, {"status": 502}, "accept"]);
    for collapse_key in [None, Some("order-1042")] {
        let mut sent = Vec::new();
        app.system.sandbox().clear_ledger();
        for (platform, token) in DEVICES {
            app.script(token, &script).await;
            let mut body = to(&format!("{platform}-{collapse_key:?}"), platform, token);
            body["collapse_key"] = json!(collapse_key);
            sent.push((platform, token, app.queued(&body).await));
        }
        for (platform, token, id) in sent {
            app.reaches(&id, "sent").await;
            let tag = collapse_key.map_or_else(|| id.clone(), str::to_owned);
            let calls = app.calls(token);
            assert_eq!(calls.len(), 4, "{platform}");
            for call in calls {
                assert_eq!(told(platform, &call), (json!(id), json!(tag)), "{platform} {call:?}");
            }
        }
    }
    app.stop().await;
}

/// A lost answer is repeated twice at most; one that came, on the schedule until the deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_answers_have_a_limit_and_answered_ones_a_schedule() {
    let app = TestApp::start().await;
    for (platform, token) in DEVICES {
        app.script(token, &json!(["drop_after_accept", "hang", "reset", "accept"])).await;
        let id = app.queued(&to(&format!("lost-{platform}"), platform, token)).await;
        let message = app.reaches(&id, "unknown").await;
        assert_eq!((app.calls(token).len(), &message["deliveries"][0]["attempts"]), (3, &json!(3)), "{platform}");
        // The rest of the script.
        app.script(token, &json!([])).await;
    }
    let token = "device-of-six-answers";
    app.script(token, &json!(vec![json!({"status": 503}); 6])).await;
    let id = app.queued(&push("six", token)).await;
    app.reaches(&id, "sent").await;
    assert_eq!(app.calls(token).len(), 7);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_most_once_ends_unknown_on_every_platform() {
    let app = TestApp::start().await;
    for (platform, token) in DEVICES {
        for (number, script) in [json!(["drop_after_accept"]), json!([{"status": 500}])].iter().enumerate() {
            app.script(token, script).await;
            app.system.sandbox().clear_ledger();
            let mut body = to(&format!("once-{platform}-{number}"), platform, token);
            body["delivery"] = json!("at_most_once");
            let id = app.queued(&body).await;
            app.reaches(&id, "unknown").await;
            assert_eq!(app.calls(token).len(), 1, "{platform} {script}");
        }
    }
    app.drained().await;
    app.stop().await;
}

/// The time to live that a call names, in seconds from when it was made.
fn left(platform: &str, call: &Entry) -> i64 {
    let payload = &call.payload["message"];
    match platform {
        "ios" => call.headers["apns-expiration"].parse::<i64>().unwrap() - i64::try_from(call.at / 1_000).unwrap(),
        "android" => payload["android"]["ttl"].as_str().unwrap().trim_end_matches('s').parse().unwrap(),
        _ => payload["webpush"]["headers"]["TTL"].as_str().unwrap().parse().unwrap(),
    }
}

/// `Retry-After` is a floor, whether seconds or a date, and each attempt names the time that is left then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_was_asked_for_is_kept_and_taken_off_the_time_to_live() {
    let app = TestApp::start().await;
    let waits = [
        json!({"status": 429, "retry_after": 100}),
        json!({"status": 503, "retry_after": 100}),
        json!({"status": 503, "retry_after_date": 100}),
    ];
    for (platform, token) in DEVICES {
        for (number, wait) in waits.iter().enumerate() {
            app.script(token, &json!([wait])).await;
            app.system.sandbox().clear_ledger();
            let mut body = to(&format!("wait-{platform}-{number}"), platform, token);
            body["ttl_seconds"] = json!(1000);
            let id = app.queued(&body).await;
            app.called(token, 1).await;
            app.only_a_successor_waits().await;
            app.advance(95);
            app.only_a_successor_waits().await;
            assert_eq!(app.calls(token).len(), 1, "{platform} {wait}: too early");
            app.advance(10);
            app.reaches(&id, "sent").await;
            let calls = app.calls(token);
            assert_eq!(calls.len(), 2, "{platform} {wait}");
            assert!(calls[1].at - calls[0].at >= 99_000, "{} ms", calls[1].at - calls[0].at);
            let (first, second) = (left(platform, &calls[0]), left(platform, &calls[1]));
            assert!((990..=1000).contains(&first), "{platform}: {first}");
            let waited = i64::try_from((calls[1].at - calls[0].at) / 1_000).unwrap();
            assert!((first - second - waited).abs() <= 2, "{platform}: {first} then {second}, {waited} s later");
        }
    }
    app.stop().await;
}

/// Without `Retry-After` Google wants a minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fcms_429_waits_a_minute_by_itself() {
    let app = TestApp::start().await;
    let token = "device-of-quota";
    app.script(token, &json!([{"status": 429, "reason": "QUOTA_EXCEEDED"}])).await;
    let id = app.queued(&push("quota", token)).await;
    app.called(token, 1).await;
    app.only_a_successor_waits().await;
    app.advance(55);
    app.only_a_successor_waits().await;
    assert_eq!(app.calls(token).len(), 1);
    app.advance(10);
    app.reaches(&id, "sent").await;
    let calls = app.calls(token);
    assert!(calls[1].at - calls[0].at >= 60_000);
    app.stop().await;
}
