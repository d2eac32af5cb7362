//! One project's way to APNs: cached signing key, shared provider token, and the call itself.
//!
//! Called by [`crate::Push`] and [`crate::Prepared`]. All caches go by the Clock; one fetch at a time per project and
//! per signing key. Projects with the same environment, team and key share token and connection.

use crate::{
    NotPrepared, Outgoing,
    apns::{
        error,
        key::Key,
        payload,
        token::{self, Source},
    },
    credentials::{Known, Secrets},
    outcome::reason,
    pool::Pool,
    slot::{Slot, Slots},
    transport::Failed,
};
use http::{HeaderValue, Method, Request, header::AUTHORIZATION};
use platform::{Clock, Random};
use protocol::{answer::Answer, content::Device, timing::Timing};
use std::{sync::Arc, time::Duration};
use store::Store;

const PROVIDER: &str = "apns";

/// APNs for all projects.
pub(crate) struct Apns {
    secrets: Secrets,
    store: Store,
    clock: Clock,
    random: Random,
    timing: Timing,
    projects: Slots<Option<Known<Key>>>,
    identities: Slots<Identity>,
}

/// What all calls under one signing key share.
#[derive(Default)]
struct Identity {
    pool: Option<Arc<Pool>>,
    token: Option<token::Known>,
}

/// What a call needs.
#[derive(Clone)]
pub(crate) struct Access {
    key: Arc<Key>,
    token: Arc<str>,
    pool: Arc<Pool>,
    identity: Arc<Slot<Identity>>,
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
        let known = |cached: &Option<Known<Key>>| cached.as_ref().and_then(|known| known.fresh(now_ms()));
        let key = slot.get(known, || self.read_key(project, &slot)).await?;
        let identity = self.identities.of(&key.identity(), now_ms());
        let fresh = |cached: &Identity| cached.token.as_ref().and_then(|token| token.fresh(now_ms()));
        let token = identity.get(fresh, || self.read_token(&key, &identity)).await?;
        let pool = {
            let mut state = identity.state();
            let pool = state.pool.get_or_insert_with(|| Arc::new(Pool::new(key.address.clone(), self.clock.clone())));
            Arc::clone(pool)
        };
        Ok(Access { key, token, pool, identity })
    }

    async fn read_key(&self, project: &str, slot: &Slot<Option<Known<Key>>>) -> Result<Arc<Key>, NotPrepared> {
        let name = self.secrets.name(project, PROVIDER);
        let now_ms = self.clock.now_ms();
        let text = self.secrets.read(&name).await?;
        let unchanged = slot.state().as_mut().and_then(|known| known.renew(&text, now_ms));
        if let Some(key) = unchanged {
            return Ok(key);
        }
        let key =
            Key::parse(&text).map_err(|fault| NotPrepared::CredentialsInvalid { name, fault: fault.to_string() })?;
        let key = Arc::new(key);
        *slot.state() = Some(Known::new(Arc::clone(&key), now_ms, text));
        Ok(key)
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
    pub(crate) async fn send(&self, access: &Access, device: &Device, outgoing: &Outgoing<'_>) -> Answer {
        let secrets = [device.token.0.as_str(), &access.token];
        let Some(topic) = access.key.topic(outgoing.content.app.as_deref()) else {
            // For good, so that it is seen: the API took the app, and the credentials do not know it. Asking Apple for it
            // could only end as TopicDisallowed or DeviceTokenNotForTopic.
            let detail = "the project's APNs credentials do not list the app that the message names";
            return Answer::Permanent(reason("app_not_in_credentials", detail, &secrets));
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
            return Answer::NotSent(reason("bad_address", "base_url cannot be called", &secrets));
        };
        match access.pool.call(request, Duration::from_millis(self.timing.call), error::standing).await {
            Ok(answered) => {
                let verdict = error::read(&answered, &headers.id, self.clock.now_ms(), &secrets);
                if verdict.token_refused
                    && let Some(token) = access.identity.state().token.as_mut()
                {
                    token.refuse(&access.token);
                }
                verdict.answer
            }
            Err(Failed::NotSent { code, detail }) => Answer::NotSent(reason(code, &detail, &secrets)),
            Err(Failed::Lost { code, detail }) => Answer::Lost(reason(code, &detail, &secrets)),
        }
    }
}
