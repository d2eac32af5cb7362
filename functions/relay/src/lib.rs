//! The reader of the table's stream: enqueues each chunk that was accepted and has no delivery item yet, and each payout
//! that is due and that nobody has called for yet.
//!
//! Invoked by the stream's event source mapping. Guarantees that no accepted message and no approved refund stays
//! unqueued, whatever the api or refunds function did after its write, and that one record nobody can read never blocks the stream: it is parked. It does
//! not need its own memory: a repeated batch costs copies that find their items done.

mod batch;
mod settings;

pub use settings::Settings;

use batch::Batch;
use platform::{AwsTimeouts, Boundary, Clock, aws_config, drive, events};
use protocol::{
    machine::relay::{Outcome, Record, Relay as Machine},
    timing::Timing,
};
use queue::Queue;
use serde_json::{Value, json};
use std::sync::Arc;
use store::{Store, StreamRecord, read_stream_record};

/// Which records of the table's stream the relay sees: messages and refunds that are there afterwards. Filters work on
/// the `dynamodb` member only. The template has it, the local system obeys it, the doctor asks for it.
pub const EVENT_FILTER: &str =
    r#"{"dynamodb":{"Keys":{"sk":{"S":["M","R"]}},"NewImage":{"pk":{"S":[{"exists":true}]}}}}"#;

/// The function.
#[derive(Clone, Debug)]
pub struct Relay {
    /// The table.
    pub store: Store,
    /// Where chunks are enqueued.
    pub deliveries: Queue,
    /// Where payouts are enqueued.
    pub payouts: Queue,
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
    /// The function as it is deployed: clients by the SDK's own variables, with the limits that the timing gives.
    pub async fn deployed(settings: Settings, clock: Clock, boundary: Arc<dyn Boundary>) -> Self {
        let aws = aws_config(AwsTimeouts::within(settings.timing.record)).await;
        let sqs = aws_sdk_sqs::Client::new(&aws);
        Self {
            store: Store::new(aws_sdk_dynamodb::Client::new(&aws), settings.table),
            deliveries: Queue::new(sqs.clone(), settings.deliveries_url),
            payouts: Queue::new(sqs.clone(), settings.payouts_url),
            parking: Queue::new(sqs, settings.parking_url),
            clock,
            timing: settings.timing,
            boundary,
        }
    }

    /// Handles a batch of stream records; the answer names the first that must be repeated, as
    /// ReportBatchItemFailures has it.
    pub async fn handle(&self, event: &Value) -> Value {
        let records = event["Records"].as_array().map_or(&[][..], Vec::as_slice);
        let read: Vec<StreamRecord> = records.iter().map(read_stream_record).collect();
        let asked = read
            .iter()
            .map(|record| match record {
                StreamRecord::Message(message) => Record::Message { at_ms: message.at_ms, chunks: message.chunks() },
                StreamRecord::Payout(due) => Record::Payout { at_ms: due.due_ms },
                StreamRecord::Other => Record::Skip,
                StreamRecord::Unreadable(_) => Record::Unreadable,
            })
            .collect();
        let machine = Machine::new(asked, self.timing.grace);
        let batch = Batch { function: self, records, read: &read };
        let verdict = drive(machine, Outcome::Start, &batch, &self.clock, self.boundary.as_ref()).await;
        if verdict.enqueued > 0 || verdict.parked > 0 || verdict.failed_from.is_some() {
            let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
            events::RelayBatch {
                records: count(records.len()),
                enqueued: count(verdict.enqueued),
                parked: count(verdict.parked),
                failed_from: verdict.failed_from.map(count),
            }
            .emit(self.clock.now_ms());
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
