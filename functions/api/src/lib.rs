//! The HTTP API: POST /v1/messages, GET /v1/messages, GET /healthz, GET /openapi.json.
//!
//! One axum router, which AWS runs behind API Gateway and the local system serves as it is. Guarantees G1 to G3 of the
//! design at this boundary: one message per key, another body is refused, a refused request stores nothing. It does
//! not need its inline send to succeed: the relay delivers whatever was accepted.

mod accept;
pub mod contract;
mod key;
pub mod openapi;
mod projects;
mod query;
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
pub use settings::{Settings, parse_origin};

use axum::http::HeaderValue;
use platform::{Boundary, Clock, Random};
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
