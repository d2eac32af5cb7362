//! The reader of the table's stream: enqueues each chunk that was accepted and has no delivery item yet.
//!
//! Invoked by the stream's event source mapping. Guarantees that no accepted message stays unqueued, whatever the api
//! function did after its write, and that one record nobody can read never blocks the stream: it is parked. It does
//! not need its own memory: a repeated batch costs copies that find their items done.

mod batch;
mod settings;

pub use settings::Settings;

use batch::Batch;
use platform::{Boundary, Clock, drive};
use protocol::{
    machine::relay::{Outcome, Record, Relay as Machine},
    timing::Timing,
};
use queue::Queue;
use serde_json::{Value, json};
use std::sync::Arc;
use store::{Store, StreamRecord, read_stream_record};

/// The function.
#[derive(Clone, Debug)]
pub struct Relay {
    /// The table.
    pub store: Store,
    /// Where chunks are enqueued.
    pub deliveries: Queue,
    /// Where records are put that cannot be processed.
    pub parking: Queue,
    /// Now.
    pub clock: Clock,
    /// The deployment's durations.
    pub timing: Timing,
    /// What stands between two effects.
    pub boundary: Arc<dyn Boundary>,
}

impl Relay {
    /// Handles a batch of stream records; the answer names the first that must be repeated, as
    /// ReportBatchItemFailures has it.
    pub async fn handle(&self, event: &Value) -> Value {
        let records = event["Records"].as_array().map_or(&[][..], Vec::as_slice);
        let read: Vec<StreamRecord> = records.iter().map(read_stream_record).collect();
        let asked = read
            .iter()
            .map(|record| match record {
                StreamRecord::Message(message) => Record::Message { at_ms: message.at_ms, chunks: message.chunks() },
                StreamRecord::Other => Record::Skip,
                StreamRecord::Unreadable(_) => Record::Unreadable,
            })
            .collect();
        let machine = Machine::new(asked, self.timing.grace);
        let batch = Batch { function: self, records, read: &read };
        let verdict = drive(machine, Outcome::Start, &batch, &self.clock, self.boundary.as_ref()).await;
        if verdict.enqueued > 0 || verdict.parked > 0 || verdict.failed_from.is_some() {
            tracing::info!(
                records = records.len(),
                enqueued = verdict.enqueued,
                parked = verdict.parked,
                failed_from = verdict.failed_from,
                "a batch of the stream"
            );
        }
        let failures: Vec<Value> = verdict
            .failed_from
            .and_then(|record| records.get(record))
            .map(|record| json!({"itemIdentifier": record["dynamodb"]["SequenceNumber"]}))
            .into_iter()
            .collect();
        json!({"batchItemFailures": failures})
    }
}
