//! APNs, `POST /3/device/{token}` over HTTP/2: checks a request as APNs does, then plays the device's script.

mod check;
mod provider_token;
mod refusal;

pub(crate) use provider_token::{ProviderTokens, Team, key_id, team_id, usual_apps};

use crate::{
    Sandbox,
    http2::Stream,
    ledger::{Entry, shown},
    line::{Fault, Line},
    respond::with_date,
    script::Outcome,
};
use axum::{
    Extension,
    extract::State,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header::RETRY_AFTER};
use platform::Random;
use refusal::Refusal;
use serde_json::{Value, json};

/// One request on its way through.
struct Arrived<'a> {
    stream: &'a Stream,
    method: &'a Method,
    path: &'a str,
    headers: &'a HeaderMap,
    body: &'a [u8],
}

impl<'a> Arrived<'a> {
    /// What stands in the device token's place; `None` on a path that APNs does not have.
    fn device(&self) -> Option<&'a str> {
        self.path.strip_prefix("/3/device/")
    }
}

/// What becomes of a request after it was written down.
enum Then {
    Answer(Response),
    Fail(Fault),
}

pub(crate) async fn handle(
    State(sandbox): State<Sandbox>,
    line: Option<Extension<Line>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match line {
        Some(Extension(Line::Http2(stream))) => {
            let arrived =
                Arrived { stream: &stream, method: &method, path: uri.path(), headers: &headers, body: &body };
            match decide(&sandbox, &arrived) {
                Then::Answer(response) => {
                    sandbox.travels().await;
                    response
                }
                Then::Fail(fault) => Line::Http2(stream).fail(fault).await,
            }
        }
        // APNs speaks HTTP/2 only.
        Some(Extension(line)) => line.fail(Fault::Cut).await,
        None => std::future::pending().await,
    }
}

/// Decides and writes the ledger entry in one step, so that an answer is never seen before its entry.
fn decide(sandbox: &Sandbox, arrived: &Arrived<'_>) -> Then {
    let now_ms = sandbox.shared.clock.now_ms();
    let header =
        |name: &str| arrived.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let id = header("apns-id").or_else(|| fresh_id(&sandbox.shared.random));
    let payload = serde_json::from_slice(arrived.body).unwrap_or_else(|_| json!(String::from_utf8_lossy(arrived.body)));
    let mut entry = Entry {
        seq: 0,
        provider: "apns",
        token: arrived.device().filter(|token| !token.is_empty()).map(str::to_owned),
        id,
        collapse_id: header("apns-collapse-id"),
        headers: shown(arrived.headers),
        payload,
        idempotency_key: None,
        amount: None,
        accepted: false,
        answered: true,
        status: None,
        at: now_ms,
    };
    let mut state = sandbox.state();
    let then = match check::request(&mut state, arrived, &entry.payload, now_ms) {
        Ok(token) => {
            let outcome = state.scripts.next_of_apns(token);
            entry.accepted = outcome.accepts();
            match (outcome.fault(), outcome) {
                (Some(fault), _) => Then::Fail(fault),
                (None, Outcome::Answer { status, reason, retry_after, timestamp }) => {
                    Then::Answer(scripted(status, reason, retry_after, timestamp))
                }
                (None, Outcome::AnswerUnkept { status, reason }) => Then::Answer(scripted(status, reason, None, None)),
                (None, Outcome::AnswerAbout { status, reason, field: _, retry_after_date }) => {
                    Then::Answer(with_date(scripted(status, reason, None, None), now_ms, retry_after_date))
                }
                (None, _) => Then::Answer(StatusCode::OK.into_response()),
            }
        }
        Err(refusal) => Then::Answer(refusal.response()),
    };
    let then = match then {
        Then::Answer(mut response) => {
            entry.status = Some(response.status().as_u16());
            if let Some(id) = entry.id.as_deref().and_then(|id| HeaderValue::from_str(id).ok()) {
                response.headers_mut().insert("apns-id", id);
            }
            Then::Answer(response)
        }
        Then::Fail(fault) => {
            entry.answered = false;
            Then::Fail(fault)
        }
    };
    state.ledger.add(entry);
    then
}

fn scripted(status: u16, reason: Option<String>, retry_after: Option<u64>, timestamp: Option<u64>) -> Response {
    let mut response = Refusal::scripted(status, reason, timestamp).response();
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// A UUID of version 4, as APNs makes one for a request without `apns-id`.
fn fresh_id(random: &Random) -> Option<String> {
    let mut bytes = random.bytes::<16>().ok()?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = data_encoding::HEXLOWER.encode(&bytes);
    Some(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

/// Whether a payload has a member of `aps`.
fn aps<'a>(payload: &'a Value, name: &str) -> Option<&'a Value> {
    payload.get("aps")?.get(name)
}
