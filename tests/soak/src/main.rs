//! `cargo run --release -p soak -- --sends 10000 [--seed N]`: the big soak. It is also the program of its processes.

use clap::Parser;
use fault::process::Program;
use std::{io::Write, process::ExitCode};

/// What its processes are started with, before the function's name.
const FUNCTION: &str = "function";

/// Random sends under faults of every kind, then a comparison of ledger, table and answers.
#[derive(Debug, Parser)]
struct Args {
    /// Idempotency keys to use
    #[arg(long, default_value_t = 10_000)]
    sends: usize,
    /// Repeats the decisions of another run; without it they are fresh
    #[arg(long)]
    seed: Option<u64>,
}

fn main() -> anyhow::Result<ExitCode> {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some(FUNCTION) {
        fault::function::main(words.next().as_deref())?;
        return Ok(ExitCode::SUCCESS);
    }
    let Args { sends, seed } = Args::parse();
    let seed = match seed {
        Some(seed) => seed,
        None => soak::fresh_seed()?,
    };
    let program = Program { path: std::env::current_exe()?, args: vec![FUNCTION.to_owned()] };
    let mut stdout = std::io::stdout();
    writeln!(stdout, "soak: seed {seed}, {sends} keys")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let summary = runtime.block_on(soak::run(soak::Options { program, seed, sends }));
    writeln!(stdout, "{summary}")?;
    Ok(if summary.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
