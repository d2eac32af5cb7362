//! What every HTTP function of the service shares: problem details, API keys, and the reading of a request's body.
//!
//! Called by the api function (and the refunds function when it comes). Guarantees that every error becomes HTTP in
//! one place, that no inner message reaches a caller, and that nothing of a message is looked up before the API key is
//! known. It needs no state that survives an instance: its cache only saves reads.

mod auth;
mod body;
mod cache;
mod code;
mod problem;
pub mod strict;

pub use auth::{Auth, Caller, Scope};
pub use body::{BODY_LIMIT_BYTES, parse_object, read_body};
pub use code::{CODES, Code, Row};
pub use problem::{Fault, Problem, method_not_allowed, not_found};
