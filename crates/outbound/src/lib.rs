//! Calling somebody else's HTTP API with credentials of a project's: what all providers have in common.
//!
//! Called by `push` and `payments`. It guarantees that a request is written once, that "not sent" is said only where it is
//! proven, that credentials are at most five minutes old, and that no secret gets into a reason or `Debug` output. It
//! knows no provider: what an answer means is its caller's.

pub mod body;
pub mod credentials;
pub mod members;
mod not_prepared;
pub mod outcome;
pub mod slot;
pub mod transport;

pub use not_prepared::NotPrepared;
