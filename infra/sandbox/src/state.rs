//! The handle that everything shares, and what tests and the local system do with it directly.

use crate::{
    apns::{self, ProviderTokens, Team},
    key::{ProviderKey, SigningKey},
    ledger::{Entry, Ledger},
    oauth::Tokens,
    script::{Outcome, ScriptFault, Scripts},
    secrets::Secrets,
};
use platform::{Clock, Random, RandomError};
use serde_json::json;
use std::{
    collections::HashMap,
    fmt, io,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// The machine cannot make keys or random numbers.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// No key could be made.
    #[error("no key could be made")]
    Key,
    /// No random bytes.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// A handle on the sandbox. Clones show the same ledger, scripts and secrets.
#[derive(Clone)]
pub struct Sandbox {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) base_url: String,
    pub(crate) key: SigningKey,
    pub(crate) provider_key: ProviderKey,
    pub(crate) connections: AtomicU64,
    refused_streams: AtomicU64,
    settings_delay_ms: AtomicU64,
    state: Mutex<State>,
}

/// Everything that changes. One lock: a request's look at the script and its ledger entry are one step.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) ledger: Ledger,
    pub(crate) scripts: Scripts,
    pub(crate) secrets: Secrets,
    pub(crate) tokens: Tokens,
    /// Google accounts by e-mail address, each with its project.
    pub(crate) accounts: HashMap<String, String>,
    /// Apple's teams by id.
    pub(crate) teams: HashMap<String, Team>,
    pub(crate) provider_tokens: ProviderTokens,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").field("base_url", &self.shared.base_url).finish_non_exhaustive()
    }
}

impl Sandbox {
    /// `base_url` is where [`Sandbox::serve`] will be reached, for example `http://127.0.0.1:8090`; it goes into the
    /// credentials that are handed out. Makes an RSA key, which takes a moment, and an EC key.
    ///
    /// # Errors
    /// When the machine cannot make keys or random numbers.
    pub fn new(clock: Clock, base_url: String) -> Result<Self, SandboxError> {
        let random = Random::system();
        random.bytes::<16>()?;
        let key = SigningKey::generate().ok_or(SandboxError::Key)?;
        let provider_key = ProviderKey::generate().ok_or(SandboxError::Key)?;
        let base_url = base_url.trim_end_matches('/').to_owned();
        Ok(Self {
            shared: Arc::new(Shared {
                clock,
                random,
                base_url,
                key,
                provider_key,
                connections: AtomicU64::new(0),
                refused_streams: AtomicU64::new(0),
                settings_delay_ms: AtomicU64::new(0),
                state: Mutex::default(),
            }),
        })
    }

    /// Makes a Google account and an Apple team for a project and stores their credentials as the secrets
    /// `sendonce/{project}/fcm` and `sendonce/{project}/apns`. Doing it again restores them. The team has two apps,
    /// `com.example.{project}` and its `.beta`.
    pub fn seed_project(&self, project: &str) {
        let (team_id, team) = apns::team(project);
        self.seed(project, team_id, team);
    }

    /// The same with these apps, the default first.
    pub fn seed_project_with(&self, project: &str, apps: &[&str]) {
        let (team_id, team) = apns::team(project);
        let apps = apps.iter().map(|app| (*app).to_owned()).collect();
        self.seed(project, team_id, Team { apps, ..team });
    }

    fn seed(&self, project: &str, team_id: String, team: Team) {
        let project_id = format!("{project}-sandbox");
        let email = format!("sendonce@{project_id}.iam.gserviceaccount.com");
        let base_url = &self.shared.base_url;
        let file = json!({
            "type": "service_account",
            "project_id": project_id,
            "private_key_id": "sandbox",
            "private_key": self.shared.key.pem(),
            "client_email": email,
            "token_uri": format!("{base_url}/token"),
            "fcm_base_url": base_url,
        });
        let signing = json!({
            "key": self.shared.provider_key.pem(),
            "key_id": team.key_id,
            "team_id": team_id,
            "environment": "sandbox",
            "apps": team.apps,
            "base_url": base_url,
        });
        let now_ms = self.shared.clock.now_ms();
        let mut state = self.state();
        state.accounts.insert(email, project_id);
        state.teams.insert(team_id, team);
        state.secrets.put(&format!("sendonce/{project}/fcm"), file.to_string(), None, now_ms);
        state.secrets.put(&format!("sendonce/{project}/apns"), signing.to_string(), None, now_ms);
    }

    /// Shows what is in the file of an earlier sandbox, which is made if missing, and keeps the ledger there from now
    /// on. Replaces what the ledger had; call it first. Scripts and secrets are not kept.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn keep_ledger(&self, file: &Path) -> io::Result<()> {
        self.state().ledger = Ledger::keep(file)?;
        Ok(())
    }

    /// What reached a provider, oldest first; with a token, only what was for that device.
    #[must_use]
    pub fn ledger(&self, token: Option<&str>) -> Vec<Entry> {
        self.state().ledger.entries(token)
    }

    /// Empties the ledger. Sequence numbers go on, scripts stay.
    pub fn clear_ledger(&self) {
        self.state().ledger.clear();
    }

    /// Sets what happens to the next requests for a device, in order; after that everything is accepted. Replaces
    /// what was left of an earlier script; an empty one removes it.
    ///
    /// # Errors
    /// When a bound is exceeded. Nothing is stored then.
    pub fn script(&self, token: &str, outcomes: Vec<Outcome>) -> Result<(), ScriptFault> {
        self.state().scripts.set(token, outcomes)
    }

    /// Access tokens handed out so far.
    #[must_use]
    pub fn tokens_issued(&self) -> u64 {
        self.state().tokens.issued()
    }

    /// Different APNs provider tokens accepted so far.
    #[must_use]
    pub fn provider_tokens_seen(&self) -> u64 {
        self.state().provider_tokens.seen()
    }

    /// Streams refused so far because a connection had shown no good token yet. Their requests were not read and are
    /// not in the ledger.
    #[must_use]
    pub fn streams_refused(&self) -> u64 {
        self.shared.refused_streams.load(Ordering::Relaxed)
    }

    pub(crate) fn count_refused_stream(&self) {
        self.shared.refused_streams.fetch_add(1, Ordering::Relaxed);
    }

    /// From now on HTTP/2 connections wait this long before they send SETTINGS, as a distant server does.
    pub fn delay_settings(&self, by: Duration) {
        self.shared.settings_delay_ms.store(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn settings_delay(&self) -> Duration {
        Duration::from_millis(self.shared.settings_delay_ms.load(Ordering::Relaxed))
    }

    /// Connections accepted so far by [`Sandbox::serve`].
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
