//! The effects of one batch of the stream, performed.

use crate::Relay;
use futures_util::future::BoxFuture;
use platform::Execute;
use protocol::{
    machine::relay::{Effect, Entry, Outcome, Relay as Machine, Sent},
    message::Message,
};
use queue::{DeliverV1, EntryOutcome, Envelope, Origin, Outgoing, parked_body};
use serde_json::{Value, json};
use store::StreamRecord;

/// One batch in hand.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    pub(crate) function: &'a Relay,
    pub(crate) records: &'a [Value],
    pub(crate) read: &'a [StreamRecord],
}

impl Batch<'_> {
    fn message(&self, record: usize) -> Option<&Message> {
        match self.read.get(record) {
            Some(StreamRecord::Message(message)) => Some(message),
            _ => None,
        }
    }

    async fn look(&self, record: usize) -> Outcome {
        let Some(message) = self.message(record) else { return Outcome::LookFailed { record } };
        match self.function.store.chunks_present(message.id).await {
            Ok(present) => Outcome::Looked { record, present },
            Err(error) => {
                tracing::error!(id = %message.id, error = %error, "delivery items were not looked up; the record is repeated");
                Outcome::LookFailed { record }
            }
        }
    }

    async fn send(&self, entries: &[Entry]) -> Outcome {
        let outgoing: Option<Vec<Outgoing>> = entries
            .iter()
            .map(|entry| {
                let message = self.message(entry.record)?;
                let body = Envelope::Deliver(DeliverV1::of(message, entry.chunk, Origin::Relay)).to_body().ok()?;
                Some(Outgoing { body, delay_ms: entry.delay_ms, group: message.project.clone(), reason: None })
            })
            .collect();
        let Some(outgoing) = outgoing else {
            tracing::error!("a batch of the relay has an entry without a message; it is repeated");
            return Outcome::Sent(vec![Sent::Unconfirmed; entries.len()]);
        };
        let outcomes = self.function.deliveries.send(&outgoing).await;
        let sent = entries.iter().zip(outcomes).map(|(entry, outcome)| {
            let id = self.message(entry.record).map(|message| message.id.to_string());
            match outcome {
                EntryOutcome::Confirmed => Sent::Confirmed,
                EntryOutcome::SenderFault(said) => {
                    tracing::error!(id, chunk = entry.chunk, said, "SQS refuses a copy; its record is parked");
                    Sent::SenderFault
                }
                EntryOutcome::Unconfirmed(said) => {
                    tracing::warn!(id, chunk = entry.chunk, said, "a copy was not confirmed; its record is repeated");
                    Sent::Unconfirmed
                }
            }
        });
        Outcome::Sent(sent.collect())
    }

    /// Parks where the record is to be found, not what it holds: the item is still in the table.
    async fn park(&self, record: usize) -> Outcome {
        let reason = match self.read.get(record) {
            Some(StreamRecord::Unreadable(why)) => why.as_str(),
            _ => "SQS refuses a copy of this message",
        };
        let source = self.records.get(record).unwrap_or(&Value::Null);
        let what = json!({
            "stream_record": source["eventID"],
            "sequence_number": source["dynamodb"]["SequenceNumber"],
            "keys": source["dynamodb"]["Keys"],
        });
        let confirmed = match parked_body(reason, &what) {
            Ok(body) => {
                let entry = Outgoing { body, delay_ms: 0, group: "relay".to_owned(), reason: None };
                self.function.parking.send(&[entry]).await.first() == Some(&EntryOutcome::Confirmed)
            }
            Err(_) => false,
        };
        tracing::error!(keys = %source["dynamodb"]["Keys"], reason, confirmed, "a stream record is parked");
        Outcome::Parked { confirmed, record }
    }
}

impl Execute<Machine> for Batch<'_> {
    fn execute<'a>(&'a self, effect: Effect) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match effect {
                Effect::Look(record) => self.look(record).await,
                Effect::Send(entries) => self.send(&entries).await,
                Effect::Park(record) => self.park(record).await,
            }
        })
    }
}
