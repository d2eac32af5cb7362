//! The only code that knows SQS: what a queue message looks like, and sending it so that every failure is seen.
//!
//! Called by the functions. Guarantees that a body is ASCII only, tagged and versioned, and that each entry of a batch
//! has an outcome of its own. It does not decide when a copy is sent or acknowledged: the machines of `protocol` do.

mod ascii;
mod consume;
mod envelope;
#[cfg(test)]
mod older_tests;
mod parked;
mod send;

pub use consume::consume;
pub use envelope::{DeliverV1, Envelope, Origin, ParseError, PayoutV1};
pub use parked::parked_body;
pub use send::{EntryOutcome, Outgoing, Queue};
