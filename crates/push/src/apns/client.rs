//! One project's way to APNs: cached signing key, shared provider token, and the call itself.
//!
//! Called by [`crate::Push`] and [`crate::Prepared`]. All caches go by the Clock; one fetch at a time per project and
//! per signing key. Projects with the same environment, team and key share token and connection.

use crate::{
    NotPrepared, Outgoing, Provider,
    answers::{Credentials, Heard},
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
use protocol::{content::Device, timing::Timing};
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
    token: Arc<str>,
    /// The token as a header; never shown.
    pub(super) authorization: HeaderValue,
    /// The token was looked up after APNs had refused one.
    renewed: bool,
    pub(super) pool: Arc<Pool>,
    identity: Arc<Slot<Identity>>,
    project: Arc<Slot<Project>>,
}

/// The header of a provider token, which is base64url and dots.
fn bearer(token: &str) -> Result<HeaderValue, NotPrepared> {
    let unusable = |_| NotPrepared::TokenUnavailable { detail: "the provider token is not one word".to_owned() };
    let mut value = HeaderValue::from_str(&format!("bearer {token}")).map_err(unusable)?;
    value.set_sensitive(true);
    Ok(value)
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
        let authorization = bearer(&token)?;
        Ok(Access { key, version, token, authorization, renewed, pool, identity, project })
    }

    async fn read_key(&self, project: &str, slot: &Slot<Project>) -> Result<Held<Key>, NotPrepared> {
        let name = self.secrets.name(project, Provider::Apns.as_str());
        let now_ms = self.clock.now_ms();
        let secret = self.secrets.read(&name).await?;
        let unchanged = slot.state().as_mut().and_then(|known| known.renew(&secret, now_ms));
        if let Some(held) = unchanged {
            return Ok(held);
        }
        let key = Key::parse(&secret.text).map_err(|fault| secret.unusable(name, &fault))?;
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
            // The API took the app, so it is the credentials that lag behind; asking Apple for it could only end as
            // TopicDisallowed or DeviceTokenNotForTopic. It waits for them, and is told.
            let detail = "the project's APNs credentials do not list the app that the message names";
            return Heard::not_called(reason("app_not_in_credentials", detail, &secrets));
        };
        let headers = payload::headers(&device.token, outgoing, self.clock.now_ms());
        let request = access.key.device(&device.token).and_then(|uri| {
            Request::builder()
                .method(Method::POST)
                .uri(uri)
                .header(AUTHORIZATION, access.authorization.clone())
                .header("apns-id", &headers.id)
                .header("apns-topic", topic)
                .header("apns-push-type", HeaderValue::from_static(headers.push_type))
                .header("apns-expiration", headers.expiration)
                .header("apns-priority", HeaderValue::from_static(headers.priority))
                .header("apns-collapse-id", headers.collapse_id)
                .body(outgoing.apns_body().into())
        });
        let Ok(request) = request else {
            return Heard::not_called(reason("bad_address", "base_url cannot be called", &secrets));
        };
        let limit = Duration::from_millis(self.timing.call);
        let answered = match access.pool.call(request, limit, error::standing).await {
            Ok(answered) => answered,
            Err(failed) => return Heard::failed(&failed, &secrets),
        };
        let heard = error::read(&answered, &headers.id, access.renewed, self.clock.now_ms(), &secrets);
        // An acceptance is the usual, and says nothing else.
        let refused = !answered.status.is_success() && error::token_refused(&answered);
        if refused {
            access.identity.state().refuse(&access.token);
        }
        match heard.credentials {
            Credentials::Taken => access.identity.state().renewed = false,
            Credentials::Refused => access.refuse_key(),
            // Older credentials than those that are stored now, perhaps.
            Credentials::Unknown if refused => access.refuse_key(),
            Credentials::Unknown => {}
        }
        heard
    }

    /// Whatever is known of a project's signing key, the secret is read again before it is used.
    pub(crate) fn doubt(&self, project: &str) {
        if let Some(known) = self.projects.of(project, self.clock.now_ms()).state().as_mut() {
            known.doubt();
        }
    }
}
