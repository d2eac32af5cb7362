//! The consumer of the deliveries' dead-letter queue: re-drives what may still be sent, settles what may not.
//!
//! Invoked by the dead-letter queue's event source mapping. Guarantees that a letter is deleted only when its chunk is
//! done, when SQS confirmed the re-driven copy, or when the parking queue confirmed garbage. A letter of an unknown
//! version is left for code that knows it, and logged as an error.

mod letter;
mod settings;

pub use settings::Settings;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use letter::Letter;
use platform::{Boundary, Clock, drive};
use protocol::{
    machine::dead_letter::{DeadLetter as Machine, Outcome, Verdict},
    timing::Timing,
};
use queue::{EntryOutcome, Envelope, Outgoing, ParseError, Queue, consume};
use std::sync::Arc;
use store::Store;

/// The function.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    /// The table.
    pub store: Store,
    /// Where letters are re-driven to.
    pub deliveries: Queue,
    /// Where letters are put that nobody can read.
    pub parking: Queue,
    /// Now.
    pub clock: Clock,
    /// The deployment's durations.
    pub timing: Timing,
    /// What stands between two effects.
    pub boundary: Arc<dyn Boundary>,
}

impl DeadLetter {
    /// Handles a batch of letters, all at once.
    pub async fn handle(&self, event: SqsEvent) -> SqsBatchResponse {
        consume(&event, |record| self.one(record)).await
    }

    /// Handles one letter; says whether it may be deleted.
    async fn one(&self, record: &SqsMessage) -> bool {
        let body = record.body.as_deref().unwrap_or_default();
        let copy = match Envelope::parse(body) {
            Ok(Envelope::Deliver(copy)) => copy,
            Err(error @ ParseError::UnknownType(_)) => {
                tracing::error!(message_id = record.message_id, error = %error, "a dead letter is left for newer code");
                return false;
            }
            Err(error @ ParseError::Garbage(_)) => return self.park(record, body, &error).await,
        };
        let machine = Machine::new(copy.facts(&self.timing));
        let letter = Letter { function: self, copy: &copy };
        let verdict = drive(machine, Outcome::Start, &letter, &self.clock, self.boundary.as_ref()).await;
        tracing::warn!(id = %copy.id, chunk = copy.chunk, ?verdict, "a dead letter");
        matches!(verdict, Verdict::Delete(_) | Verdict::Redriven)
    }

    /// Parks a letter as it is: any body that SQS took once it takes again, which is not so of one wrapped or escaped.
    async fn park(&self, record: &SqsMessage, body: &str, error: &ParseError) -> bool {
        let entry = Outgoing {
            body: body.to_owned(),
            delay_ms: 0,
            group: "dead-letter".to_owned(),
            reason: Some(error.to_string()),
        };
        let confirmed = self.parking.send(&[entry]).await.first() == Some(&EntryOutcome::Confirmed);
        tracing::error!(message_id = record.message_id, error = %error, confirmed, "a dead letter is parked");
        confirmed
    }
}
