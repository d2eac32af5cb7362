//! GET /v1/invalid-tokens: the tokens that a project's providers called dead.
//!
//! The one answer that shows tokens: their owner deletes them from its own database by them. They are in no line of the
//! log, and the answer asks not to be stored on its way.

use crate::Api;
use axum::{
    Json,
    http::header,
    response::{IntoResponse, Response},
};
use platform::rfc3339_ms;
use sendonce_http::{
    Problem,
    list::{Asked, to_cursor},
};
use serde::Serialize;
use store::{DeadToken, Place};

#[derive(Serialize)]
struct Page<'a> {
    invalid_tokens: Vec<Row<'a>>,
    next_cursor: Option<String>,
}

#[derive(Serialize)]
struct Row<'a> {
    platform: &'static str,
    token: &'a str,
    /// The provider's code.
    reason: &'a str,
    since: String,
}

impl<'a> From<&'a DeadToken> for Row<'a> {
    fn from(row: &'a DeadToken) -> Self {
        Self {
            platform: row.device.platform.as_str(),
            token: &row.device.token.0,
            reason: &row.death.reason,
            since: rfc3339_ms(row.death.since_ms),
        }
    }
}

/// A page of a project's list.
///
/// # Errors
/// 400 for a limit or a cursor that is none, 503 when the table does not answer.
pub(crate) async fn page(api: &Api, project: &str, query: Option<&str>) -> Result<Response, Problem> {
    let asked = Asked::read(query, Place::parse)?;
    let now_ms = api.clock.now_ms();
    let read = api.store.dead_token_page(project, asked.after.as_ref(), asked.limit, now_ms).await;
    let (rows, next) = read.map_err(|error| {
        tracing::error!(project, error = %error, "the list of dead tokens could not be read");
        Problem::unavailable()
    })?;
    let invalid_tokens = rows.iter().map(Row::from).collect();
    let page = Page { invalid_tokens, next_cursor: next.map(|place| to_cursor(&place.to_text())) };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(page)).into_response())
}
