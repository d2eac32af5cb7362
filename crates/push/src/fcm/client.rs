//! One project's way to FCM: cached key file and access token, and the call itself.
//!
//! Called by [`crate::Push`] and [`crate::Prepared`]. Both caches go by the Clock; one fetch at a time per project.

use crate::{
    NotPrepared, Outgoing, Provider,
    answers::{Credentials, Heard},
    credentials::{Held, Known, Secrets},
    fcm::{
        error,
        key::Key,
        payload,
        token::{self, AccessToken},
    },
    outcome::reason,
    slot::{Slot, Slots},
    transport::{Cleartext, Transport},
};
use http::{
    HeaderValue, Method, Request,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use platform::Clock;
use protocol::{content::Device, timing::Timing};
use std::{sync::Arc, time::Duration};

/// FCM for all projects.
pub(crate) struct Fcm {
    secrets: Secrets,
    pub(super) calls: Transport,
    grants: Transport,
    clock: Clock,
    pub(super) timing: Timing,
    slots: Slots<Cached>,
}

/// What is known of a project.
#[derive(Default)]
struct Cached {
    key: Option<Known<Key>>,
    token: Option<AccessToken>,
    /// The token is new: the one before was refused by FCM, or was given up. FCM has taken none since.
    renewed: bool,
}

/// What a call needs.
#[derive(Clone)]
pub(crate) struct Access {
    pub(super) key: Arc<Key>,
    pub(crate) version: Arc<str>,
    token: Arc<str>,
    /// The token as a header; never shown.
    pub(super) authorization: HeaderValue,
    /// The token replaced one that FCM had refused, or that may have aged.
    renewed: bool,
    slot: Arc<Slot<Cached>>,
}

impl Fcm {
    /// FCM is called over HTTP/2 and nothing else, also where no TLS says so. A token endpoint without TLS is somebody's stand-in for
    /// Google's, and most of those speak HTTP/1 only.
    pub(crate) fn new(secrets: Secrets, clock: Clock, timing: Timing) -> Self {
        let calls = Transport::http2(clock.clone());
        let grants = Transport::new(clock.clone(), Cleartext::Http1);
        Self { secrets, calls, grants, clock, timing, slots: Slots::new() }
    }

    /// A key file and an access token that are fresh enough, within `Timing::token`.
    pub(crate) async fn access(&self, project: &str) -> Result<Access, NotPrepared> {
        let limit = Duration::from_millis(self.timing.token);
        let slot = self.slots.of(project, self.clock.now_ms());
        let found = slot.get(|cached| cached.fresh(self.clock.now_ms()), || self.fetch(project, &slot, limit));
        let (held, token) = tokio::time::timeout(limit, found)
            .await
            .unwrap_or(Err(NotPrepared::TimedOut { limit_ms: self.timing.token }))?;
        ready(held, token, slot)
    }

    async fn fetch(&self, project: &str, slot: &Slot<Cached>, limit: Duration) -> Result<Fresh, NotPrepared> {
        let known = slot.state().fresh_key(self.clock.now_ms());
        let Some(held) = known else {
            let held = self.read_key(project, slot).await?;
            return self.with_key(held, slot, limit).await;
        };
        match self.with_key(held.clone(), slot, limit).await {
            Err(NotPrepared::GrantRefused { code, detail, .. }) => {
                // The key file is some minutes old, and may have been replaced since. Google is asked again only if so.
                let now = self.read_key(project, slot).await?;
                if Arc::ptr_eq(&now.key, &held.key) {
                    // The same key, whatever its version is called now.
                    return Err(NotPrepared::GrantRefused { code, detail, version: now.version });
                }
                self.with_key(now, slot, limit).await
            }
            other => other,
        }
    }

    async fn with_key(&self, held: Held<Key>, slot: &Slot<Cached>, limit: Duration) -> Result<Fresh, NotPrepared> {
        let token = slot.state().fresh_token(self.clock.now_ms());
        if let Some(token) = token {
            return Ok((held, token));
        }
        match token::fetch(&self.grants, &self.clock, &held, limit).await {
            Ok(fetched) => {
                let value = Arc::clone(&fetched.value);
                slot.state().token = Some(fetched);
                Ok((held, value))
            }
            Err(error) => {
                if matches!(error, NotPrepared::GrantRefused { .. }) {
                    slot.state().refuse_key(&held.key);
                }
                Err(error)
            }
        }
    }

    /// Whose key file is known, in words.
    pub(super) fn holder(&self, project: &str) -> String {
        let slot = self.slots.of(project, self.clock.now_ms());
        let cached = slot.state();
        let known = cached.key.as_ref().map(Known::held);
        known.map_or_else(|| "this project".to_owned(), |held| format!("account {}", held.key.client_email))
    }

    /// The secret as it is now and a token of its own, whatever was known.
    pub(super) async fn find_anew(&self, project: &str) -> Result<Access, NotPrepared> {
        let slot = self.slots.of(project, self.clock.now_ms());
        let held = self.read_key(project, &slot).await?;
        slot.state().token = None;
        let (held, token) = self.with_key(held, &slot, Duration::from_millis(self.timing.token)).await?;
        ready(held, token, slot)
    }

    async fn read_key(&self, project: &str, slot: &Slot<Cached>) -> Result<Held<Key>, NotPrepared> {
        let name = self.secrets.name(project, Provider::Fcm.as_str());
        let now_ms = self.clock.now_ms();
        let secret = self.secrets.read(&name).await?;
        let unchanged = slot.state().key.as_mut().and_then(|known| known.renew(&secret, now_ms));
        if let Some(held) = unchanged {
            return Ok(held);
        }
        let key = Key::parse(&secret.text).map_err(|fault| secret.unusable(name, &fault))?;
        let known = Known::new(key, now_ms, secret);
        let held = known.held();
        // Another key file may be another account: its token is not this one's. Where there is none, the next is new
        // whatever file it is from.
        let mut cached = slot.state();
        let renewed = cached.renewed && cached.token.is_none();
        *cached = Cached { key: Some(known), token: None, renewed };
        Ok(held)
    }

    /// Whatever is known of a project's key file, the secret is read again before it is used.
    pub(crate) fn doubt(&self, project: &str) {
        if let Some(known) = self.slots.of(project, self.clock.now_ms()).state().key.as_mut() {
            known.doubt();
        }
    }

    /// The same, and whatever access token is known is replaced: a refusal of the next one counts at once.
    pub(crate) fn try_anew(&self, project: &str) {
        let slot = self.slots.of(project, self.clock.now_ms());
        let mut cached = slot.state();
        if let Some(known) = cached.key.as_mut() {
            known.doubt();
        }
        cached.token = None;
        cached.renewed = true;
    }

    /// One call to `messages:send`.
    pub(crate) async fn send(&self, access: &Access, device: &Device, outgoing: &Outgoing<'_>) -> Heard {
        let secrets = [device.token.0.as_str(), &access.token];
        let body = payload::build(device, outgoing, self.clock.now_ms()).to_string();
        let request = Request::builder()
            .method(Method::POST)
            .uri(access.key.send.clone())
            .header(AUTHORIZATION, access.authorization.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(body.into());
        let Ok(request) = request else {
            return Heard::not_called(reason("bad_address", "fcm_base_url cannot be called", &secrets));
        };
        let answered = match self.calls.call(request, Duration::from_millis(self.timing.call)).await {
            Ok(answered) => answered,
            Err(failed) => return Heard::failed(&failed, &secrets),
        };
        let heard = error::read(&answered, access.renewed, self.clock.now_ms(), &secrets);
        // An acceptance is the usual, and says nothing else.
        let refused = !answered.status.is_success() && error::token_refused(&answered);
        let mut cached = access.slot.state();
        if refused {
            cached.drop_token(&access.token);
        }
        match heard.credentials {
            Credentials::Taken => cached.proven(&access.token),
            Credentials::Refused => cached.refuse_key(&access.key),
            // Older credentials than those that are stored now, perhaps.
            Credentials::Unknown if refused => cached.refuse_key(&access.key),
            Credentials::Unknown => {}
        }
        heard
    }
}

/// What a call needs, all in hand. A token endpoint's token was looked at: it is one word.
fn ready(held: Held<Key>, token: Arc<str>, slot: Arc<Slot<Cached>>) -> Result<Access, NotPrepared> {
    let unusable = |_| NotPrepared::TokenUnavailable { detail: "the access token is not one word".to_owned() };
    // Not marked as sensitive: the connection then names it by a number after the first call (RFC 7541, section 6.2).
    let authorization = HeaderValue::from_str(&format!("Bearer {token}")).map_err(unusable)?;
    let renewed = slot.state().renewed;
    Ok(Access { key: held.key, version: held.version, token, authorization, renewed, slot })
}

type Fresh = (Held<Key>, Arc<str>);

impl Cached {
    fn fresh_key(&self, now_ms: u64) -> Option<Held<Key>> {
        self.key.as_ref()?.fresh(now_ms)
    }

    fn fresh_token(&self, now_ms: u64) -> Option<Arc<str>> {
        self.token.as_ref().filter(|token| now_ms < token.refresh_at_ms).map(|token| Arc::clone(&token.value))
    }

    fn fresh(&self, now_ms: u64) -> Option<Fresh> {
        Some((self.fresh_key(now_ms)?, self.fresh_token(now_ms)?))
    }

    /// FCM or Google refused this key file: whoever asks next reads the secret again.
    fn refuse_key(&mut self, key: &Arc<Key>) {
        if let Some(known) = self.key.as_mut() {
            known.refuse(key);
        }
    }

    /// Forgets a token that FCM refused, unless it has been replaced since.
    fn drop_token(&mut self, refused: &str) {
        if self.token.as_ref().is_some_and(|token| &*token.value == refused) {
            self.token = None;
            self.renewed = true;
        }
    }

    /// FCM took this token.
    fn proven(&mut self, taken: &str) {
        if self.token.as_ref().is_some_and(|token| &*token.value == taken) {
            self.renewed = false;
        }
    }
}
