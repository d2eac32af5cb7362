//! A payout's dead letter: the effects of `protocol::machine::payout_dead_letter`, performed.

use crate::DeadLetter;
use aws_lambda_events::sqs::SqsMessage;
use futures_util::future::BoxFuture;
use platform::{
    Execute, drive,
    events::{self, LetterOutcome},
};
use protocol::machine::payout_dead_letter::{Effect, Outcome, PayoutDeadLetter as Machine, Verdict};
use queue::{EntryOutcome, Envelope, Origin, Outgoing, PayoutV1};

/// One letter in hand.
#[derive(Debug)]
struct Letter<'a> {
    function: &'a DeadLetter,
    copy: &'a PayoutV1,
}

impl DeadLetter {
    /// Handles a payout's letter; says whether it may be deleted.
    pub(crate) async fn payout(&self, record: &SqsMessage, copy: &PayoutV1) -> bool {
        let letter = Letter { function: self, copy };
        let machine = Machine::new(copy.payout);
        let verdict = drive(machine, Outcome::Start, &letter, &self.clock, self.boundary.as_ref()).await;
        let outcome = match &verdict {
            Verdict::Redriven => LetterOutcome::Redriven,
            Verdict::Delete(_) => LetterOutcome::Done,
            Verdict::Leave => LetterOutcome::Left,
        };
        let payout = copy.payout.to_string();
        events::DeadLetter {
            outcome: outcome.as_str(),
            project: Some(&copy.project),
            message_id: None,
            chunk: None,
            payout_id: Some(&payout),
            copy_id: record.message_id.as_deref(),
        }
        .emit(self.clock.now_ms());
        matches!(verdict, Verdict::Delete(_) | Verdict::Redriven)
    }
}

impl Letter<'_> {
    async fn redrive(&self) -> Outcome {
        let copy = PayoutV1 { origin: Origin::Redrive, ..self.copy.clone() };
        let payout = copy.payout;
        let Ok(body) = Envelope::Payout(copy).to_body() else { return Outcome::NotRedriven };
        let entry = Outgoing { body, delay_ms: 0, group: self.copy.project.clone(), reason: None };
        match self.function.payouts.send(&[entry]).await.first() {
            Some(EntryOutcome::Confirmed) => Outcome::Redriven,
            other => {
                tracing::warn!(%payout, outcome = ?other, "not re-driven; the letter stays");
                Outcome::NotRedriven
            }
        }
    }
}

impl Execute<Machine> for Letter<'_> {
    fn execute<'a>(&'a self, effect: Effect) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match effect {
                Effect::Read => match self.function.store.refund(self.copy.payout.refund).await {
                    Ok(stored) => Outcome::Read(stored.map(Box::new)),
                    Err(error) => {
                        tracing::error!(payout = %self.copy.payout, error = %error, "a refund was not read");
                        Outcome::ReadFailed
                    }
                },
                Effect::Redrive => self.redrive().await,
            }
        })
    }
}
