//! Calling the push providers: one device, one call, one answer in the protocol's own words.
//!
//! Called by `functions/deliver` ([`Push`], one per process) and, for the size limit, by `functions/api`
//! ([`fcm::payload_size`], [`apns::payload_size`]). It guarantees that [`Prepared::send`] makes at most one provider call and never repeats
//! one, that "not sent" is said only where it is proven, and that no device token, access token or private key gets
//! into a reason, a log line or `Debug` output. It does not know chunks, leases or letters: whether and when to call
//! again is `protocol`'s business.
//!
//! Each provider has a folder with the same file names (client, error, key, payload, token); what they share is here.

pub mod answers;
pub mod apns;
mod check;
pub mod fcm;
mod outgoing;
mod pool;
mod prepared;
mod settings;
mod shape;

pub use answers::{Class, Credentials, Heard};
pub use check::{Report, malformed};
pub use outbound::NotPrepared;
pub use outgoing::Outgoing;
pub use prepared::Prepared;
pub use protocol::hold::Provider;
pub use settings::PushSettings;

use outbound::{credentials, members, outcome, slot, transport};
use platform::Clock;
use protocol::{content::Device, timing::Timing};
use std::{fmt, sync::Arc, time::Duration};
use store::Store;

/// The way to the providers. Clones share connections, credentials and access tokens.
#[derive(Clone)]
pub struct Push {
    secrets: credentials::Secrets,
    timing: Timing,
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
        let secrets = credentials::Secrets::new(secrets, settings.secret_name);
        Self {
            apns: Arc::new(apns::client::Apns::new(secrets.clone(), store, clock.clone(), timing)),
            fcm: Arc::new(fcm::client::Fcm::new(secrets.clone(), clock, timing)),
            secrets,
            timing,
        }
    }

    /// Gets what calls for these devices need: credentials at most 5 minutes old, and a token with at least 2 minutes
    /// to live. Takes at most `timing.token`; at once when all is cached. Nothing is fetched for a provider that none
    /// of the devices needs. [`Prepared::fault`] says which provider cannot be called, and why; its devices are answered
    /// "not called", and the other's need not wait for them.
    pub async fn prepare_each<'a>(&self, project: &str, devices: impl IntoIterator<Item = &'a Device>) -> Prepared {
        let (mut ios, mut others) = (false, false);
        for device in devices {
            match Provider::of(device.platform) {
                Provider::Apns => ios = true,
                Provider::Fcm => others = true,
            }
        }
        let (apns, fcm) =
            tokio::join!(async { if ios { Some(self.apns.access(project).await) } else { None } }, async {
                if others { Some(self.fcm.access(project).await) } else { None }
            },);
        Prepared::new(Arc::clone(&self.apns), apns, Arc::clone(&self.fcm), fcm)
    }

    /// The same, for a caller who has nothing to do if no device can be called.
    ///
    /// # Errors
    /// Why no call can be made now, for all devices alike. Nothing was sent.
    pub async fn prepare(&self, project: &str, devices: &[Device]) -> Result<Prepared, NotPrepared> {
        let prepared = self.prepare_each(project, devices).await;
        match prepared.only_fault() {
            Some(fault) => Err(fault.clone()),
            None => Ok(prepared),
        }
    }

    /// The version of a project's secret as it is now, read within `timing.token`; empty if there is no secret. `None` if
    /// nobody can say.
    pub async fn credentials_version(&self, project: &str, provider: Provider) -> Option<String> {
        let name = self.secrets.name(project, provider.as_str());
        let limit = Duration::from_millis(self.timing.token);
        match tokio::time::timeout(limit, self.secrets.version(&name)).await {
            Ok(Ok(version)) => Some(version),
            Ok(Err(NotPrepared::CredentialsMissing { .. })) => Some(String::new()),
            Ok(Err(_)) | Err(_) => None,
        }
    }

    /// Somebody knows of other credentials than those in memory: the secret is read again before the next use.
    pub fn doubt(&self, project: &str, provider: Provider) {
        match provider {
            Provider::Apns => self.apns.doubt(project),
            Provider::Fcm => self.fcm.doubt(project),
        }
    }

    /// Credentials that were refused are tried again: the secret is read again before the next use, and FCM's access
    /// token is replaced, so that a refusal is of the credentials and not of a token that has aged. APNs' provider token
    /// is left: its age is known, and Apple allows a new one only every 20 minutes.
    pub fn try_anew(&self, project: &str, provider: Provider) {
        match provider {
            Provider::Apns => self.apns.doubt(project),
            Provider::Fcm => self.fcm.try_anew(project),
        }
    }
}
