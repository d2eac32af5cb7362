//! Provider credentials as they are stored: one secret per project and provider in AWS Secrets Manager.
//!
//! Called by each provider's client, which parses the text and keeps the result for [`CREDENTIALS_FRESH_MS`].

use crate::NotPrepared;
use aws_sdk_secretsmanager::{
    Client,
    error::{ProvideErrorMetadata, SdkError},
};
use std::sync::Arc;

/// How long parsed credentials are used before the secret is read again, by the Clock: a rotated key is in use
/// everywhere after that.
pub(crate) const CREDENTIALS_FRESH_MS: u64 = 300_000;

/// Settings of this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushSettings {
    /// The name of a secret, with `{project}` and `{provider}` ("fcm", "apns") in the places of theirs.
    pub secret_name: String,
}

impl Default for PushSettings {
    fn default() -> Self {
        Self { secret_name: "sendonce/{project}/{provider}".to_owned() }
    }
}

/// Reads secrets. No cache of its own.
#[derive(Clone)]
pub(crate) struct Secrets {
    client: Client,
    settings: PushSettings,
}

impl Secrets {
    pub(crate) fn new(client: Client, settings: PushSettings) -> Self {
        Self { client, settings }
    }

    pub(crate) fn name(&self, project: &str, provider: &str) -> String {
        self.settings.secret_name.replace("{provider}", provider).replace("{project}", project)
    }

    /// The text of a secret.
    pub(crate) async fn read(&self, name: &str) -> Result<String, NotPrepared> {
        let unavailable =
            |fault: &str| NotPrepared::CredentialsUnavailable { name: name.to_owned(), fault: fault.to_owned() };
        let output = self.client.get_secret_value().secret_id(name).send().await.map_err(|error| match &error {
            SdkError::ServiceError(service) if service.err().is_resource_not_found_exception() => {
                NotPrepared::CredentialsMissing { name: name.to_owned() }
            }
            // The code only: the message names the account and the caller's role.
            SdkError::ServiceError(service) => unavailable(service.err().code().unwrap_or("unknown error")),
            SdkError::TimeoutError(_) => unavailable("timeout"),
            SdkError::DispatchFailure(_) => unavailable("no connection"),
            _ => unavailable("no usable answer"),
        })?;
        output.secret_string.ok_or_else(|| NotPrepared::CredentialsInvalid {
            name: name.to_owned(),
            fault: "it holds bytes, not text".to_owned(),
        })
    }
}

/// Parsed credentials, and how long they may be used without reading the secret again.
pub(crate) struct Known<K> {
    key: Arc<K>,
    read_ms: u64,
    text: String,
}

impl<K> Known<K> {
    /// Credentials parsed from `text`, which was asked for at `read_ms`.
    pub(crate) fn new(key: Arc<K>, read_ms: u64, text: String) -> Self {
        Self { key, read_ms, text }
    }

    /// The credentials, while they may be used.
    pub(crate) fn fresh(&self, now_ms: u64) -> Option<Arc<K>> {
        (now_ms.saturating_sub(self.read_ms) < CREDENTIALS_FRESH_MS).then(|| Arc::clone(&self.key))
    }

    /// The same credentials for another while, if the secret still says the same.
    pub(crate) fn renew(&mut self, text: &str, read_ms: u64) -> Option<Arc<K>> {
        (self.text == text).then(|| {
            self.read_ms = read_ms;
            Arc::clone(&self.key)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_secretsmanager::{Config, config::BehaviorVersion};

    #[test]
    fn a_secret_is_named_by_project_and_provider() {
        let client = Client::from_conf(Config::builder().behavior_version(BehaviorVersion::latest()).build());
        let secrets = Secrets::new(client, PushSettings::default());
        assert_eq!(secrets.name("acme", "fcm"), "sendonce/acme/fcm");
        // A project's name cannot stand in for a provider's.
        assert_eq!(secrets.name("{provider}", "fcm"), "sendonce/{provider}/fcm");
    }
}
