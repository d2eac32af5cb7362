//! FCM HTTP v1, `messages:send`: checks a request as FCM does, then plays the device's script.

mod check;
mod refusal;
mod schema;

use crate::{
    Sandbox,
    ledger::{Entry, shown},
    line::{Fault, Line},
    respond::{json, with_date},
    script::Outcome,
    state::{Shared, State as Shelf},
};
use axum::{
    Extension,
    extract::{Path, State},
    response::Response,
};
use bytes::Bytes;
use check::Checked;
use http::{HeaderMap, HeaderValue, StatusCode, header::RETRY_AFTER};
use platform::RandomError;
use refusal::Refusal;
use serde_json::{Value, json};

/// What becomes of a request after it was written down.
enum Then {
    Answer(Response),
    Fail(Fault),
}

pub(crate) async fn handle(
    State(sandbox): State<Sandbox>,
    Path(project_id): Path<String>,
    line: Option<Extension<Line>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match (decide(&sandbox, &project_id, &headers, &body), line) {
        (Then::Answer(response), _) => {
            sandbox.travels().await;
            response
        }
        (Then::Fail(fault), Some(Extension(line))) => line.fail(fault).await,
        (Then::Fail(_), None) => std::future::pending().await,
    }
}

/// Decides and writes the ledger entry in one step, so that an answer is never seen before its entry.
fn decide(sandbox: &Sandbox, project_id: &str, headers: &HeaderMap, body: &[u8]) -> Then {
    let shared = &sandbox.shared;
    let now_ms = shared.clock.now_ms();
    let payload = serde_json::from_slice(body).unwrap_or_else(|_| json!(String::from_utf8_lossy(body)));
    let mut entry = Entry {
        seq: 0,
        provider: "fcm",
        token: ["/message/token", "/message/fid"]
            .iter()
            .find_map(|path| payload.pointer(path)?.as_str())
            .map(str::to_owned),
        id: None,
        collapse_id: collapse_id(&payload),
        headers: shown(headers),
        payload,
        idempotency_key: None,
        amount: None,
        accepted: false,
        answered: true,
        status: None,
        at: now_ms,
    };
    let mut state = sandbox.state();
    let checked = check::request(&state, headers, project_id, &entry.payload, now_ms);
    let then = match checked {
        Ok(Checked { token: Some(token), validate_only: false }) => {
            play(&mut state, shared, project_id, &token, &mut entry)
        }
        Ok(_) => Then::Answer(accepted(&format!("projects/{project_id}/messages/fake_message_id"))),
        Err(refusal) => Then::Answer(refusal.response()),
    };
    match &then {
        Then::Answer(response) => entry.status = Some(response.status().as_u16()),
        Then::Fail(_) => entry.answered = false,
    }
    state.ledger.add(entry);
    then
}

fn play(state: &mut Shelf, shared: &Shared, project_id: &str, token: &str, entry: &mut Entry) -> Then {
    let Ok(name) = message_name(shared, project_id, entry.at) else {
        return Then::Answer(Refusal::scripted(500, None).response());
    };
    let outcome = state.scripts.next(token);
    entry.accepted = outcome.accepts();
    let then = match (outcome.fault(), outcome) {
        (Some(fault), _) => Then::Fail(fault),
        (None, Outcome::Answer { status, reason, retry_after, timestamp: _ }) => {
            let mut response = Refusal::scripted(status, reason).response();
            if let Some(seconds) = retry_after {
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
            }
            Then::Answer(response)
        }
        (None, Outcome::AnswerUnkept { status, reason }) => Then::Answer(Refusal::scripted(status, reason).response()),
        (None, Outcome::AnswerAbout { status, reason, field, retry_after_date }) => {
            let refusal = match field {
                Some(field) => Refusal::scripted_about(status, reason, &field),
                None => Refusal::scripted(status, reason),
            };
            Then::Answer(with_date(refusal.response(), entry.at, retry_after_date))
        }
        (None, _) => Then::Answer(accepted(&name)),
    };
    entry.id = entry.accepted.then_some(name);
    then
}

fn accepted(name: &str) -> Response {
    json(StatusCode::OK, &json!({ "name": name }))
}

/// As FCM names messages to Android devices: `projects/p/messages/0:1500415314455276%31bd1c9631bd1c96`.
fn message_name(shared: &Shared, project_id: &str, now_ms: u64) -> Result<String, RandomError> {
    let random = u64::from_be_bytes(shared.random.bytes::<8>()?);
    let micros = now_ms * 1_000 + random % 1_000;
    Ok(format!("projects/{project_id}/messages/0:{micros}%{random:016x}"))
}

fn collapse_id(payload: &Value) -> Option<String> {
    let paths =
        ["/android/notification/tag", "/webpush/notification/tag", "/android/collapse_key", "/android/collapseKey"];
    let message = payload.get("message")?;
    paths.iter().find_map(|path| message.pointer(path)).and_then(Value::as_str).map(str::to_owned)
}
