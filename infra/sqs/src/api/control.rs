//! `POST /control`: the switch that only the local system has.
//!
//! Called by people and tests. Not part of SQS.

use crate::Sqs;
use axum::{extract::State, http::StatusCode};
use bytes::Bytes;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Control {
    copies: Copies,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Copies {
    Once,
    Twice,
}

/// 204, or 400 with the reason in plain text.
pub(super) async fn control(State(sqs): State<Sqs>, body: Bytes) -> Result<StatusCode, (StatusCode, String)> {
    let control: Control =
        serde_json::from_slice(&body).map_err(|error| (StatusCode::BAD_REQUEST, format!("{error}\n")))?;
    sqs.deliver_twice(matches!(control.copies, Copies::Twice));
    Ok(StatusCode::NO_CONTENT)
}
