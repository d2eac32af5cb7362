//! Accepting a send: the effects of `protocol::machine::accept`, performed.

use crate::Api;
use futures_util::future::BoxFuture;
use platform::{Execute, RandomError, drive};
use protocol::{
    content::SendRequest,
    fingerprint::Fingerprint,
    ids::{KeyHash, MessageId, NONCE_BYTES, Nonce, Operation},
    machine::accept::{Accept, Effect, Outcome, Verdict},
    message::Message,
};
use queue::{DeliverV1, EntryOutcome, Envelope, Origin, Outgoing};
use std::time::Duration;
use store::AcceptWrite;

const DAY_S: u64 = 86_400;

/// Performs the effects of one accepted send.
#[derive(Debug)]
pub struct Accepting<'a>(&'a Api);

/// Claims the key and enqueues the message.
///
/// # Errors
/// When no nonce can be made.
pub(crate) async fn accept(api: &Api, project: &str, key: &str, request: SendRequest) -> Result<Verdict, RandomError> {
    let now = api.clock.now_ms();
    let message = Message {
        id: MessageId {
            key: KeyHash::of(Operation::Message, project, key),
            nonce: Nonce(api.random.bytes::<NONCE_BYTES>()?),
        },
        fingerprint: Fingerprint::of_send(project, key, &request),
        project: project.to_owned(),
        key: key.to_owned(),
        at_ms: now,
        deliver_by_ms: api.timing.deliver_by(now, request.ttl_seconds),
        expires_ms: now + u64::from(request.ttl_seconds) * 1_000,
        valid_until_s: now / 1_000 + api.key_valid_days * DAY_S,
        policy: request.policy,
        devices: request.to.clone(),
        content: request.content.clone(),
    };
    let machine = Accept::new(message, request);
    Ok(drive(machine, Outcome::Start, &Accepting(api), &api.clock, api.boundary.as_ref()).await)
}

impl Execute<Accept> for Accepting<'_> {
    fn execute<'a>(&'a self, effect: Effect) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match effect {
                Effect::Put(message) => self.put(&message).await,
                Effect::Send(message) => {
                    self.send(&message).await;
                    Outcome::Sent
                }
            }
        })
    }
}

impl Accepting<'_> {
    async fn put(&self, message: &Message) -> Outcome {
        match self.0.store.accept(message, self.0.clock.now_ms()).await {
            AcceptWrite::Accepted { units } => {
                tracing::debug!(id = %message.id, ?units, "accepted");
                Outcome::Written
            }
            AcceptWrite::Taken(prior) => Outcome::Taken(prior),
            AcceptWrite::Unknown(error) => {
                tracing::error!(id = %message.id, error = %error, "nobody knows whether this message was accepted");
                Outcome::Unknown
            }
        }
    }

    /// One try, all batches at once, one budget for all of them. The relay repeats what this does not achieve.
    async fn send(&self, message: &Message) {
        let mut entries = Vec::new();
        for chunk in 0..message.chunks() {
            match Envelope::Deliver(DeliverV1::of(message, chunk, Origin::Inline)).to_body() {
                Ok(body) => entries.push(Outgoing { body, delay_ms: 0, group: message.project.clone(), reason: None }),
                Err(error) => tracing::error!(id = %message.id, chunk, error = %error, "a copy has no JSON form"),
            }
        }
        let budget = Duration::from_millis(self.0.timing.inline_send);
        match tokio::time::timeout(budget, self.0.deliveries.send_at_once(&entries)).await {
            Ok(outcomes) => {
                for outcome in outcomes.iter().filter(|outcome| **outcome != EntryOutcome::Confirmed) {
                    tracing::warn!(id = %message.id, ?outcome, "an inline send was not confirmed; the relay repeats it");
                }
            }
            Err(_) => tracing::warn!(id = %message.id, "the inline send took too long; the relay repeats it"),
        }
    }
}
