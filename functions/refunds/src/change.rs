//! Changing a stored payout: the effects of `protocol::machine::change_payout`, performed.

use crate::Refunds;
use futures_util::future::BoxFuture;
use platform::{Execute, drive, events};
use protocol::{
    ids::OwnerToken,
    machine::change_payout::{Ask, ChangePayout, Effect, Outcome, Verdict},
    refund::{Refund, id::RefundId, trail::What},
};
use store::RefundWrite;

/// Performs the effects of one change.
#[derive(Debug)]
pub struct Changing<'a> {
    refunds: &'a Refunds,
    project: &'a str,
    id: RefundId,
    /// Who asks, in the word of the event.
    by: &'static str,
}

/// Reads this refund of this project, decides, and writes what follows.
pub(crate) async fn change(refunds: &Refunds, project: &str, id: RefundId, ask: Ask) -> Verdict {
    let by = match &ask {
        Ask::Retry { .. } | Ask::Resolve { .. } => "person",
        Ask::Event(_) => "webhook",
    };
    let Ok(token) = refunds.random.bytes() else {
        tracing::error!(%id, "no random bytes for a writer's token; a payout is not changed");
        return Verdict::Unavailable;
    };
    let machine = ChangePayout::new(ask, OwnerToken(token), refunds.timing);
    let changing = Changing { refunds, project, id, by };
    drive(machine, Outcome::Start, &changing, &refunds.clock, refunds.boundary.as_ref()).await
}

impl Changing<'_> {
    /// The change is stored: if it is one of the payout's state, it is told.
    fn stored(&self, refund: &Refund) {
        let told = refund.trail.0.last().is_some_and(|line| line.what != What::Event);
        let (Some(payout), Some(id), true) = (&refund.payout, refund.payout_id(), told) else { return };
        events::PayoutState {
            project: self.project,
            refund_id: &refund.id.to_string(),
            payout_id: &id.to_string(),
            state: payout.state.as_str(),
            code: payout.reason.as_ref().map(|reason| reason.code.as_str()),
            by: self.by,
        }
        .emit(self.refunds.clock.now_ms());
    }
}

impl Execute<ChangePayout> for Changing<'_> {
    fn execute<'a>(&'a self, effect: Effect) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let id = self.id;
            match effect {
                Effect::Read => match self.refunds.store.refund(id).await {
                    Ok(stored) => Outcome::Read(stored.filter(|stored| stored.project == self.project).map(Box::new)),
                    Err(error) => {
                        tracing::error!(%id, error = %error, "a refund was not read");
                        Outcome::Unknown
                    }
                },
                Effect::Write { item, expect } => match self.refunds.store.write_refund(&item, expect).await {
                    RefundWrite::Written { .. } => {
                        self.stored(&item);
                        Outcome::Written
                    }
                    RefundWrite::Conflict(stored) => {
                        // This very write, whose answer was lost: what it stored is told all the same.
                        if stored.as_deref() == Some(&*item) {
                            self.stored(&item);
                        }
                        Outcome::Conflict(stored)
                    }
                    RefundWrite::Unknown(error) => {
                        tracing::error!(%id, error = %error, "nobody knows whether a payout was changed");
                        Outcome::Unknown
                    }
                },
                Effect::Send(payout) => {
                    self.refunds.send(payout, self.project).await;
                    Outcome::Sent
                }
            }
        })
    }
}
