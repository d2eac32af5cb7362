//! The command line of `cargo run`.

use axum::http::HeaderValue;
use clap::{Parser, Subcommand};
use protocol::timing::Timing;
use std::path::PathBuf;

/// Starts Sendonce on this machine: API, DynamoDB, SQS and a provider sandbox, all on 127.0.0.1.
///
/// If AWS_ENDPOINT_URL_DYNAMODB or AWS_ENDPOINT_URL_SQS is set, that service is used instead of the built-in one.
#[derive(Clone, Debug, Parser)]
#[command(name = "local", version)]
pub struct Args {
    /// Port of the API (0: any free port).
    #[arg(long, global = true, default_value_t = 3000)]
    pub port: u16,
    /// Port of the built-in DynamoDB (0: any free port).
    #[arg(long, global = true, default_value_t = 8000)]
    pub dynamodb_port: u16,
    /// Port of the built-in SQS (0: any free port).
    #[arg(long, global = true, default_value_t = 9324)]
    pub sqs_port: u16,
    /// Port of the provider sandbox and of POST /control (0: any free port).
    #[arg(long, global = true, default_value_t = 8090)]
    pub sandbox_port: u16,
    /// A folder that keeps items, queue messages, the stream's checkpoints, the provider's ledger and how far the clock
    /// was moved. Killed at any moment and started again, the system loses nothing that it acknowledged. Without it,
    /// everything is gone when the system ends.
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// An origin whose pages may call the API from a browser, for example http://127.0.0.1:5173. May be repeated.
    #[arg(long, global = true, value_parser = origin)]
    pub cors_origin: Vec<HeaderValue>,
    /// Durations: short keeps waits to seconds, production is what is deployed.
    #[arg(long, global = true, default_value = "short", value_parser = timing)]
    pub timing: Timing,
    /// What else to start than the whole system.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What else can be started.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Everything but the functions: these run in `cargo lambda watch`, and events and requests are sent there.
    ///
    /// Write the functions' variables to a file and start the watch beside it:
    ///
    ///   cargo run -- services --env-file target/services.env
    ///
    ///   cargo lambda watch -A 127.0.0.1 --env-file target/services.env
    ///
    /// The functions' clock is the machine's own there, and POST /control can neither crash them nor break their sends.
    #[command(verbatim_doc_comment)]
    Services {
        /// Where `cargo lambda watch` answers.
        #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:9000", value_parser = watch_url)]
        watch_url: String,
        /// A file to write the functions' variables to, for `cargo lambda watch --env-file`.
        #[arg(long, value_name = "FILE")]
        env_file: Option<PathBuf>,
    },
}

fn watch_url(text: &str) -> Result<String, String> {
    let url = text.trim_end_matches('/');
    let uri: http::Uri = url.parse().map_err(|_| "give a URL such as http://127.0.0.1:9000".to_owned())?;
    let bare = uri.path_and_query().is_none_or(|path| path.as_str() == "/");
    if uri.scheme_str() == Some("http") && uri.authority().is_some() && bare {
        return Ok(url.to_owned());
    }
    Err("give an http URL without a path, such as http://127.0.0.1:9000".to_owned())
}

fn timing(name: &str) -> Result<Timing, String> {
    Timing::named(name).ok_or_else(|| "give short or production".to_owned())
}

fn origin(text: &str) -> Result<HeaderValue, String> {
    api::parse_origin(text)
        .ok_or_else(|| "give an origin as a browser sends it, without a path or a wildcard".to_owned())
}
