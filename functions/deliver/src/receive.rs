//! The effects of one received copy, performed.

use crate::{Deliver, access::Access, observe::Observed, tokens::News};
use futures_util::future::BoxFuture;
use platform::{Execute, Stopwatch};
use protocol::{
    answer::{Answer, Reason},
    dead_token::Said,
    delivery::Delivery,
    expect::Expect,
    hold::Provider,
    machine::deliver::{Deliver as Machine, Effect, Outcome, Purpose},
};
use push::{Class, Heard, Outgoing};
use queue::{DeliverV1, EntryOutcome};
use std::sync::{Mutex, PoisonError};
use store::DeliveryWrite;

/// One copy in hand.
#[derive(Debug)]
pub(crate) struct Receiving<'a> {
    function: &'a Deliver,
    copy: &'a DeliverV1,
    receipt_handle: &'a str,
    /// When this invocation is ended, in ms.
    ends_ms: u64,
    message_id: String,
    access: Access<'a>,
    observed: Observed<'a>,
    /// What was said of tokens and is not written down yet.
    news: Mutex<Vec<News<'a>>>,
}

impl<'a> Receiving<'a> {
    pub(crate) fn new(function: &'a Deliver, copy: &'a DeliverV1, receipt_handle: &'a str, ends_ms: u64) -> Self {
        let message_id = copy.id.to_string();
        let observed = Observed::new(copy, &message_id, &function.clock);
        let (access, news) = (Access::new(function, copy), Mutex::default());
        Self { function, copy, receipt_handle, ends_ms, message_id, access, observed, news }
    }

    async fn prepare(&self) -> Outcome {
        self.access.prepare().await.unwrap_or_else(|error| {
            self.observed.waiting(&error);
            Outcome::NotPrepared
        })
    }

    /// The copy's fate is decided.
    pub(crate) async fn finish(&self) {
        // What no record had a place for: it said everything already.
        self.tell_tokens().await;
        self.access.finish().await;
    }

    /// Brings the project's list of dead tokens up to date, once for each thing that was said.
    async fn tell_tokens(&self) {
        let news = std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner));
        self.function.tokens.hear(&self.copy.project, news, self.ends_ms).await;
    }

    /// Keeps what an answer says of the device's token. `called_ms` is when the call began.
    fn note(&self, device: usize, heard: &Heard, called_ms: u64) {
        let said = match (heard.class, heard.answer.reason()) {
            (Class::Accepted, _) => Said::Accepted { at_ms: self.function.clock.now_ms() },
            // A provider's clock may be ahead of ours.
            (Class::TokenDead, Some(reason)) => Said::Dead {
                since_ms: heard.dead_since_ms.map_or(called_ms, |since_ms| since_ms.min(called_ms)),
                reason: reason.code.clone(),
            },
            _ => return,
        };
        if let Some(device) = self.copy.devices.get(device) {
            self.news.lock().unwrap_or_else(PoisonError::into_inner).push(News { device, said });
        }
    }

    async fn call(&self, device: usize) -> Answer {
        let (Some(prepared), Some(to)) = (self.access.prepared(), self.copy.devices.get(device)) else {
            // The machine prepares before it calls, and calls only for devices of the chunk.
            let detail = "nothing was prepared for this device".to_owned();
            return Answer::NotSent(Reason { code: "not_prepared".to_owned(), detail });
        };
        let outgoing =
            Outgoing { message_id: &self.message_id, content: &self.copy.content, expires_ms: self.copy.expires_at };
        let (watch, called_ms) = (Stopwatch::start(), self.function.clock.now_ms());
        let heard = prepared.send(to, &outgoing).await;
        self.observed.answered(device, to.platform, &heard, watch);
        self.access.heard(Provider::of(to.platform), &heard);
        self.note(device, &heard, called_ms);
        heard.answer
    }

    /// Writes the delivery item, and beside its record what the calls taught of the credentials and the tokens.
    async fn write(&self, purpose: Purpose, item: &Delivery, expect: Expect) -> DeliveryWrite {
        let write = self.function.store.write_delivery(self.copy.id, self.copy.chunk, item, expect);
        match purpose {
            Purpose::Record => tokio::join!(write, self.access.conclude(), self.tell_tokens()).0,
            Purpose::Claim | Purpose::Settle => write.await,
        }
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
                    if purpose == Purpose::Claim {
                        self.observed.claiming(item.attempt);
                    }
                    match self.write(purpose, &item, expect).await {
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
