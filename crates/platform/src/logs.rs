//! Structured logs, one JSON object a line on stderr (CloudWatch reads it as it is).
//!
//! Called once by each main. Fields carry ids, counts and codes; device tokens are masked by their own type and keys
//! never reach a log line.

use tracing_subscriber::EnvFilter;

/// Starts logging at the level of `RUST_LOG`, or as `default` says (for example `info`). A second call changes nothing.
pub fn init_logs(default: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let subscriber = tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(std::io::stderr).finish();
    let _ = tracing::subscriber::set_global_default(subscriber);
}
