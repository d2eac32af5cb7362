//! What whoever makes a [`crate::Push`] decides.

use outbound::credentials::{SECRET_NAME, secret_name};
use platform::EnvReader;

/// Settings of this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushSettings {
    /// The name of a secret, with `{project}` and `{provider}` ("fcm", "apns") in the places of theirs.
    pub secret_name: String,
}

impl Default for PushSettings {
    fn default() -> Self {
        Self { secret_name: SECRET_NAME.to_owned() }
    }
}

impl PushSettings {
    /// Reads `SECRET_NAME`, which has a default.
    pub fn read(env: &mut EnvReader<'_>) -> Self {
        Self { secret_name: secret_name(env) }
    }
}
