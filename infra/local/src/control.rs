//! `POST /control` on the sandbox's port: time, pauses, failures and crashes on request. Local system only.
//!
//! One JSON object, any of its members together; everything is checked before anything is done. 204, or 400 that names
//! the member and the rule.

use crate::{crash::Crashes, data::Data, inline::InlineSwitch, invoke::Function};
use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use local_sqs::Sqs;
use platform::Clock;
use protocol::machine::{accept, dead_letter, deliver, relay};
use serde_json::{Map, Value, json};
use std::{sync::Arc, time::Duration};

/// Furthest the clock is moved at once: 400 days, more than any key is valid.
const ADVANCE_MAX_SECONDS: u64 = 400 * 86_400;

/// What can be controlled.
#[derive(Clone, Debug)]
pub struct Control {
    pub(crate) clock: Clock,
    /// The folder that remembers how far the clock was moved, if any.
    pub(crate) data: Option<Arc<Data>>,
    pub(crate) crashes: Crashes,
    pub(crate) inline: InlineSwitch,
    /// The built-in SQS, if that is what runs.
    pub(crate) sqs: Option<Sqs>,
    pub(crate) pausable: Vec<Function>,
}

enum Action {
    Advance(u64),
    Pause(Function, bool),
    FailInline(bool),
    Twice(Sqs, bool),
    Crash(String, String),
}

/// The crash points of a function, by the names of its effects.
fn effects(function: &str) -> Option<&'static [&'static str]> {
    match function {
        "api" => Some(&accept::EFFECTS),
        "deliver" => Some(&deliver::EFFECTS),
        "relay" => Some(&relay::EFFECTS),
        "dead_letter" => Some(&dead_letter::EFFECTS),
        _ => None,
    }
}

impl Control {
    /// The route.
    pub(crate) fn router(self) -> Router {
        Router::new().route("/control", post(control)).with_state(Arc::new(self))
    }

    /// The crashes that were asked for and have not happened yet: (function, point), oldest first. A test knows from
    /// it that a crash is over.
    #[must_use]
    pub fn armed(&self) -> Vec<(String, String)> {
        self.crashes.armed()
    }

    /// Reads and does what `order` says.
    ///
    /// # Errors
    /// The first member that cannot be followed, and why. Nothing is done then. Or that the clock's move could not be
    /// written down; the clock is not moved then.
    pub fn obey(&self, order: &Map<String, Value>) -> Result<(), String> {
        let mut actions = Vec::new();
        for (member, value) in order {
            if let Some(action) = self.action(member, value, order)? {
                actions.push(action);
            }
        }
        for action in actions {
            match action {
                Action::Advance(seconds) => self.advance(Duration::from_secs(seconds))?,
                Action::Pause(function, true) => function.pause(),
                Action::Pause(function, false) => function.resume(),
                Action::FailInline(fail) => self.inline.fail(fail),
                Action::Twice(sqs, twice) => sqs.deliver_twice(twice),
                Action::Crash(function, point) => self.crashes.arm(function, point),
            }
        }
        Ok(())
    }

    fn advance(&self, by: Duration) -> Result<(), String> {
        match &self.data {
            Some(data) => data.advance(&self.clock, by).map_err(|e| format!("/advance_seconds: not written down: {e}")),
            None => {
                self.clock.advance(by);
                Ok(())
            }
        }
    }

    fn action(&self, member: &str, value: &Value, order: &Map<String, Value>) -> Result<Option<Action>, String> {
        let action = match member {
            "advance_seconds" => match value.as_u64().filter(|seconds| *seconds <= ADVANCE_MAX_SECONDS) {
                Some(seconds) => Action::Advance(seconds),
                None => return Err(format!("/advance_seconds: give a whole number from 0 to {ADVANCE_MAX_SECONDS}")),
            },
            "inline_send" => Action::FailInline(either(member, value, "fail", "work")?),
            "copies" => {
                let twice = either(member, value, "twice", "once")?;
                let sqs = self.sqs.clone().ok_or("/copies: only the built-in SQS can do this")?;
                Action::Twice(sqs, twice)
            }
            "crash" => {
                let function = value.as_str().unwrap_or_default();
                let effects = effects(function).ok_or("/crash: give api, deliver, relay or dead_letter")?;
                let point = order.get("at").and_then(Value::as_str).unwrap_or_default();
                if !effects.iter().any(|effect| point.strip_prefix("after_") == Some(effect)) {
                    return Err(format!("/at: for {function} give after_ and one of {}", effects.join(", ")));
                }
                Action::Crash(function.to_owned(), point.to_owned())
            }
            "at" if order.contains_key("crash") => return Ok(None),
            "at" => return Err("/at: it goes with crash".to_owned()),
            name => match self.pausable.iter().find(|function| function.name() == name) {
                Some(function) => Action::Pause(function.clone(), either(member, value, "pause", "resume")?),
                None => {
                    let known = "advance_seconds, deliver, relay, dead_letter, inline_send, copies, crash with at";
                    return Err(format!("/{member}: unknown; known are {known}"));
                }
            },
        };
        Ok(Some(action))
    }
}

/// True for `yes`, false for `no`.
fn either(member: &str, value: &Value, yes: &str, no: &str) -> Result<bool, String> {
    match value.as_str() {
        Some(word) if word == yes => Ok(true),
        Some(word) if word == no => Ok(false),
        _ => Err(format!("/{member}: give {yes} or {no}")),
    }
}

async fn control(State(control): State<Arc<Control>>, body: Bytes) -> Response {
    let result = match serde_json::from_slice::<Value>(&body) {
        Ok(Value::Object(order)) => control.obey(&order),
        Ok(_) => Err("the body must be a JSON object".to_owned()),
        Err(error) => Err(format!("the body is not JSON: {error}")),
    };
    match result {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(detail) => (StatusCode::BAD_REQUEST, Json(json!({"message": detail}))).into_response(),
    }
}
