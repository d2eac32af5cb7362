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
const OURS: [&str; 28] = [
    "sendonce",
    "sendonce_http",
    "api",
    "deliver",
    "relay",
    "dead_letter",
    "audit",
    "refunds",
    "payout",
    "admin",
    "outbound",
    "payments",
    "platform",
    "protocol",
    "push",
    "queue",
    "store",
    "local",
    "local_sqs",
    "sandbox",
    "deploy",
    "fault",
    "hello",
    "it",
    "model",
    "soak",
    "template",
    "tidy",
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

#[cfg(test)]
mod tests {
    use super::OURS;
    use std::{collections::BTreeSet, fs, path::Path};

    #[test]
    fn every_crate_of_the_workspace_is_ours_and_no_other() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        let manifest = read("Cargo.toml");
        let members = manifest.split("\nmembers = [").nth(1).unwrap().split(']').next().unwrap();
        let names = members.split('"').skip(1).step_by(2).map(|folder| {
            let own = read(&format!("{folder}/Cargo.toml"));
            own.split("name = \"").nth(1).unwrap().split('"').next().unwrap().replace('-', "_")
        });
        // The events' target, which is the admin command's binary too.
        let mut must: BTreeSet<String> = names.collect();
        must.insert("sendonce".to_owned());
        let ours: BTreeSet<String> = OURS.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(ours, must);
        assert_eq!(OURS.len(), must.len());
    }
}
