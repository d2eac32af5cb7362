//! A relay that dies anywhere is repeated from the stream: nothing is lost, nothing is called twice (G4, G5).

use crate::support::{PARKING, TestApp, push, push_to, tokens};
use aws_sdk_dynamodb::types::AttributeValue;
use platform::{AwsTimeouts, aws_config_at};
use protocol::{
    ids::{KeyHash, Operation},
    machine::relay::EFFECTS,
};
use serde_json::json;
use std::collections::HashMap;

/// Messages that only the relay delivers, and a relay that crashes after `effect`.
async fn relay_crashes_after(effect: &str) {
    let app = TestApp::start().await;
    // Accepted while the relay rests, so that all of them are in its hands when it crashes.
    app.control(&json!({"relay": "pause", "inline_send": "fail"}));
    let one = app.queued(&push("relay-one", "device-of-relay-one")).await;
    let devices = tokens("relay-many", 250);
    let many = app.queued(&push_to("relay-many", &devices)).await;
    app.crash("relay", &format!("after_{effect}"));
    app.advance(3);
    app.control(&json!({"relay": "resume"}));
    app.crashed().await;
    app.reaches(&one, "sent").await;
    let message = app.reaches(&many, "sent").await;
    assert_eq!(message["counts"]["sent"], 250);
    app.drained().await;
    assert_eq!(app.calls("device-of-relay-one").len(), 1);
    for token in &devices {
        assert_eq!(app.calls(token).len(), 1, "{token}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_dies_after_looking_delivers_once() {
    relay_crashes_after("look").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_dies_after_sending_delivers_once() {
    relay_crashes_after("send").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_dies_three_times_in_a_row_delivers_once() {
    let app = TestApp::start().await;
    app.control(&json!({"relay": "pause", "inline_send": "fail"}));
    let devices = tokens("stubborn", 5);
    let mut ids = Vec::new();
    for token in &devices {
        ids.push(app.queued(&push(token, token)).await);
    }
    for _ in 0..3 {
        app.crash("relay", "after_send");
    }
    app.control(&json!({"relay": "resume"}));
    app.crashed().await;
    for id in &ids {
        app.reaches(id, "sent").await;
    }
    app.drained().await;
    assert!(devices.iter().all(|token| app.calls(token).len() == 1));
    app.stop().await;
}

/// Writes message items that this code never wrote: one that nobody can read, and one accepted at the end of time.
async fn corrupt(app: &TestApp, from: &str) {
    let config = aws_config_at(AwsTimeouts::within(20_000), &app.system.ready().dynamodb).await;
    let table = aws_sdk_dynamodb::Client::new(&config);
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let key = KeyHash::of(Operation::Message, "acme", from).to_base32();
    let item = table.get_item().table_name(&app.table).key("pk", text(&format!("K#{key}"))).key("sk", text("M"));
    let mut late = item.send().await.unwrap().item.unwrap();
    late.insert("pk".to_owned(), text("K#late"));
    late.insert("at".to_owned(), AttributeValue::N(u64::MAX.to_string()));
    let unreadable = HashMap::from([("pk".to_owned(), text("K#unreadable")), ("sk".to_owned(), text("M"))]);
    for item in [late, unreadable] {
        #[expect(clippy::disallowed_methods, reason = "a hand that is not ours writes into the table")]
        let put = table.put_item();
        put.table_name(&app.table).set_item(Some(item)).send().await.unwrap();
    }
}

/// What cannot be read is parked and passed, though the relay dies right after parking it; whoever comes behind it in
/// the stream, in any project, is delivered (G4, G8).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_corrupt_item_is_parked_and_blocks_nobody() {
    let app = TestApp::start().await;
    let first = app.queued(&push("before", "device-of-before")).await;
    app.reaches(&first, "sent").await;
    app.control(&json!({"relay": "pause"}));
    corrupt(&app, "before").await;
    app.control(&json!({"inline_send": "fail"}));
    let behind = app.queued(&push("behind", "device-of-behind")).await;
    app.crash("relay", "after_park");
    app.control(&json!({"relay": "resume", "inline_send": "work"}));
    app.crashed().await;
    app.advance(3);
    app.reaches(&behind, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-behind").len(), 1);
    // Parked once before the crash and once after it: the crash came before anybody knew.
    assert_eq!(app.queues.left(PARKING).await, 2);
    app.stop().await;
}

#[test]
fn every_crash_point_of_the_relay_is_covered() {
    assert_eq!(EFFECTS, ["look", "send", "park"]);
}
