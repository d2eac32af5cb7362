//! A server with a file: what a process that was killed leaves behind is what the next one has.
//!
//! A killed process runs none of its code any more, and what it had written stays with the operating system. So the
//! files are copied while the server is running, and the copy is opened: that is what a kill at that moment leaves.

#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

mod common;

use common::Server;
use local_sqs::{OpenError, QueueAttributes, Redrive, Sqs};
use platform::Clock;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

const URL: &str = "http://127.0.0.1:9324/000000000000/q";

/// A folder of its own for each test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("sendonce-sqs-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self, life: u32) -> PathBuf {
        self.0.join(life.to_string()).join("sqs.sqlite")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(file: &Path, clock: &Clock) -> Result<Server, OpenError> {
    let sqs = Sqs::open(clock.clone(), "http://127.0.0.1:9324".to_owned(), file)?;
    Ok(Server::of(sqs, clock.clone()))
}

/// A server that can be killed.
struct Mortal {
    server: Server,
    folder: Folder,
    life: u32,
}

impl Mortal {
    /// With one queue called `q`.
    fn with_queue(attributes: &QueueAttributes) -> Self {
        let folder = Folder::new();
        fs::create_dir(folder.0.join("0")).unwrap();
        let server = open(&folder.file(0), &Clock::system()).unwrap();
        server.make("q", attributes);
        Self { server, folder, life: 0 }
    }

    /// What is there after a kill at this moment.
    fn kill(self) -> Self {
        let Self { server, folder, life } = self;
        let (old, next) = (folder.file(life), folder.file(life + 1));
        fs::create_dir(next.parent().unwrap()).unwrap();
        for entry in fs::read_dir(old.parent().unwrap()).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), next.with_file_name(entry.file_name())).unwrap();
        }
        let server = open(&next, &server.clock).unwrap();
        Self { server, folder, life: life + 1 }
    }
}

fn bodies(messages: &[Value]) -> Vec<&str> {
    let mut bodies: Vec<&str> = messages.iter().map(|m| m["Body"].as_str().unwrap()).collect();
    bodies.sort_unstable();
    bodies
}

#[tokio::test]
async fn messages_come_back_as_they_were_sent() {
    let mortal = Mortal::with_queue(&QueueAttributes::default());
    let attributes = json!({
        "text": {"DataType": "String.name", "StringValue": "é💥"},
        "number": {"DataType": "Number", "StringValue": "1.50"},
        "bytes": {"DataType": "Binary", "BinaryValue": "AAH/"},
    });
    let sent = json!({
        "QueueUrl": URL, "MessageBody": "first\té", "MessageAttributes": attributes, "MessageGroupId": "acme",
        "MessageSystemAttributes": {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988"}},
    });
    let sent = mortal.server.ok("SendMessage", sent).await;
    let entries: Vec<_> = (0..10).map(|i| json!({"Id": i.to_string(), "MessageBody": format!("batch {i}")})).collect();
    mortal.server.ok("SendMessageBatch", json!({"QueueUrl": URL, "Entries": entries})).await;
    let mortal = mortal.kill().kill();
    assert_eq!(mortal.server.counts("q"), (11, 0, 0));
    let first = mortal.server.receive_with(URL, json!({"MaxNumberOfMessages": 1})).await.remove(0);
    assert_eq!((&first["Body"], &first["MessageAttributes"]), (&json!("first\té"), &attributes));
    assert_eq!(first["MessageId"], sent["MessageId"]);
    assert_eq!(first["MD5OfBody"], sent["MD5OfMessageBody"]);
    assert_eq!(first["MD5OfMessageAttributes"], sent["MD5OfMessageAttributes"]);
    assert_eq!(first["Attributes"]["AWSTraceHeader"], "Root=1-5759e988");
    assert_eq!(first["Attributes"]["MessageGroupId"], "acme");
    assert_eq!(first["Attributes"]["ApproximateReceiveCount"], "1");
}

#[tokio::test]
async fn hidden_and_delayed_messages_show_at_their_times() {
    let mortal = Mortal::with_queue(&QueueAttributes { visibility_timeout_s: Some(100), ..Default::default() });
    mortal.server.send(URL, "received").await;
    let received = mortal.server.receive(URL).await.remove(0);
    mortal.server.send(URL, "longer").await;
    let longer = mortal.server.receive(URL).await.remove(0);
    mortal.server.hide(URL, &longer, 300).await;
    mortal.server.ok("SendMessage", json!({"QueueUrl": URL, "MessageBody": "delayed", "DelaySeconds": 200})).await;
    let mortal = mortal.kill();
    assert_eq!(mortal.server.counts("q"), (0, 2, 1));
    mortal.server.advance(99);
    assert_eq!(mortal.server.counts("q"), (0, 2, 1));
    mortal.server.advance(1);
    assert_eq!(mortal.server.counts("q"), (1, 1, 1));
    // Time also passes while nobody runs.
    let mortal = mortal.kill();
    mortal.server.advance(100);
    let messages = mortal.server.receive(URL).await;
    assert_eq!(bodies(&messages), ["delayed", "received"]);
    let again = messages.iter().find(|m| m["Body"] == "received").unwrap();
    assert_eq!(again["Attributes"]["ApproximateReceiveCount"], "2");
    let first_received = &received["Attributes"]["ApproximateFirstReceiveTimestamp"];
    assert_eq!(&again["Attributes"]["ApproximateFirstReceiveTimestamp"], first_received);
    assert_eq!(again["Attributes"]["SentTimestamp"], received["Attributes"]["SentTimestamp"]);
    // Old handles mean what they meant: this one was replaced by a later receive, that one still counts.
    mortal.server.delete(URL, &received).await;
    mortal.server.delete(URL, &longer).await;
    assert_eq!(mortal.server.counts("q"), (0, 2, 0));
}

#[tokio::test]
async fn what_was_deleted_stays_deleted() {
    let mortal = Mortal::with_queue(&QueueAttributes::default());
    for body in ["a", "b", "c"] {
        mortal.server.send(URL, body).await;
    }
    let messages = mortal.server.receive(URL).await;
    mortal.server.delete(URL, &messages[0]).await;
    let mortal = mortal.kill();
    mortal.server.delete(URL, &messages[1]).await;
    let mortal = mortal.kill();
    assert_eq!(mortal.server.counts("q"), (0, 1, 0));
    // The ids of deleted copies are not used again: their handles do not mean new messages.
    mortal.server.delete(URL, &messages[2]).await;
    let mortal = mortal.kill();
    mortal.server.send(URL, "new").await;
    mortal.server.receive(URL).await;
    for message in &messages {
        mortal.server.delete(URL, message).await;
    }
    assert_eq!(mortal.server.counts("q"), (0, 1, 0));

    mortal.server.ok("PurgeQueue", json!({"QueueUrl": URL})).await;
    let mortal = mortal.kill();
    assert_eq!(mortal.server.counts("q"), (0, 0, 0));
    assert_eq!(mortal.server.refused("PurgeQueue", json!({"QueueUrl": URL})).await, "PurgeQueueInProgress");
}

#[tokio::test]
async fn receives_count_on_and_dead_letters_have_moved() {
    let mortal = Mortal::with_queue(&QueueAttributes::default());
    let dead = mortal.server.make("dead", &QueueAttributes::default());
    let policy = json!({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 3});
    let set = json!({"QueueUrl": URL, "Attributes": {"RedrivePolicy": policy.to_string()}});
    mortal.server.ok("SetQueueAttributes", set).await;
    let id = mortal.server.send(URL, "worn").await;
    let mut mortal = mortal;
    for count in 1..=3 {
        let message = mortal.server.receive_with(URL, json!({"VisibilityTimeout": 0})).await.remove(0);
        assert_eq!(message["Attributes"]["ApproximateReceiveCount"], count.to_string());
        mortal = mortal.kill();
    }
    assert!(mortal.server.receive(URL).await.is_empty());
    let mortal = mortal.kill();
    assert_eq!((mortal.server.counts("q"), mortal.server.counts("dead")), ((0, 0, 0), (1, 0, 0)));
    let message = mortal.server.receive_with(&dead, json!({"VisibilityTimeout": 0})).await.remove(0);
    assert_eq!((&message["MessageId"], &message["Attributes"]["ApproximateReceiveCount"]), (&json!(id), &json!("4")));
    let source = "arn:aws:sqs:us-east-1:000000000000:q";
    assert_eq!(message["Attributes"]["DeadLetterQueueSourceArn"], source);

    let start = json!({"SourceArn": "arn:aws:sqs:us-east-1:000000000000:dead"});
    mortal.server.ok("StartMessageMoveTask", start).await;
    let mortal = mortal.kill();
    assert_eq!((mortal.server.counts("q"), mortal.server.counts("dead")), ((1, 0, 0), (0, 0, 0)));
}

#[tokio::test]
async fn queues_keep_their_settings_and_tags_and_go_for_good() {
    let attributes = QueueAttributes { delay_s: Some(7), redrive: Some(Redrive::Off), ..Default::default() };
    let mortal = Mortal::with_queue(&attributes);
    let set = json!({"QueueUrl": URL, "Attributes": {"VisibilityTimeout": "5", "SqsManagedSseEnabled": ""}});
    mortal.server.ok("SetQueueAttributes", set).await;
    mortal.server.ok("TagQueue", json!({"QueueUrl": URL, "Tags": {"a": "1", "b": "2"}})).await;
    mortal.server.ok("UntagQueue", json!({"QueueUrl": URL, "TagKeys": ["b"]})).await;
    mortal.server.make("other", &QueueAttributes::default());
    let all = json!({"QueueUrl": URL, "AttributeNames": ["All"]});
    let before = mortal.server.ok("GetQueueAttributes", all.clone()).await;
    let mortal = mortal.kill();
    assert_eq!(mortal.server.ok("GetQueueAttributes", all).await, before);
    assert_eq!(mortal.server.ok("ListQueueTags", json!({"QueueUrl": URL})).await, json!({"Tags": {"a": "1"}}));
    assert_eq!(mortal.server.ok("ListQueues", json!({})).await["QueueUrls"].as_array().unwrap().len(), 2);
    // Made anew under its name, a queue has nothing of the old one.
    mortal.server.send(URL, "old").await;
    mortal.server.ok("DeleteQueue", json!({"QueueUrl": URL})).await;
    mortal.server.advance(60);
    mortal.server.make("q", &QueueAttributes::default());
    let mortal = mortal.kill();
    assert_eq!(mortal.server.counts("q"), (0, 0, 0));
    mortal.server.ok("DeleteQueue", json!({"QueueUrl": URL})).await;
    let mortal = mortal.kill();
    assert_eq!(mortal.server.counts("other"), (0, 0, 0));
    assert_eq!(mortal.server.sqs.counts("q"), None);
}

#[tokio::test]
async fn old_messages_leave_the_file_too() {
    let mortal = Mortal::with_queue(&QueueAttributes { retention_s: Some(60), ..Default::default() });
    mortal.server.send(URL, "old").await;
    mortal.server.advance(60);
    mortal.server.receive(URL).await;
    let set = json!({"QueueUrl": URL, "Attributes": {"MessageRetentionPeriod": "600"}});
    let mortal = mortal.kill();
    mortal.server.ok("SetQueueAttributes", set).await;
    assert_eq!(mortal.server.counts("q"), (0, 0, 0));
}

#[tokio::test]
async fn one_file_is_for_one_server() {
    let folder = Folder::new();
    let file = folder.0.join("sqs.sqlite");
    let clock = Clock::system();
    let server = open(&file, &clock).unwrap();
    assert!(matches!(open(&file, &clock).err(), Some(OpenError::InUse)));
    server.make("q", &QueueAttributes::default());
    drop(server);
    assert_eq!(open(&file, &clock).unwrap().counts("q"), (0, 0, 0));
    fs::write(&file, "not a file of ours, and long enough to be taken for one. ".repeat(100)).unwrap();
    assert!(matches!(open(&file, &clock).err(), Some(OpenError::Sqlite(_))));
}

#[tokio::test]
async fn the_limit_of_messages_in_flight_is_a_setting() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    server.sqs.limit_in_flight(2);
    server.make("later", &QueueAttributes::default());
    for _ in 0..3 {
        server.send(&url, "x").await;
        server.send("http://h/000000000000/later", "x").await;
    }
    assert_eq!(server.receive("http://h/000000000000/later").await.len(), 2);
    let received = server.receive(&url).await;
    assert_eq!((received.len(), server.counts("q")), (2, (1, 2, 0)));
    let full = server.call("ReceiveMessage", json!({"QueueUrl": url})).await;
    assert_eq!(full.error(), "OverLimit");
    assert!(full.body["message"].as_str().unwrap().contains("is 2"), "{full:?}");
    server.delete(&url, &received[0]).await;
    assert_eq!(server.receive(&url).await.len(), 1);
}
