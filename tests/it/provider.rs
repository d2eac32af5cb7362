//! What the provider answers decides, device by device: when to try again (G5) and what is told (G6).

use crate::support::{TestApp, push};
use serde_json::{Value, json};

/// Sends to a device whose provider follows `script`; waits for `status` and for the queues to run empty. Retries are
/// due within the schedule's few seconds. Gives the device's delivery and the number of calls that it took.
async fn plays(script: Value, delivery: &str, status: &str) -> (TestApp, Value) {
    let app = TestApp::start().await;
    app.script("device-of-script", &script).await;
    let mut body = push("script", "device-of-script");
    body["delivery"] = json!(delivery);
    let id = app.queued(&body).await;
    let message = app.reaches(&id, status).await;
    app.drained().await;
    assert_eq!(app.message(&id).await, message, "a final message does not change");
    for call in app.calls("device-of-script") {
        assert_eq!(call.collapse_id.as_deref(), Some(id.as_str()), "every repeat replaces its first");
    }
    app.duplicate(&body, &id).await;
    (app, message["deliveries"][0].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_503_the_device_is_tried_again_and_reached() {
    let (app, delivery) = plays(json!([{"status": 503}, "accept"]), "at_least_once", "sent").await;
    let calls = app.calls("device-of-script");
    assert_eq!(calls.iter().map(|call| call.status).collect::<Vec<_>>(), [Some(503), Some(200)]);
    assert_eq!((&delivery["attempts"], &delivery["last_error"]), (&json!(2), &json!(null)));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_503_that_may_have_delivered_is_not_repeated_at_most_once() {
    let (app, delivery) = plays(json!([{"status": 503}]), "at_most_once", "unknown").await;
    assert_eq!(app.calls("device-of-script").len(), 1);
    assert_eq!((&delivery["attempts"], &delivery["status"]), (&json!(1), &json!("unknown")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_429_is_waited_out_as_the_provider_asked_even_at_most_once() {
    let app = TestApp::start().await;
    app.script("device-of-429", &json!([{"status": 429, "retry_after": 60}, "accept"])).await;
    let mut body = push("429", "device-of-429");
    body["delivery"] = json!("at_most_once");
    let id = app.queued(&body).await;
    app.called("device-of-429", 1).await;
    app.only_a_successor_waits().await;
    let waiting = app.message(&id).await;
    assert_eq!((&waiting["status"], &waiting["deliveries"][0]["status"]), (&json!("sending"), &json!("sending")));
    assert_eq!(waiting["deliveries"][0]["last_error"]["code"], "RESOURCE_EXHAUSTED");
    app.advance(61);
    let sent = app.reaches(&id, "sent").await;
    assert_eq!(sent["deliveries"][0]["attempts"], 2);
    app.drained().await;
    let calls = app.calls("device-of-429");
    assert_eq!(calls.iter().map(|call| call.status).collect::<Vec<_>>(), [Some(429), Some(200)]);
    assert!(calls[1].at >= calls[0].at + 60_000, "{} ms later", calls[1].at - calls[0].at);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unregistered_device_failed_for_good() {
    let script = json!([{"status": 404, "reason": "UNREGISTERED"}]);
    let (app, delivery) = plays(script, "at_least_once", "failed").await;
    assert_eq!(app.calls("device-of-script").len(), 1);
    assert_eq!(delivery["last_error"]["code"], "UNREGISTERED");
    assert!(!delivery["last_error"]["detail"].as_str().unwrap().is_empty());
    assert_eq!((&delivery["provider_id"], &delivery["attempts"]), (&json!(null), &json!(1)));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_is_repeated_under_the_same_tag() {
    let (app, delivery) = plays(json!(["drop_after_accept"]), "at_least_once", "sent").await;
    let calls = app.calls("device-of-script");
    assert_eq!(
        calls.iter().map(|call| (call.accepted, call.answered)).collect::<Vec<_>>(),
        [(true, false), (true, true)]
    );
    assert_eq!(delivery["attempts"], 2);
    assert_eq!(delivery["provider_id"].as_str(), calls[1].id.as_deref());
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_is_never_repeated_at_most_once() {
    let (app, delivery) = plays(json!(["drop_after_accept"]), "at_most_once", "unknown").await;
    assert_eq!(app.calls("device-of-script").len(), 1);
    assert_eq!((&delivery["status"], &delivery["attempts"]), (&json!("unknown"), &json!(1)));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_hangs_is_given_up_and_tried_again() {
    let (app, delivery) = plays(json!(["hang"]), "at_least_once", "sent").await;
    let calls = app.calls("device-of-script");
    assert_eq!(
        calls.iter().map(|call| (call.accepted, call.answered)).collect::<Vec<_>>(),
        [(false, false), (true, true)]
    );
    assert_eq!(delivery["attempts"], 2);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_hangs_leaves_it_unknown_at_most_once() {
    let (app, _) = plays(json!(["hang"]), "at_most_once", "unknown").await;
    assert_eq!(app.calls("device-of-script").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permanent_refusal_after_a_lost_answer_is_unknown_and_not_failed() {
    // The phone may have shown the first one before its app was removed.
    let script = json!(["drop_after_accept", {"status": 404, "reason": "UNREGISTERED"}]);
    let (app, delivery) = plays(script, "at_least_once", "unknown").await;
    assert_eq!(app.calls("device-of-script").len(), 2);
    assert_eq!((&delivery["status"], &delivery["last_error"]["code"]), (&json!("unknown"), &json!("UNREGISTERED")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_three_lost_answers_nobody_is_called_any_more() {
    let script = json!(["drop_after_accept", "drop_after_accept", "drop_after_accept"]);
    let (app, delivery) = plays(script, "at_least_once", "unknown").await;
    assert_eq!(app.calls("device-of-script").len(), 3);
    assert_eq!(delivery["attempts"], 3);
    app.stop().await;
}

/// Frames of HTTP/2: the script, the policy, where it ends, and the calls that it takes, each accepted or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_frame_fault_of_fcm_is_what_it_says() {
    let app = TestApp::start().await;
    let cases = [
        ("reset", "at_least_once", "sent", vec![false, true]),
        ("goaway", "at_least_once", "sent", vec![false, true]),
        ("goaway_after_accept", "at_least_once", "sent", vec![true, true]),
        ("refused_stream", "at_least_once", "sent", vec![false, true]),
        // Not processed, by the provider's own word: nothing is risked.
        ("goaway", "at_most_once", "sent", vec![false, true]),
        ("refused_stream", "at_most_once", "sent", vec![false, true]),
        // Nobody knows.
        ("reset", "at_most_once", "unknown", vec![false]),
        ("goaway_after_accept", "at_most_once", "unknown", vec![true]),
    ];
    for (number, (word, delivery, status, accepted)) in cases.into_iter().enumerate() {
        let device = format!("device-of-frames-{number}");
        app.script(&device, &json!([word])).await;
        let mut body = push(&format!("frames-{number}"), &device);
        body["delivery"] = json!(delivery);
        let id = app.queued(&body).await;
        let message = app.reaches(&id, status).await;
        let calls = app.calls(&device);
        assert_eq!(calls.iter().map(|call| call.accepted).collect::<Vec<_>>(), accepted, "{word} {delivery}");
        assert!(calls.iter().all(|call| call.collapse_id.as_deref() == Some(id.as_str())), "{word}");
        let last = &message["deliveries"][0];
        assert_eq!(last["attempts"], calls.len(), "{word} {delivery}");
        let code = if status == "sent" { json!(null) } else { json!("connection_lost") };
        assert_eq!(last["last_error"]["code"], code, "{word} {delivery}");
    }
    app.drained().await;
    assert_eq!(app.system.sandbox().ledger(None).iter().filter(|call| call.status.is_none()).count(), 8);
    app.stop().await;
}
