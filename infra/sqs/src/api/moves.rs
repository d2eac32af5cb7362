//! StartMessageMoveTask, ListMessageMoveTasks and CancelMessageMoveTask.

use super::{required, within, write};
use crate::{
    Sqs, SqsError, limits,
    moves::{MoveRequest, MoveStatus, MoveTask},
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
struct Cancelled {
    approximate_number_of_messages_moved: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    results: Vec<Task>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Task {
    /// Only while it runs, when it can be cancelled. API reference, ListMessageMoveTasksResultEntry.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_handle: Option<String>,
    status: &'static str,
    source_arn: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination_arn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_number_of_messages_per_second: Option<u32>,
    approximate_number_of_messages_moved: usize,
    approximate_number_of_messages_to_move: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<&'static str>,
    started_timestamp: u64,
}

pub(super) fn start(sqs: &Sqs, request: Start) -> Result<Vec<u8>, SqsError> {
    let source_arn = required(request.source_arn, "SourceArn")?;
    let rate = request.max_number_of_messages_per_second;
    let per_second = within(rate, &limits::MOVES_PER_SECOND, "MaxNumberOfMessagesPerSecond")?;
    let handle = BASE64URL_NOPAD.encode(&sqs.random().bytes::<24>()?);
    let destination_arn = request.destination_arn;
    let move_request = MoveRequest { source_arn, destination_arn, per_second, handle: handle.clone() };
    sqs.apply(|state, now| state.move_dead_letters(move_request, sqs.random(), now))?;
    write(&Started { task_handle: handle })
}

pub(super) fn list(sqs: &Sqs, request: List) -> Result<Vec<u8>, SqsError> {
    let source_arn = required(request.source_arn, "SourceArn")?;
    let most = within(request.max_results, &limits::MOVE_RESULTS, "MaxResults")?.unwrap_or(1);
    let most = usize::try_from(most).unwrap_or(1);
    let results = sqs.apply(|state, _| {
        if !names::name_in_arn(&source_arn).is_some_and(|name| state.has(name)) {
            return Err(SqsError::ResourceNotFound("SourceArn"));
        }
        let newest_first = state.moves.iter().rev().filter(|task| task.source_arn == source_arn);
        Ok(newest_first.take(most).map(show).collect())
    })?;
    write(&Listed { results })
}

/// Only a move with a rate can be cancelled: any other is over before anybody can ask.
pub(super) fn cancel(sqs: &Sqs, request: Cancel) -> Result<Vec<u8>, SqsError> {
    let handle = required(request.task_handle, "TaskHandle")?;
    let moved = sqs.apply(|state, _| state.cancel_move(&handle))?;
    write(&Cancelled { approximate_number_of_messages_moved: moved })
}

fn show(task: &MoveTask) -> Task {
    let (status, failure_reason) = match task.status {
        MoveStatus::Running => ("RUNNING", None),
        MoveStatus::Completed => ("COMPLETED", None),
        MoveStatus::Cancelled => ("CANCELLED", None),
        MoveStatus::Failed(reason) => ("FAILED", Some(reason)),
    };
    Task {
        task_handle: (task.status == MoveStatus::Running).then(|| task.handle.clone()),
        status,
        source_arn: task.source_arn.clone(),
        destination_arn: task.destination_arn.clone(),
        max_number_of_messages_per_second: task.per_second,
        approximate_number_of_messages_moved: task.moved,
        approximate_number_of_messages_to_move: task.to_move,
        failure_reason,
        started_timestamp: task.started_ms,
    }
}
