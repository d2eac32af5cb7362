//! Creating a refund: the effect of `protocol::machine::create_refund`, performed.

use crate::Refunds;
use futures_util::future::BoxFuture;
use platform::{Execute, RandomError, drive};
use protocol::{
    ids::{NONCE_BYTES, Nonce},
    machine::create_refund::{CreateRefund, Effect, Outcome, Verdict},
    refund::{Refund, request::RefundRequest},
};
use sendonce_http::Caller;
use store::RefundCreate;

/// Performs the effect of one created refund.
#[derive(Debug)]
pub struct Creating<'a>(&'a Refunds);

/// Claims the key and stores the refund.
///
/// # Errors
/// When no nonce can be made.
pub(crate) async fn create(
    refunds: &Refunds,
    caller: &Caller,
    key: &str,
    request: RefundRequest,
) -> Result<Verdict, RandomError> {
    let nonce = Nonce(refunds.random.bytes::<NONCE_BYTES>()?);
    let refund = Refund::new(&caller.project, key, &caller.actor, nonce, request, refunds.clock.now_ms());
    let machine = CreateRefund::new(refund);
    let creating = Creating(refunds);
    Ok(drive(machine, Outcome::Start, &creating, &refunds.clock, refunds.boundary.as_ref()).await)
}

impl Execute<CreateRefund> for Creating<'_> {
    fn execute<'a>(&'a self, effect: Effect) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let Effect::Put(refund) = effect;
            match self.0.store.create_refund(&refund).await {
                RefundCreate::Created { units } => {
                    tracing::debug!(id = %refund.id, ?units, "created");
                    Outcome::Written
                }
                RefundCreate::Taken(prior) => Outcome::Taken(prior),
                RefundCreate::Unknown(error) => {
                    tracing::error!(id = %refund.id, error = %error, "nobody knows whether this refund was created");
                    Outcome::Unknown
                }
            }
        })
    }
}
