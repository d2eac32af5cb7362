//! The command line of `cargo run`.

use axum::http::HeaderValue;
use clap::Parser;
use protocol::timing::Timing;
use std::path::PathBuf;

/// Starts Sendonce on this machine: API, DynamoDB, SQS and a provider sandbox, all on 127.0.0.1.
///
/// If AWS_ENDPOINT_URL_DYNAMODB or AWS_ENDPOINT_URL_SQS is set, that service is used instead of the built-in one.
#[derive(Clone, Debug, Parser)]
#[command(name = "local", version)]
pub struct Args {
    /// Port of the API (0: any free port).
    #[arg(long, default_value_t = 3000)]
    pub port: u16,
    /// Port of the built-in DynamoDB (0: any free port).
    #[arg(long, default_value_t = 8000)]
    pub dynamodb_port: u16,
    /// Port of the built-in SQS (0: any free port).
    #[arg(long, default_value_t = 9324)]
    pub sqs_port: u16,
    /// Port of the provider sandbox and of POST /control (0: any free port).
    #[arg(long, default_value_t = 8090)]
    pub sandbox_port: u16,
    /// A folder that keeps items, queue messages, the stream's checkpoints, the provider's ledger and how far the clock
    /// was moved. Killed at any moment and started again, the system loses nothing that it acknowledged. Without it,
    /// everything is gone when the system ends.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// An origin whose pages may call the API from a browser, for example http://127.0.0.1:5173. May be repeated.
    #[arg(long, value_parser = origin)]
    pub cors_origin: Vec<HeaderValue>,
    /// Durations: short keeps waits to seconds, production is what is deployed.
    #[arg(long, default_value = "short", value_parser = timing)]
    pub timing: Timing,
}

fn timing(name: &str) -> Result<Timing, String> {
    Timing::named(name).ok_or_else(|| "give short or production".to_owned())
}

fn origin(text: &str) -> Result<HeaderValue, String> {
    api::parse_origin(text)
        .ok_or_else(|| "give an origin as a browser sends it, without a path or a wildcard".to_owned())
}
