//! Lambda's event source mapping for an SQS queue.
//!
//! Called by the local system, once per queue. It receives up to ten messages at a time, invokes the function, and
//! deletes exactly those that succeeded (`ReportBatchItemFailures`); the others come back when their visibility timeout
//! ends. Nothing here is needed for correctness: a message that is deleted late or twice is only received once more.

use super::{Backoff, Stop, is_stopped, response, response::BatchResult, stopped};
use crate::invoke::Function;
use aws_sdk_sqs::{
    Client,
    config::{Builder, timeout::TimeoutConfig},
    error::{DisplayErrorContext, SdkError},
    operation::receive_message::ReceiveMessageError,
    types::{
        ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, Message, MessageAttributeValue,
        MessageSystemAttributeName,
    },
};
use data_encoding::BASE64;
use platform::Clock;
use serde_json::{Map, Value, json};
use std::{collections::HashSet, sync::Arc, time::Duration};
use tokio::{
    sync::Semaphore,
    task::{JoinError, JoinSet},
};

/// One queue and how it is read.
#[derive(Clone, Debug)]
pub struct SqsSource {
    /// A client for the queue's endpoint.
    pub client: Client,
    /// The queue's URL.
    pub queue_url: String,
    /// What events name as `eventSourceARN`.
    pub queue_arn: String,
    /// What events name as `awsRegion`.
    pub region: String,
    /// Batches that may run at once, at least 1. Lambda starts with 5 and goes up to the function's concurrency.
    pub batches: usize,
}

impl SqsSource {
    /// A source with two batches for each core at once. In AWS each invocation has a machine of its own; here they share
    /// one, and more of them than it can serve would outlive the short profile's leases.
    #[must_use]
    pub fn new(client: Client, queue_url: String, queue_arn: String, region: String) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { client, queue_url, queue_arn, region, batches: (2 * cores).min(BATCHES_MAX) }
    }
}

/// Most batches at once, however many cores there are.
const BATCHES_MAX: usize = 10;
/// Most messages in one batch; also the most that one call to SQS takes.
pub const BATCH: i32 = 10;
/// How long a receive waits for a first message, in s: SQS's maximum.
const LONG_POLL_S: i32 = 20;
/// Real time for one receive, long poll included, in s. The client's own limits are meant for quick calls.
const RECEIVE_TIMEOUT_S: u64 = 25;

/// Carries messages to `function` until `stop`, then lets the running invocations end and returns.
pub async fn run(source: SqsSource, function: Function, clock: Clock, stop: Stop) {
    let source = Arc::new(source);
    let free = Arc::new(Semaphore::new(source.batches.max(1)));
    let mut running = JoinSet::new();
    let mut backoff = Backoff::default();
    while !is_stopped(&stop) {
        let ready = async {
            function.running().await;
            free.clone().acquire_owned().await
        };
        // The semaphore is never closed, so the permit is always there.
        let permit = tokio::select! {
            biased;
            () = stopped(&stop) => break,
            Ok(permit) = ready => permit,
        };
        while let Some(ended) = running.try_join_next() {
            log_panic(ended);
        }
        let received = tokio::select! {
            biased;
            () = stopped(&stop) => break,
            received = receive(&source) => received,
        };
        match received {
            Ok(messages) if messages.is_empty() => backoff.reset(),
            // A receive under way when the function is paused is not broken off: SQS may have handed out messages
            // already, and they would be hidden for a whole visibility timeout.
            Ok(messages) if function.is_paused() => give_back(&source, &messages).await,
            Ok(messages) => {
                backoff.reset();
                let (source, function) = (source.clone(), function.clone());
                running.spawn(async move {
                    handle(&source, &function, messages).await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(queue = source.queue_url, error = %DisplayErrorContext(&error), "receive failed");
                backoff.wait(&clock, &stop).await;
            }
        }
    }
    while let Some(ended) = running.join_next().await {
        log_panic(ended);
    }
}

fn log_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a batch's task ended early");
    }
}

async fn receive(source: &SqsSource) -> Result<Vec<Message>, SdkError<ReceiveMessageError>> {
    let limit = Duration::from_secs(RECEIVE_TIMEOUT_S);
    let limits = TimeoutConfig::builder().operation_timeout(limit).operation_attempt_timeout(limit).build();
    let received = source
        .client
        .receive_message()
        .queue_url(&source.queue_url)
        .max_number_of_messages(BATCH)
        .wait_time_seconds(LONG_POLL_S)
        .message_system_attribute_names(MessageSystemAttributeName::All)
        .message_attribute_names("All")
        .customize()
        .config_override(Builder::new().timeout_config(limits))
        .send()
        .await?;
    Ok(received.messages.unwrap_or_default())
}

/// Makes messages visible again at once.
async fn give_back(source: &SqsSource, messages: &[Message]) {
    let entries = messages.iter().enumerate().filter_map(|(at, message)| {
        let entry = ChangeMessageVisibilityBatchRequestEntry::builder().id(at.to_string()).visibility_timeout(0);
        entry.set_receipt_handle(message.receipt_handle.clone()).build().ok()
    });
    let request = source.client.change_message_visibility_batch().queue_url(&source.queue_url);
    match request.set_entries(Some(entries.collect())).send().await {
        Ok(answer) if answer.failed.is_empty() => {}
        Ok(answer) => tracing::warn!(queue = source.queue_url, failed = answer.failed.len(), "not all given back"),
        Err(error) => tracing::warn!(queue = source.queue_url, error = %DisplayErrorContext(&error), "not given back"),
    }
}

async fn handle(source: &SqsSource, function: &Function, messages: Vec<Message>) {
    let answer = function.invoke(event(source, &messages)).await;
    let ids: HashSet<&str> = messages.iter().filter_map(Message::message_id).collect();
    match answer.map(|answer| response::read(&answer, |id| ids.contains(id))) {
        Ok(BatchResult::Succeeded) => delete(source, messages.iter().collect()).await,
        Ok(BatchResult::Partial(failed)) => {
            let succeeded = |m: &&Message| m.message_id().is_some_and(|id| !failed.contains(id));
            delete(source, messages.iter().filter(succeeded).collect()).await;
        }
        Ok(BatchResult::Failed(fault)) => tracing::error!(function = function.name(), %fault, "the whole batch failed"),
        Err(error) => tracing::warn!(function = function.name(), %error, "the whole batch failed"),
    }
}

/// Deletes the messages, looking at each entry's answer. Those that SQS could not delete for a reason of its own are
/// tried once more; a message that stays is received again.
async fn delete(source: &SqsSource, mut messages: Vec<&Message>) {
    for last in [false, true] {
        let entries: Vec<_> = (messages.iter().enumerate())
            .filter_map(|(at, message)| {
                let entry = DeleteMessageBatchRequestEntry::builder().id(at.to_string());
                entry.set_receipt_handle(message.receipt_handle.clone()).build().ok()
            })
            .collect();
        if entries.is_empty() {
            return;
        }
        let request = source.client.delete_message_batch().queue_url(&source.queue_url);
        let failed = match request.set_entries(Some(entries)).send().await {
            Ok(answer) => answer.failed,
            Err(error) => {
                tracing::warn!(queue = source.queue_url, error = %DisplayErrorContext(&error), "not deleted");
                return;
            }
        };
        for entry in &failed {
            tracing::warn!(queue = source.queue_url, code = entry.code, message = entry.message, last, "not deleted");
        }
        let again: HashSet<usize> =
            failed.iter().filter(|f| !f.sender_fault).filter_map(|f| f.id.parse().ok()).collect();
        messages = messages.into_iter().enumerate().filter(|(at, _)| again.contains(at)).map(|(_, m)| m).collect();
    }
}

/// The event in Lambda's form.
fn event(source: &SqsSource, messages: &[Message]) -> Value {
    json!({ "Records": messages.iter().map(|message| record(source, message)).collect::<Vec<_>>() })
}

fn record(source: &SqsSource, message: &Message) -> Value {
    let attributes: Map<String, Value> = (message.attributes.iter().flatten())
        .map(|(name, value)| (name.as_str().to_owned(), Value::from(value.as_str())))
        .collect();
    let custom: Map<String, Value> = (message.message_attributes.iter().flatten())
        .map(|(name, value)| (name.clone(), message_attribute(value)))
        .collect();
    let mut record = json!({
        "messageId": message.message_id,
        "receiptHandle": message.receipt_handle,
        "body": message.body.as_deref().unwrap_or_default(),
        "attributes": attributes,
        "messageAttributes": custom,
        "md5OfBody": message.md5_of_body,
        "eventSource": "aws:sqs",
        "eventSourceARN": source.queue_arn,
        "awsRegion": source.region,
    });
    if let Some(md5) = &message.md5_of_message_attributes {
        record["md5OfMessageAttributes"] = md5.as_str().into();
    }
    record
}

fn message_attribute(value: &MessageAttributeValue) -> Value {
    let mut out = json!({"stringListValues": [], "binaryListValues": [], "dataType": value.data_type});
    if let Some(text) = &value.string_value {
        out["stringValue"] = text.as_str().into();
    }
    if let Some(bytes) = &value.binary_value {
        out["binaryValue"] = BASE64.encode(bytes.as_ref()).into();
    }
    out
}

#[cfg(test)]
#[path = "sqs_tests.rs"]
mod tests;
