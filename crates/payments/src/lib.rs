//! Calling the payment provider (Stripe): one refund, one call, one answer in the protocol's own words; and its webhooks.
//!
//! Called by `functions/payout` ([`Payments::prepare`], then [`Prepared::create`] and [`Prepared::list`]) and by
//! `functions/refunds` ([`Payments::verify`], [`webhook::read`]). It guarantees that a call carries the payout's id as its
//! Idempotency-Key and is made at most once, never repeated; that "refused" is said only where
//! [`answers::ANSWERS`] has a source for it; and that no API key or webhook secret gets into a reason, a log line or `Debug` output. Whether and when to
//! call again, and what an answer makes of a payout, is `protocol`'s business.

pub mod answers;
mod client;
mod form;
mod key;
mod object;
mod settings;
pub mod webhook;

pub use answers::Heard;
pub use client::{Ask, Looked, Prepared};
pub use key::malformed;
pub use outbound::NotPrepared;
pub use platform::events::PayoutClass as Class;
pub use settings::{PaymentsSettings, STRIPE_URL};
pub use webhook::Unverified;

use key::Key;
use outbound::{
    credentials::{Held, Known, Secrets},
    slot::{Slot, Slots},
    transport::{Cleartext, Transport},
};
use platform::{Clock, Remembered};
use protocol::timing::Timing;
use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

/// The provider, as secrets, events and the sandbox's ledger name it.
pub const PROVIDER: &str = "stripe";
/// Longest answer that is read: a page of a hundred refunds, each with as much metadata as Stripe allows (50 values of 500
/// characters) in the worst case, is longer, and then the listing fails; ours are about 1 KB each.
const ANSWER_MAX_BYTES: usize = 4_194_304;
/// Projects without a secret that are remembered, so that webhooks for nobody cost no reads of Secrets Manager.
const MISSING_MAX: usize = 1_000;

/// The way to the payment provider. Clones share connections and credentials.
#[derive(Clone)]
pub struct Payments {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) transport: Transport,
    pub(crate) clock: Clock,
    pub(crate) timing: Timing,
    /// Without a slash at the end.
    pub(crate) base_url: String,
    secrets: Secrets,
    slots: Slots<Cached>,
    /// For webhooks only: projects that had no usable secret a moment ago.
    pub(crate) missing: Mutex<Remembered<String, ()>>,
}

/// What is known of a project.
pub(crate) type Cached = Option<Known<Key>>;

impl fmt::Debug for Payments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payments").field("base_url", &self.shared.base_url).finish_non_exhaustive()
    }
}

impl Payments {
    /// Nothing is read or connected before the first call. `timing.token` bounds a preparation, and `timing.call` a call or
    /// a whole listing, both in milliseconds of real time; the age of credentials goes by `clock`.
    #[must_use]
    pub fn new(
        settings: PaymentsSettings,
        secrets: aws_sdk_secretsmanager::Client,
        clock: Clock,
        timing: Timing,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                // Stripe's TLS handshake offers HTTP/2; without TLS it is a stand-in on this machine.
                transport: Transport::reading(clock.clone(), Cleartext::Http2, ANSWER_MAX_BYTES),
                secrets: Secrets::new(secrets, settings.secret_name),
                base_url: settings.base_url.trim_end_matches('/').to_owned(),
                slots: Slots::new(),
                missing: Mutex::new(Remembered::new(MISSING_MAX, timing.key_cache)),
                clock,
                timing,
            }),
        }
    }

    /// Gets the credentials of a project: at most 5 minutes old, and read again if the provider refused them since. Takes
    /// at most `timing.token`.
    ///
    /// # Errors
    /// Why no call can be made now. Nothing was sent.
    pub async fn prepare(&self, project: &str) -> Result<Prepared, NotPrepared> {
        let slot = self.shared.slot(project);
        let held = self.shared.credentials(project, &slot).await?;
        Ok(Prepared { shared: Arc::clone(&self.shared), key: held.key, slot })
    }
}

impl Shared {
    pub(crate) fn slot(&self, project: &str) -> Arc<Slot<Cached>> {
        self.slots.of(project, self.clock.now_ms())
    }

    pub(crate) async fn credentials(&self, project: &str, slot: &Arc<Slot<Cached>>) -> Result<Held<Key>, NotPrepared> {
        let found = slot.get(
            |known| known.as_ref().and_then(|known| known.fresh(self.clock.now_ms())),
            || self.read(project, slot),
        );
        self.within(found).await
    }

    /// Bounds a preparation.
    pub(crate) async fn within<T>(&self, work: impl Future<Output = Result<T, NotPrepared>>) -> Result<T, NotPrepared> {
        let limit = Duration::from_millis(self.timing.token);
        let limit_ms = self.timing.token;
        tokio::time::timeout(limit, work).await.unwrap_or(Err(NotPrepared::TimedOut { limit_ms }))
    }

    /// The secret as it is now.
    pub(crate) async fn read(&self, project: &str, slot: &Slot<Cached>) -> Result<Held<Key>, NotPrepared> {
        let name = self.secrets.name(project, PROVIDER);
        let now_ms = self.clock.now_ms();
        let secret = self.secrets.read(&name).await?;
        if let Some(held) = slot.state().as_mut().and_then(|known| known.renew(&secret, now_ms)) {
            return Ok(held);
        }
        let key = Key::parse(&secret.text).map_err(|fault| secret.unusable(name, &fault))?;
        let known = Known::new(key, now_ms, secret);
        let held = known.held();
        *slot.state() = Some(known);
        Ok(held)
    }
}
