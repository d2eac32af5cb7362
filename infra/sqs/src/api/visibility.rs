//! ChangeMessageVisibility and its batch.

use super::{batch, nothing, required, within, write};
use crate::{Sqs, SqsError, limits, queue::Queue};
use serde::Deserialize;

/// A request of ChangeMessageVisibility, or an entry of its batch.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Change {
    queue_url: Option<String>,
    id: Option<String>,
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ChangeBatch {
    queue_url: Option<String>,
    entries: Option<Vec<Change>>,
}

pub(super) fn change(sqs: &Sqs, mut request: Change) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url.take(), "QueueUrl")?;
    sqs.on_queue(&url, |queue, now| request.apply(queue, now))?;
    Ok(nothing())
}

pub(super) fn change_batch(sqs: &Sqs, request: ChangeBatch) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url, "QueueUrl")?;
    let kind = "ChangeMessageVisibilityBatchRequestEntry";
    let entries = batch::entries(request.entries, kind, |entry| entry.id.take())?;
    let answer = sqs.on_queue(&url, |queue, now| {
        Ok(batch::each(entries, |id, entry| entry.apply(queue, now).map(|()| batch::Done::new(id))))
    })?;
    write(&answer)
}

impl Change {
    fn apply(self, queue: &mut Queue, now: u64) -> Result<(), SqsError> {
        let handle = required(self.receipt_handle, "ReceiptHandle")?;
        let visibility_s = within(self.visibility_timeout, &limits::VISIBILITY_S, "VisibilityTimeout")?;
        queue.change_visibility(&handle, required(visibility_s, "VisibilityTimeout")?, now)
    }
}
