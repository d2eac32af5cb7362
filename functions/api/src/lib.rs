//! The HTTP API: POST /v1/messages, GET /v1/messages, GET /v1/invalid-tokens, GET /healthz, GET /openapi.json.
//!
//! One axum router, which AWS runs behind API Gateway and the local system serves as it is. Guarantees G1 to G3 of the
//! design at this boundary: one message per key, another body is refused, a refused request stores nothing. It does
//! not need its inline send to succeed: the relay delivers whatever was accepted.

mod accept;
mod held;
mod invalid_tokens;
pub mod openapi;
mod projects;
mod request;
mod routes;
pub mod rules;
mod settings;
mod validate;
mod view;

pub use accept::Accepting;
pub use projects::Projects;
pub use request::read_send;
pub use routes::router;
pub use sendonce_http::{RequestId, contract, parse_origin};
pub use settings::Settings;
pub use view::{Shown, shown};

use axum::http::HeaderValue;
use platform::{AwsTimeouts, Boundary, Clock, Random, aws_config};
use protocol::timing::Timing;
use queue::Queue;
use sendonce_http::Auth;
use std::sync::Arc;
use store::Store;

/// Everything a request needs.
#[derive(Clone, Debug)]
pub struct Api {
    /// The table.
    pub store: Store,
    /// The deliveries queue, through a client that tries once.
    pub deliveries: Queue,
    /// Who is calling.
    pub auth: Auth,
    /// Which apps a message may name.
    pub projects: Projects,
    /// Now.
    pub clock: Clock,
    /// Nonces.
    pub random: Random,
    /// The deployment's durations.
    pub timing: Timing,
    /// How long a key is valid, in days.
    pub key_valid_days: u64,
    /// Origins whose pages may call the API from a browser; none switches CORS off.
    pub cors: Vec<HeaderValue>,
    /// What stands between two effects.
    pub boundary: Arc<dyn Boundary>,
}

impl Api {
    /// The function as it is deployed: clients by the SDK's own variables, with the limits that the timing gives.
    pub async fn deployed(settings: Settings, clock: Clock, boundary: Arc<dyn Boundary>) -> Self {
        let timing = settings.timing;
        // Looking the API key up, the project if the request names an app, and claiming the key: a quarter of a
        // request's time each.
        let aws = aws_config(AwsTimeouts::within(timing.api_total / 4)).await;
        let inline = aws_config(AwsTimeouts::once(timing.inline_send)).await;
        let store = Store::new(aws_sdk_dynamodb::Client::new(&aws), settings.table);
        Self {
            auth: Auth::new(store.clone(), clock.clone(), timing.key_cache),
            projects: Projects::new(store.clone(), clock.clone(), timing.key_cache),
            store,
            deliveries: Queue::new(aws_sdk_sqs::Client::new(&inline), settings.deliveries_url),
            clock,
            random: Random::system(),
            timing,
            key_valid_days: settings.key_valid_days,
            cors: settings.cors,
            boundary,
        }
    }
}
