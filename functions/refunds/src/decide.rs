//! Approving and rejecting: the effects of `protocol::machine::decide_refund`, performed.

use crate::Refunds;
use futures_util::future::BoxFuture;
use platform::{Execute, RandomError, drive};
use protocol::{
    ids::{NONCE_BYTES, Nonce},
    machine::decide_refund::{DecideRefund, Effect, Outcome, Verdict},
    refund::{
        decide::{self, Decision},
        id::RefundId,
    },
};
use sendonce_http::Caller;
use store::RefundWrite;

/// Performs the effects of one decision.
#[derive(Debug)]
pub struct Deciding<'a> {
    refunds: &'a Refunds,
    project: &'a str,
}

/// Decides, and enqueues the payout if it is to approve.
///
/// # Errors
/// When no nonce can be made.
pub(crate) async fn decide(
    refunds: &Refunds,
    caller: &Caller,
    id: RefundId,
    verdict: decide::Verdict,
) -> Result<Verdict, RandomError> {
    let decision = Decision {
        verdict,
        by: caller.actor.clone(),
        at_ms: refunds.clock.now_ms(),
        nonce: Nonce(refunds.random.bytes::<NONCE_BYTES>()?),
    };
    let machine = DecideRefund::new(&caller.project, id, decision);
    let deciding = Deciding { refunds, project: &caller.project };
    Ok(drive(machine, Outcome::Start, &deciding, &refunds.clock, refunds.boundary.as_ref()).await)
}

impl Execute<DecideRefund> for Deciding<'_> {
    fn execute<'a>(&'a self, effect: Effect) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match effect {
                Effect::Decide { project, id, decision } => {
                    match self.refunds.store.decide_refund(&project, id, &decision).await {
                        RefundWrite::Written { units } => {
                            tracing::debug!(%id, ?units, "decided");
                            Outcome::Written
                        }
                        RefundWrite::Conflict(stored) => Outcome::Conflict(stored),
                        RefundWrite::Unknown(error) => {
                            tracing::error!(%id, error = %error, "nobody knows whether this refund was decided");
                            Outcome::Unknown
                        }
                    }
                }
                Effect::Send(payout) => {
                    self.refunds.send(payout, self.project).await;
                    Outcome::Sent
                }
            }
        })
    }
}
