//! Sending to a queue and changing a copy's visibility.

use aws_sdk_sqs::{
    Client,
    operation::send_message_batch::SendMessageBatchOutput,
    types::{MessageAttributeValue, SendMessageBatchRequestEntry},
};
use protocol::{
    machine::relay::ENTRIES_PER_BATCH,
    timing::{SQS_DELAY_MAX_MS, SQS_VISIBILITY_MAX_MS},
};
use std::collections::HashMap;

/// Bytes of all bodies of a batch together (Amazon SQS API reference, SendMessageBatch: 1,048,576), less a reserve for
/// what SQS counts besides bodies.
const BYTES_PER_BATCH: usize = 1_048_576 - 16_384;

/// One message to send.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The body; see [`crate::Envelope::to_body`].
    pub body: String,
    /// Hidden for this long first, in ms; rounded up to seconds, at most 900 of them.
    pub delay_ms: u64,
    /// The project: queues stay fair between projects (Amazon SQS developer guide, "Fair queues").
    pub group: String,
    /// Why it is sent, for people: a message attribute. Left out where body and reason together are too large for SQS.
    pub reason: Option<String>,
}

/// What came of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryOutcome {
    /// SQS has it.
    Confirmed,
    /// SQS refused it as the sender's fault: a repeat fails the same way.
    SenderFault(String),
    /// Not confirmed: it may be there or not.
    Unconfirmed(String),
}

/// A queue. Cheap to clone.
#[derive(Clone)]
pub struct Queue {
    client: Client,
    url: String,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Milliseconds as whole seconds, rounded up, within SQS's limit.
fn seconds(ms: u64, max_ms: u64) -> i32 {
    i32::try_from(ms.min(max_ms).div_ceil(1_000)).unwrap_or(i32::MAX)
}

/// Splits entries into batches that SQS takes.
fn batches(entries: &[Outgoing]) -> Vec<&[Outgoing]> {
    let mut out = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, entry) in entries.iter().enumerate() {
        let full = index - start == ENTRIES_PER_BATCH || bytes + entry.body.len() > BYTES_PER_BATCH;
        if full && index > start {
            out.push(&entries[start..index]);
            (start, bytes) = (index, 0);
        }
        bytes += entry.body.len();
    }
    if start < entries.len() {
        out.push(&entries[start..]);
    }
    out
}

/// What an answer says of each of so many entries, named by their numbers.
fn said_of(entries: usize, answer: &SendMessageBatchOutput) -> Vec<EntryOutcome> {
    // An entry is confirmed only if SQS names it as successful; silence is not confirmation.
    let mut outcomes = vec![EntryOutcome::Unconfirmed("SQS did not name this entry".to_owned()); entries];
    for success in answer.successful() {
        if let Some(slot) = success.id().parse().ok().and_then(|index: usize| outcomes.get_mut(index)) {
            *slot = EntryOutcome::Confirmed;
        }
    }
    for failure in answer.failed() {
        if let Some(slot) = failure.id().parse().ok().and_then(|index: usize| outcomes.get_mut(index)) {
            let said = format!("{} {}", failure.code(), failure.message().unwrap_or_default());
            *slot =
                if failure.sender_fault() { EntryOutcome::SenderFault(said) } else { EntryOutcome::Unconfirmed(said) };
        }
    }
    outcomes
}

impl Queue {
    /// A queue by its URL. The client's timeouts and tries are the caller's.
    #[must_use]
    pub fn new(client: Client, url: impl Into<String>) -> Self {
        Self { client, url: url.into() }
    }

    /// Sends all entries, batch after batch, and says what came of each, in order. After a batch that was not wholly
    /// confirmed the rest is not sent: its caller repeats from the first entry that is not confirmed.
    pub async fn send(&self, entries: &[Outgoing]) -> Vec<EntryOutcome> {
        let mut outcomes = Vec::with_capacity(entries.len());
        let mut stopped = false;
        for batch in batches(entries) {
            if stopped {
                outcomes.extend(batch.iter().map(|_| EntryOutcome::Unconfirmed("not sent".to_owned())));
                continue;
            }
            let result = self.send_batch(batch).await;
            stopped = result.iter().any(|outcome| matches!(outcome, EntryOutcome::Unconfirmed(_)));
            outcomes.extend(result);
        }
        outcomes
    }

    /// Sends all entries, all batches at once; for a send whose failures somebody else repairs.
    pub async fn send_at_once(&self, entries: &[Outgoing]) -> Vec<EntryOutcome> {
        let sends = batches(entries).into_iter().map(|batch| self.send_batch(batch));
        futures_util::future::join_all(sends).await.into_iter().flatten().collect()
    }

    async fn send_batch(&self, batch: &[Outgoing]) -> Vec<EntryOutcome> {
        let mut request = self.client.send_message_batch().queue_url(&self.url);
        for (index, entry) in batch.iter().enumerate() {
            let reason = entry.reason.as_deref().filter(|reason| entry.body.len() + reason.len() <= BYTES_PER_BATCH);
            let attribute = reason.and_then(|reason| {
                MessageAttributeValue::builder().data_type("String").string_value(reason).build().ok()
            });
            let built = SendMessageBatchRequestEntry::builder()
                .set_message_attributes(attribute.map(|reason| HashMap::from([("reason".to_owned(), reason)])))
                .id(index.to_string())
                .message_body(&entry.body)
                .message_group_id(&entry.group)
                .delay_seconds(seconds(entry.delay_ms, SQS_DELAY_MAX_MS))
                .build();
            match built {
                Ok(entry) => request = request.entries(entry),
                Err(error) => return vec![EntryOutcome::Unconfirmed(error.to_string()); batch.len()],
            }
        }
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(error) => {
                return vec![EntryOutcome::Unconfirmed(platform::causes(&error)); batch.len()];
            }
        };
        said_of(batch.len(), &answer)
    }

    /// Shows a received copy again after `delay_ms` (rounded up to seconds, at most 12 hours). Says whether SQS
    /// confirmed it; if not, the copy comes back by its own visibility timeout.
    pub async fn release(&self, receipt_handle: &str, delay_ms: u64) -> Result<(), String> {
        self.client
            .change_message_visibility()
            .queue_url(&self.url)
            .receipt_handle(receipt_handle)
            .visibility_timeout(seconds(delay_ms, SQS_VISIBILITY_MAX_MS))
            .send()
            .await
            .map(drop)
            .map_err(|error| platform::causes(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_sqs::types::{BatchResultErrorEntry, SendMessageBatchResultEntry};

    #[test]
    fn only_what_is_named_as_successful_is_confirmed() {
        let done = SendMessageBatchResultEntry::builder().id("0").message_id("m").md5_of_message_body("d");
        let failed = |id: &str, sender_fault: bool| {
            let entry = BatchResultErrorEntry::builder().id(id).code("Code").message("said");
            entry.sender_fault(sender_fault).build().unwrap()
        };
        let answer = SendMessageBatchOutput::builder()
            .successful(done.build().unwrap())
            .failed(failed("1", false))
            .failed(failed("2", true))
            // Of an entry that nobody sent.
            .failed(failed("9", true))
            .build()
            .unwrap();
        let silent = EntryOutcome::Unconfirmed("SQS did not name this entry".to_owned());
        let expected = [
            EntryOutcome::Confirmed,
            EntryOutcome::Unconfirmed("Code said".to_owned()),
            EntryOutcome::SenderFault("Code said".to_owned()),
            silent.clone(),
        ];
        assert_eq!(said_of(4, &answer), expected);
        let nothing = SendMessageBatchOutput::builder().set_successful(Some(Vec::new())).set_failed(Some(Vec::new()));
        assert_eq!(said_of(2, &nothing.build().unwrap()), [silent.clone(), silent]);
    }

    fn entry(bytes: usize) -> Outgoing {
        Outgoing { body: "x".repeat(bytes), delay_ms: 0, group: "p".to_owned(), reason: None }
    }

    #[test]
    fn batches_keep_within_ten_entries_and_a_mebibyte() {
        let sizes = |entries: &[Outgoing]| batches(entries).iter().map(|b| b.len()).collect::<Vec<_>>();
        assert_eq!(sizes(&vec![entry(10); 25]), [10, 10, 5]);
        assert_eq!(sizes(&vec![entry(400_000); 3]), [2, 1]);
        assert_eq!(sizes(&[entry(2_000_000), entry(1)]), [1, 1]);
        assert_eq!(sizes(&[]), Vec::<usize>::new());
    }

    #[test]
    fn delays_are_rounded_up_and_capped() {
        assert_eq!(seconds(0, SQS_DELAY_MAX_MS), 0);
        assert_eq!(seconds(1, SQS_DELAY_MAX_MS), 1);
        assert_eq!(seconds(u64::MAX, SQS_DELAY_MAX_MS), 900);
    }
}
