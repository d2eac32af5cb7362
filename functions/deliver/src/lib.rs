//! The consumer of the deliveries queue: claims a chunk, calls the provider for its devices, records what came of it.
//!
//! Invoked by the SQS event source mapping with batches of copies. Guarantees that a copy is acknowledged only with a
//! finished delivery item in hand or after SQS confirmed a successor copy, and that a panic fails only its own copy.
//! It never sleeps and never retries a call; waiting is done by the queue.

mod access;
mod holds;
mod observe;
mod receive;
mod said;
mod settings;
mod tokens;

pub use holds::Holds;
pub use settings::Settings;
pub use tokens::Tokens;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use platform::{AwsTimeouts, Boundary, Clock, Random, aws_config, drive};
use protocol::{
    ids::OwnerToken,
    machine::deliver::{self, Outcome, Verdict},
    timing::Timing,
};
use push::Push;
use queue::{DeliverV1, Envelope, Origin, Queue, consume};
use receive::Receiving;
use std::{sync::Arc, time::Duration};
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
    /// Which projects' credentials are refused.
    pub holds: Holds,
    /// Which tokens are dead.
    pub tokens: Tokens,
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
    /// The function as it is deployed: clients by the SDK's own variables, with the limits that the timing gives.
    pub async fn deployed(settings: Settings, clock: Clock, boundary: Arc<dyn Boundary>) -> Self {
        let timing = settings.timing;
        let aws = aws_config(AwsTimeouts::within(timing.record)).await;
        let secrets = aws_sdk_secretsmanager::Client::new(&aws);
        let store = Store::new(aws_sdk_dynamodb::Client::new(&aws), settings.table);
        let push = Push::new(settings.push, secrets, store.clone(), clock.clone(), timing);
        Self {
            deliveries: Queue::new(aws_sdk_sqs::Client::new(&aws), settings.deliveries_url),
            holds: Holds::new(store.clone(), push.clone(), clock.clone(), Random::system(), timing),
            tokens: Tokens::new(store.clone(), clock.clone(), timing),
            push,
            store,
            clock,
            random: Random::system(),
            timing,
            boundary,
        }
    }

    /// Handles a batch: all copies at once. `ends_ms` is when this invocation is ended.
    pub async fn handle(&self, event: SqsEvent, ends_ms: u64) -> SqsBatchResponse {
        consume(&event, |record| self.one(record, ends_ms)).await
    }

    /// Handles one copy; says whether it may be deleted.
    async fn one(&self, record: &SqsMessage, ends_ms: u64) -> bool {
        let copy = match Envelope::parse(record.body.as_deref().unwrap_or_default()) {
            Ok(Envelope::Deliver(copy)) => copy,
            Ok(Envelope::Payout(copy)) => {
                // Sent to the wrong queue. It stays, and the dead-letter function sends it to its own.
                tracing::error!(message_id = record.message_id, payout = %copy.payout, "a payout is no delivery");
                return false;
            }
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
        let handle = record.receipt_handle.as_deref().unwrap_or_default();
        let message_id = copy.id.to_string();
        let receiving = Receiving::new(self, &copy, &message_id, handle, ends_ms);
        let machine = deliver::Deliver::new(receive, self.timing);
        let verdict = drive(machine, Outcome::Start, &receiving, &self.clock, self.boundary.as_ref()).await;
        receiving.finish().await;
        match verdict {
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

/// What comes of it within so many ms of real time.
async fn within<F: Future>(limit_ms: u64, work: F) -> Option<F::Output> {
    tokio::time::timeout(Duration::from_millis(limit_ms), work).await.ok()
}
