//! Against a scripted endpoint that speaks SQS's JSON protocol and keeps what it was asked.

use super::*;
use crate::invoke::Handler;
use aws_lambda_events::sqs::SqsEvent;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use axum::{Router, extract::State, http::HeaderMap, response::IntoResponse, routing::post};
use platform::AwsTimeouts;
use std::{collections::VecDeque, sync::Mutex};
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
    time::timeout,
};

#[derive(Default)]
struct Fake {
    /// Batches of message ids that wait to be received.
    waiting: Mutex<VecDeque<Vec<&'static str>>>,
    sent: Notify,
    /// "delete" or "show" and the receipt handles, in order.
    asked: Mutex<Vec<(&'static str, Vec<String>)>>,
    /// Handles whose deletion fails, once each: SQS's fault if true is here, else the sender's.
    failing: Mutex<Vec<(&'static str, bool)>>,
}

impl Fake {
    fn send(&self, ids: &[&'static str]) {
        self.waiting.lock().unwrap().push_back(ids.to_vec());
        self.sent.notify_one();
    }

    async fn asked(&self, number: usize) -> Vec<(&'static str, Vec<String>)> {
        let wait = async {
            while self.asked.lock().unwrap().len() < number {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(timeout(Duration::from_secs(10), wait).await.is_ok(), "{:?}", self.asked.lock().unwrap());
        self.asked.lock().unwrap().clone()
    }

    async fn receive(&self) -> Value {
        loop {
            let next = self.waiting.lock().unwrap().pop_front();
            match next {
                Some(ids) => return json!({"Messages": ids.iter().map(|id| message(id)).collect::<Vec<_>>()}),
                None => self.sent.notified().await,
            }
        }
    }

    fn batch(&self, what: &'static str, body: &Value) -> Value {
        let entries = body["Entries"].as_array().unwrap();
        let handle = |entry: &Value| entry["ReceiptHandle"].as_str().unwrap().to_owned();
        self.asked.lock().unwrap().push((what, entries.iter().map(handle).collect()));
        let mut failing = self.failing.lock().unwrap();
        let (mut ok, mut failed) = (Vec::new(), Vec::new());
        for entry in entries {
            match failing.iter().position(|(id, _)| format!("handle of {id}") == handle(entry)) {
                Some(at) => {
                    let ours = failing.remove(at).1;
                    failed.push(json!({"Id": entry["Id"], "SenderFault": !ours, "Code": "X"}));
                }
                None => ok.push(json!({"Id": entry["Id"]})),
            }
        }
        json!({"Successful": ok, "Failed": failed})
    }
}

fn message(id: &str) -> Value {
    json!({
        "MessageId": id, "ReceiptHandle": format!("handle of {id}"), "Body": format!("body of {id}"),
        "MD5OfBody": format!("{:0>32}", "a"),
        "Attributes": {"ApproximateReceiveCount": "2", "SentTimestamp": "1764400000000", "SenderId": "me",
            "ApproximateFirstReceiveTimestamp": "1764400000001", "MessageGroupId": "acme"},
        "MessageAttributes": {"t": {"DataType": "String", "StringValue": "x"}, "b": {"DataType": "Binary", "BinaryValue": "/wA="}},
    })
}

async fn answer(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: String) -> impl IntoResponse {
    let body: Value = serde_json::from_str(&body).unwrap();
    let answer = match headers["x-amz-target"].to_str().unwrap() {
        "AmazonSQS.ReceiveMessage" => {
            assert_eq!((&body["MaxNumberOfMessages"], &body["WaitTimeSeconds"]), (&json!(10), &json!(20)));
            fake.receive().await
        }
        "AmazonSQS.DeleteMessageBatch" => fake.batch("delete", &body),
        "AmazonSQS.ChangeMessageVisibilityBatch" => {
            assert!(body["Entries"].as_array().unwrap().iter().all(|entry| entry["VisibilityTimeout"] == 0));
            fake.batch("show", &body)
        }
        other => panic!("{other}"),
    };
    ([("content-type", "application/x-amz-json-1.0")], answer.to_string())
}

struct Running {
    fake: Arc<Fake>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Running {
    async fn start(function: &Function) -> Self {
        let fake = Arc::new(Fake::default());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/", post(answer)).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let shared = platform::aws_config(AwsTimeouts::within(2_000)).await;
        let config = aws_sdk_sqs::config::Builder::from(&shared)
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "test"))
            .endpoint_url(&url);
        let client = Client::from_conf(config.build());
        let source = SqsSource::new(client, format!("{url}/0/q"), "arn:q".into(), "local".into());
        let (stop, stopping) = watch::channel(false);
        let task = tokio::spawn(run(source, function.clone(), Clock::system(), stopping));
        Self { fake, stop, task }
    }

    async fn end(self) {
        self.stop.send_replace(true);
        timeout(Duration::from_secs(5), self.task).await.expect("stops promptly").unwrap();
    }
}

/// Answers by what the first message is called.
fn by_name() -> Function {
    let handler: Handler = Arc::new(|event, _| {
        Box::pin(async move {
            let event: SqsEvent = serde_json::from_value(event).map_err(|error| error.to_string())?;
            match event.records[0].message_id.as_deref() {
                Some("error") => Err("no".to_owned()),
                Some("partial") => Ok(json!({"batchItemFailures": [{"itemIdentifier": "partial"}]})),
                Some("unknown") => Ok(json!({"batchItemFailures": [{"itemIdentifier": "never sent"}]})),
                Some("never") => std::future::pending().await,
                _ => Ok(Value::Null),
            }
        })
    });
    Function::new("deliver", 500, Clock::system(), handler)
}

fn handles(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| format!("handle of {id}")).collect()
}

#[tokio::test]
async fn deletes_exactly_what_succeeded() {
    let function = by_name();
    let running = Running::start(&function).await;
    // Nothing of the first three is deleted: an error, a timeout, an answer that fails the whole batch.
    running.fake.send(&["error", "a"]);
    running.fake.send(&["never", "b"]);
    running.fake.send(&["unknown", "c"]);
    running.fake.send(&["partial", "d", "e"]);
    assert_eq!(running.fake.asked(1).await, [("delete", handles(&["d", "e"]))]);
    running.fake.send(&["f", "g"]);
    assert_eq!(running.fake.asked(2).await[1..], [("delete", handles(&["f", "g"]))]);
    assert_eq!(function.invocations(), 5);
    let fake = running.fake.clone();
    running.end().await;
    assert_eq!(fake.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn looks_at_every_failed_deletion() {
    let running = Running::start(&by_name()).await;
    *running.fake.failing.lock().unwrap() = vec![("b", true), ("c", false)];
    running.fake.send(&["a", "b", "c"]);
    let asked = running.fake.asked(2).await;
    assert_eq!(asked, [("delete", handles(&["a", "b", "c"])), ("delete", handles(&["b"]))]);
    running.end().await;
}

#[tokio::test]
async fn a_paused_function_gets_nothing_and_what_arrives_is_given_back() {
    let function = by_name();
    let running = Running::start(&function).await;
    // The first batch shows that the poller is at work; it then hangs in its next long poll.
    running.fake.send(&["a"]);
    running.fake.asked(1).await;
    function.pause();
    running.fake.send(&["b"]);
    assert_eq!(running.fake.asked(2).await[1], ("show", handles(&["b"])));
    running.fake.send(&["c"]);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!((function.invocations(), running.fake.waiting.lock().unwrap().len()), (1, 1));
    function.resume();
    assert_eq!(running.fake.asked(3).await[2], ("delete", handles(&["c"])));
    running.end().await;
}

#[tokio::test]
async fn a_stop_lets_running_batches_end() {
    let release = Arc::new(Notify::new());
    let released = release.clone();
    let handler: Handler = Arc::new(move |_, _| {
        let released = released.clone();
        Box::pin(async move {
            released.notified().await;
            Ok(Value::Null)
        })
    });
    let function = Function::new("deliver", 60_000, Clock::system(), handler);
    let running = Running::start(&function).await;
    running.fake.send(&["a"]);
    while function.invocations() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running.stop.send_replace(true);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!running.task.is_finished());
    release.notify_one();
    running.fake.asked(1).await;
    running.end().await;
}

#[tokio::test]
async fn the_event_is_what_the_event_crate_reads() {
    let seen = Arc::new(Mutex::new(None));
    let see = seen.clone();
    let handler: Handler = Arc::new(move |event, _| {
        *see.lock().unwrap() = Some(event);
        Box::pin(async { Ok::<_, String>(Value::Null) })
    });
    let running = Running::start(&Function::new("deliver", 1_000, Clock::system(), handler)).await;
    running.fake.send(&["a"]);
    running.fake.asked(1).await;
    running.end().await;
    let json = seen.lock().unwrap().take().unwrap();
    let event: SqsEvent = serde_json::from_value(json).unwrap();
    let record = &event.records[0];
    assert_eq!(record.message_id.as_deref(), Some("a"));
    assert_eq!(record.receipt_handle.as_deref(), Some("handle of a"));
    assert_eq!(record.body.as_deref(), Some("body of a"));
    assert_eq!(record.md5_of_body.as_deref().map(str::len), Some(32));
    assert_eq!(record.event_source.as_deref(), Some("aws:sqs"));
    assert_eq!((record.event_source_arn.as_deref(), record.aws_region.as_deref()), (Some("arn:q"), Some("local")));
    for name in
        ["ApproximateReceiveCount", "SentTimestamp", "SenderId", "ApproximateFirstReceiveTimestamp", "MessageGroupId"]
    {
        assert!(record.attributes.contains_key(name), "{name}");
    }
    assert_eq!(record.message_attributes["t"].string_value.as_deref(), Some("x"));
    assert_eq!(record.message_attributes["b"].binary_value.as_ref().unwrap().0, [255, 0]);
}
