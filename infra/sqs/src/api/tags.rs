//! TagQueue, UntagQueue and ListQueueTags. Tags are kept and shown; nothing here reads them.

use super::{nothing, required, write};
use crate::{Sqs, SqsError, limits};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Tags {
    queue_url: Option<String>,
    tags: Option<BTreeMap<String, String>>,
    tag_keys: Option<Vec<String>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, String>,
}

/// Checks the number of tags of one queue.
///
/// # Errors
/// `InvalidParameterValue` above fifty.
pub(super) fn check(tags: &BTreeMap<String, String>) -> Result<(), SqsError> {
    if tags.len() > limits::QUEUE_TAGS {
        return Err(SqsError::InvalidParameterValue(format!(
            "Too many tags: a queue has at most {}.",
            limits::QUEUE_TAGS
        )));
    }
    Ok(())
}

pub(super) fn tag(sqs: &Sqs, request: Tags) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url, "QueueUrl")?;
    let new = required(request.tags, "Tags")?;
    sqs.on_queue(&url, |queue, _| {
        let mut tags = queue.tags.clone();
        tags.extend(new);
        check(&tags)?;
        queue.tags = tags;
        queue.altered = true;
        Ok(())
    })?;
    Ok(nothing())
}

pub(super) fn untag(sqs: &Sqs, request: Tags) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url, "QueueUrl")?;
    let keys = required(request.tag_keys, "TagKeys")?;
    sqs.on_queue(&url, |queue, _| {
        queue.tags.retain(|key, _| !keys.contains(key));
        queue.altered = true;
        Ok(())
    })?;
    Ok(nothing())
}

pub(super) fn list(sqs: &Sqs, request: Tags) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url, "QueueUrl")?;
    write(&Answer { tags: sqs.on_queue(&url, |queue, _| Ok(queue.tags.clone()))? })
}
