//! StartMessageMoveTask, ListMessageMoveTasks and CancelMessageMoveTask.

use super::{answer::uuid, required, within, write};
use crate::{
    Sqs, SqsError, limits,
    moves::{MoveRequest, MoveTask},
    names,
};
use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Start {
    source_arn: Option<String>,
    destination_arn: Option<String>,
    max_number_of_messages_per_second: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct List {
    source_arn: Option<String>,
    max_results: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Cancel {
    task_handle: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Started {
    task_handle: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    results: Vec<Task>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Task {
    status: &'static str,
    source_arn: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination_arn: Option<String>,
    approximate_number_of_messages_moved: usize,
    approximate_number_of_messages_to_move: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<&'static str>,
    started_timestamp: u64,
}

pub(super) fn start(sqs: &Sqs, request: Start) -> Result<Vec<u8>, SqsError> {
    let source_arn = required(request.source_arn, "SourceArn")?;
    if request.max_number_of_messages_per_second.is_some() {
        let reason = "MaxNumberOfMessagesPerSecond is not offered here: messages are moved at once.";
        return Err(SqsError::UnsupportedOperation(reason.to_owned()));
    }
    let handle = BASE64URL_NOPAD.encode(&sqs.random().bytes::<24>()?);
    let move_request = MoveRequest { source_arn, destination_arn: request.destination_arn, handle: handle.clone() };
    sqs.apply(|state, now| {
        state.move_dead_letters(move_request, sqs.random(), |random| Ok(uuid(random.bytes()?)), now)
    })?;
    write(&Started { task_handle: handle })
}

pub(super) fn list(sqs: &Sqs, request: List) -> Result<Vec<u8>, SqsError> {
    let source_arn = required(request.source_arn, "SourceArn")?;
    let most = within(request.max_results, &limits::MOVE_RESULTS, "MaxResults")?.unwrap_or(1);
    let most = usize::try_from(most).unwrap_or(1);
    let state = sqs.lock();
    if !names::name_in_arn(&source_arn).is_some_and(|name| state.has(name)) {
        return Err(SqsError::ResourceNotFound("SourceArn"));
    }
    let newest_first = state.moves.iter().rev().filter(|task| task.source_arn == source_arn);
    let results = newest_first.take(most).map(show).collect();
    drop(state);
    write(&Listed { results })
}

/// Always refused: a move is over before anybody can cancel it.
pub(super) fn cancel(sqs: &Sqs, request: Cancel) -> Result<Vec<u8>, SqsError> {
    let handle = required(request.task_handle, "TaskHandle")?;
    if sqs.lock().moves.iter().any(|task| task.handle == handle) {
        return Err(SqsError::InvalidParameterValue("Only active tasks can be cancelled.".to_owned()));
    }
    Err(SqsError::ResourceNotFound("TaskHandle"))
}

fn show(task: &MoveTask) -> Task {
    Task {
        status: if task.failure.is_none() { "COMPLETED" } else { "FAILED" },
        source_arn: task.source_arn.clone(),
        destination_arn: task.destination_arn.clone(),
        approximate_number_of_messages_moved: task.moved,
        approximate_number_of_messages_to_move: task.to_move,
        failure_reason: task.failure,
        started_timestamp: task.started_ms,
    }
}
