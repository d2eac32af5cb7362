//! The routes, and the order in which a request is refused.
//!
//! Route, method, API key, scope, content type, size, syntax, unknown members, key, validation, reuse: a caller
//! without a key learns nothing about bodies, and nothing of a message is looked up for it.

use crate::{
    Api,
    accept::accept,
    key, validate,
    view::{Accepted, Shown},
};
use axum::{
    Json, Router,
    body::Body,
    extract::{Path, Query, State},
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use protocol::{
    ids::{KeyHash, MessageId, Operation},
    machine::accept::Verdict,
};
use sendonce_http::{Code, Fault, Problem, Scope, method_not_allowed, not_found, parse_object, read_body};
use serde_json::json;
use std::sync::Arc;

/// Says that an answer repeats an earlier one.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

type Shared = State<Arc<Api>>;

/// The router that AWS and the local system serve.
pub fn router(api: Arc<Api>) -> Router {
    Router::new()
        .route("/v1/messages", post(send).get(find))
        .route("/v1/messages/{id}", get(show))
        .route("/healthz", get(healthz))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(api)
}

async fn healthz() -> Response {
    Json(json!({"status": "ok"})).into_response()
}

async fn send(State(api): Shared, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    let caller = api.auth.caller(&headers, Scope::MessagesSend).await?;
    let bytes = read_body(&headers, body).await?;
    let body = parse_object(&bytes)?;
    validate::known(&body)?;
    let key = key::idempotency_key(&headers, &body)?;
    let request = validate::send_request(&body)?;
    let verdict = accept(&api, &caller.project, &key, request).await.map_err(|error| {
        tracing::error!(error = %error, "a message id could not be made");
        Problem::unavailable()
    })?;
    let location = |id: MessageId| [(header::LOCATION, format!("/v1/messages/{id}"))];
    let accepted = |status: &'static str, id: MessageId| Json(Accepted::new(status, id));
    match verdict {
        Verdict::Queued(id) => Ok((StatusCode::ACCEPTED, location(id), accepted("queued", id)).into_response()),
        Verdict::Duplicate(id) => {
            let replayed = [(REPLAYED, "true")];
            Ok((StatusCode::ACCEPTED, location(id), replayed, accepted("duplicate_ignored", id)).into_response())
        }
        Verdict::Reused => {
            let detail = "This idempotency key was used for a request with another body. Send the first body again to \
                          learn its id, or choose a new key for a new intent.";
            Err(Problem::new(Code::IdempotencyKeyReused, detail))
        }
        Verdict::Unavailable => Err(Problem::unavailable()),
    }
}

async fn show(State(api): Shared, headers: HeaderMap, Path(id): Path<String>) -> Result<Response, Problem> {
    let caller = api.auth.caller(&headers, Scope::MessagesRead).await?;
    let missing = || Problem::new(Code::NotFound, "There is no such message.");
    let id = MessageId::parse(&id).ok_or_else(missing)?;
    let shown = read(&api, &caller.project, id.key, Some(id)).await?;
    shown.ok_or_else(missing)
}

async fn find(
    State(api): Shared,
    headers: HeaderMap,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Problem> {
    let caller = api.auth.caller(&headers, Scope::MessagesRead).await?;
    let Some((_, key)) = query.iter().find(|(name, _)| name == key::MEMBER) else {
        let fault = Fault::at("", "Give the query parameter idempotency_key.");
        return Err(Problem::validation_failed(vec![fault]));
    };
    let key = key::from_query(key)?;
    let hash = KeyHash::of(Operation::Message, &caller.project, key);
    let shown = read(&api, &caller.project, hash, None).await?;
    shown.ok_or_else(|| Problem::new(Code::NotFound, "There is no message under this key."))
}

/// The message under a key hash, if it is this project's, the one asked for, and its key is still valid.
async fn read(api: &Api, project: &str, key: KeyHash, id: Option<MessageId>) -> Result<Option<Response>, Problem> {
    let stored = api.store.message(key).await.map_err(|error| {
        tracing::error!(error = %error, "a message could not be read");
        Problem::unavailable()
    })?;
    let now = api.clock.now_ms();
    let visible = stored.filter(|stored| {
        let message = &stored.message;
        message.project == project && id.is_none_or(|id| id == message.id) && message.valid_until_s >= now / 1_000
    });
    Ok(visible.map(|stored| Json(Shown::new(&stored, now, &api.timing)).into_response()))
}
