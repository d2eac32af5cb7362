//! One project's way to FCM: cached key file and access token, and the call itself.
//!
//! Called by [`crate::Push`] and [`crate::Prepared`]. Both caches go by the Clock; one fetch at a time per project.

use crate::{
    NotPrepared, Outgoing,
    credentials::{Known, Secrets},
    fcm::{
        error,
        key::Key,
        payload,
        token::{self, AccessToken},
    },
    outcome::reason,
    slot::{Slot, Slots},
    transport::{Failed, Transport},
};
use http::{
    Method, Request,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use platform::Clock;
use protocol::{answer::Answer, content::Device, timing::Timing};
use std::{sync::Arc, time::Duration};

const PROVIDER: &str = "fcm";

/// FCM for all projects.
pub(crate) struct Fcm {
    secrets: Secrets,
    transport: Arc<Transport>,
    clock: Clock,
    timing: Timing,
    slots: Slots<Cached>,
}

/// What is known of a project.
#[derive(Default)]
struct Cached {
    key: Option<Known<Key>>,
    token: Option<AccessToken>,
}

/// What a call needs.
#[derive(Clone)]
pub(crate) struct Access {
    key: Arc<Key>,
    token: Arc<str>,
    slot: Arc<Slot<Cached>>,
}

impl Fcm {
    pub(crate) fn new(secrets: Secrets, transport: Arc<Transport>, clock: Clock, timing: Timing) -> Self {
        Self { secrets, transport, clock, timing, slots: Slots::new() }
    }

    /// A key file and an access token that are fresh enough, within `Timing::token`.
    pub(crate) async fn access(&self, project: &str) -> Result<Access, NotPrepared> {
        let limit = Duration::from_millis(self.timing.token);
        let slot = self.slots.of(project, self.clock.now_ms());
        let found = slot.get(|cached| cached.fresh(self.clock.now_ms()), || self.fetch(project, &slot, limit));
        let (key, token) = tokio::time::timeout(limit, found)
            .await
            .unwrap_or(Err(NotPrepared::TimedOut { limit_ms: self.timing.token }))?;
        Ok(Access { key, token, slot })
    }

    async fn fetch(&self, project: &str, slot: &Slot<Cached>, limit: Duration) -> Result<Fresh, NotPrepared> {
        let known = slot.state().fresh_key(self.clock.now_ms());
        let key = match known {
            Some(key) => key,
            None => self.read_key(project, slot).await?,
        };
        let token = slot.state().fresh_token(self.clock.now_ms());
        let token = match token {
            Some(token) => token,
            None => {
                let fetched = token::fetch(&self.transport, &self.clock, &key, limit).await?;
                let value = Arc::clone(&fetched.value);
                slot.state().token = Some(fetched);
                value
            }
        };
        Ok((key, token))
    }

    async fn read_key(&self, project: &str, slot: &Slot<Cached>) -> Result<Arc<Key>, NotPrepared> {
        let name = self.secrets.name(project, PROVIDER);
        let now_ms = self.clock.now_ms();
        let text = self.secrets.read(&name).await?;
        let unchanged = slot.state().key.as_mut().and_then(|known| known.renew(&text, now_ms));
        if let Some(key) = unchanged {
            return Ok(key);
        }
        let key =
            Key::parse(&text).map_err(|fault| NotPrepared::CredentialsInvalid { name, fault: fault.to_string() })?;
        let key = Arc::new(key);
        // Another key file may be another account: its token is not this one's.
        *slot.state() = Cached { key: Some(Known::new(Arc::clone(&key), now_ms, text)), token: None };
        Ok(key)
    }

    /// One call to `messages:send`.
    pub(crate) async fn send(&self, access: &Access, device: &Device, outgoing: &Outgoing<'_>) -> Answer {
        let secrets = [device.token.0.as_str(), &access.token];
        let body = payload::build(device, outgoing, self.clock.now_ms()).to_string();
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}/v1/projects/{}/messages:send", access.key.base_url, access.key.project_id))
            .header(AUTHORIZATION, format!("Bearer {}", access.token))
            .header(CONTENT_TYPE, "application/json")
            .body(body.into());
        let Ok(request) = request else {
            return Answer::NotSent(reason("bad_address", "fcm_base_url cannot be called", &secrets));
        };
        match self.transport.call(request, Duration::from_millis(self.timing.call)).await {
            Ok(answered) => {
                let verdict = error::read(&answered, self.clock.now_ms(), &secrets);
                if verdict.token_refused {
                    access.slot.state().drop_token(&access.token);
                }
                verdict.answer
            }
            Err(Failed::NotSent { code, detail }) => Answer::NotSent(reason(code, &detail, &secrets)),
            Err(Failed::Lost { code, detail }) => Answer::Lost(reason(code, &detail, &secrets)),
        }
    }
}

type Fresh = (Arc<Key>, Arc<str>);

impl Cached {
    fn fresh_key(&self, now_ms: u64) -> Option<Arc<Key>> {
        self.key.as_ref()?.fresh(now_ms)
    }

    fn fresh_token(&self, now_ms: u64) -> Option<Arc<str>> {
        self.token.as_ref().filter(|token| now_ms < token.refresh_at_ms).map(|token| Arc::clone(&token.value))
    }

    fn fresh(&self, now_ms: u64) -> Option<Fresh> {
        Some((self.fresh_key(now_ms)?, self.fresh_token(now_ms)?))
    }

    /// Forgets a token that FCM refused, unless it has been replaced since.
    fn drop_token(&mut self, refused: &str) {
        if self.token.as_ref().is_some_and(|token| &*token.value == refused) {
            self.token = None;
        }
    }
}
