//! Why a message that is under way is not being delivered: the hold on one of its providers.
//!
//! Read for each GET of a message with an open device, consistently, and never remembered: the answer must not say "held"
//! after a hold was lifted.

use platform::rfc3339_ms;
use protocol::hold::{Hold, PROVIDERS, Provider};
use serde::Serialize;
use store::{Store, StoreError};

/// A standing hold, as GET shows it.
#[derive(Debug, Serialize)]
pub(crate) struct Held {
    provider: &'static str,
    /// The provider's or our own code.
    reason: String,
    detail: String,
    since: String,
}

impl Held {
    fn new(provider: Provider, hold: Hold) -> Self {
        Self {
            provider: provider.as_str(),
            reason: hold.reason.code,
            detail: hold.reason.detail,
            since: rfc3339_ms(hold.since_ms),
        }
    }
}

/// The hold on the providers of these open devices; of two, the older one.
///
/// # Errors
/// When the table does not answer.
pub(crate) async fn held(store: &Store, project: &str, open: &[Provider]) -> Result<Option<Held>, StoreError> {
    let mut oldest: Option<(Provider, Hold)> = None;
    for provider in PROVIDERS.into_iter().filter(|provider| open.contains(provider)) {
        let hold = match store.hold(project, provider).await {
            Ok(hold) => hold,
            // It holds nobody up (deliver takes it for none), and must not hide what is known of the message.
            Err(error @ StoreError::Corrupt(_)) => {
                tracing::error!(project, provider = provider.as_str(), error = %error, "a hold cannot be read");
                None
            }
            Err(error) => return Err(error),
        };
        if let Some(hold) = hold.filter(|hold| hold.held)
            && oldest.as_ref().is_none_or(|(_, other)| hold.since_ms < other.since_ms)
        {
            oldest = Some((provider, hold));
        }
    }
    Ok(oldest.map(|(provider, hold)| Held::new(provider, hold)))
}
