//! What the caller wrote is what the device gets, through every format on the way: HTTP, DynamoDB, SQS, FCM.

use crate::support::{TestApp, push};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_text_arrives_as_it_was_written() {
    let app = TestApp::start().await;
    // Among them what SQS would refuse or replace: control characters, U+FFFE, U+FFFF.
    let text = "quote \" backslash \\ nul \u{0} bell \u{7} del \u{7f} nl \r\n é 漢字 🚀 \u{fffe}\u{ffff} \u{2028}";
    let mut body = push("any text", "device-of-text");
    body["notification"] = json!({"title": text, "body": text, "image": "https://example.com/a.png"});
    body["data"] = json!({"order": text, "": "empty name", "é": ""});
    body["collapse_key"] = json!("order-1042");
    let relayed = {
        let mut relayed = body.clone();
        relayed["idempotency_key"] = json!("any text, through the relay");
        relayed
    };
    let direct = app.queued(&body).await;
    app.reaches(&direct, "sent").await;
    app.control(&json!({"inline_send": "fail"}));
    let through_relay = app.queued(&relayed).await;
    app.advance(3);
    app.reaches(&through_relay, "sent").await;

    let calls = app.calls("device-of-text");
    assert_eq!(calls.len(), 2);
    for (call, id) in calls.iter().zip([&direct, &through_relay]) {
        let message = &call.payload["message"];
        assert_eq!(message["notification"], body["notification"]);
        for name in ["order", "", "é"] {
            assert_eq!(message["data"][name], body["data"][name]);
        }
        assert_eq!(message["data"]["message_id"], id.as_str());
        assert_eq!(message["android"]["collapse_key"], "order-1042");
        assert_eq!(message["android"]["notification"]["tag"], "order-1042");
        assert_eq!(message["android"]["priority"], "HIGH");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_push_goes_out_with_normal_priority_and_without_a_notification() {
    let app = TestApp::start().await;
    let mut body = push("silent", "device-of-silent");
    body["notification"] = json!(null);
    body["data"] = json!({"refresh": "inbox"});
    let id = app.queued(&body).await;
    body["priority"] = json!("normal");
    // The device sees no difference, but the caller asked for two different things.
    app.send(&body, 422).await.problem(422, "idempotency_key_reused");
    app.reaches(&id, "sent").await;
    app.drained().await;
    let calls = app.calls("device-of-silent");
    assert_eq!(calls.len(), 1);
    let message = &calls[0].payload["message"];
    assert_eq!(message["notification"], json!(null));
    assert_eq!((&message["data"]["refresh"], &message["android"]["priority"]), (&json!("inbox"), &json!("NORMAL")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_largest_request_passes_through_every_part() {
    let app = TestApp::start().await;
    // 500 devices with long tokens and a payload near FCM's limit: near the API's limit, within DynamoDB's and SQS's.
    let mut body = push("largest", "x");
    let tokens: Vec<String> = (0..500).map(|n| format!("{}{n:03}", "t".repeat(300))).collect();
    body["to"] = tokens.iter().map(|token| json!({"platform": "web", "token": token})).collect();
    body["data"] = json!({"text": "é".repeat(1_900)});
    let id = app.queued(&body).await;
    let message = app.reaches(&id, "sent").await;
    assert_eq!(message["counts"]["sent"], 500);
    app.drained().await;
    for token in &tokens {
        assert_eq!(app.calls(token).len(), 1);
    }
    app.stop().await;
}
