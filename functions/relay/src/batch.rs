//! The effects of one batch of the stream, performed.

use crate::Relay;
use futures_util::future::BoxFuture;
use platform::Execute;
use protocol::{
    machine::relay::{Effect, Entry, Outcome, Relay as Machine, Sent},
    message::Message,
    refund::step::wants_copy,
};
use queue::{DeliverV1, EntryOutcome, Envelope, Origin, Outgoing, PayoutV1, parked_body};
use serde_json::{Value, json};
use store::{DuePayout, StoreError, StreamRecord};

/// One batch in hand.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    pub(crate) function: &'a Relay,
    pub(crate) records: &'a [Value],
    pub(crate) read: &'a [StreamRecord],
}

impl Batch<'_> {
    async fn look(&self, record: usize) -> Outcome {
        let looked = match self.read.get(record) {
            Some(StreamRecord::Message(message)) => self.function.store.chunks_present(message.id).await,
            Some(StreamRecord::Payout(due)) => self.payout_present(due).await,
            _ => return Outcome::LookFailed { record },
        };
        match looked {
            Ok(present) => Outcome::Looked { record, present },
            Err(error) => {
                tracing::error!(id = self.id(record), error = %error, "what is there was not looked up; the record is repeated");
                Outcome::LookFailed { record }
            }
        }
    }

    /// The one copy of a payout counts as present when it is not wanted.
    ///
    /// A refund that cannot be read as it is now is given its copy. To repeat the record would hold up the shard until
    /// somebody mends the item, and to pass it without a copy would lose the payout once that is done. The copy does no
    /// harm: its consumer reads before it does anything, and keeps it as long as there is nothing that it can read.
    async fn payout_present(&self, due: &DuePayout) -> Result<Vec<u16>, StoreError> {
        let wanted = match self.function.store.refund(due.payout.refund).await {
            Ok(stored) => wants_copy(stored.as_ref(), due.payout),
            Err(StoreError::Corrupt(why)) => {
                tracing::error!(payout = %due.payout, why, "a refund cannot be read; its payout gets a copy all the same");
                true
            }
            Err(error) => return Err(error),
        };
        Ok(if wanted { Vec::new() } else { vec![0] })
    }

    /// What a record is about, for logs.
    fn id(&self, record: usize) -> Option<String> {
        match self.read.get(record)? {
            StreamRecord::Message(message) => Some(message.id.to_string()),
            StreamRecord::Payout(due) => Some(due.payout.to_string()),
            StreamRecord::Other | StreamRecord::Unreadable(_) => None,
        }
    }

    /// The copy of an entry, and whether it is a payout's.
    fn outgoing(&self, entry: &Entry) -> Option<(bool, Outgoing)> {
        let (envelope, group) = match self.read.get(entry.record)? {
            StreamRecord::Message(message) => (chunk(message, entry.chunk), &message.project),
            StreamRecord::Payout(due) => {
                let copy = PayoutV1 { payout: due.payout, project: due.project.clone(), origin: Origin::Relay };
                (Envelope::Payout(copy), &due.project)
            }
            StreamRecord::Other | StreamRecord::Unreadable(_) => return None,
        };
        let body = envelope.to_body().ok()?;
        let entry = Outgoing { body, delay_ms: entry.delay_ms, group: group.clone(), reason: None };
        Some((matches!(envelope, Envelope::Payout(_)), entry))
    }

    async fn send(&self, entries: &[Entry]) -> Outcome {
        let outgoing: Option<Vec<(bool, Outgoing)>> = entries.iter().map(|entry| self.outgoing(entry)).collect();
        let Some(outgoing) = outgoing else {
            tracing::error!("a batch of the relay has an entry without a message or a payout; it is repeated");
            return Outcome::Sent(vec![Sent::Unconfirmed; entries.len()]);
        };
        // A batch may hold both kinds; each goes to its own queue, and the outcomes back into the entries' order.
        let of = |payout: bool| -> Vec<Outgoing> {
            outgoing.iter().filter(|(is, _)| *is == payout).map(|(_, entry)| entry.clone()).collect()
        };
        let mut deliveries = self.function.deliveries.send(&of(false)).await.into_iter();
        let mut payouts = self.function.payouts.send(&of(true)).await.into_iter();
        let sent = entries.iter().zip(&outgoing).map(|(entry, (is_payout, _))| {
            let (id, chunk) = (self.id(entry.record), entry.chunk);
            match if *is_payout { payouts.next() } else { deliveries.next() } {
                Some(EntryOutcome::Confirmed) => Sent::Confirmed,
                Some(EntryOutcome::SenderFault(said)) => {
                    tracing::error!(id, chunk, said, "SQS refuses a copy; its record is parked");
                    Sent::SenderFault
                }
                Some(EntryOutcome::Unconfirmed(said)) => {
                    tracing::warn!(id, chunk, said, "a copy was not confirmed; its record is repeated");
                    Sent::Unconfirmed
                }
                None => Sent::Unconfirmed,
            }
        });
        Outcome::Sent(sent.collect())
    }

    /// Parks where the record is to be found, not what it holds: the item is still in the table.
    async fn park(&self, record: usize) -> Outcome {
        let reason = match self.read.get(record) {
            Some(StreamRecord::Unreadable(why)) => why.as_str(),
            Some(StreamRecord::Payout(_)) => "SQS refuses a copy of this payout",
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

fn chunk(message: &Message, chunk: u16) -> Envelope {
    Envelope::Deliver(DeliverV1::of(message, chunk, Origin::Relay))
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
