//! One message to many devices: every device is called exactly once, whatever chunk it is in (G4, G5).

use crate::support::{TestApp, push_to, tokens};
use sandbox::Outcome;
use serde_json::json;

async fn every_device_is_called_once(count: usize) {
    let app = TestApp::start().await;
    let devices = tokens("crowd", count);
    let id = app.queued(&push_to("crowd", &devices)).await;
    let message = app.reaches(&id, "sent").await;
    app.drained().await;
    for token in &devices {
        let calls = app.calls(token);
        assert_eq!(calls.len(), 1, "{token}");
        assert_eq!(calls[0].collapse_id.as_deref(), Some(id.as_str()));
    }
    assert_eq!(
        message["counts"],
        json!({"pending": 0, "sending": 0, "sent": count, "failed": 0, "unknown": 0, "expired": 0})
    );
    let deliveries = message["deliveries"].as_array().unwrap();
    assert_eq!(deliveries.len(), count);
    for (index, (delivery, token)) in deliveries.iter().zip(&devices).enumerate() {
        assert_eq!(delivery["index"], index);
        assert_eq!(delivery["token"], format!("…{}", &token[token.len() - 6..]));
        assert_eq!(delivery["provider_id"].as_str(), app.calls(token)[0].id.as_deref());
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_devices_fill_one_chunk() {
    every_device_is_called_once(20).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_twenty_first_device_has_a_chunk_of_its_own() {
    every_device_is_called_once(21).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_devices_are_called_once_each() {
    every_device_is_called_once(500).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_device_too_many_is_refused_before_duplicates_are_removed() {
    let app = TestApp::start().await;
    let mut devices = tokens("too-many", 500);
    devices.push(devices[0].clone());
    let answer = app.send(&push_to("too-many", &devices), 400).await;
    answer.problem(400, "validation_failed");
    assert_eq!(answer.pointers(), ["/to"]);
    app.drained().await;
    assert!(devices.iter().all(|token| app.calls(token).is_empty()));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chunk_whose_devices_end_differently_is_told_device_by_device() {
    let app = TestApp::start().await;
    let devices = tokens("mixed", 25);
    let answer = |status, reason: &str| {
        vec![Outcome::Answer { status, reason: Some(reason.to_owned()), retry_after: None, timestamp: None }]
    };
    let sandbox = app.system.sandbox();
    sandbox.script(&devices[3], answer(404, "UNREGISTERED")).unwrap();
    sandbox.script(&devices[7], answer(403, "SENDER_ID_MISMATCH")).unwrap();
    sandbox
        .script(
            &devices[11],
            vec![Outcome::Answer { status: 429, reason: None, retry_after: Some(1), timestamp: None }],
        )
        .unwrap();
    sandbox.script(&devices[24], answer(400, "INVALID_ARGUMENT")).unwrap();
    let id = app.queued(&push_to("mixed", &devices)).await;
    let message = app.reaches(&id, "partial").await;
    app.drained().await;
    assert_eq!(
        message["counts"],
        json!({"pending": 0, "sending": 0, "sent": 22, "failed": 3, "unknown": 0, "expired": 0})
    );
    for (index, token) in devices.iter().enumerate() {
        let delivery = &message["deliveries"][index];
        let (status, attempts, code) = match index {
            3 => ("failed", 1, json!("UNREGISTERED")),
            7 => ("failed", 1, json!("SENDER_ID_MISMATCH")),
            24 => ("failed", 1, json!("INVALID_ARGUMENT")),
            11 => ("sent", 2, json!(null)),
            _ => ("sent", 1, json!(null)),
        };
        assert_eq!((&delivery["status"], &delivery["attempts"]), (&json!(status), &json!(attempts)), "{index}");
        assert_eq!(delivery["last_error"]["code"], code, "{index}");
        // Who was resolved in the first attempt is not called again in the second.
        assert_eq!(app.calls(token).len(), attempts, "{index}");
    }
    app.stop().await;
}
