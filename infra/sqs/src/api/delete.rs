//! DeleteMessage and DeleteMessageBatch.
//!
//! Deleting twice, or by a handle that a later receive replaced, succeeds and changes nothing.

use super::{batch, nothing, required, write};
use crate::{Sqs, SqsError};
use serde::Deserialize;

/// A request of DeleteMessage, or an entry of its batch.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Delete {
    queue_url: Option<String>,
    id: Option<String>,
    receipt_handle: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct DeleteBatch {
    queue_url: Option<String>,
    entries: Option<Vec<Delete>>,
}

pub(super) fn delete(sqs: &Sqs, request: Delete) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url, "QueueUrl")?;
    let handle = required(request.receipt_handle, "ReceiptHandle")?;
    sqs.on_queue(&url, |queue, _| queue.delete(&handle))?;
    Ok(nothing())
}

pub(super) fn delete_batch(sqs: &Sqs, request: DeleteBatch) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url, "QueueUrl")?;
    let entries = batch::entries(request.entries, "DeleteMessageBatchRequestEntry", |entry| entry.id.take())?;
    let answer = sqs.on_queue(&url, |queue, _| {
        Ok(batch::each(entries, |id, entry| {
            let handle = required(entry.receipt_handle, "ReceiptHandle")?;
            queue.delete(&handle).map(|()| batch::Done::new(id))
        }))
    })?;
    write(&answer)
}
