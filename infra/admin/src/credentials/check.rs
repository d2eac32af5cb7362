//! Whether a provider takes a project's credentials, asked of the provider itself.
//!
//! Called after credentials were stored, and by `credentials check`. For the push providers `push` knows how; Stripe is
//! asked for the refunds of a payment that nobody has, which reads and pays nothing.

use crate::{args::ProviderName, failure::Failure, place::Place};
use aws_sdk_secretsmanager::Client;
use payments::{Class, Looked, NotPrepared, Payments};
use protocol::{
    ids::{KeyHash, Nonce, Operation},
    refund::id::RefundId,
    timing::Timing,
};
use push::{Provider, Push, Report};
use serde_json::{Value, json};
use store::Store;

/// How long reading a secret and getting an access token may take together, in ms. A person waits longer for an answer
/// than a consumer may under its lease.
const PREPARED_WITHIN_MS: u64 = 15_000;
/// A payment of nobody's.
const PAYMENT: &str = "pi_sendonce_check";
/// What Stripe says of a payment that is not there (<https://docs.stripe.com/error-codes>).
const NO_SUCH_PAYMENT: &str = "resource_missing";

/// What was found.
pub(super) struct Checked {
    /// The provider takes them.
    pub(super) works: bool,
    /// It is sure that it does not.
    pub(super) refused: bool,
    /// There are none.
    pub(super) missing: bool,
    /// The same as a sentence.
    pub(super) report: String,
}

impl Checked {
    pub(super) fn json(&self) -> Value {
        json!({"works": self.works, "refused": self.refused, "report": self.report})
    }

    /// Nobody knows: the same question may be answered later.
    pub(super) fn unanswered(&self) -> bool {
        !self.works && !self.refused
    }

    fn of(report: &Report) -> Self {
        let missing = matches!(report, Report::SecretMissing { .. });
        Self { works: report.works(), refused: report.refused(), missing, report: report.to_string() }
    }

    fn works(report: &str) -> Self {
        Self { works: true, refused: false, missing: false, report: report.to_owned() }
    }

    fn refused(report: String) -> Self {
        Self { works: false, refused: true, missing: false, report }
    }

    fn unknown(detail: &str) -> Self {
        let report = format!("Nothing is known of the credentials: {detail}.");
        Self { works: false, refused: false, missing: false, report }
    }
}

/// A way to the providers.
pub(super) struct Checker {
    push: Push,
    payments: Payments,
}

impl Checker {
    pub(super) fn new(place: &Place, secrets: Client, store: Store) -> Result<Self, Failure> {
        let timing = Timing { token: PREPARED_WITHIN_MS, ..Timing::PRODUCTION };
        let payments = Payments::new(place.payments()?, secrets.clone(), place.clock.clone(), timing);
        let push = Push::new(place.secret_name()?, secrets, store, place.clock.clone(), timing);
        Ok(Self { push, payments })
    }

    pub(super) async fn check(&self, project: &str, provider: ProviderName) -> Checked {
        match provider {
            ProviderName::Apns => Checked::of(&self.push.check(project, Provider::Apns).await),
            ProviderName::Fcm => Checked::of(&self.push.check(project, Provider::Fcm).await),
            ProviderName::Stripe => self.stripe(project).await,
        }
    }

    async fn stripe(&self, project: &str) -> Checked {
        let prepared = match self.payments.prepare(project).await {
            Ok(prepared) => prepared,
            Err(NotPrepared::CredentialsMissing { name }) => {
                return Checked { missing: true, ..Checked::refused(format!("There is no secret {name}.")) };
            }
            Err(NotPrepared::CredentialsInvalid { name, fault, .. }) => {
                return Checked::refused(format!("The secret {name} cannot be used: {fault}."));
            }
            Err(error) => return Checked::unknown(&error.to_string()),
        };
        // Refunds of ours are looked for in what is listed; there are none.
        let refund = RefundId { key: KeyHash::of(Operation::Refund, project, PAYMENT), nonce: Nonce([0; 5]) };
        match prepared.list(refund, PAYMENT).await {
            Looked::Listed(_) => Checked::works("Stripe takes this API key."),
            Looked::Refused { reason, .. } | Looked::Failed { reason, .. } if reason.code == NO_SUCH_PAYMENT => {
                Checked::works("Stripe takes this API key.")
            }
            Looked::Refused { class: Class::Credentials, reason }
            | Looked::Failed { class: Class::Credentials, reason } => {
                Checked::refused(format!("Stripe refuses this API key ({}).", reason.code))
            }
            Looked::Refused { reason, .. } | Looked::Failed { reason, .. } => Checked::unknown(&reason.code),
        }
    }
}
