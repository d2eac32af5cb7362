//! SendMessage and SendMessageBatch.
//!
//! A message is checked and hashed before the queue is locked. Once an entry is reported as successful, its copies are
//! in the queue, and on disk where there is one.

use super::{answer::uuid, batch, required, within, write};
use crate::{
    Sqs, SqsError, limits,
    message::{Draft, RawAttribute},
    names,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A request of SendMessage, or an entry of SendMessageBatch: they differ in `QueueUrl` and `Id` only.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Send {
    queue_url: Option<String>,
    id: Option<String>,
    message_body: Option<String>,
    delay_seconds: Option<i64>,
    message_attributes: Option<BTreeMap<String, RawAttribute>>,
    message_system_attributes: Option<BTreeMap<String, RawAttribute>>,
    message_group_id: Option<String>,
    message_deduplication_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SendBatch {
    queue_url: Option<String>,
    entries: Option<Vec<Send>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Sent {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    message_id: String,
    #[serde(rename = "MD5OfMessageBody")]
    body_md5: String,
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    attributes_md5: Option<String>,
    #[serde(rename = "MD5OfMessageSystemAttributes", skip_serializing_if = "Option::is_none")]
    system_md5: Option<String>,
}

pub(super) fn send(sqs: &Sqs, mut request: Send) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url.take(), "QueueUrl")?;
    let name = names::name_in_url(&url)?;
    let max_bytes = sqs.on_queue(&url, |queue, _| Ok(queue.config.max_message_bytes))?;
    write(&put(sqs, name, request.draft(), max_bytes, None)?)
}

pub(super) fn send_batch(sqs: &Sqs, request: SendBatch) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url, "QueueUrl")?;
    let name = names::name_in_url(&url)?;
    let max_bytes = sqs.on_queue(&url, |queue, _| Ok(queue.config.max_message_bytes))?;
    let entries = batch::entries(request.entries, "SendMessageBatchRequestEntry", |entry| entry.id.take())?;
    let drafts: Vec<_> = entries.into_iter().map(|(id, entry)| (id, entry.draft())).collect();
    let total = drafts.iter().map(|(_, (draft, _))| draft.bytes()).sum();
    if total > limits::BATCH_BYTES {
        return Err(SqsError::BatchRequestTooLong(total));
    }
    write(&batch::each(drafts, |id, draft| put(sqs, name, draft, max_bytes, Some(id))))
}

fn put(
    sqs: &Sqs,
    name: &str,
    (draft, delay): (Draft, Option<i64>),
    max_bytes: u32,
    id: Option<&str>,
) -> Result<Sent, SqsError> {
    let delay_s = within(delay, &limits::DELAY_S, "DelaySeconds")?;
    let payload = draft.check(max_bytes, uuid(sqs.random().bytes()?))?;
    let payload = sqs.apply(|state, now| state.send(name, payload, delay_s, now))?;
    Ok(Sent {
        id: id.map(str::to_owned),
        message_id: payload.message_id.clone(),
        body_md5: payload.body_md5.clone(),
        attributes_md5: payload.attributes_md5.clone(),
        system_md5: payload.system_md5.clone(),
    })
}

impl Send {
    fn draft(self) -> (Draft, Option<i64>) {
        let draft = Draft {
            body: self.message_body,
            attributes: self.message_attributes.unwrap_or_default(),
            system: self.message_system_attributes.unwrap_or_default(),
            group_id: self.message_group_id,
            deduplication_id: self.message_deduplication_id,
        };
        (draft, self.delay_seconds)
    }
}
