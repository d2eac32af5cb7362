//! The HTTP API of refunds: create, list, show, approve, reject, and what a person does about a payout in trouble.
//!
//! One axum router, which AWS runs behind API Gateway and the local system serves as it is. Guarantees at this boundary
//! that a key makes one refund for ever, that a refund is decided once, whoever clicks and however often, and that
//! everybody is told the same decision. It does not need its own queue send to succeed: the relay enqueues a payout
//! that has no copy. It never calls the provider; the payout function does. The provider calls it, with webhooks.

mod change;
mod create;
mod decide;
mod events;
mod list;
mod projects;
mod request;
mod routes;
mod settings;
mod view;
mod webhook;

pub use change::Changing;
pub use create::Creating;
pub use decide::Deciding;
pub use projects::Projects;
pub use request::{read_refund, read_resolve, read_retry};
pub use routes::router;
pub use settings::Settings;

use axum::http::HeaderValue;
use payments::Payments;
use platform::{AwsTimeouts, Boundary, Clock, Random, aws_config};
use protocol::{refund::id::PayoutId, timing::Timing};
use queue::{EntryOutcome, Envelope, Origin, Outgoing, PayoutV1, Queue};
use sendonce_http::Auth;
use std::{sync::Arc, time::Duration};
use store::Store;

/// Everything a request needs.
#[derive(Clone, Debug)]
pub struct Refunds {
    /// The table.
    pub store: Store,
    /// The payouts queue, through a client that tries once.
    pub payouts: Queue,
    /// The payment provider, for its webhooks' signatures.
    pub payments: Payments,
    /// Who is calling.
    pub auth: Auth,
    /// Which projects there are, for webhooks.
    pub projects: Projects,
    /// Now.
    pub clock: Clock,
    /// Nonces.
    pub random: Random,
    /// The deployment's durations.
    pub timing: Timing,
    /// Origins whose pages may call the API from a browser; none switches CORS off.
    pub cors: Vec<HeaderValue>,
    /// What stands between two effects.
    pub boundary: Arc<dyn Boundary>,
}

impl Refunds {
    /// The function as it is deployed: clients by the SDK's own variables, with the limits that the timing gives.
    pub async fn deployed(settings: Settings, clock: Clock, boundary: Arc<dyn Boundary>) -> Self {
        let timing = settings.timing;
        // Looking the API key up, reading the refund and writing it: a quarter of a request's time each.
        let aws = aws_config(AwsTimeouts::within(timing.api_total / 4)).await;
        let inline = aws_config(AwsTimeouts::once(timing.inline_send)).await;
        let store = Store::new(aws_sdk_dynamodb::Client::new(&aws), settings.table);
        Self {
            payments: Payments::new(
                settings.payments,
                aws_sdk_secretsmanager::Client::new(&aws),
                clock.clone(),
                timing,
            ),
            auth: Auth::new(store.clone(), clock.clone(), timing.key_cache),
            projects: Projects::new(store.clone(), clock.clone(), timing.key_cache),
            store,
            payouts: Queue::new(aws_sdk_sqs::Client::new(&inline), settings.payouts_url),
            clock,
            random: Random::system(),
            timing,
            cors: settings.cors,
            boundary,
        }
    }

    /// Sends a copy of a payout, with one try and one budget. The relay repeats what this does not achieve.
    async fn send(&self, payout: PayoutId, project: &str) {
        let copy = PayoutV1 { payout, project: project.to_owned(), origin: Origin::Inline };
        let body = match Envelope::Payout(copy).to_body() {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(%payout, error = %error, "a payout's copy has no JSON form");
                return;
            }
        };
        let entry = Outgoing { body, delay_ms: 0, group: project.to_owned(), reason: None };
        let budget = Duration::from_millis(self.timing.inline_send);
        match tokio::time::timeout(budget, self.payouts.send_at_once(&[entry])).await {
            Ok(outcomes) => {
                for outcome in outcomes.iter().filter(|outcome| **outcome != EntryOutcome::Confirmed) {
                    tracing::warn!(%payout, ?outcome, "a payout's copy was not confirmed; the relay repeats it");
                }
            }
            Err(_) => tracing::warn!(%payout, "sending a payout's copy took too long; the relay repeats it"),
        }
    }
}
