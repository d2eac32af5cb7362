//! A server with a clock that tests move, and short ways to call it through its router.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(unreachable_pub, clippy::unwrap_used, reason = "helpers of tests, compiled into each of them")]

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, StatusCode},
};
use http_body_util::BodyExt;
use local_sqs::{Counts, QueueAttributes, Sqs};
use platform::Clock;
use serde_json::{Value, json};
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
    time::Duration,
};
use tower::ServiceExt;

/// A server under test.
pub struct Server {
    pub sqs: Sqs,
    pub clock: Clock,
    pub router: Router,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Reply {
    /// The name of the modelled error, without its namespace; empty for a success.
    pub fn error(&self) -> &str {
        self.body["__type"].as_str().unwrap_or_default().rsplit('#').next().unwrap_or_default()
    }

    pub fn messages(&self) -> &[Value] {
        assert_eq!(self.status, StatusCode::OK, "{self:?}");
        self.body["Messages"].as_array().map_or(&[], Vec::as_slice)
    }
}

impl Server {
    pub fn new() -> Self {
        let clock = Clock::system();
        let sqs = Sqs::new(clock.clone(), "http://127.0.0.1:9324".to_owned());
        Self::of(sqs, clock)
    }

    pub fn of(sqs: Sqs, clock: Clock) -> Self {
        Self { router: sqs.router(), sqs, clock }
    }

    /// A server with one queue called `q`, and that queue's URL.
    pub fn with_queue(attributes: &QueueAttributes) -> (Self, String) {
        let server = Self::new();
        let url = server.make("q", attributes);
        (server, url)
    }

    /// Makes a queue and returns its URL.
    pub fn make(&self, name: &str, attributes: &QueueAttributes) -> String {
        self.sqs.create_queue(name, attributes).unwrap()
    }

    /// The status of a post to the control switch.
    pub async fn control(&self, body: &'static str) -> u16 {
        self.raw(Request::post("/control").body(Body::from(body)).unwrap()).await.status.as_u16()
    }

    pub async fn raw(&self, request: Request<Body>) -> Reply {
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Reply { status: parts.status, headers: parts.headers, body }
    }

    pub async fn call(&self, action: &str, body: Value) -> Reply {
        let request = Request::post("/").header("x-amz-target", format!("AmazonSQS.{action}"));
        self.raw(request.body(Body::from(body.to_string())).unwrap()).await
    }

    /// Calls and expects success.
    pub async fn ok(&self, action: &str, body: Value) -> Value {
        let reply = self.call(action, body).await;
        assert_eq!(reply.status, StatusCode::OK, "{action}: {reply:?}");
        reply.body
    }

    /// Calls, expects a refusal and returns its name.
    pub async fn refused(&self, action: &str, body: Value) -> String {
        let reply = self.call(action, body).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{action}: {reply:?}");
        reply.error().to_owned()
    }

    pub async fn send(&self, url: &str, body: &str) -> String {
        let sent = self.ok("SendMessage", json!({"QueueUrl": url, "MessageBody": body})).await;
        sent["MessageId"].as_str().unwrap().to_owned()
    }

    /// A receive of up to ten messages with everything that they carry, without waiting.
    pub async fn receive(&self, url: &str) -> Vec<Value> {
        self.receive_with(url, json!({})).await
    }

    pub async fn receive_with(&self, url: &str, more: Value) -> Vec<Value> {
        self.call("ReceiveMessage", receive_request(url, more)).await.messages().to_vec()
    }

    pub async fn delete(&self, url: &str, message: &Value) {
        self.ok("DeleteMessage", json!({"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]})).await;
    }

    pub async fn hide(&self, url: &str, message: &Value, seconds: i64) -> Reply {
        let handle = &message["ReceiptHandle"];
        let request = json!({"QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": seconds});
        self.call("ChangeMessageVisibility", request).await
    }

    pub fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    pub fn counts(&self, name: &str) -> (usize, usize, usize) {
        let Counts { visible, in_flight, delayed } = self.sqs.counts(name).unwrap();
        (visible, in_flight, delayed)
    }
}

/// The request of `receive`, with members of `more` added or replaced.
pub fn receive_request(url: &str, more: Value) -> Value {
    let mut request = json!({
        "QueueUrl": url,
        "MaxNumberOfMessages": 10,
        "MessageSystemAttributeNames": ["All"],
        "MessageAttributeNames": ["All"],
    });
    for (name, value) in more.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

/// Runs a future until it waits, once. A long poll then stands where only an event can wake it.
pub async fn waits<F: Future>(future: &mut Pin<Box<F>>) -> bool {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}
