//! The actions that make, show, change, empty and delete one queue.

use super::{nothing, required, tags, write};
use crate::{
    QueueAttributes, Sqs, SqsError, names,
    queue::{Queue, is_kept},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Create {
    queue_name: Option<String>,
    attributes: Option<BTreeMap<String, String>>,
    #[serde(rename = "tags")]
    tags: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct GetUrl {
    queue_name: Option<String>,
    #[serde(rename = "QueueOwnerAWSAccountId")]
    owner: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct GetAttributes {
    queue_url: Option<String>,
    attribute_names: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SetAttributes {
    queue_url: Option<String>,
    attributes: Option<BTreeMap<String, String>>,
}

/// A request that names a queue and nothing else.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct OnlyQueue {
    queue_url: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct UrlAnswer {
    queue_url: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct AttributesAnswer {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, String>,
}

pub(super) fn create(sqs: &Sqs, request: Create) -> Result<Vec<u8>, SqsError> {
    let name = required(request.queue_name, "QueueName")?;
    names::check_name(&name)?;
    let attributes = QueueAttributes::read(request.attributes.unwrap_or_default())?;
    let tags = request.tags.unwrap_or_default();
    tags::check(&tags)?;
    write(&UrlAnswer { queue_url: sqs.create_tagged(&name, &attributes, tags)? })
}

pub(super) fn url(sqs: &Sqs, request: GetUrl) -> Result<Vec<u8>, SqsError> {
    let name = required(request.queue_name, "QueueName")?;
    if request.owner.is_some_and(|owner| owner != names::ACCOUNT) {
        return Err(SqsError::QueueDoesNotExist);
    }
    let now = sqs.now_ms();
    sqs.lock().queue(&name, now)?;
    write(&UrlAnswer { queue_url: sqs.url(&name) })
}

pub(super) fn attributes(sqs: &Sqs, request: GetAttributes) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url, "QueueUrl")?;
    let wanted = request.attribute_names.unwrap_or_default();
    let all = sqs.on_queue(&url, |queue, _| Ok(describe(queue)))?;
    let unknown = wanted.iter().find(|name| *name != "All" && !all.contains_key(*name) && !may_be_unset(name));
    if let Some(unknown) = unknown {
        return Err(SqsError::InvalidAttributeName(unknown.clone()));
    }
    let everything = wanted.iter().any(|name| name == "All");
    let attributes = all.into_iter().filter(|(name, _)| everything || wanted.contains(name)).collect();
    write(&AttributesAnswer { attributes })
}

pub(super) fn change(sqs: &Sqs, request: SetAttributes) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url, "QueueUrl")?;
    let name = names::name_in_url(&url)?;
    let attributes = QueueAttributes::read(required(request.attributes, "Attributes")?)?;
    sqs.apply(|state, now| state.change(name, &attributes, now))?;
    Ok(nothing())
}

pub(super) fn delete(sqs: &Sqs, request: OnlyQueue) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url, "QueueUrl")?;
    let name = names::name_in_url(&url)?;
    sqs.apply(|state, now| state.delete(name, now))?;
    Ok(nothing())
}

pub(super) fn purge(sqs: &Sqs, request: OnlyQueue) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url, "QueueUrl")?;
    sqs.on_queue(&url, Queue::purge)?;
    Ok(nothing())
}

/// Everything that GetQueueAttributes can show of a queue.
fn describe(queue: &Queue) -> BTreeMap<String, String> {
    let counts = queue.counts();
    let seconds = |ms: u64| (ms / 1_000).to_string();
    let live = [
        ("QueueArn", queue.arn()),
        ("ApproximateNumberOfMessages", counts.visible.to_string()),
        ("ApproximateNumberOfMessagesNotVisible", counts.in_flight.to_string()),
        ("ApproximateNumberOfMessagesDelayed", counts.delayed.to_string()),
        ("CreatedTimestamp", seconds(queue.created_ms)),
        ("LastModifiedTimestamp", seconds(queue.modified_ms)),
    ];
    queue.config.write().into_iter().chain(live).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Attributes that exist but that this queue may not have; asking for them is no error.
fn may_be_unset(name: &str) -> bool {
    name == "RedrivePolicy" || is_kept(name)
}
