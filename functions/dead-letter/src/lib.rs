//! The consumer of the dead-letter queues of deliveries and of payouts: re-drives what may still be sent or is to be
//! paid, settles what may not be sent any more.
//!
//! Invoked by the dead-letter queues' event source mappings. What a letter is stands in it, not in its queue: whichever
//! queue it died in, it goes back to the one it belongs to. Guarantees that a letter is deleted only when its chunk is
//! done or its payout settled, when SQS confirmed the re-driven copy, or when the parking queue confirmed garbage. A letter of an unknown
//! version is left for code that knows it, and logged as an error.

mod letter;
mod payout;
mod settings;

pub use settings::Settings;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use letter::Letter;
use platform::{
    AwsTimeouts, Boundary, Clock, aws_config, drive,
    events::{self, LetterOutcome},
};
use protocol::{
    machine::dead_letter::{DeadLetter as Machine, Outcome, Verdict},
    timing::Timing,
};
use queue::{DeliverV1, EntryOutcome, Envelope, Outgoing, ParseError, Queue, consume};
use std::sync::Arc;
use store::Store;

/// The function.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    /// The table.
    pub store: Store,
    /// Where chunks' letters are re-driven to.
    pub deliveries: Queue,
    /// Where payouts' letters are re-driven to.
    pub payouts: Queue,
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

    /// Handles a batch of letters, all at once.
    pub async fn handle(&self, event: SqsEvent) -> SqsBatchResponse {
        consume(&event, |record| self.one(record)).await
    }

    /// Handles one letter; says whether it may be deleted.
    async fn one(&self, record: &SqsMessage) -> bool {
        let body = record.body.as_deref().unwrap_or_default();
        let copy = match Envelope::parse(body) {
            Ok(Envelope::Deliver(copy)) => copy,
            Ok(Envelope::Payout(copy)) => return self.payout(record, &copy).await,
            Err(error @ ParseError::UnknownType(_)) => {
                tracing::error!(copy_id = record.message_id, error = %error, "a dead letter is left for newer code");
                self.handled(record, None, LetterOutcome::Newer);
                return false;
            }
            Err(error @ ParseError::Garbage(_)) => return self.park(record, body, &error).await,
        };
        let machine = Machine::new(copy.facts(&self.timing));
        let letter = Letter::new(self, &copy);
        let verdict = drive(machine, Outcome::Start, &letter, &self.clock, self.boundary.as_ref()).await;
        let outcome = match &verdict {
            Verdict::Redriven => LetterOutcome::Redriven,
            Verdict::Delete(_) if letter.settled() => LetterOutcome::Settled,
            Verdict::Delete(_) => LetterOutcome::Done,
            Verdict::Leave => LetterOutcome::Left,
        };
        self.handled(record, Some(&copy), outcome);
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
        tracing::error!(copy_id = record.message_id, error = %error, confirmed, "a dead letter is parked");
        self.handled(record, None, if confirmed { LetterOutcome::Parked } else { LetterOutcome::NotParked });
        confirmed
    }

    fn handled(&self, record: &SqsMessage, copy: Option<&DeliverV1>, outcome: LetterOutcome) {
        let message = copy.map(|copy| copy.id.to_string());
        events::DeadLetter {
            outcome: outcome.as_str(),
            project: copy.map(|copy| copy.project.as_str()),
            message_id: message.as_deref(),
            chunk: copy.map(|copy| copy.chunk),
            payout_id: None,
            copy_id: record.message_id.as_deref(),
        }
        .emit(self.clock.now_ms());
    }
}
