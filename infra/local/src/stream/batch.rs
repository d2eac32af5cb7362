//! Gives one batch of stream records to the function until all of it is passed.
//!
//! Called by a shard's reader. By Lambda's rules for `ReportBatchItemFailures` with `BisectBatchOnFunctionError` and no
//! retry limit: an answer that names failures passes the records before the lowest of them and repeats the rest; a
//! failed invocation, or an answer that cannot be used, repeats the batch in two halves. A record that never succeeds
//! holds back its shard for ever, which is meant: to pass it would be to lose it.

use super::checkpoint::ShardCheckpoint;
use crate::invoke::{Function, InvokeError};
use crate::pollers::{Backoff, Stop, response, response::BatchResult, stopped};
use platform::Clock;
use serde_json::{Value, json};
use std::{
    collections::{HashSet, VecDeque},
    io,
};

/// A record that waits for the function.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pending {
    /// Its sequence number, by which the function reports it.
    pub(super) sequence: String,
    /// The record in Lambda's form.
    pub(super) json: Value,
}

/// Most bytes of records in one invocation: Lambda's limit of 6 MiB on an event, less some room.
const EVENT_BYTES: usize = 6 * 1024 * 1024 - 4 * 1024;

/// Invokes `function` until all of `records` are passed, and moves `checkpoint` each time it gets on.
/// False if pollers are to stop before that.
pub(super) async fn deliver(
    records: Vec<Pending>,
    function: &Function,
    clock: &Clock,
    stop: &Stop,
    checkpoint: &ShardCheckpoint,
) -> bool {
    let mut todo = by_size(records);
    let mut backoff = Backoff::default();
    while let Some(mut batch) = todo.pop_front() {
        tokio::select! {
            biased;
            () = stopped(stop) => return false,
            () = function.running() => {}
        }
        let event = json!({ "Records": batch.iter().map(|record| &record.json).collect::<Vec<_>>() });
        let answer = function.invoke(event).await;
        let succeeded = succeeded(function, &batch, answer);
        // Those from the first failure on; the batch keeps the others.
        let rest = batch.split_off(succeeded.unwrap_or(0));
        if let Some(last) = batch.last() {
            checkpoint.save(&last.sequence).await;
            backoff.reset();
        }
        if rest.is_empty() {
            continue;
        }
        if succeeded.is_none() && rest.len() > 1 {
            // The halves are news: they need not wait as long as what failed unchanged.
            backoff.reset();
            let mut first = rest;
            let second = first.split_off(first.len() / 2);
            todo.push_front(second);
            todo.push_front(first);
        } else {
            todo.push_front(rest);
        }
        if !backoff.wait(clock, stop).await {
            return false;
        }
    }
    true
}

/// How many records at the head of the batch succeeded. None if the whole batch failed as such.
fn succeeded(function: &Function, batch: &[Pending], answer: Result<Value, InvokeError>) -> Option<usize> {
    let ids: HashSet<&str> = batch.iter().map(|record| record.sequence.as_str()).collect();
    match answer.map(|answer| response::read(&answer, |id| ids.contains(id))) {
        Ok(BatchResult::Succeeded) => Some(batch.len()),
        // A batch is in the stream's order, so the first is the lowest.
        Ok(BatchResult::Partial(failed)) => batch.iter().position(|record| failed.contains(&record.sequence)),
        Ok(BatchResult::Failed(fault)) => {
            tracing::error!(function = function.name(), records = batch.len(), %fault, "the whole batch failed");
            None
        }
        Err(error) => {
            tracing::warn!(function = function.name(), records = batch.len(), %error, "the whole batch failed");
            None
        }
    }
}

/// The records in order, in batches that Lambda would accept as one event. No batch is empty.
fn by_size(records: Vec<Pending>) -> VecDeque<Vec<Pending>> {
    let mut batches: VecDeque<Vec<Pending>> = VecDeque::new();
    let mut room = 0;
    for record in records {
        // One byte for the comma.
        let size = json_len(&record.json) + 1;
        match batches.back_mut().filter(|_| size <= room) {
            Some(batch) => {
                room -= size;
                batch.push(record);
            }
            None => {
                room = EVENT_BYTES.saturating_sub(size);
                batches.push_back(vec![record]);
            }
        }
    }
    batches
}

/// The length of `value` as JSON, in bytes, without writing it anywhere.
fn json_len(value: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Neither a `Value` nor `Count` can fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_stay_below_the_event_limit() {
        let record = |bytes: usize| Pending { sequence: "1".into(), json: Value::from("x".repeat(bytes)) };
        assert_eq!(json_len(&json!({"a": [1, "é"]})), r#"{"a":[1,"é"]}"#.len());
        assert!(by_size(Vec::new()).is_empty());
        let sizes = |records| by_size(records).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(vec![record(10), record(10)]), [2]);
        let mib = 1024 * 1024;
        assert_eq!(sizes((0..8).map(|_| record(mib)).collect()), [5, 3]);
        assert_eq!(sizes(vec![record(7 * mib), record(1), record(7 * mib)]), [1, 1, 1]);
    }
}
