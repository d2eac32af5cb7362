//! The effects of one received payout copy, performed.

use crate::{Payout, observe::Observed};
use futures_util::future::BoxFuture;
use payments::{Ask, Looked, Prepared};
use platform::{Execute, Stopwatch};
use protocol::{
    answer::Reason,
    expect::Expect,
    machine::payout::{Answer, Effect, Outcome, Payout as Machine, Purpose},
    refund::{Refund, id::PayoutId},
};
use queue::PayoutV1;
use std::sync::OnceLock;
use store::RefundWrite;

/// One copy in hand.
#[derive(Debug)]
pub(crate) struct Receiving<'a> {
    function: &'a Payout,
    copy: &'a PayoutV1,
    receipt_handle: &'a str,
    /// Set by the machine's preparation, which comes before every call and look.
    prepared: OnceLock<Prepared>,
    observed: Observed<'a>,
}

impl<'a> Receiving<'a> {
    pub(crate) fn new(function: &'a Payout, copy: &'a PayoutV1, receipt_handle: &'a str) -> Self {
        let observed = Observed::new(copy, &function.clock);
        Self { function, copy, receipt_handle, prepared: OnceLock::new(), observed }
    }

    async fn read(&self) -> Outcome {
        match self.function.store.refund(self.copy.payout.refund).await {
            // The project is the refund's own: a copy is not believed where it says otherwise.
            Ok(Some(stored)) if stored.project == self.copy.project => Outcome::Read(Some(Box::new(stored))),
            Ok(stored) => {
                tracing::error!(payout = %self.copy.payout, there = stored.is_some(), "a copy names no refund of its project");
                Outcome::Read(None)
            }
            Err(error) => {
                tracing::error!(payout = %self.copy.payout, error = %error, "a refund was not read");
                Outcome::ReadFailed
            }
        }
    }

    async fn prepare(&self) -> Outcome {
        match self.function.payments.prepare(&self.copy.project).await {
            Ok(prepared) => {
                // A receive prepares once.
                let _ = self.prepared.set(prepared);
                Outcome::Prepared
            }
            Err(error) => {
                self.observed.waiting(&error);
                Outcome::NotPrepared
            }
        }
    }

    async fn call(&self, key: PayoutId, amount: u64, refund: &Refund) -> Answer {
        let Some(prepared) = self.prepared.get() else {
            // The machine prepares before it calls.
            let reason = Reason { code: "not_prepared".to_owned(), detail: "nothing was prepared".to_owned() };
            return Answer::Later { reason, after_ms: None, untouched: true };
        };
        let watch = Stopwatch::start();
        let heard = prepared.create(&Ask::of(key, amount, refund)).await;
        self.observed.called("create", heard.class, heard.code(), watch);
        heard.answer
    }

    async fn look(&self, refund: &Refund) -> Outcome {
        let Some(prepared) = self.prepared.get() else { return Outcome::LookFailed };
        let watch = Stopwatch::start();
        match prepared.list(refund.id, &refund.request.payment).await {
            Looked::Listed(list) => {
                self.observed.called("list", payments::Class::Listed, None, watch);
                self.observed.doubled(&list);
                Outcome::Listed(list)
            }
            Looked::Refused { class, reason } => {
                self.observed.called("list", class, Some(&reason.code), watch);
                Outcome::LookRefused(reason)
            }
            Looked::Failed { class, reason } => {
                self.observed.called("list", class, Some(&reason.code), watch);
                Outcome::LookFailed
            }
        }
    }

    async fn write(&self, purpose: Purpose, item: &Refund, expect: Expect) -> Outcome {
        match self.function.store.write_refund(item, expect).await {
            RefundWrite::Written { units } => {
                tracing::debug!(payout = %self.copy.payout, ?purpose, ?units, "written");
                if purpose == Purpose::Record {
                    self.observed.recorded(item);
                }
                self.observed.doubled_by(item);
                Outcome::Written
            }
            RefundWrite::Conflict(stored) => {
                // This very write, whose answer was lost: what it stored is told all the same.
                if purpose == Purpose::Record && stored.as_deref() == Some(item) {
                    self.observed.recorded(item);
                    self.observed.doubled_by(item);
                }
                Outcome::Conflict(stored)
            }
            RefundWrite::Unknown(error) => {
                tracing::error!(payout = %self.copy.payout, ?purpose, error = %error, "a write is uncertain");
                // It is true whether or not it is stored, and nobody may come to say it again.
                self.observed.doubled_by(item);
                Outcome::WriteUnknown
            }
        }
    }
}

impl Execute<Machine> for Receiving<'_> {
    fn execute<'a>(&'a self, effect: Effect) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match effect {
                Effect::Read => self.read().await,
                Effect::Prepare => self.prepare().await,
                Effect::Write { purpose, item, expect } => self.write(purpose, &item, expect).await,
                Effect::Call { key, amount, refund } => Outcome::Called(self.call(key, amount, &refund).await),
                Effect::Look { refund } => self.look(&refund).await,
                Effect::Release { delay_ms } => {
                    if let Err(error) = self.function.payouts.release(self.receipt_handle, delay_ms).await {
                        tracing::warn!(payout = %self.copy.payout, error, "a copy keeps its visibility timeout");
                    }
                    Outcome::Released
                }
            }
        })
    }
}
