//! Holds while something else fails too: a token endpoint, the table that they are written to, or the credentials' being
//! replaced in the middle of a call.

use crate::{
    hold::{Stage, ios, taken, to},
    support::{Consumer, logs},
};
use platform::{AwsTimeouts, aws_config_at};
use protocol::hold::Provider;
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use store::Store;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::Notify,
};

/// What waits for a token endpoint asks it seldom, and has a successor each time: no number of receives ends it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_endpoint_that_fails_is_asked_seldom_whatever_waits() {
    let stage = Stage::set().await;
    let app = &stage.app;
    let endpoint = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut file = stage.secret("acme", "fcm").await;
    file["token_uri"] = json!(format!("http://{}/token", endpoint.local_addr().unwrap()));
    stage.put("acme", "fcm", &file).await;
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = endpoint.accept().await {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let mut request = [0; 8_192];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(b"HTTP/1.1 503 no\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
        }
    });
    app.control(&json!({"deliver": "pause", "relay": "pause"}));
    for number in 0..12 {
        app.queued(&to(&format!("no-token-{number}"), &[("android", &format!("no-token-{number}"))])).await;
    }
    let copies = taken(app, 12).await;
    let consumer = Consumer::new(app).await;
    for copy in &copies {
        assert_eq!(consumer.handle(std::slice::from_ref(copy)).await, [true], "it has a successor");
    }
    // A second of waiting for the first time, and a slow machine's twelve receives.
    let asked = asked.load(std::sync::atomic::Ordering::SeqCst);
    assert!((1..=4).contains(&asked), "{asked} requests");
    stage.app.stop().await;
}

/// Credentials that nobody has tried are not those that were refused: what is stored while the old ones are on their way
/// is used next, and waits for no probe.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_that_are_replaced_while_the_old_ones_are_refused_begin_no_hold() {
    let stage = Stage::set().await;
    let app = &stage.app;
    let good = stage.secret("acme", "fcm").await;
    let endpoint = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut old = good.clone();
    old["token_uri"] = json!(format!("http://{}/token", endpoint.local_addr().unwrap()));
    stage.put("acme", "fcm", &old).await;
    let (asked, answer) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (asking, answering) = (Arc::clone(&asked), Arc::clone(&answer));
    tokio::spawn(async move {
        let (mut stream, _) = endpoint.accept().await.unwrap();
        let mut request = [0; 8_192];
        let _ = stream.read(&mut request).await;
        asking.notify_one();
        answering.notified().await;
        let body = r#"{"error":"invalid_grant"}"#;
        let head = format!("HTTP/1.1 400 no\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    });
    app.control(&json!({"deliver": "pause", "relay": "pause"}));
    let id = app.queued(&to("order-replaced-1", &[("android", "device-of-replaced")])).await;
    let copies = taken(app, 1).await;
    let consumer = Consumer::new(app).await;
    let replace = async {
        asked.notified().await;
        stage.put("acme", "fcm", &good).await;
        answer.notify_one();
    };
    let (handled, ()) = tokio::join!(consumer.handle(&copies), replace);
    assert_eq!(handled, [true], "it has a successor");
    assert_eq!(app.system.store().hold("acme", Provider::Fcm).await.unwrap(), None);
    // The same process uses the new ones next.
    let copies = taken(app, 1).await;
    assert_eq!(consumer.handle(&copies).await, [true]);
    assert_eq!((&app.message(&id).await["status"], app.calls("device-of-replaced").len()), (&json!("sent"), 1));
    app.control(&json!({"deliver": "resume", "relay": "resume"}));
    stage.app.stop().await;
}

/// No client asks twice after this answer.
const NO_TABLE: &str = "HTTP/1.1 400 no\r\ncontent-length: 71\r\n\r\n{\"__type\":\"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException\"}";

/// A table that answers each read, with nothing, and each write with this, if anything: what it did nobody knows.
async fn uncertain_of_writes(answer: Option<&'static str>) -> Store {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut request, mut buffer) = (String::new(), [0; 4_096]);
                while let Ok(read @ 1..) = stream.read(&mut buffer).await {
                    request.push_str(&String::from_utf8_lossy(&buffer[..read]));
                    let reads = request.contains(".GetItem");
                    let answer = if reads { Some("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}") } else { answer };
                    if let Some(answer) = answer.filter(|_| request.ends_with('}')) {
                        request.clear();
                        stream.write_all(answer.as_bytes()).await.unwrap();
                    }
                }
            });
        }
    });
    let patient = aws_config_at(AwsTimeouts::within(120_000), &url).await;
    Store::new(aws_sdk_dynamodb::Client::new(&patient), "holds".to_owned())
}

/// What calls teach of the credentials is written beside the record, and for as long as that may take. That a hold began
/// is said all the same: if it was stored nobody else will say it.
#[tokio::test]
async fn a_hold_of_which_nobody_knows_whether_it_was_stored_costs_no_copy_its_time_and_is_told() {
    for (number, answer) in [None, Some(NO_TABLE)].into_iter().enumerate() {
        let own = logs::Own::start();
        let stage = Stage::set().await;
        let app = &stage.app;
        app.control(&json!({"deliver": "pause", "relay": "pause"}));
        stage.break_apns().await;
        let id = app.queued(&to("first", &[("ios", &ios(0))])).await;
        let copies = taken(app, 1).await;
        let consumer = Consumer::holding(app, uncertain_of_writes(answer).await).await;
        let begun = Instant::now();
        assert_eq!(consumer.handle(&copies).await, [true]);
        // A second by the timing; the rest is for a machine with other things to do, and far from the client's patience.
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        assert_eq!((stage.refused(), stage.hold(Provider::Apns).await), (1, None), "nobody wrote it down");
        let message = app.message(&id).await;
        assert_eq!(message["deliveries"][0]["last_error"]["code"], "InvalidProviderToken", "what came of the call is");
        let told = own.events("hold");
        assert_eq!(told.len(), 1, "{answer:?} {told:?}");
        assert_eq!((&told[0]["change"], &told[0]["code"]), (&json!("began"), &json!("InvalidProviderToken")));
        let counted = own.metrics("HoldsBegun").iter().filter(|metric| metric["HoldsBegun"] == 1).count();
        assert_eq!(counted, number + 1, "what this thread counted so far");
        stage.app.stop().await;
    }
}
