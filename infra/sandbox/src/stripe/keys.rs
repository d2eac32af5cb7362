//! The idempotency layer: answers that are kept under their keys, and keys whose first call still runs.
//!
//! Stripe keeps the status and body of the first call once it has begun to execute, 500s among them, and replays them for 24
//! hours at least; then the same key starts a new request. Here it does so after exactly 24 hours of the sandbox's clock.

use super::{Params, refusal::Refusal};
use crate::{Sandbox, respond::json};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode};
use serde_json::Value;
use std::collections::HashMap;

/// How long a key is remembered, in ms.
pub(super) const LIVES_MS: u64 = 86_400_000;
/// Keys that are remembered; when full, those whose time is over make room, and else no more are kept.
const KEYS_MAX: usize = 200_000;

/// An answer as it is kept.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl Stored {
    pub(super) fn response(&self, replayed: bool) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json(status, &self.body).into_response();
        if replayed {
            response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
        }
        response
    }
}

struct Kept {
    params: Params,
    at_ms: u64,
    /// The first call has not ended; what it leaves is kept when it does.
    running: bool,
    answer: Option<Stored>,
}

/// What is known under a key.
pub(super) enum Found {
    /// Nothing.
    Free,
    /// The first call has not ended.
    Running,
    /// It was used with other parameters.
    Other,
    /// The first call's answer.
    Kept(Stored),
}

/// All keys, by account and key.
#[derive(Default)]
pub(crate) struct Keys {
    kept: HashMap<(String, String), Kept>,
}

impl Keys {
    pub(super) fn find(&mut self, account: &str, key: &str, params: &Params, now_ms: u64) -> Found {
        let name = (account.to_owned(), key.to_owned());
        let Some(kept) = self.kept.get(&name) else { return Found::Free };
        if !kept.running && now_ms.saturating_sub(kept.at_ms) >= LIVES_MS {
            self.kept.remove(&name);
            return Found::Free;
        }
        match &kept.answer {
            _ if kept.params != *params => Found::Other,
            _ if kept.running => Found::Running,
            Some(answer) => Found::Kept(answer.clone()),
            None => Found::Free,
        }
    }

    /// Keeps an answer.
    pub(super) fn keep(&mut self, account: &str, key: Option<String>, params: Params, answer: Stored, now_ms: u64) {
        if let Some(key) = key {
            self.put(account, key, Kept { params, at_ms: now_ms, running: false, answer: Some(answer) }, now_ms);
        }
    }

    /// A call begins that does not end by itself.
    pub(super) fn run(&mut self, account: &str, key: &str, params: Params, answer: Option<Stored>, now_ms: u64) {
        self.put(account, key.to_owned(), Kept { params, at_ms: now_ms, running: true, answer }, now_ms);
    }

    fn put(&mut self, account: &str, key: String, kept: Kept, now_ms: u64) {
        if self.kept.len() >= KEYS_MAX {
            self.kept.retain(|_, kept| kept.running || now_ms.saturating_sub(kept.at_ms) < LIVES_MS);
        }
        if self.kept.len() < KEYS_MAX {
            self.kept.insert((account.to_owned(), key), kept);
        }
    }

    fn end(&mut self, name: &(String, String)) {
        if let Some(kept) = self.kept.get_mut(name) {
            kept.running = false;
            if kept.answer.is_none() {
                self.kept.remove(name);
            }
        }
    }
}

/// A call that hangs. When it is dropped, its client has gone away.
pub(super) struct Running {
    sandbox: Sandbox,
    name: (String, String),
}

impl Running {
    pub(super) fn new(sandbox: Sandbox, account: &str, key: &str) -> Self {
        Self { sandbox, name: (account.to_owned(), key.to_owned()) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.sandbox.state().stripe.keys.end(&self.name);
    }
}

impl Refusal {
    /// As it is kept under a key.
    pub(super) fn stored(self) -> Stored {
        let (status, body) = self.parts();
        Stored { status, body }
    }
}
