//! The handle that everything shares, and what tests and the local system do with it directly.

use crate::{
    apns::{self, ProviderTokens, Team},
    key::{ProviderKey, SigningKey},
    ledger::{Entry, Ledger},
    oauth::{Account, Tokens},
    script::{Outcome, ScriptFault, Scripts},
    secrets::Secrets,
    stripe::{self, Stripe},
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
    pub(crate) connections: AtomicU64,
    refused_streams: AtomicU64,
    settings_delay_ms: AtomicU64,
    answer_delay_ms: AtomicU64,
    state: Mutex<State>,
}

/// Everything that changes. One lock: a request's look at the script and its ledger entry are one step.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) ledger: Ledger,
    pub(crate) scripts: Scripts,
    pub(crate) secrets: Secrets,
    pub(crate) tokens: Tokens,
    /// Google accounts by e-mail address.
    pub(crate) accounts: HashMap<String, Account>,
    /// Apple's teams by id.
    pub(crate) teams: HashMap<String, Team>,
    pub(crate) provider_tokens: ProviderTokens,
    pub(crate) stripe: Stripe,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").field("base_url", &self.shared.base_url).finish_non_exhaustive()
    }
}

impl Sandbox {
    /// `base_url` is where [`Sandbox::serve`] will be reached, for example `http://127.0.0.1:8090`; it goes into the
    /// credentials that are handed out.
    ///
    /// # Errors
    /// When the machine cannot make random numbers.
    pub fn new(clock: Clock, base_url: String) -> Result<Self, SandboxError> {
        let random = Random::system();
        random.bytes::<16>()?;
        let base_url = base_url.trim_end_matches('/').to_owned();
        Ok(Self {
            shared: Arc::new(Shared {
                clock,
                random,
                base_url,
                connections: AtomicU64::new(0),
                refused_streams: AtomicU64::new(0),
                settings_delay_ms: AtomicU64::new(0),
                answer_delay_ms: AtomicU64::new(0),
                state: Mutex::default(),
            }),
        })
    }

    /// Makes a Google account, an Apple team and a Stripe account for a project, each with a key of its own, and stores
    /// their credentials as the secrets `sendonce/{project}/fcm`, `…/apns` and `…/stripe`. Doing it again restores them,
    /// keys included. The team has two apps, `com.example.{project}` and its `.beta`. The first time takes a moment, for the
    /// RSA key.
    ///
    /// # Errors
    /// When the machine cannot make keys.
    pub fn seed_project(&self, project: &str) -> Result<(), SandboxError> {
        self.seed(project, apns::usual_apps(project))
    }

    /// The same with these apps, the default first.
    ///
    /// # Errors
    /// When the machine cannot make keys.
    pub fn seed_project_with(&self, project: &str, apps: &[&str]) -> Result<(), SandboxError> {
        self.seed(project, apps.iter().map(|app| (*app).to_owned()).collect())
    }

    /// Gives a project's team a second signing key, as its owner does who replaces a key without a pause, and stores it
    /// in the project's APNs secret. The team's other keys stay good.
    ///
    /// # Errors
    /// When the machine cannot make keys.
    pub fn add_signing_key(&self, project: &str) -> Result<(), SandboxError> {
        let key = ProviderKey::generate().ok_or(SandboxError::Key)?;
        let team_id = apns::team_id(project);
        let mut state = self.state();
        if let Some(team) = state.teams.get_mut(&team_id) {
            let key_id = apns::key_id(project, team.keys.len());
            let secret = self.apns_secret(&team_id, &key_id, &key, &team.apps);
            team.keys.push((key_id, Arc::new(key)));
            state.secrets.put(&format!("sendonce/{project}/apns"), secret, None, self.shared.clock.now_ms());
        }
        Ok(())
    }

    fn seed(&self, project: &str, apps: Vec<String>) -> Result<(), SandboxError> {
        let project_id = format!("{project}-sandbox");
        let email = format!("sendonce@{project_id}.iam.gserviceaccount.com");
        let (team_id, key_id) = (apns::team_id(project), apns::key_id(project, 0));
        let (account, team) = {
            let state = self.state();
            (state.accounts.get(&email).cloned(), state.teams.get(&team_id).cloned())
        };
        // Keys are made without the lock, since an RSA key takes its time.
        let account = match account {
            Some(account) => account,
            None => Account { project_id, key: Arc::new(SigningKey::generate().ok_or(SandboxError::Key)?) },
        };
        let keys = match team {
            Some(team) => team.keys,
            None => vec![(key_id, Arc::new(ProviderKey::generate().ok_or(SandboxError::Key)?))],
        };
        let (key_id, key) = &keys[0];
        let base_url = &self.shared.base_url;
        let file = json!({
            "type": "service_account",
            "project_id": account.project_id,
            "private_key_id": "sandbox",
            "private_key": account.key.pem(),
            "client_email": email,
            "token_uri": format!("{base_url}/token"),
            "fcm_base_url": base_url,
        });
        let signing = self.apns_secret(&team_id, key_id, key, &apps);
        // Well known on purpose, as the local system's API keys are: they open nothing but the sandbox.
        let (api_key, webhook_secret) = (format!("{}{project}", stripe::API_KEYS), format!("whsec_sandbox_{project}"));
        let payments = json!({"api_key": api_key, "webhook_secrets": [webhook_secret]});
        let now_ms = self.shared.clock.now_ms();
        let mut state = self.state();
        state.stripe.add_account(api_key, project, webhook_secret);
        state.secrets.put(&format!("sendonce/{project}/stripe"), payments.to_string(), None, now_ms);
        state.accounts.insert(email, account);
        state.teams.insert(team_id, Team { keys, apps });
        state.secrets.put(&format!("sendonce/{project}/fcm"), file.to_string(), None, now_ms);
        state.secrets.put(&format!("sendonce/{project}/apns"), signing, None, now_ms);
        Ok(())
    }

    fn apns_secret(&self, team_id: &str, key_id: &str, key: &ProviderKey, apps: &[String]) -> String {
        let secret = json!({
            "key": key.pem(),
            "key_id": key_id,
            "team_id": team_id,
            "environment": "sandbox",
            "apps": apps,
            "base_url": self.shared.base_url,
        });
        secret.to_string()
    }

    /// Shows what is in the file of an earlier sandbox, which is made if missing, and keeps the ledger there from now
    /// on. Replaces what the ledger had; call it first. The refunds that were made, and their keys, are there again, since
    /// a payment is not undone by a restart. Scripts and secrets are not kept.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn keep_ledger(&self, file: &Path) -> io::Result<()> {
        let ledger = Ledger::keep(file)?;
        let mut state = self.state();
        state.stripe.restore(ledger.entries(None));
        state.ledger = ledger;
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

    /// From now on APNs and FCM answer this long after they have decided, as across a network.
    pub fn delay_answers(&self, by: Duration) {
        self.shared.answer_delay_ms.store(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Waits as long as an answer is to take, if that is anything.
    pub(crate) async fn travels(&self) {
        match self.shared.answer_delay_ms.load(Ordering::Relaxed) {
            0 => {}
            ms => tokio::time::sleep(Duration::from_millis(ms)).await,
        }
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
