//! The routes, and the order in which a request is refused.
//!
//! Route, method, API key, scope, content type, size, syntax, unknown members, key, validation, reuse: a caller
//! without a key learns nothing about bodies, and nothing of a message is looked up for it.

use crate::{
    Api,
    accept::accept,
    contract::{ROUTES, Route},
    key, openapi, query,
    request::Draft,
    view::{Accepted, Shown},
};
use axum::{
    Json, Router,
    body::Body,
    extract::{Path, RawQuery, State, rejection::PathRejection},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, options, post},
};
use protocol::{
    ids::{KeyHash, MessageId, Operation},
    machine::accept::Verdict,
};
use sendonce_http::{Caller, Code, Fault, Problem, method_not_allowed, not_found, read_body};
use serde_json::json;
use std::{collections::BTreeSet, sync::Arc};
use tower_http::cors::CorsLayer;

/// Says that an answer repeats an earlier one.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

type Shared = State<Arc<Api>>;

/// The router that AWS and the local system serve.
pub fn router(api: Arc<Api>) -> Router {
    let mut router = Router::new();
    for row in &ROUTES {
        router = router.route(row.path, handler(row.route));
    }
    // On the routes only: a path that is not ours is 404 for a preflight too. The layer answers preflights itself; the
    // route is there for it to stand before.
    if !api.cors.is_empty() {
        let paths: BTreeSet<&str> = ROUTES.iter().map(|row| row.path).collect();
        router = paths.into_iter().fold(router, |router, path| router.route(path, options(method_not_allowed)));
        router = router.route_layer(cors(&api.cors));
    }
    router.fallback(not_found).method_not_allowed_fallback(method_not_allowed).with_state(api)
}

fn handler(route: Route) -> MethodRouter<Arc<Api>> {
    match route {
        Route::Send => post(send),
        Route::Find => get(find),
        Route::Show => get(show),
        Route::Healthz => get(healthz),
        Route::OpenApi => get(openapi),
    }
}

/// What a browser asks before a page of another origin may call (Fetch standard, CORS protocol).
fn cors(origins: &[HeaderValue]) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(origins.to_vec())
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([header::AUTHORIZATION, header::CONTENT_TYPE, HeaderName::from_static(key::HEADER)])
        .expose_headers([header::LOCATION, header::RETRY_AFTER, REPLAYED])
}

async fn healthz() -> Response {
    Json(json!({"status": "ok"})).into_response()
}

async fn openapi() -> Response {
    Json(openapi::document()).into_response()
}

/// The caller of a route, with the route's scope. A route without one is never asked.
async fn caller(api: &Api, route: Route, headers: &HeaderMap) -> Result<Caller, Problem> {
    match route.scope() {
        Some(scope) => api.auth.caller(headers, scope).await,
        None => Err(Problem::new(Code::NotFound, "There is no such route.")),
    }
}

async fn send(State(api): Shared, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    let caller = caller(&api, Route::Send, &headers).await?;
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

async fn show(
    State(api): Shared,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    let caller = caller(&api, Route::Show, &headers).await?;
    let missing = || Problem::new(Code::NotFound, "There is no such message.");
    // A path that is not UTF-8 once decoded is no id either.
    let id = id.ok().and_then(|Path(id)| MessageId::parse(&id)).ok_or_else(missing)?;
    let shown = read(&api, &caller.project, id.key, Some(id)).await?;
    shown.ok_or_else(missing)
}

async fn find(State(api): Shared, headers: HeaderMap, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let caller = caller(&api, Route::Find, &headers).await?;
    let Some(key) = query::first(query.as_deref(), key::MEMBER) else {
        let fault = Fault::at("", "Give the query parameter idempotency_key.");
        return Err(Problem::validation_failed(vec![fault]));
    };
    let key = key::from_query(key)?;
    let hash = KeyHash::of(Operation::Message, &caller.project, &key);
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
