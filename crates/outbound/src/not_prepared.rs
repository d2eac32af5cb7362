//! Why no provider call can be made for a project now.

use protocol::answer::Reason;
use std::sync::Arc;

/// Nothing was sent. The texts carry no secret: member names, codes and the provider's cut and masked words only.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPrepared {
    /// The project has no credentials for this provider. Stays so until somebody stores them.
    #[error("the secret {name} does not exist")]
    CredentialsMissing {
        /// The secret's name.
        name: String,
    },
    /// The stored credentials cannot be used. Stays so until somebody stores better ones.
    #[error("the secret {name} cannot be used: {fault}")]
    CredentialsInvalid {
        /// The secret's name.
        name: String,
        /// Which member is wrong, without its value.
        fault: String,
        /// The version of the secret that was read.
        version: Arc<str>,
    },
    /// Secrets Manager gave no answer, or refused. May pass by itself.
    #[error("Secrets Manager did not give {name}: {fault}")]
    CredentialsUnavailable {
        /// The secret's name.
        name: String,
        /// Its error code.
        fault: String,
    },
    /// The provider refused the credentials (`invalid_grant` and its like: a revoked key, a deleted account, a wrong
    /// clock). Stays so until somebody acts.
    #[error("the provider refuses these credentials: {code}: {detail}")]
    GrantRefused {
        /// The OAuth error code (RFC 6749, section 5.2).
        code: String,
        /// The provider's words.
        detail: String,
        /// The version of the secret whose credentials were refused.
        version: Arc<str>,
    },
    /// The token endpoint could not be reached or answered something else, or the shared provider token could not be
    /// read or replaced. May pass by itself.
    #[error("no access token: {detail}")]
    TokenUnavailable {
        /// What happened.
        detail: String,
    },
    /// Everything together took longer than `Timing::token`. May pass by itself.
    #[error("credentials and access token were not there within {limit_ms} ms")]
    TimedOut {
        /// The limit.
        limit_ms: u64,
    },
}

impl NotPrepared {
    /// The short stable word for it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::CredentialsMissing { .. } => "credentials_missing",
            Self::CredentialsInvalid { .. } => "credentials_invalid",
            Self::CredentialsUnavailable { .. } => "credentials_unavailable",
            Self::GrantRefused { .. } => "credentials_refused",
            Self::TokenUnavailable { .. } => "token_unavailable",
            Self::TimedOut { .. } => "token_timeout",
        }
    }

    /// Whether it stays so until somebody mends the credentials.
    #[must_use]
    pub fn lasts(&self) -> bool {
        match self {
            Self::CredentialsMissing { .. } | Self::CredentialsInvalid { .. } | Self::GrantRefused { .. } => true,
            Self::CredentialsUnavailable { .. } | Self::TokenUnavailable { .. } | Self::TimedOut { .. } => false,
        }
    }

    /// The version of the secret that it is about, empty where there is no secret: what is stored since may be in order.
    /// `None` where the credentials are not at fault.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::CredentialsMissing { .. } => Some(""),
            Self::CredentialsInvalid { version, .. } | Self::GrantRefused { version, .. } => Some(version),
            Self::CredentialsUnavailable { .. } | Self::TokenUnavailable { .. } | Self::TimedOut { .. } => None,
        }
    }

    /// As it is kept on a device and shown to the caller.
    #[must_use]
    pub fn reason(&self) -> Reason {
        crate::outcome::reason(self.code(), &self.to_string(), &[])
    }
}
