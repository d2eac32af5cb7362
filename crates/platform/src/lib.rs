//! What every program of the service needs from the world around it: time, randomness, settings, logs, the AWS
//! client configuration, and the loop that drives a machine of `protocol`.
//!
//! Called by every function, by `infra/local` and by the tests. Guarantees that time and randomness enter the service
//! here and nowhere else, so that the rest of it can be replayed. It decides nothing about messages.

mod aws;
mod clock;
mod driver;
mod logs;
mod random;
mod rfc3339;
mod secret;
mod settings;

pub use aws::{AwsTimeouts, aws_config, aws_config_at};
pub use clock::Clock;
pub use driver::{Boundary, Execute, NoBoundary, drive};
pub use logs::init_logs;
pub use random::{Random, RandomError};
pub use rfc3339::rfc3339_ms;
pub use secret::same_secret;
pub use settings::{EnvReader, SettingsError};
