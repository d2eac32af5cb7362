//! The routes, and the order in which a request is refused.
//!
//! Route, method, API key, scope, content type, size, syntax, unknown members, key, validation, reuse: a caller
//! without a key learns nothing about bodies, and nothing of a message is looked up for it.

use crate::{
    Api,
    accept::accept,
    invalid_tokens, openapi,
    request::Draft,
    view::{Accepted, shown},
};
use axum::{
    Extension, Json, Router,
    body::Body,
    extract::{Path, RawQuery, State, rejection::PathRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use protocol::{
    ids::{KeyHash, MessageId, Operation},
    machine::accept::Verdict,
};
use sendonce_http::{
    Caller, Code, Fault, Noted, Problem, REPLAYED,
    contract::{ROUTES, Route},
    key, query, read_body,
};
use serde_json::json;
use std::sync::Arc;

type Shared = State<Arc<Api>>;

/// The router that AWS and the local system serve.
pub fn router(api: Arc<Api>) -> Router {
    let routes: Vec<_> = ROUTES.iter().filter_map(|row| Some((row.path, handler(row.route)?))).collect();
    sendonce_http::router(&routes, &api.cors, api.clock.clone(), Arc::clone(&api))
}

/// The handler of a route that this function serves.
fn handler(route: Route) -> Option<MethodRouter<Arc<Api>>> {
    Some(match route {
        Route::Send => post(send),
        Route::Find => get(find),
        Route::Show => get(show),
        Route::InvalidTokens => get(list_invalid_tokens),
        Route::Healthz => get(healthz),
        Route::OpenApi => get(openapi),
        Route::Refunds(_) => return None,
    })
}

async fn healthz() -> Response {
    Json(json!({"status": "ok"})).into_response()
}

async fn openapi() -> Response {
    Json(openapi::document()).into_response()
}

/// The caller of a route, with the route's scope. A route without one is never asked.
async fn caller(api: &Api, route: Route, headers: &HeaderMap, noted: &Noted) -> Result<Caller, Problem> {
    match route.scope() {
        Some(scope) => {
            let caller = api.auth.caller(headers, scope).await?;
            noted.caller(&caller);
            Ok(caller)
        }
        None => Err(Problem::new(Code::NotFound, "There is no such route.")),
    }
}

async fn send(
    State(api): Shared,
    Extension(noted): Extension<Noted>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let caller = caller(&api, Route::Send, &headers, &noted).await?;
    let bytes = read_body(&headers, body).await?;
    let draft = Draft::read(&headers, &bytes)?;
    let apps = if draft.names_app() { api.projects.apps(&caller.project).await? } else { Arc::default() };
    let (key, request) = draft.finish(&apps)?;
    let verdict = accept(&api, &caller.project, &key, request).await.map_err(|error| {
        tracing::error!(error = %error, "a message id could not be made");
        Problem::unavailable()
    })?;
    let location = |id: MessageId| [(header::LOCATION, format!("/v1/messages/{id}"))];
    let accepted = |status: &'static str, id: MessageId| Json(Accepted::new(status, id));
    match verdict {
        Verdict::Queued(id) => {
            noted.message(id, false);
            Ok((StatusCode::ACCEPTED, location(id), accepted("queued", id)).into_response())
        }
        Verdict::Duplicate(id) => {
            noted.message(id, true);
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

async fn show(
    State(api): Shared,
    Extension(noted): Extension<Noted>,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    let caller = caller(&api, Route::Show, &headers, &noted).await?;
    let missing = || Problem::new(Code::NotFound, "There is no such message.");
    // A path that is not UTF-8 once decoded is no id either.
    let id = id.ok().and_then(|Path(id)| MessageId::parse(&id)).ok_or_else(missing)?;
    let shown = read(&api, &caller.project, id.key, Some(id), &noted).await?;
    shown.ok_or_else(missing)
}

async fn find(
    State(api): Shared,
    Extension(noted): Extension<Noted>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let caller = caller(&api, Route::Find, &headers, &noted).await?;
    let Some(key) = query::first(query.as_deref(), key::MEMBER) else {
        let fault = Fault::at("", "Give the query parameter idempotency_key.");
        return Err(Problem::validation_failed(vec![fault]));
    };
    let key = key::from_query(key)?;
    let hash = KeyHash::of(Operation::Message, &caller.project, &key);
    let shown = read(&api, &caller.project, hash, None, &noted).await?;
    shown.ok_or_else(|| Problem::new(Code::NotFound, "There is no message under this key."))
}

async fn list_invalid_tokens(
    State(api): Shared,
    Extension(noted): Extension<Noted>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let caller = caller(&api, Route::InvalidTokens, &headers, &noted).await?;
    invalid_tokens::page(&api, &caller.project, query.as_deref()).await
}

/// The message under a key hash, if it is this project's, the one asked for, and its key is still valid.
async fn read(
    api: &Api,
    project: &str,
    key: KeyHash,
    id: Option<MessageId>,
    noted: &Noted,
) -> Result<Option<Response>, Problem> {
    let stored = api.store.message(key).await.map_err(|error| {
        tracing::error!(error = %error, "a message could not be read");
        Problem::unavailable()
    })?;
    let now = api.clock.now_ms();
    let visible = stored.filter(|stored| {
        let message = &stored.message;
        message.project == project && id.is_none_or(|id| id == message.id) && message.valid_until_s >= now / 1_000
    });
    let Some(stored) = visible else { return Ok(None) };
    noted.message(stored.message.id, false);
    let shown = shown(&api.store, &stored, now, &api.timing).await.map_err(|error| {
        tracing::error!(project, error = %error, "a hold could not be read");
        Problem::unavailable()
    })?;
    Ok(Some(Json(shown).into_response()))
}
