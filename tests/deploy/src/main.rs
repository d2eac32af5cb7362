//! The service as `sam deploy` makes it, on an emulator on this machine: called by `tests/deploy/run`, which builds it.
//!
//! It starts the emulator and the provider sandbox as processes of their own, deploys template.yaml with SAM, plays the
//! story of `story.rs` through the deployed HTTP API and with the admin command, changes the stack, and deletes it. What it shows is that the
//! template's parts fit each other and the binaries; what AWS does beyond the emulator (IAM, when an alarm calls, limits) it
//! cannot.

mod admin;
mod alarms;
mod emulator;
mod figures;
mod processes;
mod providers;
mod stack;
mod story;

use clap::{Parser, Subcommand};
use std::{io::Write, path::PathBuf};

#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand)]
enum Part {
    /// Deploys what `sam build` has built, and plays the story.
    Story {
        /// The emulator's program.
        #[arg(long)]
        emulator: PathBuf,
        /// The SAM command.
        #[arg(long)]
        sam: PathBuf,
        /// The admin command.
        #[arg(long)]
        sendonce: PathBuf,
    },
    /// Starts a function's binary as Lambda would, often, and prints how long it takes to its first answer.
    Figures {
        /// How often each is started.
        #[arg(long, default_value_t = 20)]
        runs: u32,
        /// A name and the path of its binary.
        #[arg(required = true, value_parser = figures::named)]
        binaries: Vec<(String, PathBuf)>,
    },
    /// The provider sandbox, as a process of its own.
    #[command(hide = true)]
    Sandbox,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Args::parse().part {
        Part::Story { emulator, sam, sendonce } => story::play(&emulator, &sam, &sendonce).await,
        Part::Figures { runs, binaries } => figures::print(runs, &binaries).await,
        Part::Sandbox => providers::serve().await,
    }
}

/// A line for whoever runs this.
pub(crate) fn say(line: &str) {
    // Nobody may be listening any more.
    let _ = writeln!(std::io::stdout(), "{line}");
}
