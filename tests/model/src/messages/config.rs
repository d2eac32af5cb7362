//! What one search is about: how many requests, chunks, devices and consumers, which faults, which seeded mistake.

use crate::{faults::Budget, messages::mutation::Mutation};
use protocol::{
    claim::ChunkFacts,
    content::{Content, Device, Notification, Platform, Policy, Priority, SendRequest, Token},
    fingerprint::Fingerprint,
    ids::{KeyHash, MessageId, NONCE_BYTES, Nonce, Operation},
    message::Message,
    timing::Timing,
};
use std::collections::BTreeMap;

/// The production profile: its ttl floor is longer than its lease, so a message of ttl 0 leaves room for a steal.
pub(super) const TIMING: Timing = Timing::PRODUCTION;
/// When every request arrives, in ms.
pub(super) const AT: u64 = 1_000_000_000;
const VALID_S: u64 = 30 * 86_400;

/// One HTTP request: whose it is and what it says. All requests use the same idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The project, by number.
    pub project: u8,
    /// The body, by number.
    pub body: u8,
}

/// A configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// What happens when an answer is lost.
    pub policy: Policy,
    /// The requests, which race.
    pub requests: Vec<Asked>,
    /// Chunks of each message.
    pub chunks: u8,
    /// Devices of each chunk: 1 or 2 here, 20 in production.
    pub devices: usize,
    /// Consumers at once.
    pub consumers: usize,
    /// Whether a key's validity may end.
    pub keys_expire: bool,
    /// Copies that the audit may add.
    pub audits: u8,
    /// How often the project may be held: its credentials are refused.
    pub holds: u8,
    /// The faults.
    pub faults: Budget,
    /// A seeded mistake.
    pub mutation: Option<Mutation>,
}

impl Config {
    /// One request for one device, two consumers, no faults, no mistake.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            requests: vec![Asked { project: 0, body: 0 }],
            chunks: 1,
            devices: 1,
            consumers: 2,
            keys_expire: false,
            audits: 0,
            holds: 0,
            faults: Budget::default(),
            mutation: None,
        }
    }

    /// One project that sends these bodies under one key.
    #[must_use]
    pub fn bodies(self, bodies: &[u8]) -> Self {
        let requests = bodies.iter().map(|body| Asked { project: 0, body: *body }).collect();
        Self { requests, ..self }
    }
}

/// What is fixed about one request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) asked: Asked,
    pub(super) message: Message,
    pub(super) request: SendRequest,
    /// Requests with the same key hash meet on one item: its number.
    pub(super) slot: usize,
    pub(super) facts: ChunkFacts,
    /// When delivery is really given up, in ms, whatever a mutation tells the machines.
    pub(super) deliver_by_ms: u64,
}

fn send_request(config: &Config, body: u8) -> SendRequest {
    let notification = Notification { title: format!("body {body}"), body: "x".to_owned(), image: None };
    let content = Content {
        notification: Some(notification),
        data: BTreeMap::new(),
        collapse_key: None,
        app: None,
        priority: Priority::High,
    };
    let to = vec![Device { platform: Platform::Android, token: Token("device".to_owned()) }];
    SendRequest { to, content, ttl_seconds: 0, policy: config.policy }
}

/// The requests of a configuration, made as the api function makes them.
pub(super) fn requests(config: &Config) -> Vec<Request> {
    let mut hashes: Vec<KeyHash> = Vec::new();
    let all = config.requests.iter().enumerate();
    all.map(|(number, asked)| {
        let request = send_request(config, asked.body);
        let project = format!("project {}", asked.project);
        let hashed =
            if config.mutation == Some(Mutation::KeyForgetsProject) { "one for all" } else { project.as_str() };
        let key = KeyHash::of(Operation::Message, hashed, "key");
        let slot = hashes.iter().position(|hash| *hash == key).unwrap_or_else(|| {
            hashes.push(key);
            hashes.len() - 1
        });
        let nonce = [u8::try_from(number).unwrap_or(u8::MAX); NONCE_BYTES];
        let deliver_by_ms = TIMING.deliver_by(AT, request.ttl_seconds);
        let told = if config.mutation == Some(Mutation::TtlFloorGone) {
            Timing { ttl_floor: 0, ..TIMING }.deliver_by(AT, request.ttl_seconds)
        } else {
            deliver_by_ms
        };
        let valid_until_s = AT / 1_000 + VALID_S;
        let message = Message {
            id: MessageId { key, nonce: Nonce(nonce) },
            fingerprint: Fingerprint::of_send(&project, "key", &request),
            project,
            key: "key".to_owned(),
            at_ms: AT,
            deliver_by_ms: told,
            expires_ms: AT,
            valid_until_s,
            policy: request.policy,
            devices: request.to.clone(),
            content: request.content.clone(),
        };
        let facts = ChunkFacts {
            deliver_by_ms: told,
            policy: config.policy,
            devices: config.devices,
            expires_s: TIMING.delivery_expires_s(AT, valid_until_s),
        };
        Request { asked: *asked, message, request, slot, facts, deliver_by_ms }
    })
    .collect()
}
