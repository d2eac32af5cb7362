//! The effects of one invocation, performed.

use crate::Audit;
use futures_util::future::{BoxFuture, join_all};
use platform::Execute;
use protocol::{
    audit::{OpenPayout, Position, Range, waits_for},
    hold::{PROVIDERS, Provider},
    ids::MessageId,
    machine::audit::{Audit as Machine, Effect, Entry, Outcome, Sent},
    refund::id::PayoutId,
};
use queue::{DeliverV1, EntryOutcome, Envelope, Origin, Outgoing, PayoutV1};
use store::{PassWrite, StoreError};

/// One invocation's walk.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    pub(crate) function: &'a Audit,
}

impl Walk<'_> {
    async fn scan(&self, after: Option<&Position>, range: Range) -> Outcome {
        match self.function.store.message_page(after, range, self.function.page_items).await {
            Ok(page) => {
                for why in &page.unreadable {
                    tracing::error!(why, "an item cannot be read; the audit passes it");
                }
                let unreadable = page.unreadable.len() as u64;
                let (candidates, payouts, in_review) = (page.candidates, page.payouts, page.in_review);
                Outcome::Scanned { items: page.items, candidates, payouts, in_review, unreadable, next: page.next }
            }
            Err(error) => failed("the table was not scanned", &error),
        }
    }

    async fn look(&self, candidate: usize, id: MessageId) -> Outcome {
        match self.function.store.progress(id).await {
            Ok(items) => {
                for (chunk, _) in items.iter().filter(|(_, item)| item.is_none()) {
                    tracing::error!(%id, chunk, "a delivery item cannot be read; the audit passes it");
                }
                Outcome::Looked { candidate, items }
            }
            Err(error) => failed("delivery items were not looked up", &error),
        }
    }

    /// What to send for an entry, or why there is nothing.
    async fn outgoing(&self, entry: &Entry) -> Result<Outgoing, Sent> {
        match *entry {
            Entry::Chunk { id, chunk, .. } => self.chunk(id, chunk).await,
            Entry::Payout(open) => self.payout(open.payout).await,
        }
    }

    /// A payout's copy, unless it was settled since the scan, which may be behind.
    async fn payout(&self, payout: PayoutId) -> Result<Outgoing, Sent> {
        let refund = match self.function.store.refund(payout.refund).await {
            Ok(refund) => refund,
            Err(error) => {
                tracing::error!(%payout, error = %error, "a refund was not read; its payout is not enqueued");
                return Err(not_read(&error));
            }
        };
        let open = refund.filter(|refund| OpenPayout::of(refund).is_some_and(|open| open.payout == payout));
        let project = open.ok_or(Sent::Gone)?.project;
        let copy = PayoutV1 { payout, project: project.clone(), origin: Origin::Audit };
        let body = Envelope::Payout(copy).to_body().map_err(|_| Sent::Refused)?;
        Ok(Outgoing { body, delay_ms: 0, group: project, reason: None })
    }

    async fn chunk(&self, id: MessageId, chunk: u16) -> Result<Outgoing, Sent> {
        let message = match self.function.store.message_alone(id).await {
            Ok(message) => message.ok_or(Sent::Gone)?,
            Err(error) => {
                tracing::error!(%id, error = %error, "a message was not read; its chunk is not enqueued");
                return Err(not_read(&error));
            }
        };
        let copy = DeliverV1::of(&message, chunk, Origin::Audit);
        if self.held(&copy).await? {
            tracing::info!(%id, chunk, "a chunk waits for its project's hold");
            return Err(Sent::Held);
        }
        let body = Envelope::Deliver(copy).to_body().map_err(|_| Sent::Refused)?;
        Ok(Outgoing { body, delay_ms: 0, group: message.project, reason: None })
    }

    /// Whether the chunk waits for a hold on one of its providers.
    async fn held(&self, copy: &DeliverV1) -> Result<bool, Sent> {
        let now_ms = self.function.clock.now_ms();
        let uses = |provider: &Provider| copy.devices.iter().any(|device| Provider::of(device.platform) == *provider);
        for provider in PROVIDERS.into_iter().filter(uses) {
            let hold = match self.function.store.hold(&copy.project, provider).await {
                Ok(hold) => hold,
                // Whoever delivers takes it for none as well, and no later look would read it.
                Err(error @ StoreError::Corrupt(_)) => {
                    tracing::error!(id = %copy.id, error = %error, "a hold cannot be read; its chunk is enqueued");
                    None
                }
                Err(error) => {
                    tracing::error!(id = %copy.id, error = %error, "a hold was not read; its chunk is not enqueued");
                    return Err(Sent::Unconfirmed);
                }
            };
            if hold.is_some_and(|hold| waits_for(&hold, &self.function.timing, now_ms)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn send(&self, entries: &[Entry]) -> Outcome {
        let mut known = Vec::with_capacity(entries.len());
        let (mut chunks, mut payouts) = (Vec::new(), Vec::new());
        for (entry, read) in entries.iter().zip(join_all(entries.iter().map(|entry| self.outgoing(entry))).await) {
            match (read, entry) {
                (Ok(outgoing), Entry::Chunk { .. }) => chunks.push(outgoing),
                (Ok(outgoing), Entry::Payout(_)) => payouts.push(outgoing),
                (Err(why), _) => {
                    known.push(Some(why));
                    continue;
                }
            }
            known.push(None);
        }
        let mut chunks = self.function.deliveries.send(&chunks).await.into_iter();
        let mut payouts = self.function.payouts.send(&payouts).await.into_iter();
        let sent = entries.iter().zip(known).map(|(entry, known)| {
            known.unwrap_or_else(|| {
                let (what, finding, outcome) = match entry {
                    Entry::Chunk { id, chunk, finding } => (format!("{id} {chunk}"), finding.as_str(), chunks.next()),
                    Entry::Payout(open) => (open.payout.to_string(), open.state.as_str(), payouts.next()),
                };
                match outcome {
                    Some(EntryOutcome::Confirmed) => {
                        tracing::warn!(what, finding, "it is enqueued again");
                        Sent::Confirmed
                    }
                    Some(EntryOutcome::SenderFault(said)) => {
                        tracing::error!(what, finding, said, "SQS refuses a copy");
                        Sent::Refused
                    }
                    Some(EntryOutcome::Unconfirmed(said)) => {
                        tracing::error!(what, finding, said, "a copy was not confirmed; its page is repeated");
                        Sent::Unconfirmed
                    }
                    None => Sent::Unconfirmed,
                }
            })
        });
        Outcome::Sent(sent.collect())
    }
}

/// What cannot be read now will be, or never.
fn not_read(error: &StoreError) -> Sent {
    match error {
        StoreError::Corrupt(_) => Sent::Refused,
        StoreError::Unavailable { .. } | StoreError::NoTable { .. } => Sent::Unconfirmed,
    }
}

fn failed(what: &str, error: &StoreError) -> Outcome {
    tracing::error!(what, error = %error, "the audit stops; a later one goes on");
    Outcome::Failed
}

impl Execute<Machine> for Walk<'_> {
    fn execute<'a>(&'a self, effect: Effect) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match effect {
                Effect::Read => match self.function.store.pass().await {
                    Ok(pass) => Outcome::Read(pass),
                    Err(error) => failed("the pass was not read", &error),
                },
                Effect::Save { pass, expect } => match self.function.store.write_pass(&pass, expect).await {
                    PassWrite::Written => Outcome::Saved,
                    PassWrite::Conflict(stored) => Outcome::Conflict(stored),
                    PassWrite::Unknown(error) => failed("the pass was perhaps not written", &error),
                },
                Effect::Scan { after, range } => self.scan(after.as_ref(), range).await,
                Effect::Look { candidate, id } => self.look(candidate, id).await,
                Effect::Send(entries) => self.send(&entries).await,
            }
        })
    }
}
