//! Reads one shard and hands its records on, batch after batch.
//!
//! Called by `stream::run`, one task per shard. It guarantees that the checkpoint moves only past records that the
//! function answered for or that the filter refused, and that an iterator which expired, or a checkpoint which the
//! stream no longer holds, costs nothing but a new iterator.

use super::{
    StreamSource,
    batch::{self, Pending},
    checkpoint::ShardCheckpoint,
    record,
};
use crate::invoke::Function;
use crate::pollers::{Backoff, Stop, stopped};
use aws_sdk_dynamodbstreams::{
    error::DisplayErrorContext,
    operation::{get_records::GetRecordsError, get_shard_iterator::GetShardIteratorError},
    types::{Record, ShardIteratorType},
};
use platform::Clock;
use std::{future, sync::Arc, time::Duration};

/// Most records in one batch and in one call.
pub const BATCH: usize = 1_000;
/// The pause after a call that found nothing, in real time. Lambda polls four times a second.
const IDLE: Duration = Duration::from_millis(100);
/// Records passed between two calls of the trim callback.
const TRIM_EVERY: usize = 1_000;

/// Why a shard's task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The shard is closed and all of it passed, or it is gone.
    Finished,
    /// Pollers are to stop.
    Stopped,
}

/// What one read found.
enum Page {
    Records {
        records: Vec<Record>,
        closed: bool,
    },
    /// The shard is older than what the stream keeps.
    Gone,
}

/// What was collected for one batch.
#[derive(Default)]
struct Collected {
    matching: Vec<Pending>,
    /// Records read, matching or not.
    read: usize,
    closed: bool,
}

/// One shard's reader.
#[derive(Debug)]
pub(super) struct ShardReader {
    source: Arc<StreamSource>,
    shard: String,
    function: Function,
    clock: Clock,
    stop: Stop,
    checkpoint: ShardCheckpoint,
    /// The last record read; at least as far as the checkpoint.
    position: Option<String>,
    iterator: Option<String>,
    since_trim: usize,
}

impl ShardReader {
    pub(super) fn new(source: Arc<StreamSource>, shard: String, function: Function, clock: Clock, stop: Stop) -> Self {
        let checkpoint = source.checkpoints.shard(&source.stream_arn, &shard);
        let position = checkpoint.get();
        Self { source, shard, function, clock, stop, checkpoint, position, iterator: None, since_trim: 0 }
    }

    pub(super) async fn run(mut self) -> End {
        loop {
            tokio::select! {
                biased;
                () = stopped(&self.stop) => return End::Stopped,
                () = self.function.running() => {}
            }
            let Some(collected) = self.collect().await else { return End::Stopped };
            let Collected { matching, read, closed } = collected;
            if !batch::deliver(matching, &self.function, &self.clock, &self.stop, &self.checkpoint).await {
                return End::Stopped;
            }
            if let Some(position) = self.position.clone().filter(|_| read > 0) {
                self.checkpoint.save(&position).await;
                self.trim(position, read).await;
            }
            if closed {
                return End::Finished;
            }
        }
    }

    /// Reads until there is a batch: the window is over, it is full, or the shard has ended. A page without a matching
    /// record ends it too, so that the checkpoint moves on. None if pollers are to stop.
    async fn collect(&mut self) -> Option<Collected> {
        let mut collected = Collected::default();
        let mut window_ends: Option<u64> = None;
        let mut backoff = Backoff::default();
        loop {
            let stop = self.stop.clone();
            let page = tokio::select! {
                biased;
                () = stopped(&stop) => return None,
                page = self.read(BATCH - collected.matching.len()) => page,
            };
            let found = match page {
                Ok(Page::Records { records, closed }) => {
                    collected.closed = closed;
                    self.sort(records, &mut collected)
                }
                Ok(Page::Gone) => {
                    collected.closed = true;
                    0
                }
                Err(error) => {
                    tracing::warn!(shard = self.shard, error, "stream not read");
                    self.iterator = None;
                    if !backoff.wait(&self.clock, &self.stop).await {
                        return None;
                    }
                    continue;
                }
            };
            backoff.reset();
            let now = self.clock.now_ms();
            let over = if collected.matching.is_empty() {
                collected.read > 0
            } else {
                now >= *window_ends.get_or_insert(now.saturating_add(self.source.window_ms))
            };
            if over || collected.closed || collected.matching.len() >= BATCH {
                return Some(collected);
            }
            if found > 0 {
                continue;
            }
            let window = async {
                match window_ends {
                    Some(at) => self.clock.sleep_until(at).await,
                    None => future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = stopped(&self.stop) => return None,
                () = window => {}
                () = tokio::time::sleep(IDLE) => {}
            }
        }
    }

    /// Adds the records that the filter lets through. Gives the number of all of them.
    fn sort(&mut self, records: Vec<Record>, collected: &mut Collected) -> usize {
        let found = records.len();
        collected.read += found;
        for read in records {
            let Some(sequence) = read.dynamodb.as_ref().and_then(|change| change.sequence_number.clone()) else {
                // Without its number a record cannot be passed or repeated. AWS always gives one.
                tracing::error!(shard = self.shard, "a record without a sequence number is skipped");
                continue;
            };
            let json = record::record(&read, &self.source.stream_arn, &self.source.region);
            self.position = Some(sequence.clone());
            if (self.source.filter)(&json) {
                collected.matching.push(Pending { sequence, json });
            }
        }
        found
    }

    /// One page after `position`.
    async fn read(&mut self, limit: usize) -> Result<Page, String> {
        let iterator = match self.iterator.clone() {
            Some(iterator) => iterator,
            None => match self.new_iterator().await? {
                Some(iterator) => iterator,
                None => return Ok(Page::Gone),
            },
        };
        let limit = i32::try_from(limit.clamp(1, BATCH)).unwrap_or(i32::MAX);
        match self.source.client.get_records().shard_iterator(iterator).limit(limit).send().await {
            Ok(answer) => {
                let closed = answer.next_shard_iterator.is_none();
                self.iterator = answer.next_shard_iterator;
                Ok(Page::Records { records: answer.records.unwrap_or_default(), closed })
            }
            Err(error) => match error.as_service_error() {
                // Iterators last 15 minutes; the machine may have slept.
                Some(GetRecordsError::ExpiredIteratorException(_)) => {
                    self.iterator = None;
                    Ok(Page::Records { records: Vec::new(), closed: false })
                }
                Some(GetRecordsError::TrimmedDataAccessException(_)) => {
                    self.lost_position();
                    Ok(Page::Records { records: Vec::new(), closed: false })
                }
                Some(GetRecordsError::ResourceNotFoundException(_)) => Ok(Page::Gone),
                _ => Err(DisplayErrorContext(error).to_string()),
            },
        }
    }

    /// An iterator after `position`, else at the oldest record. None if the shard is gone.
    async fn new_iterator(&mut self) -> Result<Option<String>, String> {
        let request = self.source.client.get_shard_iterator().stream_arn(&self.source.stream_arn).shard_id(&self.shard);
        let request = match &self.position {
            Some(position) => {
                request.shard_iterator_type(ShardIteratorType::AfterSequenceNumber).sequence_number(position)
            }
            None => request.shard_iterator_type(ShardIteratorType::TrimHorizon),
        };
        match request.send().await {
            Ok(answer) => {
                self.iterator.clone_from(&answer.shard_iterator);
                answer.shard_iterator.map(Some).ok_or_else(|| "no shard iterator in the answer".to_owned())
            }
            Err(error) => match error.as_service_error() {
                Some(GetShardIteratorError::ResourceNotFoundException(_)) => Ok(None),
                Some(GetShardIteratorError::TrimmedDataAccessException(_)) => {
                    self.lost_position();
                    Err("the checkpoint is older than the stream".to_owned())
                }
                _ => Err(DisplayErrorContext(error).to_string()),
            },
        }
    }

    /// The stream no longer holds the records after `position`: what is left of it starts at its oldest record.
    fn lost_position(&mut self) {
        tracing::error!(shard = self.shard, position = self.position, "records were trimmed before they were read");
        self.position = None;
        self.iterator = None;
    }

    async fn trim(&mut self, passed: String, read: usize) {
        self.since_trim += read;
        if self.since_trim >= TRIM_EVERY
            && let Some(trim) = &self.source.trim
        {
            self.since_trim = 0;
            trim(passed).await;
        }
    }
}
