//! All routes of the sandbox, and the handlers of the ledger and the scripts.

use crate::{
    Sandbox, apns, fcm, oauth, page,
    respond::{BODY_MAX_BYTES, json},
    script::Outcome,
    secrets, stripe,
};
use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, Query, State},
    response::{IntoResponse, Response},
    routing::{any, get, post, put},
};
use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

impl Sandbox {
    /// The sandbox's routes, for a server of one's own. APNs, and outcomes without an answer, need
    /// [`Sandbox::serve`]; behind any other server they hang.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/", get(page::show).post(secrets::handle))
            .route("/page.js", get(page::script))
            .route("/ledger", get(show_ledger).delete(clear_ledger))
            .route("/scripts/{token}", put(put_script))
            .route("/token", post(oauth::handle))
            .route("/v1/projects/{project_id}/messages:send", post(fcm::handle))
            .route("/v1/refunds", post(stripe::create).get(stripe::list))
            .route("/v1/refunds/{id}", get(stripe::retrieve))
            .route("/v1/refunds/{id}/{*rest}", any(stripe::unknown))
            .route("/webhooks", post(stripe::send_webhook))
            .route("/3/{*rest}", any(apns::handle))
            // Another version than 3: APNs' own refusal.
            .route("/{version}/device/{*rest}", any(apns::handle))
            .layer(DefaultBodyLimit::max(BODY_MAX_BYTES))
            .with_state(self.clone())
    }
}

#[derive(Deserialize)]
struct LedgerQuery {
    token: Option<String>,
}

async fn show_ledger(State(sandbox): State<Sandbox>, Query(query): Query<LedgerQuery>) -> Response {
    json(StatusCode::OK, &json!(sandbox.ledger(query.token.as_deref())))
}

async fn clear_ledger(State(sandbox): State<Sandbox>) -> Response {
    sandbox.clear_ledger();
    StatusCode::NO_CONTENT.into_response()
}

async fn put_script(State(sandbox): State<Sandbox>, Path(token): Path<String>, body: Bytes) -> Response {
    let script: Value = match serde_json::from_slice(&body) {
        Ok(script) => script,
        Err(error) => return refuse(&format!("the script is not JSON: {error}")),
    };
    match Outcome::parse_all(&script).and_then(|outcomes| sandbox.script(&token, outcomes)) {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(fault) => refuse(&fault.to_string()),
    }
}

fn refuse(why: &str) -> Response {
    json(StatusCode::BAD_REQUEST, &json!({ "error": why }))
}
