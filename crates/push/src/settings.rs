//! What whoever makes a [`crate::Push`] decides.

use outbound::credentials::SECRET_NAME;

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
