//! `sendonce`: the admin command. Everything is in the library, where tests and other programs reach it.

use admin::Cli;
use clap::Parser;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    // What the crates log is for whoever looks for a fault; the command's own words are its answer.
    platform::init_logs("off");
    ExitCode::from(admin::run(cli, &mut std::io::stdout(), &mut std::io::stderr()).await)
}
