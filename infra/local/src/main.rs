//! `cargo run`: the whole system on this machine, or all of it but the functions, until SIGINT or SIGTERM.

use anyhow::Context;
use clap::Parser;
use local::{
    Functions, Options, System,
    args::{Args, Command},
    watched::{environment_file, watched},
};
use std::io::Write;
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // Dynoxide warns of every refused condition, and a refused condition is how duplicates are recognised.
    platform::init_logs("info,dynoxide=error");
    let args = Args::parse();
    let mut settings = platform::EnvReader::process();
    settings.logs();
    settings.finish(())?;
    let endpoint = |name: &str| std::env::var(name).ok().filter(|url| !url.is_empty());
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT cannot be watched")?;
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be watched")?;
    let functions = match &args.command {
        None => Functions::Here,
        Some(Command::Services { watch_url, .. }) => Functions::Elsewhere(watched(watch_url)),
    };
    let system = System::start(Options {
        api_port: args.port,
        dynamodb_port: args.dynamodb_port,
        sqs_port: args.sqs_port,
        sandbox_port: args.sandbox_port,
        dynamodb_url: endpoint("AWS_ENDPOINT_URL_DYNAMODB"),
        sqs_url: endpoint("AWS_ENDPOINT_URL_SQS"),
        name: Options::NAME.to_owned(),
        data: args.data,
        cors: args.cors_origin,
        timing: args.timing,
        functions,
        provider_url: None,
    })
    .await?;

    let hint = match &args.command {
        None => system.ready().hint(),
        Some(Command::Services { watch_url, env_file }) => {
            let variables = environment_file(system.environment(), &args.timing);
            if let Some(file) = env_file {
                std::fs::write(file, &variables).with_context(|| format!("{} cannot be written", file.display()))?;
            }
            system.ready().services_hint(watch_url, env_file.as_deref(), &variables)
        }
    };
    // Programs read this one line on stdout; everything for people goes to stderr.
    let line = serde_json::to_string(system.ready())?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).context("the ready line cannot be written")?;
    let _ = writeln!(std::io::stderr(), "{hint}");

    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    let _ = writeln!(std::io::stderr(), "Ending: running invocations are finished first.");
    system.stop().await
}
