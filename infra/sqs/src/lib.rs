//! A small stand-in for Amazon SQS that runs inside the local system: standard queues over the AWS JSON 1.0 protocol.
//!
//! Started by `infra/local` and by tests; spoken to by any AWS SDK whose SQS endpoint points at it. It guarantees what
//! Amazon documents for standard queues (visibility, receive counts, delays, retention, dead letters, long polls,
//! limits and typed errors), on the time of [`platform::Clock`], so a moved clock moves all of them. It can deliver
//! every message twice and out of order, which real SQS may do at any moment. Nothing in the service depends on it:
//! correctness of the product must hold for every queue that keeps the documented, weaker promises.
//!
//! It keeps everything in memory, or also in a file ([`Sqs::open`]) that outlives a killed process.
//!
//! Not offered: FIFO queues, the older query (XML) protocol, permissions, encryption and signatures (any credentials
//! pass).

mod api;
mod disk;
mod error;
mod limits;
mod message;
mod moves;
mod names;
mod queue;
mod service;
mod state;

pub use disk::OpenError;
pub use error::SqsError;
pub use limits::IN_FLIGHT;
pub use queue::{Counts, QueueAttributes, Redrive, RedrivePolicy};
pub use service::Sqs;
