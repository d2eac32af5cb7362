//! The consumer of the deliveries queue: claims a chunk, calls the provider for its devices, records what came of it.
//!
//! Invoked by the SQS event source mapping with batches of copies. Guarantees that a copy is acknowledged only with a
//! finished delivery item in hand or after SQS confirmed a successor copy, and that a panic fails only its own copy.
//! It never sleeps and never retries a call; waiting is done by the queue.

mod receive;
mod settings;

pub use settings::Settings;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use platform::{Boundary, Clock, Random, drive};
use protocol::{
    ids::OwnerToken,
    machine::deliver::{self, Outcome, Verdict},
    timing::Timing,
};
use push::Push;
use queue::{DeliverV1, Envelope, Origin, Queue, consume};
use receive::Receiving;
use std::sync::Arc;
use store::Store;

/// The function.
#[derive(Clone, Debug)]
pub struct Deliver {
    /// The table.
    pub store: Store,
    /// The deliveries queue: for successors, and to release copies.
    pub deliveries: Queue,
    /// The providers.
    pub push: Push,
    /// Now.
    pub clock: Clock,
    /// Owner tokens and jitter.
    pub random: Random,
    /// The deployment's durations.
    pub timing: Timing,
    /// What stands between two effects.
    pub boundary: Arc<dyn Boundary>,
}

impl Deliver {
    /// Handles a batch: all copies at once. `ends_ms` is when this invocation is ended.
    pub async fn handle(&self, event: SqsEvent, ends_ms: u64) -> SqsBatchResponse {
        consume(&event, |record| self.one(record, ends_ms)).await
    }

    /// Handles one copy; says whether it may be deleted.
    async fn one(&self, record: &SqsMessage, ends_ms: u64) -> bool {
        let copy = match Envelope::parse(record.body.as_deref().unwrap_or_default()) {
            Ok(Envelope::Deliver(copy)) => copy,
            Err(error) => {
                // It stays, reaches the dead-letter queue, and is judged there.
                tracing::error!(message_id = record.message_id, error = %error, "a copy cannot be read");
                return false;
            }
        };
        let Ok(token) = self.random.bytes::<16>() else {
            tracing::error!(id = %copy.id, chunk = copy.chunk, "no random bytes for an owner token; the copy comes back");
            return false;
        };
        let received_before = record
            .attributes
            .get("ApproximateReceiveCount")
            .and_then(|count| count.parse::<u32>().ok())
            .is_some_and(|count| count > 1);
        let receive = deliver::Receive {
            facts: copy.facts(&self.timing),
            token: OwnerToken(token),
            jitter_permille: self.random.permille(),
            invocation_ends_ms: ends_ms,
            read_first: received_before || copy.origin != Origin::Inline,
        };
        let receiving = Receiving::new(self, &copy, record.receipt_handle.as_deref().unwrap_or_default());
        let machine = deliver::Deliver::new(receive, self.timing);
        match drive(machine, Outcome::Start, &receiving, &self.clock, self.boundary.as_ref()).await {
            Verdict::Ack(proof) => {
                tracing::debug!(id = %copy.id, chunk = copy.chunk, ?proof, "a copy is acknowledged");
                true
            }
            Verdict::Keep => false,
        }
    }

    /// The successor of a copy: the same chunk, marked so that its consumer reads first.
    fn successor(copy: &DeliverV1) -> Envelope {
        Envelope::Deliver(DeliverV1 { origin: Origin::Retry, ..copy.clone() })
    }
}
