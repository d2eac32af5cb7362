//! The service as separate processes, with a proxy between them and everything they talk to.
//!
//! Used by the tests of this package and by the soak test. A [`World`] is the local system without its functions
//! (`local::Functions::Elsewhere`), a [`proxy::Proxy`] in front of DynamoDB, SQS and the providers, and a
//! [`fleet::Fleet`] of processes, each one function built from the same library code as its `main.rs`. It guarantees
//! that a killed process dies as a machine does, with nothing run afterwards; that what the proxy did is written down;
//! and that every wait of a test is for an event and has an end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![allow(clippy::missing_panics_doc, reason = "a test that cannot go on panics")]

pub mod body;
pub mod canaries;
pub mod fleet;
pub mod function;
pub mod http;
pub mod journal;
mod kill;
pub mod process;
pub mod proxy;
pub mod queues;
pub mod replay;
pub mod wait;
pub mod world;

pub use fleet::Fleet;
pub use proxy::{Action, Proxy, Rule};
pub use world::{Setup, World};
