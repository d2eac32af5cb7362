//! What the HTTP functions of the service share: the contract of all routes, problem details, API keys, idempotency
//! keys, the reading of a request's body, and what stands around every route.
//!
//! Called by the api and the refunds function. Guarantees that every error becomes HTTP in
//! one place, that no inner message reaches a caller, and that nothing of a message is looked up before the API key is
//! known. It needs no state that survives an instance: its cache only saves reads.

mod auth;
mod body;
mod code;
pub mod contract;
mod cors;
pub mod key;
pub mod list;
mod members;
mod observe;
mod problem;
pub mod query;
pub mod refund_rules;
mod router;
mod rules;
mod scopes;
pub mod strict;

pub use auth::{Auth, Caller, Scope};
pub use body::{BODY_LIMIT_BYTES, parse_object, read_body, read_raw};
pub use code::{CODES, Code, Row};
pub use cors::{cors_origins, parse_origin};
pub use members::{known_members, optional, refuse, unknown};
pub use observe::{Noted, RequestId};
pub use problem::{Fault, Problem, method_not_allowed, not_found};
pub use router::{REPLAYED, router};
pub use rules::{OURS, Rule};
pub use scopes::{READ_SCOPES, SCOPES};
