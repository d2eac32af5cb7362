//! What every program of the service needs from the world around it: time, randomness, settings, logs and metrics, the
//! AWS client configuration, and the loop that drives a machine of `protocol`.
//!
//! Called by every function, by `infra/local` and by the tests. Guarantees that time and randomness enter the service
//! here and nowhere else, so that the rest of it can be replayed. It decides nothing about messages.

mod address;
mod aws;
mod causes;
mod clock;
mod deadline;
mod driver;
pub mod events;
mod logs;
pub mod metrics;
mod panics;
mod random;
mod remembered;
mod rfc3339;
mod secret;
mod settings;
mod stopwatch;

pub use address::Address;
pub use aws::{AwsMissing, AwsTimeouts, aws_config, aws_config_at, aws_config_for_person};
pub use causes::causes;
pub use clock::Clock;
pub use deadline::deadline_ms;
pub use driver::{Boundary, Execute, NoBoundary, drive};
pub use logs::{init_logs, log_layer};
pub use metrics::init_metrics;
pub use panics::init_panics;
pub use random::{Random, RandomError};
pub use remembered::Remembered;
pub use rfc3339::rfc3339_ms;
pub use secret::same_secret;
pub use settings::{EnvReader, SettingsError};
pub use stopwatch::Stopwatch;
