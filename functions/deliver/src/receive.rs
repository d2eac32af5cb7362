//! The effects of one received copy, performed.

use crate::{Deliver, access::Access, observe::Observed, said::Notes, within};
use futures_util::{FutureExt, future::BoxFuture};
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
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::DeliveryWrite;

/// One copy in hand.
#[derive(Debug)]
pub(crate) struct Receiving<'a> {
    function: &'a Deliver,
    copy: &'a DeliverV1,
    receipt_handle: &'a str,
    /// When this invocation is ended, in ms.
    ends_ms: u64,
    outgoing: Outgoing<'a>,
    access: Access<'a>,
    observed: Observed<'a>,
    /// What was said and is not told yet.
    notes: Mutex<Notes<'a>>,
}

impl<'a> Receiving<'a> {
    /// `message_id` is the copy's id as text.
    pub(crate) fn new(
        function: &'a Deliver,
        copy: &'a DeliverV1,
        message_id: &'a str,
        receipt_handle: &'a str,
        ends_ms: u64,
    ) -> Self {
        let observed = Observed::new(copy, message_id, &function.clock);
        let outgoing = Outgoing::new(message_id, &copy.content, copy.expires_at);
        let (access, notes) = (Access::new(function, copy), Mutex::default());
        Self { function, copy, receipt_handle, ends_ms, outgoing, access, observed, notes }
    }

    fn notes(&self) -> MutexGuard<'_, Notes<'a>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn prepare(&self) -> Outcome {
        let (outcome, waits) = self.access.prepare().await;
        if let Some(why) = waits {
            self.observed.waiting(&why);
        }
        outcome
    }

    /// The copy's fate is decided.
    pub(crate) async fn finish(&self) {
        // What no record had a place for: it said everything already.
        self.tell().await;
        self.access.finish().await;
    }

    /// Tells what was noted, once: brings the project's list of dead tokens up to date, and says that devices wait.
    async fn tell(&self) {
        let notes = std::mem::take(&mut *self.notes());
        if let Some(reason) = notes.not_called() {
            self.observed.waiting(reason);
        }
        let news = notes.news(|doubt| self.observed.doubted(doubt));
        self.function.tokens.hear(&self.copy.project, news, self.ends_ms).await;
    }

    /// Keeps what an answer says of the device and its token. `called_ms` is when the call began.
    fn note(&self, device: usize, heard: &Heard, called_ms: u64) {
        let Some(device) = self.copy.devices.get(device) else { return };
        let said = match (heard.class, heard.answer.reason()) {
            (Class::Accepted, _) => Some(Said::Accepted { at_ms: self.function.clock.now_ms() }),
            // A provider's clock may be ahead of ours.
            (_, Some(reason)) if heard.is_token_dead() => Some(Said::Dead {
                since_ms: heard.dead_since_ms.map_or(called_ms, |since_ms| since_ms.min(called_ms)),
                reason: reason.code.clone(),
            }),
            _ => None,
        };
        self.notes().add(device, &heard.answer, said);
    }

    async fn call(&self, device: usize) -> Answer {
        let (Some(prepared), Some(to)) = (self.access.prepared(), self.copy.devices.get(device)) else {
            // The machine prepares before it calls, and calls only for devices of the chunk.
            let detail = "nothing was prepared for this device".to_owned();
            return Answer::NotCalled(Reason { code: "not_prepared".to_owned(), detail });
        };
        let (watch, called_ms) = (Stopwatch::start(), self.function.clock.now_ms());
        let heard = prepared.send(to, &self.outgoing).await;
        if heard.answer.was_called() {
            self.observed.answered(device, to.platform, &heard, watch);
            self.access.heard(Provider::of(to.platform), &heard);
        }
        self.note(device, &heard, called_ms);
        heard.answer
    }

    async fn read(&self) -> Outcome {
        let copy = self.copy;
        match self.function.store.delivery(copy.id, copy.chunk).await {
            Ok(stored) => Outcome::Read(stored),
            Err(error) => {
                tracing::error!(id = %copy.id, chunk = copy.chunk, error = %error, "a delivery item was not read");
                Outcome::ReadFailed
            }
        }
    }

    /// Writes the delivery item, and beside its record what the calls taught of the credentials and the tokens: for no
    /// longer than a record may take, since the machine's next step waits for all of it.
    async fn write(&self, purpose: Purpose, item: Delivery, expect: Expect) -> Outcome {
        let copy = self.copy;
        if purpose == Purpose::Claim {
            self.observed.claiming(item.attempt);
        }
        let write = self.function.store.write_delivery(copy.id, copy.chunk, &item, expect);
        let written = match purpose {
            Purpose::Record => {
                let conclude = async {
                    if within(self.function.timing.record, self.access.conclude()).await.is_none() {
                        let project = &copy.project;
                        tracing::warn!(project, "what calls taught of the credentials was not written down in time");
                    }
                };
                tokio::join!(write, conclude, self.tell()).0
            }
            Purpose::Claim | Purpose::Settle => write.await,
        };
        match written {
            DeliveryWrite::Written { units } => {
                tracing::debug!(id = %copy.id, chunk = copy.chunk, ?purpose, ?units, "written");
                if purpose == Purpose::Settle {
                    self.observed.settled(&item);
                }
                Outcome::Written
            }
            DeliveryWrite::Conflict(stored) => Outcome::Conflict(stored),
            DeliveryWrite::Unknown(error) => {
                tracing::error!(id = %copy.id, chunk = copy.chunk, ?purpose, error = %error, "a write is uncertain");
                Outcome::WriteUnknown
            }
        }
    }

    async fn release(&self, delay_ms: u64) -> Outcome {
        let copy = self.copy;
        if let Err(error) = self.function.deliveries.release(self.receipt_handle, delay_ms).await {
            tracing::warn!(id = %copy.id, chunk = copy.chunk, error, "a copy keeps its visibility timeout");
        }
        Outcome::Released
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
    /// Each effect in a box of its own size: of twenty calls none takes the room of a write.
    fn execute<'a>(&'a self, effect: Effect) -> BoxFuture<'a, Outcome> {
        match effect {
            Effect::Prepare => self.prepare().boxed(),
            Effect::Read => self.read().boxed(),
            Effect::Write { purpose, item, expect } => self.write(purpose, item, expect).boxed(),
            Effect::Call { device } => self.call(device).map(move |answer| Outcome::Called { device, answer }).boxed(),
            Effect::Successor { delay_ms } => self.successor(delay_ms).boxed(),
            Effect::Release { delay_ms } => self.release(delay_ms).boxed(),
        }
    }
}
