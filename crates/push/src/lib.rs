//! Calling the push providers: one device, one call, one answer in the protocol's own words.
//!
//! Called by `functions/deliver` ([`Push`], one per process) and, for the size limit, by `functions/api`
//! ([`fcm::payload_size`], [`apns::payload_size`]). It guarantees that [`Prepared::send`] makes at most one provider call and never repeats
//! one, that "not sent" is said only where it is proven, and that no device token, access token or private key gets
//! into a reason, a log line or `Debug` output. It does not know chunks, leases or letters: whether and when to call
//! again is `protocol`'s business.
//!
//! Each provider has a folder with the same file names (client, error, key, payload, token); what they share is here.

pub mod apns;
mod credentials;
pub mod fcm;
mod members;
mod not_prepared;
mod outcome;
mod outgoing;
mod pool;
mod prepared;
mod slot;
mod transport;

pub use credentials::PushSettings;
pub use not_prepared::NotPrepared;
pub use outgoing::Outgoing;
pub use prepared::Prepared;

use platform::Clock;
use protocol::{
    content::{Device, Platform},
    timing::Timing,
};
use std::{fmt, sync::Arc};
use store::Store;

/// The way to the providers. Clones share connections, credentials and access tokens.
#[derive(Clone)]
pub struct Push {
    apns: Arc<apns::client::Apns>,
    fcm: Arc<fcm::client::Fcm>,
}

impl fmt::Debug for Push {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Push").finish_non_exhaustive()
    }
}

impl Push {
    /// Nothing is read or connected before the first [`Push::prepare`]. `store` keeps the provider tokens that all
    /// instances share. `timing.token` bounds a preparation and `timing.call` a call, both in milliseconds of real
    /// time; ages of credentials, tokens and connections go by `clock`.
    #[must_use]
    pub fn new(
        settings: PushSettings,
        secrets: aws_sdk_secretsmanager::Client,
        store: Store,
        clock: Clock,
        timing: Timing,
    ) -> Self {
        let transport = Arc::new(transport::Transport::new(clock.clone()));
        let secrets = credentials::Secrets::new(secrets, settings);
        Self {
            apns: Arc::new(apns::client::Apns::new(secrets.clone(), store, clock.clone(), timing)),
            fcm: Arc::new(fcm::client::Fcm::new(secrets, transport, clock, timing)),
        }
    }

    /// Gets what calls for these devices need: credentials at most 5 minutes old, and a token with at least 2 minutes
    /// to live. Takes at most `timing.token`; at once when all is cached. Nothing is fetched for a provider that none
    /// of the devices needs. Where only one of two providers can be called, its devices need not wait for the other's:
    /// theirs are then answered "not sent", with the reason.
    ///
    /// # Errors
    /// Why no call can be made now, for all devices alike. Nothing was sent.
    pub async fn prepare(&self, project: &str, devices: &[Device]) -> Result<Prepared, NotPrepared> {
        let needs = |ios: bool| devices.iter().any(|device| (device.platform == Platform::Ios) == ios);
        let (apns, fcm) =
            tokio::join!(async { if needs(true) { Some(self.apns.access(project).await) } else { None } }, async {
                if needs(false) { Some(self.fcm.access(project).await) } else { None }
            },);
        match (&apns, &fcm) {
            (Some(Err(error)), None | Some(Err(_))) | (None, Some(Err(error))) => Err(error.clone()),
            _ => Ok(Prepared::new(Arc::clone(&self.apns), apns, Arc::clone(&self.fcm), fcm)),
        }
    }
}
