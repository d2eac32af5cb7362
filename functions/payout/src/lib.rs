//! The consumer of the payouts queue: announces each call, asks the payment provider to pay, records what came of it.
//!
//! Invoked by the SQS event source mapping with batches of copies. Guarantees that every call of a payout carries its id as
//! the Idempotency-Key and the amount that was frozen at approval, that none is made unannounced or past the key's
//! window, that a copy is acknowledged only when its payout is settled, and that a panic fails only its own copy. It never
//! sleeps and never retries a call; waiting is done by the queue.

mod observe;
mod receive;
mod settings;

pub use settings::Settings;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use payments::Payments;
use platform::{AwsTimeouts, Boundary, Clock, Random, aws_config, drive};
use protocol::{
    ids::OwnerToken,
    machine::payout::{self, Outcome, Verdict},
    timing::Timing,
};
use queue::{Envelope, Queue, consume};
use receive::Receiving;
use std::sync::Arc;
use store::Store;

/// The function.
#[derive(Clone, Debug)]
pub struct Payout {
    /// The table.
    pub store: Store,
    /// The payouts queue: to release copies.
    pub payouts: Queue,
    /// The payment provider.
    pub payments: Payments,
    /// Now.
    pub clock: Clock,
    /// Callers' tokens, jitter.
    pub random: Random,
    /// The deployment's durations.
    pub timing: Timing,
    /// What stands between two effects.
    pub boundary: Arc<dyn Boundary>,
}

impl Payout {
    /// The function as it is deployed: clients by the SDK's own variables, with the limits that the timing gives.
    pub async fn deployed(settings: Settings, clock: Clock, boundary: Arc<dyn Boundary>) -> Self {
        let timing = settings.timing;
        let aws = aws_config(AwsTimeouts::within(timing.record)).await;
        let secrets = aws_sdk_secretsmanager::Client::new(&aws);
        Self {
            store: Store::new(aws_sdk_dynamodb::Client::new(&aws), settings.table),
            payouts: Queue::new(aws_sdk_sqs::Client::new(&aws), settings.payouts_url),
            payments: Payments::new(settings.payments, secrets, clock.clone(), timing),
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
            Ok(Envelope::Payout(copy)) => copy,
            // It stays, reaches the dead-letter queue, and is judged there.
            Ok(Envelope::Deliver(copy)) => {
                tracing::error!(id = %copy.id, "a copy of a message is in the payouts queue");
                return false;
            }
            Err(error) => {
                tracing::error!(message_id = record.message_id, error = %error, "a copy cannot be read");
                return false;
            }
        };
        let receives = record.attributes.get("ApproximateReceiveCount").and_then(|count| count.parse::<u16>().ok());
        let Ok(token) = self.random.bytes() else {
            tracing::error!(payout = %copy.payout, "no random bytes for a caller's token; the copy comes back");
            return false;
        };
        let receive = payout::Receive {
            copy: copy.payout,
            token: OwnerToken(token),
            receives: receives.unwrap_or(1).max(1),
            jitter_permille: self.random.permille(),
            invocation_ends_ms: ends_ms,
        };
        let receiving = Receiving::new(self, &copy, record.receipt_handle.as_deref().unwrap_or_default());
        let machine = payout::Payout::new(receive, self.timing);
        match drive(machine, Outcome::Start, &receiving, &self.clock, self.boundary.as_ref()).await {
            Verdict::Ack(settled) => {
                tracing::debug!(payout = %copy.payout, ?settled, "a copy is acknowledged");
                true
            }
            Verdict::Keep => false,
        }
    }
}
