//! Every limit of Amazon SQS that this stand-in keeps, with the page that states it.
//!
//! Read by all modules here. Pages are named by their place in the AWS documentation: "quotas" is the developer
//! guide's "Amazon SQS message quotas" and "standard queue quotas", the others are API reference pages.

use std::ops::RangeInclusive;

/// Most bytes of one message, body and attributes together; also the default of `MaximumMessageSize`. Quotas,
/// "Message size": 1,048,576 bytes (1 MiB) since August 2025.
pub(crate) const MESSAGE_BYTES: u32 = 1_048_576;
/// Most bytes of all messages of one `SendMessageBatch`. API reference, SendMessageBatch: 1 MiB in total.
pub(crate) const BATCH_BYTES: usize = 1_048_576;
/// Allowed `MaximumMessageSize` of a queue, in bytes. API reference, SetQueueAttributes.
pub(crate) const MAXIMUM_MESSAGE_SIZE: RangeInclusive<u32> = 1_024..=MESSAGE_BYTES;
/// Most bytes of a request as it arrives. Ours: the largest allowed message in its most wasteful JSON spelling (six
/// bytes for one) still fits; whatever is larger is refused without being read to its end.
pub(crate) const REQUEST_BYTES: usize = 8 * 1_048_576;

/// Allowed `VisibilityTimeout`, in seconds. API reference, SetQueueAttributes, ReceiveMessage and
/// ChangeMessageVisibility: 0 to 12 hours.
pub(crate) const VISIBILITY_S: RangeInclusive<u32> = 0..=43_200;
/// Default `VisibilityTimeout`, in seconds. API reference, SetQueueAttributes.
pub(crate) const DEFAULT_VISIBILITY_S: u32 = 30;
/// Allowed `DelaySeconds`. API reference, SetQueueAttributes and SendMessage: 0 to 15 minutes.
pub(crate) const DELAY_S: RangeInclusive<u32> = 0..=900;
/// Allowed `MessageRetentionPeriod`, in seconds. API reference, SetQueueAttributes: 1 minute to 14 days.
pub(crate) const RETENTION_S: RangeInclusive<u32> = 60..=1_209_600;
/// Default `MessageRetentionPeriod`, in seconds: 4 days. API reference, SetQueueAttributes.
pub(crate) const DEFAULT_RETENTION_S: u32 = 345_600;
/// Allowed `WaitTimeSeconds` and `ReceiveMessageWaitTimeSeconds`. API reference, SetQueueAttributes: 0 to 20.
pub(crate) const WAIT_S: RangeInclusive<u32> = 0..=20;
/// Allowed `MaxNumberOfMessages`. API reference, ReceiveMessage: 1 to 10.
pub(crate) const RECEIVE_COUNT: RangeInclusive<u32> = 1..=10;
/// Allowed `maxReceiveCount` of a redrive policy. Developer guide, "dead-letter queues" and console limits: 1 to 1,000.
pub(crate) const MAX_RECEIVE_COUNT: RangeInclusive<u32> = 1..=1_000;
/// Most messages of one standard queue that may be in flight, unless the server is told otherwise. Quotas, "In-flight messages (standard queues)".
pub const IN_FLIGHT: usize = 120_000;

/// Most entries of a batch. Quotas, "Batched messages per request".
pub(crate) const BATCH_ENTRIES: usize = 10;
/// Most characters of a batch entry's id: letters, digits, `-` and `_`. Quotas, "Batched message ID".
pub(crate) const BATCH_ID_CHARS: usize = 80;
/// Most attributes of one message. Quotas, "Message attributes".
pub(crate) const MESSAGE_ATTRIBUTES: usize = 10;
/// Most characters of an attribute's name or type. Developer guide, "Message attribute components".
pub(crate) const ATTRIBUTE_NAME_CHARS: usize = 256;
/// Most characters of a `MessageGroupId`. API reference, SendMessage: 1 to 128 letters, digits and punctuation.
pub(crate) const GROUP_ID_CHARS: usize = 128;

/// Most characters of a queue's name: letters, digits, `-` and `_`. Quotas, "Queue name".
pub(crate) const QUEUE_NAME_CHARS: usize = 80;
/// Most tags of a queue. Quotas, "Queue tags".
pub(crate) const QUEUE_TAGS: usize = 50;
/// Allowed `MaxResults` of the listings. API reference, ListQueues: 1 to 1,000.
pub(crate) const LIST_RESULTS: RangeInclusive<u32> = 1..=1_000;
/// Most results of ListMessageMoveTasks, and how many finished moves are remembered for each queue. API reference,
/// ListMessageMoveTasks: 1 to 10, and the 10 most recent ones.
pub(crate) const MOVE_RESULTS: RangeInclusive<u32> = 1..=10;
/// Allowed `MaxNumberOfMessagesPerSecond` of a move. API reference, StartMessageMoveTask: up to 500.
pub(crate) const MOVES_PER_SECOND: RangeInclusive<u32> = 1..=500;
/// A purge refuses another one for this long, in milliseconds. API reference, PurgeQueue: 60 seconds.
pub(crate) const PURGE_PAUSE_MS: u64 = 60_000;
/// A deleted queue's name stays unusable for this long, in milliseconds. API reference, DeleteQueue: 60 seconds.
pub(crate) const NAME_PAUSE_MS: u64 = 60_000;
