//! The effects of one received copy, performed.

use crate::Deliver;
use futures_util::future::BoxFuture;
use platform::Execute;
use protocol::{
    answer::{Answer, Reason},
    machine::deliver::{Deliver as Machine, Effect, Outcome},
};
use push::{Outgoing, Prepared};
use queue::{DeliverV1, EntryOutcome};
use std::sync::OnceLock;
use store::DeliveryWrite;

/// One copy in hand.
#[derive(Debug)]
pub(crate) struct Receiving<'a> {
    function: &'a Deliver,
    copy: &'a DeliverV1,
    receipt_handle: &'a str,
    message_id: String,
    prepared: OnceLock<Prepared>,
}

impl<'a> Receiving<'a> {
    pub(crate) fn new(function: &'a Deliver, copy: &'a DeliverV1, receipt_handle: &'a str) -> Self {
        Self { function, copy, receipt_handle, message_id: copy.id.to_string(), prepared: OnceLock::new() }
    }

    async fn prepare(&self) -> Outcome {
        match self.function.push.prepare(&self.copy.project, &self.copy.devices).await {
            Ok(prepared) => {
                let _ = self.prepared.set(prepared);
                Outcome::Prepared
            }
            Err(error) => {
                tracing::error!(
                    id = %self.copy.id,
                    chunk = self.copy.chunk,
                    project = self.copy.project,
                    code = error.code(),
                    error = %error,
                    "no call can be made for this project; the copy waits"
                );
                Outcome::NotPrepared
            }
        }
    }

    async fn call(&self, device: usize) -> Answer {
        let (Some(prepared), Some(to)) = (self.prepared.get(), self.copy.devices.get(device)) else {
            // The machine prepares before it calls, and calls only for devices of the chunk.
            let detail = "nothing was prepared for this device".to_owned();
            return Answer::NotSent(Reason { code: "not_prepared".to_owned(), detail });
        };
        let outgoing =
            Outgoing { message_id: &self.message_id, content: &self.copy.content, expires_ms: self.copy.expires_at };
        let answer = prepared.send(to, &outgoing).await;
        if let Some(reason) = answer.reason() {
            tracing::warn!(
                id = %self.copy.id,
                chunk = self.copy.chunk,
                device,
                token = to.token.masked(),
                code = reason.code,
                detail = reason.detail,
                "a device was not accepted"
            );
        }
        answer
    }

    async fn successor(&self, delay_ms: u64) -> Outcome {
        let body = match Deliver::successor(self.copy).to_body() {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(id = %self.copy.id, error = %error, "a successor has no JSON form");
                return Outcome::SuccessorUnconfirmed;
            }
        };
        let entry = queue::Outgoing { body, delay_ms, group: self.copy.project.clone(), reason: None };
        let outcomes = self.function.deliveries.send(&[entry]).await;
        match outcomes.first() {
            Some(EntryOutcome::Confirmed) => Outcome::SuccessorConfirmed,
            other => {
                tracing::warn!(id = %self.copy.id, chunk = self.copy.chunk, outcome = ?other, "no successor; the copy stays");
                Outcome::SuccessorUnconfirmed
            }
        }
    }
}

impl Execute<Machine> for Receiving<'_> {
    fn execute<'a>(&'a self, effect: Effect) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let (store, copy) = (&self.function.store, self.copy);
            match effect {
                Effect::Prepare => self.prepare().await,
                Effect::Read => match store.delivery(copy.id, copy.chunk).await {
                    Ok(stored) => Outcome::Read(stored),
                    Err(error) => {
                        tracing::error!(id = %copy.id, chunk = copy.chunk, error = %error, "a delivery item was not read");
                        Outcome::ReadFailed
                    }
                },
                Effect::Write { purpose, item, expect } => {
                    match store.write_delivery(copy.id, copy.chunk, &item, expect).await {
                        DeliveryWrite::Written { units } => {
                            tracing::debug!(id = %copy.id, chunk = copy.chunk, ?purpose, ?units, "written");
                            Outcome::Written
                        }
                        DeliveryWrite::Conflict(stored) => Outcome::Conflict(stored),
                        DeliveryWrite::Unknown(error) => {
                            tracing::error!(id = %copy.id, chunk = copy.chunk, ?purpose, error = %error, "a write is uncertain");
                            Outcome::WriteUnknown
                        }
                    }
                }
                Effect::Call { device } => Outcome::Called { device, answer: self.call(device).await },
                Effect::Successor { delay_ms } => self.successor(delay_ms).await,
                Effect::Release { delay_ms } => {
                    if let Err(error) = self.function.deliveries.release(self.receipt_handle, delay_ms).await {
                        tracing::warn!(id = %copy.id, chunk = copy.chunk, error, "a copy keeps its visibility timeout");
                    }
                    Outcome::Released
                }
            }
        })
    }
}
