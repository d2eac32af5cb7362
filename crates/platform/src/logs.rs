//! Structured logs, one flat JSON object a line on stderr (CloudWatch reads it as it is).
//!
//! Called once by each main. The lines that somebody may query are [`crate::events`]; every other line carries ids,
//! counts and codes for whoever looks for a fault. Device tokens are masked by their own type and keys never reach a
//! log line. Crates of others are heard at `info` and above only, whatever `RUST_LOG` says: below that they print what
//! they send and receive, and that is credentials and people's messages.

use tracing::{Level, Subscriber};
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{FilterExt, filter_fn},
    fmt::MakeWriter,
    layer::SubscriberExt,
    registry::LookupSpan,
};

/// The crates whose lines below `info` are ours to answer for.
const OURS: [&str; 15] = [
    "sendonce",
    "sendonce_http",
    "api",
    "deliver",
    "relay",
    "dead_letter",
    "platform",
    "protocol",
    "push",
    "queue",
    "store",
    "local",
    "local_sqs",
    "sandbox",
    "it",
];

/// Starts logging at the level of `RUST_LOG`, or as `default` says (for example `info`). A second call changes nothing.
pub fn init_logs(default: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let subscriber = tracing_subscriber::registry().with(log_layer(filter, std::io::stderr));
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// The lines as [`init_logs`] writes them, to any writer: for tests that read what is logged.
pub fn log_layer<S, W>(filter: EnvFilter, writer: W) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let ours = filter_fn(|metadata| {
        let root = metadata.target().split("::").next().unwrap_or_default();
        *metadata.level() <= Level::INFO || OURS.contains(&root)
    });
    tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(writer).with_filter(filter.and(ours))
}
