//! A DynamoDB in this process, a proxy before it that can lose answers, and values to store.

use crate::Store;
use aws_sdk_dynamodb::Client;
use dynoxide::Database;
use platform::{AwsTimeouts, aws_config_at};
use protocol::{
    content::{Content, Device, Notification, Platform, Policy, Priority, SendRequest, Token},
    delivery::{Delivery, DeviceState, State},
    fingerprint::Fingerprint,
    ids::{KeyHash, MessageId, Nonce, Operation, OwnerToken},
    letter::Letter,
    message::Message,
};
use serde_json::Value;
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

pub(crate) const TABLE: &str = "sendonce";
/// FCM's form of a message name.
pub(crate) const FCM_NAME: &str = "projects/some-project-id/messages/0:1500415314455276%31bd1c9631bd1c96";

/// A fresh database with the service's table; its URL and a store over it.
pub(crate) async fn database() -> (String, Store) {
    let database = Database::memory().expect("a database in memory");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    tokio::spawn(dynoxide::server::serve_with_shutdown(listener, database, std::future::pending()));
    let store = store_at(&url, 10_000).await;
    store.create_table().await.expect("a table");
    (url, store)
}

/// A store over `url` whose every operation ends within this time.
pub(crate) async fn store_at(url: &str, operation_ms: u64) -> Store {
    Store::new(Client::new(&aws_config_at(AwsTimeouts::within(operation_ms), url).await), TABLE)
}

/// What the proxy does with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Closes the connection instead.
    Close,
    /// Keeps the connection open and says nothing.
    Withhold,
}

/// A proxy before a database. The requests always arrive; some answers do not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proxy {
    state: Arc<Mutex<ProxyState>>,
}

#[derive(Debug, Default)]
struct ProxyState {
    lose: Vec<Answer>,
    seen: Vec<(String, Value)>,
}

impl Proxy {
    /// Starts it; its URL.
    pub(crate) async fn start(upstream: &str) -> (Self, String) {
        let proxy = Self::default();
        let upstream = upstream.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let state = proxy.state.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, upstream.clone(), state.clone()));
            }
        });
        (proxy, url)
    }

    /// The next answers are lost in these ways.
    pub(crate) fn lose(&self, answers: &[Answer]) {
        self.state.lock().expect("not poisoned").lose = answers.to_vec();
    }

    /// Every request so far: its operation and its body.
    pub(crate) fn seen(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.state.lock().expect("not poisoned").seen)
    }
}

async fn serve(mut client: TcpStream, upstream: String, state: Arc<Mutex<ProxyState>>) {
    while let Some((head, body)) = read_message(&mut client).await {
        let mut server = TcpStream::connect(&upstream).await.expect("the database");
        server.write_all(&head).await.expect("a request sent");
        server.write_all(&body).await.expect("a request sent");
        let answer = read_message(&mut server).await.expect("an answer");
        let lost = {
            let mut state = state.lock().expect("not poisoned");
            state.seen.push((operation(&head), serde_json::from_slice(&body).unwrap_or_default()));
            if state.lose.is_empty() { None } else { Some(state.lose.remove(0)) }
        };
        match lost {
            None => {
                client.write_all(&answer.0).await.expect("an answer passed on");
                client.write_all(&answer.1).await.expect("an answer passed on");
            }
            Some(Answer::Close) => return,
            Some(Answer::Withhold) => std::future::pending().await,
        }
    }
}

/// One HTTP/1.1 message with a content length: its head and its body.
async fn read_message(stream: &mut TcpStream) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let length = header(&head, "content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, body))
}

fn header(head: &[u8], name: &str) -> Option<String> {
    String::from_utf8_lossy(head).lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

fn operation(head: &[u8]) -> String {
    let target = header(head, "x-amz-target").unwrap_or_default();
    target.rsplit('.').next().unwrap_or_default().to_owned()
}

pub(crate) fn id(key: &str, nonce: u8) -> MessageId {
    MessageId { key: KeyHash::of(Operation::Message, "acme", key), nonce: Nonce([nonce; 5]) }
}

pub(crate) fn request(devices: usize, body: &str) -> SendRequest {
    let device = |index| Device { platform: Platform::Android, token: Token(format!("{index:0>163}")) };
    SendRequest {
        to: (0..devices).map(device).collect(),
        content: Content {
            notification: Some(Notification { title: "Shipped".into(), body: body.into(), image: None }),
            data: std::collections::BTreeMap::new(),
            collapse_key: None,
            app: None,
            priority: Priority::High,
        },
        ttl_seconds: 86_400,
        policy: Policy::AtLeastOnce,
    }
}

pub(crate) fn message(id: MessageId, key: &str, request: &SendRequest) -> Message {
    Message {
        id,
        fingerprint: Fingerprint::of_send("acme", key, request),
        project: "acme".into(),
        key: key.into(),
        at_ms: 1_790_000_000_000,
        deliver_by_ms: 1_790_086_400_000,
        expires_ms: 1_790_086_400_000,
        valid_until_s: 1_792_592_000,
        policy: request.policy,
        devices: request.to.clone(),
        content: request.content.clone(),
    }
}

pub(crate) fn delivery(devices: usize) -> Delivery {
    Delivery {
        state: State::InFlight,
        attempt: 1,
        owner: Some(OwnerToken([7; 16])),
        lease_ms: 1_790_000_075_000,
        not_before_ms: 0,
        version: 1,
        devices: vec![DeviceState { letter: Letter::Pending, ..DeviceState::NEW }; devices],
        updated_ms: 1_790_000_000_000,
        expires_s: 1_793_888_000,
    }
}
