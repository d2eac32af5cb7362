//! Provider credentials as they are stored: one secret per project and provider in AWS Secrets Manager.
//!
//! Called by each provider's client, which parses the text and keeps the result for [`CREDENTIALS_FRESH_MS`], or until
//! the provider refuses it: whoever asks next then reads the secret again, so that mended credentials are in use at
//! once. Every result knows the version of its secret.

use crate::NotPrepared;
use aws_sdk_secretsmanager::{
    Client,
    error::{ProvideErrorMetadata, SdkError},
    operation::get_secret_value::GetSecretValueOutput,
};
use platform::EnvReader;
use std::{fmt, sync::Arc};

/// How long parsed credentials are used before the secret is read again, by the Clock: a rotated key is in use
/// everywhere after that.
pub const CREDENTIALS_FRESH_MS: u64 = 300_000;

/// The name of a secret unless a setting says otherwise, with `{project}` and `{provider}` ("fcm", "apns", "stripe") in the
/// places of theirs.
pub const SECRET_NAME: &str = "sendonce/{project}/{provider}";

/// Longest name of a secret (AWS Secrets Manager API reference, CreateSecret).
const SECRET_NAME_MAX: usize = 512;
/// Longest name of a project.
const PROJECT_MAX: usize = 64;

/// `SECRET_NAME`: how secrets are named, [`SECRET_NAME`] by default.
pub fn secret_name(env: &mut EnvReader<'_>) -> String {
    let allowed = "a name that holds {project} and {provider}, and else letters, digits and '/_+=.@-' only, of at most 512 \
                   characters with a project of 64";
    env.or("SECRET_NAME", SECRET_NAME.to_owned(), allowed, |name: &String| is_secret_name(name))
}

/// Whether Secrets Manager takes each name that this form makes.
fn is_secret_name(form: &str) -> bool {
    let whole = form.replace("{provider}", "stripe").replace("{project}", &"p".repeat(PROJECT_MAX));
    let named = form.contains("{project}") && form.contains("{provider}");
    named
        && whole.len() <= SECRET_NAME_MAX
        && whole.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_+=.@-".contains(&byte))
}

/// A secret as it was read.
pub struct Secret {
    /// What it holds.
    pub text: String,
    /// Secrets Manager's id of this version; another text has another.
    pub version: Arc<str>,
}

impl Secret {
    /// What it holds is not what is needed: `fault` says which member breaks which rule, without its value.
    #[must_use]
    pub fn unusable(&self, name: String, fault: &impl fmt::Display) -> NotPrepared {
        NotPrepared::CredentialsInvalid { name, fault: fault.to_string(), version: Arc::clone(&self.version) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("version", &self.version).finish_non_exhaustive()
    }
}

/// Reads secrets. No cache of its own.
#[derive(Clone, Debug)]
pub struct Secrets {
    client: Client,
    name: String,
}

impl Secrets {
    /// Secrets with names of this form: see [`SECRET_NAME`].
    #[must_use]
    pub fn new(client: Client, name: String) -> Self {
        Self { client, name }
    }

    /// The name of a project's secret for a provider.
    #[must_use]
    pub fn name(&self, project: &str, provider: &str) -> String {
        self.name.replace("{provider}", provider).replace("{project}", project)
    }

    async fn get(&self, name: &str) -> Result<GetSecretValueOutput, NotPrepared> {
        let unavailable =
            |fault: &str| NotPrepared::CredentialsUnavailable { name: name.to_owned(), fault: fault.to_owned() };
        self.client.get_secret_value().secret_id(name).send().await.map_err(|error| match &error {
            SdkError::ServiceError(service) if service.err().is_resource_not_found_exception() => {
                NotPrepared::CredentialsMissing { name: name.to_owned() }
            }
            // The code only: the message names the account and the caller's role.
            SdkError::ServiceError(service) => unavailable(service.err().code().unwrap_or("unknown error")),
            SdkError::TimeoutError(_) => unavailable("timeout"),
            SdkError::DispatchFailure(_) => unavailable("no connection"),
            _ => unavailable("no usable answer"),
        })
    }

    /// A secret, as it is now.
    ///
    /// # Errors
    /// When there is none, when it is no text, or when Secrets Manager does not give it.
    pub async fn read(&self, name: &str) -> Result<Secret, NotPrepared> {
        let output = self.get(name).await?;
        let version: Arc<str> = output.version_id.unwrap_or_default().into();
        let text = output.secret_string.ok_or_else(|| NotPrepared::CredentialsInvalid {
            name: name.to_owned(),
            fault: "it holds bytes, not text".to_owned(),
            version: Arc::clone(&version),
        })?;
        Ok(Secret { text, version })
    }

    /// The version of a secret, as it is now, whatever it holds.
    ///
    /// # Errors
    /// When there is none, or when Secrets Manager does not give it.
    pub async fn version(&self, name: &str) -> Result<String, NotPrepared> {
        Ok(self.get(name).await?.version_id.unwrap_or_default())
    }
}

/// Parsed credentials in somebody's hand.
pub struct Held<K> {
    /// The credentials.
    pub key: Arc<K>,
    /// The version of the secret that they were read from.
    pub version: Arc<str>,
}

impl<K> fmt::Debug for Held<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("version", &self.version).finish_non_exhaustive()
    }
}

impl<K> Clone for Held<K> {
    fn clone(&self) -> Self {
        Self { key: Arc::clone(&self.key), version: Arc::clone(&self.version) }
    }
}

/// Parsed credentials, and how long they may be used without reading the secret again.
pub struct Known<K> {
    held: Held<K>,
    text: String,
    read_ms: u64,
    /// The provider refused them since.
    refused: bool,
}

impl<K> fmt::Debug for Known<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").field("held", &self.held).field("read_ms", &self.read_ms).finish_non_exhaustive()
    }
}

impl<K> Known<K> {
    /// Credentials parsed from `secret`, which was asked for at `read_ms`.
    #[must_use]
    pub fn new(key: K, read_ms: u64, secret: Secret) -> Self {
        let held = Held { key: Arc::new(key), version: secret.version };
        Self { held, text: secret.text, read_ms, refused: false }
    }

    /// The credentials, whatever their age.
    #[must_use]
    pub fn held(&self) -> Held<K> {
        self.held.clone()
    }

    /// The credentials, while they may be used.
    #[must_use]
    pub fn fresh(&self, now_ms: u64) -> Option<Held<K>> {
        let fresh = !self.refused && now_ms.saturating_sub(self.read_ms) < CREDENTIALS_FRESH_MS;
        fresh.then(|| self.held())
    }

    /// When the secret was last asked for, in ms.
    #[must_use]
    pub fn read_ms(&self) -> u64 {
        self.read_ms
    }

    /// The provider refused these credentials, unless others have come since.
    pub fn refuse(&mut self, key: &Arc<K>) {
        self.refused |= Arc::ptr_eq(&self.held.key, key);
    }

    /// Somebody knows of other credentials: the secret is read again before these are used.
    pub fn doubt(&mut self) {
        self.refused = true;
    }

    /// The same credentials for another while, if the secret still says the same.
    pub fn renew(&mut self, secret: &Secret, read_ms: u64) -> Option<Held<K>> {
        (self.text == secret.text).then(|| {
            self.read_ms = read_ms;
            self.refused = false;
            self.held.version = Arc::clone(&secret.version);
            self.held()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_secretsmanager::{Config, config::BehaviorVersion};

    #[test]
    fn a_form_makes_names_that_there_can_be() {
        let long = |more: usize| format!("{}/{{project}}/{{provider}}", "a".repeat(more));
        for good in [SECRET_NAME, "{project}{provider}", "a+b=c.d@e-f_g/{provider}/{project}", &long(440)] {
            assert!(is_secret_name(good), "{good}");
        }
        for bad in [
            "x",
            "a/{project}",
            "a b/{project}/{provider}",
            "ä/{project}/{provider}",
            "{project}/{provider}/{x}",
            &long(441),
        ] {
            assert!(!is_secret_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_secret_is_named_by_project_and_provider() {
        let client = Client::from_conf(Config::builder().behavior_version(BehaviorVersion::latest()).build());
        let secrets = Secrets::new(client, SECRET_NAME.to_owned());
        assert_eq!(secrets.name("acme", "fcm"), "sendonce/acme/fcm");
        // A project's name cannot stand in for a provider's.
        assert_eq!(secrets.name("{provider}", "fcm"), "sendonce/{provider}/fcm");
    }
}
