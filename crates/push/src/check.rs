//! Whether a project's stored credentials work, asked of the provider itself without sending anything to anybody.
//!
//! For whoever stores credentials, before the first message needs them. The secret is read anew, so a check sees what
//! was stored a moment ago, and the process that checked uses it from then on. A report says what is wrong in a
//! sentence that holds names, ids and codes, never a key or a token.

use crate::{NotPrepared, Provider, Push, apns, fcm};
use std::fmt;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Report {
    /// The provider takes them.
    Works,
    /// There is no secret.
    SecretMissing {
        /// Its name.
        name: String,
    },
    /// The secret could not be read. It may be in order.
    SecretUnavailable {
        /// Its name.
        name: String,
        /// Secrets Manager's error code.
        fault: String,
    },
    /// The secret is not the credential that this provider needs: a member, the key's form or its curve.
    Malformed {
        /// Its name.
        name: String,
        /// Which member breaks which rule.
        fault: String,
    },
    /// The provider does not take this key for the ids beside it: revoked, or one of the ids is another's.
    KeyRefused {
        /// Whose key it is said to be.
        holder: String,
        /// The provider's code.
        code: String,
    },
    /// The account of the key file does not exist (any more).
    AccountUnknown {
        /// The account.
        holder: String,
    },
    /// The provider says that the key, or its account, has expired.
    KeyExpired {
        /// Whose key it is said to be.
        holder: String,
    },
    /// The provider finds the signature's time wrong: this machine's clock, most likely.
    ClockWrong,
    /// The key is good, but not for this Firebase project.
    WrongProject {
        /// The project of the key file.
        project_id: String,
        /// The provider's code.
        code: String,
    },
    /// The key is for Apple's other environment.
    WrongEnvironment {
        /// The environment that the secret names.
        environment: &'static str,
    },
    /// The key is good, but this app is not one of its team's.
    WrongApp {
        /// The bundle id.
        app: String,
    },
    /// The provider knows the key and refuses its use.
    NotAllowed {
        /// The provider's code.
        code: String,
    },
    /// Too many provider tokens were signed for this key: somebody else signs with it too. It may be in order.
    TooManyTokens,
    /// The provider or something on the way did not answer, or failed. The credentials may be in order.
    NoAnswer {
        /// What happened.
        detail: String,
    },
    /// An answer that no documentation explains.
    Unclear {
        /// The status.
        status: u16,
        /// The provider's code.
        code: String,
    },
}

impl Report {
    /// Whether the credentials work.
    #[must_use]
    pub fn works(&self) -> bool {
        *self == Self::Works
    }

    /// Whether it is sure that they do not: the same check would find the same until somebody acts.
    #[must_use]
    pub fn refused(&self) -> bool {
        !matches!(
            self,
            Self::Works
                | Self::SecretUnavailable { .. }
                | Self::TooManyTokens
                | Self::NoAnswer { .. }
                | Self::Unclear { .. }
        )
    }

    /// What is said without asking the provider's send itself. `holder` is whose key it is said to be.
    pub(crate) fn of(error: NotPrepared, holder: &str) -> Self {
        let holder = holder.to_owned();
        match error {
            NotPrepared::CredentialsMissing { name } => Self::SecretMissing { name },
            NotPrepared::CredentialsInvalid { name, fault, .. } => Self::Malformed { name, fault },
            NotPrepared::CredentialsUnavailable { name, fault } => Self::SecretUnavailable { name, fault },
            // Google's own sentences tell these apart; the code is invalid_grant for all of them.
            NotPrepared::GrantRefused { detail, .. } if detail.contains("account not found") => {
                Self::AccountUnknown { holder }
            }
            NotPrepared::GrantRefused { detail, .. } if detail.contains("reasonable timeframe") => Self::ClockWrong,
            // An assertion is made for the moment, so it is past its time by somebody's clock only.
            NotPrepared::GrantRefused { detail, .. } if detail.contains("JWT") && says_expired(&detail) => {
                Self::ClockWrong
            }
            NotPrepared::GrantRefused { code, detail, .. } if says_expired(&code) || says_expired(&detail) => {
                Self::KeyExpired { holder }
            }
            NotPrepared::GrantRefused { code, .. } => Self::KeyRefused { holder, code },
            NotPrepared::TokenUnavailable { detail } => Self::NoAnswer { detail },
            NotPrepared::TimedOut { .. } => Self::NoAnswer { detail: error.to_string() },
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Works => write!(f, "The provider takes these credentials."),
            Self::SecretMissing { name } => write!(f, "There is no secret {name}."),
            Self::SecretUnavailable { name, fault } => {
                write!(f, "The secret {name} could not be read ({fault}), so nothing is known of it.")
            }
            Self::Malformed { name, fault } => write!(f, "The secret {name} cannot be used: {fault}."),
            Self::KeyRefused { holder, code } => write!(
                f,
                "The provider refuses the key of {holder} ({code}): it was revoked or deleted, has expired, or an id \
                 beside it is another key's."
            ),
            Self::AccountUnknown { holder } => write!(f, "There is no {holder}: it was deleted, or is misspelt."),
            Self::KeyExpired { holder } => {
                write!(f, "The key of {holder} has expired: make a new one, and store it.")
            }
            Self::ClockWrong => {
                write!(f, "The provider finds the signature too old or too new: the clock of this machine is wrong.")
            }
            Self::WrongProject { project_id, code } => write!(
                f,
                "The key is good, but may not send for the Firebase project {project_id} ({code}): the file is \
                 another project's, its account lacks the role, or the FCM API is off there."
            ),
            Self::WrongEnvironment { environment } => {
                write!(f, "The key is not for Apple's {environment} environment, which the secret names.")
            }
            Self::WrongApp { app } => {
                write!(f, "The key is good, but {app} is not an app of its team that takes pushes.")
            }
            Self::NotAllowed { code } => write!(f, "The provider knows the key and refuses its use ({code})."),
            Self::TooManyTokens => write!(
                f,
                "Too many provider tokens were signed for this key lately: something else signs with it too. Nothing \
                 else is known of it; ask again in 20 minutes."
            ),
            Self::NoAnswer { detail } => write!(f, "Nothing is known of the credentials: {detail}."),
            Self::Unclear { status, code } => {
                write!(f, "The provider answered {status} ({code}), which says nothing certain of the credentials.")
            }
        }
    }
}

/// Whether a token endpoint's own words, whatever they are, say that something has expired.
fn says_expired(text: &str) -> bool {
    text.to_ascii_lowercase().contains("expired")
}

/// What is wrong with a credential before it is stored, without asking anybody: which member breaks which rule, and
/// never its value. `None`: it has the form that this provider's calls need.
#[must_use]
pub fn malformed(provider: Provider, text: &str) -> Option<String> {
    match provider {
        Provider::Apns => apns::key::Key::parse(text).err(),
        Provider::Fcm => fcm::key::Key::parse(text).err(),
    }
    .map(|fault| fault.to_string())
}

impl Push {
    /// Asks the provider whether it takes the project's credentials, as they are stored now. It reaches no device: FCM
    /// only validates, and APNs is named a device that cannot exist. Takes up to `Timing::token` and one `Timing::call`
    /// for each app of the secret, 20 at most.
    pub async fn check(&self, project: &str, provider: Provider) -> Report {
        match provider {
            Provider::Apns => self.apns.check(project).await,
            Provider::Fcm => self.fcm.check(project).await,
        }
    }

    /// Secrets Manager's id of the current version of the project's secret, read anew: another id means that somebody
    /// stored other credentials. [`crate::Prepared::version`] is that of those in use.
    ///
    /// # Errors
    /// When there is no such secret, or it cannot be read.
    pub async fn current_version(&self, project: &str, provider: Provider) -> Result<String, NotPrepared> {
        let name = self.secrets.name(project, provider.as_str());
        Ok(self.secrets.read(&name).await?.version.as_ref().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_endpoint_s_words_tell_what_is_wrong() {
        let holder = || "account a@b.example".to_owned();
        let cases = [
            ("invalid_grant", "Invalid grant: account not found", Report::AccountUnknown { holder: holder() }),
            (
                "invalid_grant",
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your \
                 iat and exp values in the JWT claim.",
                Report::ClockWrong,
            ),
            ("invalid_grant", "Invalid JWT: it is expired.", Report::ClockWrong),
            ("invalid_grant", "The key has Expired.", Report::KeyExpired { holder: holder() }),
            ("key_expired", "", Report::KeyExpired { holder: holder() }),
            (
                "invalid_grant",
                "Invalid JWT Signature.",
                Report::KeyRefused { holder: holder(), code: "invalid_grant".to_owned() },
            ),
        ];
        for (code, detail, expected) in cases {
            let (code, detail) = (code.to_owned(), detail.to_owned());
            let report = Report::of(NotPrepared::GrantRefused { code, detail, version: "v1".into() }, &holder());
            assert_eq!(report, expected);
            assert!(report.refused() && !report.to_string().contains("v1"), "{report}");
        }
        let expired = Report::KeyExpired { holder: holder() };
        assert_eq!(expired.to_string(), "The key of account a@b.example has expired: make a new one, and store it.");
    }
}
