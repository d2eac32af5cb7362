//! `POST /control` on the sandbox's port: time, pauses, failures and crashes on request. Local system only.
//!
//! One JSON object, any of its members together; everything is checked before anything is done. 204, or 400 that names
//! the member and the rule. An audit that is run at once answers 200 with its report, or 502 if it did not come to its
//! end.

use crate::{
    crash::Crashes,
    data::Data,
    inline::InlineSwitch,
    invoke::{Function, InvokeError},
};
use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use local_sqs::{IN_FLIGHT, Sqs};
use platform::Clock;
use protocol::machine::{accept, audit, dead_letter, deliver, payout, relay};
use sandbox::Sandbox;
use serde_json::{Map, Value, json};
use std::{sync::Arc, time::Duration};

/// Furthest the clock is moved at once: 400 days, more than any key is valid.
const ADVANCE_MAX_SECONDS: u64 = 400 * 86_400;

/// Longest that the providers' SETTINGS are held back, in ms: a minute, more than any call waits.
const SETTINGS_DELAY_MAX_MS: u64 = 60_000;

/// What can be controlled.
#[derive(Clone, Debug)]
pub struct Control {
    pub(crate) clock: Clock,
    /// The folder that remembers how far the clock was moved, if any.
    pub(crate) data: Option<Arc<Data>>,
    /// Whether the functions run in this process.
    pub(crate) here: bool,
    pub(crate) crashes: Crashes,
    pub(crate) inline: InlineSwitch,
    /// The built-in SQS, if that is what runs.
    pub(crate) sqs: Option<Sqs>,
    pub(crate) sandbox: Sandbox,
    pub(crate) pausable: Vec<Function>,
    pub(crate) audit: Function,
}

enum Action {
    Advance(u64),
    Pause(Function, bool),
    FailInline(bool),
    Twice(Sqs, bool),
    InFlight(Sqs, usize),
    DelaySettings(Duration),
    LagListings(bool),
    Crash(String, String),
}

/// The effects of the refunds function's three machines (create, decide, change of a payout).
const REFUNDS: [&str; 5] = ["put", "decide", "read", "write", "send"];

/// The crash points of a function, by the names of its effects.
fn effects(function: &str) -> Option<&'static [&'static str]> {
    match function {
        "api" => Some(&accept::EFFECTS),
        "refunds" => Some(&REFUNDS),
        "payout" => Some(&payout::EFFECTS),
        "deliver" => Some(&deliver::EFFECTS),
        "relay" => Some(&relay::EFFECTS),
        "dead_letter" => Some(&dead_letter::EFFECTS),
        "audit" => Some(&audit::EFFECTS),
        _ => None,
    }
}

impl Control {
    /// The route.
    pub(crate) fn router(self) -> Router {
        Router::new().route("/control", post(control)).with_state(Arc::new(self))
    }

    /// Whether a function of this name can be paused.
    #[must_use]
    pub fn knows(&self, function: &str) -> bool {
        self.pausable.iter().any(|known| known.name() == function)
    }

    /// Whether an invocation of this function runs now.
    #[must_use]
    pub fn is_busy(&self, function: &str) -> bool {
        self.pausable.iter().any(|known| known.name() == function && known.is_busy())
    }

    /// How many invocations of this function were started so far.
    #[must_use]
    pub fn invocations(&self, function: &str) -> u64 {
        self.pausable.iter().find(|known| known.name() == function).map_or(0, Function::invocations)
    }

    /// The crashes that were asked for and have not happened yet: (function, point), oldest first. A test knows from
    /// it that a crash is over.
    #[must_use]
    pub fn armed(&self) -> Vec<(String, String)> {
        self.crashes.armed()
    }

    /// Reads and does what `order` says, but for an audit to run: see [`Control::run_audit`].
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
                Action::InFlight(sqs, most) => sqs.limit_in_flight(most),
                Action::DelaySettings(by) => self.sandbox.delay_settings(by),
                Action::LagListings(lag) => self.sandbox.lag_listings(lag),
                Action::Crash(function, point) => self.crashes.arm(function, point),
            }
        }
        Ok(())
    }

    /// Runs a whole audit now and gives its report, paused or not.
    ///
    /// # Errors
    /// When that invocation crashed, took too long or failed.
    pub async fn run_audit(&self) -> Result<Value, InvokeError> {
        self.audit.invoke(json!({"run": "now"})).await
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
        if !self.here && matches!(member, "inline_send" | "crash") {
            return Err(format!("/{member}: only functions of this process can be told to"));
        }
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
            "in_flight" => {
                let most = value.as_u64().and_then(|most| usize::try_from(most).ok());
                let most = most.filter(|most| (1..=IN_FLIGHT).contains(most));
                let most = most.ok_or_else(|| format!("/in_flight: give a whole number from 1 to {IN_FLIGHT}"))?;
                let sqs = self.sqs.clone().ok_or("/in_flight: only the built-in SQS can do this")?;
                Action::InFlight(sqs, most)
            }
            "settings_delay_ms" => match value.as_u64().filter(|ms| *ms <= SETTINGS_DELAY_MAX_MS) {
                Some(ms) => Action::DelaySettings(Duration::from_millis(ms)),
                None => {
                    return Err(format!("/settings_delay_ms: give a whole number from 0 to {SETTINGS_DELAY_MAX_MS}"));
                }
            },
            "listings" => Action::LagListings(either(member, value, "lag", "current")?),
            "crash" => {
                let function = value.as_str().unwrap_or_default();
                let effects = effects(function)
                    .ok_or("/crash: give api, refunds, deliver, payout, relay, dead_letter or audit")?;
                let point = order.get("at").and_then(Value::as_str).unwrap_or_default();
                if !effects.iter().any(|effect| point.strip_prefix("after_") == Some(effect)) {
                    return Err(format!("/at: for {function} give after_ and one of {}", effects.join(", ")));
                }
                Action::Crash(function.to_owned(), point.to_owned())
            }
            // The route does it after everything else, since it has an answer of its own.
            "audit" if value == "run" => return Ok(None),
            "at" if order.contains_key("crash") => return Ok(None),
            "at" => return Err("/at: it goes with crash".to_owned()),
            name => match self.pausable.iter().find(|function| function.name() == name) {
                Some(_) if name == "audit" && !matches!(value.as_str(), Some("pause" | "resume")) => {
                    return Err("/audit: give run, pause or resume".to_owned());
                }
                Some(function) => Action::Pause(function.clone(), either(member, value, "pause", "resume")?),
                None => {
                    let known = "advance_seconds, deliver, payout, relay, dead_letter, audit, inline_send, copies, in_flight, \
                                 settings_delay_ms, listings, crash with at";
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
    let mut run_audit = false;
    let result = match serde_json::from_slice::<Value>(&body) {
        Ok(Value::Object(order)) => {
            run_audit = order.get("audit").is_some_and(|value| value == "run");
            control.obey(&order)
        }
        Ok(_) => Err("the body must be a JSON object".to_owned()),
        Err(error) => Err(format!("the body is not JSON: {error}")),
    };
    match result {
        Ok(()) if run_audit => match control.run_audit().await {
            Ok(report) => Json(report).into_response(),
            Err(error) => {
                let detail = format!("the audit did not come to its end: {error}");
                (StatusCode::BAD_GATEWAY, Json(json!({"message": detail}))).into_response()
            }
        },
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(detail) => (StatusCode::BAD_REQUEST, Json(json!({"message": detail}))).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::REFUNDS;
    use protocol::machine::{change_payout, create_refund, decide_refund};
    use std::collections::BTreeSet;

    #[test]
    fn the_refunds_function_s_crash_points_are_its_machines_effects() {
        let machines: BTreeSet<&str> =
            create_refund::EFFECTS.into_iter().chain(decide_refund::EFFECTS).chain(change_payout::EFFECTS).collect();
        assert_eq!(BTreeSet::from(REFUNDS), machines);
    }
}
