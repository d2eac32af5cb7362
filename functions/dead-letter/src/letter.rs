//! The effects of one dead letter, performed.

use crate::DeadLetter;
use futures_util::future::BoxFuture;
use platform::{Execute, events};
use protocol::{
    delivery::Delivery,
    letter::Letter as DeviceLetter,
    machine::dead_letter::{DeadLetter as Machine, Effect, Outcome},
};
use queue::{DeliverV1, EntryOutcome, Envelope, Origin, Outgoing};
use std::sync::atomic::{AtomicBool, Ordering};
use store::DeliveryWrite;

/// One letter in hand.
#[derive(Debug)]
pub(crate) struct Letter<'a> {
    function: &'a DeadLetter,
    copy: &'a DeliverV1,
    settled: AtomicBool,
}

impl<'a> Letter<'a> {
    pub(crate) fn new(function: &'a DeadLetter, copy: &'a DeliverV1) -> Self {
        Self { function, copy, settled: AtomicBool::new(false) }
    }

    /// Whether this letter's own write gave the chunk its last word.
    pub(crate) fn settled(&self) -> bool {
        self.settled.load(Ordering::Relaxed)
    }

    /// Devices ended without a call: told and counted as deliver does for those that it ends so.
    fn tell(&self, item: &Delivery) {
        self.settled.store(true, Ordering::Relaxed);
        events::Settled {
            project: &self.copy.project,
            message_id: &self.copy.id.to_string(),
            chunk: self.copy.chunk,
            attempt: u64::from(item.attempt),
            expired: item.devices_at(DeviceLetter::Expired),
            unknown: item.devices_at(DeviceLetter::Unknown),
        }
        .emit(self.function.clock.now_ms());
    }

    async fn redrive(&self) -> Outcome {
        let copy = DeliverV1 { origin: Origin::Redrive, ..self.copy.clone() };
        let Ok(body) = Envelope::Deliver(copy).to_body() else { return Outcome::NotRedriven };
        let entry = Outgoing { body, delay_ms: 0, group: self.copy.project.clone(), reason: None };
        match self.function.deliveries.send(&[entry]).await.first() {
            Some(EntryOutcome::Confirmed) => Outcome::Redriven,
            other => {
                tracing::warn!(id = %self.copy.id, chunk = self.copy.chunk, outcome = ?other, "not re-driven; the letter stays");
                Outcome::NotRedriven
            }
        }
    }
}

impl Execute<Machine> for Letter<'_> {
    fn execute<'a>(&'a self, effect: Effect) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let (store, copy) = (&self.function.store, self.copy);
            match effect {
                Effect::Read => match store.delivery(copy.id, copy.chunk).await {
                    Ok(stored) => Outcome::Read(stored),
                    Err(error) => {
                        tracing::error!(id = %copy.id, chunk = copy.chunk, error = %error, "a delivery item was not read");
                        Outcome::ReadFailed
                    }
                },
                Effect::Redrive => self.redrive().await,
                Effect::Settle { item, expect } => {
                    match store.write_delivery(copy.id, copy.chunk, &item, expect).await {
                        DeliveryWrite::Written { .. } => {
                            self.tell(&item);
                            Outcome::Written
                        }
                        DeliveryWrite::Conflict(stored) => Outcome::Conflict(stored),
                        DeliveryWrite::Unknown(error) => {
                            tracing::error!(id = %copy.id, chunk = copy.chunk, error = %error, "a write is uncertain");
                            Outcome::WriteUnknown
                        }
                    }
                }
            }
        })
    }
}
