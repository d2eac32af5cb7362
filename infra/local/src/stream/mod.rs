//! Lambda's event source mapping for a DynamoDB stream.
//!
//! Called by the local system, once for the table. It reads every shard in order (a parent before its children) from
//! its checkpoint, else from the oldest record there is, drops the records that the filter refuses, collects the others
//! for the batching window, and hands them to `stream::batch`, which invokes the function. It guarantees that no record
//! is passed which the function did not answer for. The pace of polling is of no importance: DynamoDB has no push.

mod batch;
pub mod checkpoint;
#[cfg(test)]
mod fake;
pub mod filter;
pub mod record;
mod shard;

use crate::invoke::Function;
use crate::pollers::{Backoff, Stop, is_stopped, stopped};
use aws_sdk_dynamodbstreams::{Client, error::DisplayErrorContext, types::Shard};
use checkpoint::Checkpoints;
use futures_util::future::BoxFuture;
use platform::Clock;
use serde_json::Value;
pub use shard::BATCH;
use shard::{End, ShardReader};
use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
    time::Duration,
};
use tokio::task::{Id, JoinError, JoinSet};

/// Says of a record, in Lambda's form, whether the function is to see it (`FilterCriteria`).
pub type Filter = Arc<dyn Fn(&Value) -> bool + Send + Sync>;

/// Told now and then that everything up to this sequence number is passed and may be removed.
pub type Trim = Arc<dyn Fn(String) -> BoxFuture<'static, ()> + Send + Sync>;

/// One stream and how it is read.
#[derive(Clone)]
pub struct StreamSource {
    /// A client for the stream's endpoint.
    pub client: Client,
    /// The stream's ARN (`LatestStreamArn` of the table).
    pub stream_arn: String,
    /// What events name as `awsRegion`.
    pub region: String,
    /// How long records are collected after the first one, in ms of the local clock. 0: not at all.
    pub window_ms: u64,
    /// Which records the function sees. The others count as passed.
    pub filter: Filter,
    /// Where reading starts and how far it got.
    pub checkpoints: Checkpoints,
    /// Called after about every 1,000 records passed.
    pub trim: Option<Trim>,
}

impl fmt::Debug for StreamSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamSource")
            .field("stream_arn", &self.stream_arn)
            .field("window_ms", &self.window_ms)
            .finish_non_exhaustive()
    }
}

/// How often new shards are looked for, in real time. AWS splits a shard about every four hours.
const DISCOVER: Duration = Duration::from_secs(10);

/// Carries records to `function` until `stop`, then lets the running invocations end and returns.
pub async fn run(source: StreamSource, function: Function, clock: Clock, stop: Stop) {
    let (source, started, finished) = (Arc::new(source), HashMap::new(), HashSet::new());
    let mut shards = Shards { source, function, clock, stop, started, finished, running: JoinSet::new() };
    let mut backoff = Backoff::default();
    while !is_stopped(&shards.stop) {
        let listed = tokio::select! {
            biased;
            () = stopped(&shards.stop) => break,
            listed = list(&shards.source) => listed,
        };
        match listed {
            Ok(listed) => {
                backoff.reset();
                shards.start(&listed);
            }
            Err(error) => {
                tracing::warn!(stream = shards.source.stream_arn, %error, "shards not listed");
                backoff.wait(&shards.clock, &shards.stop).await;
                continue;
            }
        }
        tokio::select! {
            biased;
            () = stopped(&shards.stop) => break,
            Some(ended) = shards.running.join_next_with_id() => shards.ended(ended),
            () = tokio::time::sleep(DISCOVER) => {}
        }
    }
    while let Some(ended) = shards.running.join_next_with_id().await {
        shards.ended(ended);
    }
}

/// The shards of one stream that are read or were read to their end.
struct Shards {
    source: Arc<StreamSource>,
    function: Function,
    clock: Clock,
    stop: Stop,
    running: JoinSet<End>,
    started: HashMap<Id, String>,
    finished: HashSet<String>,
}

impl Shards {
    /// Starts every shard that is not read yet and whose parent, if it is still there, is done.
    fn start(&mut self, listed: &[Shard]) {
        let known: HashSet<&str> = listed.iter().filter_map(Shard::shard_id).collect();
        for shard in listed {
            let Some(id) = shard.shard_id() else { continue };
            let waits = shard.parent_shard_id().is_some_and(|p| known.contains(p) && !self.finished.contains(p));
            if waits || self.finished.contains(id) || self.started.values().any(|started| started == id) {
                continue;
            }
            let (source, function, clock, stop) =
                (self.source.clone(), self.function.clone(), self.clock.clone(), self.stop.clone());
            let reader = ShardReader::new(source, id.to_owned(), function, clock, stop);
            let task = self.running.spawn(reader.run());
            self.started.insert(task.id(), id.to_owned());
        }
        // What the stream no longer lists is never asked for again.
        self.finished.retain(|id| known.contains(id.as_str()));
    }

    fn ended(&mut self, ended: Result<(Id, End), JoinError>) {
        let (task, finished) = match ended {
            Ok((task, end)) => (task, end == End::Finished),
            Err(error) => {
                tracing::error!(stream = self.source.stream_arn, %error, "a shard's task ended early; it starts again");
                (error.id(), false)
            }
        };
        if let Some(id) = self.started.remove(&task).filter(|_| finished) {
            self.finished.insert(id);
        }
    }
}

/// All shards of the stream.
async fn list(source: &StreamSource) -> Result<Vec<Shard>, String> {
    let mut shards = Vec::new();
    let mut after = None;
    loop {
        let request =
            source.client.describe_stream().stream_arn(&source.stream_arn).set_exclusive_start_shard_id(after);
        let described = request.send().await.map_err(|error| DisplayErrorContext(error).to_string())?;
        let Some(description) = described.stream_description else { return Ok(shards) };
        shards.extend(description.shards.unwrap_or_default());
        match description.last_evaluated_shard_id {
            Some(last) => after = Some(last),
            None => return Ok(shards),
        }
    }
}

#[cfg(test)]
mod tests;
