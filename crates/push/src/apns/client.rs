//! One project's way to APNs: cached signing key, shared provider token, and the call itself.
//!
//! Called by [`crate::Push`] and [`crate::Prepared`]. All caches go by the Clock; one fetch at a time per project and
//! per signing key. Projects with the same environment, team and key share token and connection.

use crate::{
    NotPrepared, Outgoing, Provider,
    answers::{Class, Credentials, Heard},
    apns::{
        error,
        key::Key,
        payload,
        token::{self, Source},
    },
    credentials::{Held, Known, Secrets},
    outcome::reason,
    pool::Pool,
    slot::{Slot, Slots},
};
use http::{HeaderValue, Method, Request, header::AUTHORIZATION};
use platform::{Clock, Random};
use protocol::{answer::Answer, content::Device, timing::Timing};
use std::{sync::Arc, time::Duration};
use store::Store;

/// APNs for all projects.
pub(crate) struct Apns {
    secrets: Secrets,
    store: Store,
    pub(super) clock: Clock,
    random: Random,
    pub(super) timing: Timing,
    projects: Slots<Project>,
    identities: Slots<Identity>,
}

/// What all calls under one signing key share.
#[derive(Default)]
struct Identity {
    pool: Option<Arc<Pool>>,
    token: Option<token::Known>,
    /// APNs refused the token at hand or the one before, and has taken none since.
    renewed: bool,
}

impl Identity {
    /// APNs refused this token.
    fn refuse(&mut self, jwt: &str) {
        if let Some(token) = self.token.as_mut() {
            self.renewed |= token.refuse(jwt);
        }
    }
}

/// What a call needs.
#[derive(Clone)]
pub(crate) struct Access {
    pub(super) key: Arc<Key>,
    pub(crate) version: Arc<str>,
    pub(super) token: Arc<str>,
    /// The token was looked up after APNs had refused one.
    renewed: bool,
    pub(super) pool: Arc<Pool>,
    identity: Arc<Slot<Identity>>,
    project: Arc<Slot<Project>>,
}

/// What is known of a project.
type Project = Option<Known<Key>>;

impl Access {
    /// APNs refused the key: whoever asks next reads the secret again.
    pub(super) fn refuse_key(&self) {
        if let Some(known) = self.project.state().as_mut() {
            known.refuse(&self.key);
        }
    }
}

impl Apns {
    pub(crate) fn new(secrets: Secrets, store: Store, clock: Clock, timing: Timing) -> Self {
        let random = Random::system();
        Self { secrets, store, clock, random, timing, projects: Slots::new(), identities: Slots::new() }
    }

    /// A signing key and a provider token that are fresh enough, within `Timing::token`.
    pub(crate) async fn access(&self, project: &str) -> Result<Access, NotPrepared> {
        let limit = Duration::from_millis(self.timing.token);
        let found = tokio::time::timeout(limit, self.find(project)).await;
        found.unwrap_or(Err(NotPrepared::TimedOut { limit_ms: self.timing.token }))
    }

    async fn find(&self, project: &str) -> Result<Access, NotPrepared> {
        let now_ms = || self.clock.now_ms();
        let slot = self.projects.of(project, now_ms());
        let known = |cached: &Project| cached.as_ref().and_then(|known| known.fresh(now_ms()));
        let held = slot.get(known, || self.read_key(project, &slot)).await?;
        self.with_key(held, slot).await
    }

    /// The same with the secret as it is now, whatever was known.
    pub(super) async fn find_anew(&self, project: &str) -> Result<Access, NotPrepared> {
        let slot = self.projects.of(project, self.clock.now_ms());
        let held = self.read_key(project, &slot).await?;
        self.with_key(held, slot).await
    }

    async fn with_key(&self, held: Held<Key>, project: Arc<Slot<Project>>) -> Result<Access, NotPrepared> {
        let Held { key, version } = held;
        let now_ms = || self.clock.now_ms();
        let identity = self.identities.of(&key.identity(), now_ms());
        let fresh = |cached: &Identity| cached.token.as_ref().and_then(|token| token.fresh(now_ms()));
        let token = identity.get(fresh, || self.read_token(&key, &identity)).await?;
        let (pool, renewed) = {
            let mut state = identity.state();
            let renewed = state.renewed;
            let pool = state.pool.get_or_insert_with(|| Arc::new(Pool::new(key.address.clone(), self.clock.clone())));
            (Arc::clone(pool), renewed)
        };
        Ok(Access { key, version, token, renewed, pool, identity, project })
    }

    async fn read_key(&self, project: &str, slot: &Slot<Project>) -> Result<Held<Key>, NotPrepared> {
        let name = self.secrets.name(project, Provider::Apns.as_str());
        let now_ms = self.clock.now_ms();
        let secret = self.secrets.read(&name).await?;
        let unchanged = slot.state().as_mut().and_then(|known| known.renew(&secret, now_ms));
        if let Some(held) = unchanged {
            return Ok(held);
        }
        let key = Key::parse(&secret.text)
            .map_err(|fault| NotPrepared::CredentialsInvalid { name, fault: fault.to_string() })?;
        let known = Known::new(key, now_ms, secret);
        let held = known.held();
        *slot.state() = Some(known);
        Ok(held)
    }

    async fn read_token(&self, key: &Key, identity: &Slot<Identity>) -> Result<Arc<str>, NotPrepared> {
        let source = Source { store: &self.store, clock: &self.clock, random: &self.random, key };
        let known = identity.state().token.clone();
        let token = source.fetch(known).await?;
        let value = token.value();
        identity.state().token = Some(token);
        Ok(value)
    }

    /// One call.
    pub(crate) async fn send(&self, access: &Access, device: &Device, outgoing: &Outgoing<'_>) -> Heard {
        let secrets = [device.token.0.as_str(), &access.token];
        let Some(topic) = access.key.topic(outgoing.content.app.as_deref()) else {
            // For good, so that it is seen: the API took the app, and the credentials do not know it. Asking Apple for it
            // could only end as TopicDisallowed or DeviceTokenNotForTopic.
            let detail = "the project's APNs credentials do not list the app that the message names";
            let answer = Answer::Permanent(reason("app_not_in_credentials", detail, &secrets));
            return Heard::uncalled(Class::Permanent, answer);
        };
        let headers = payload::headers(&device.token, outgoing, self.clock.now_ms());
        let body = payload::build(outgoing.message_id, outgoing.content).to_string();
        let authorization = HeaderValue::from_str(&format!("bearer {}", access.token)).map(|mut value| {
            value.set_sensitive(true);
            value
        });
        let request = authorization.map_err(http::Error::from).and_then(|authorization| {
            Request::builder()
                .method(Method::POST)
                .uri(format!("{}/3/device/{}", access.key.base_url, device.token.0))
                .header(AUTHORIZATION, authorization)
                .header("apns-id", &headers.id)
                .header("apns-topic", topic)
                .header("apns-push-type", headers.push_type)
                .header("apns-expiration", headers.expiration)
                .header("apns-priority", headers.priority.to_string())
                .header("apns-collapse-id", headers.collapse_id)
                .body(body.into())
        });
        let Ok(request) = request else {
            return Heard::not_sent("bad_address", "base_url cannot be called", &secrets);
        };
        match access.pool.call(request, Duration::from_millis(self.timing.call), error::standing).await {
            Ok(answered) => {
                let heard = error::read(&answered, &headers.id, access.renewed, self.clock.now_ms(), &secrets);
                if error::token_refused(&answered) {
                    access.identity.state().refuse(&access.token);
                }
                match heard.credentials {
                    Credentials::Taken => access.identity.state().renewed = false,
                    Credentials::Refused => access.refuse_key(),
                    // Older credentials than those that are stored now, perhaps.
                    Credentials::Unknown if error::token_refused(&answered) => access.refuse_key(),
                    Credentials::Unknown => {}
                }
                heard
            }
            Err(failed) => Heard::failed(&failed, &secrets),
        }
    }

    /// Whatever is known of a project's signing key, the secret is read again before it is used.
    pub(crate) fn doubt(&self, project: &str) {
        if let Some(known) = self.projects.of(project, self.clock.now_ms()).state().as_mut() {
            known.doubt();
        }
    }
}
