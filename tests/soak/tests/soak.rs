//! The small soak: once with a fixed seed, once with a fresh one, which is printed. `SOAK_SEED=N` repeats one,
//! `SOAK_SENDS=N` makes it longer.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use fault::process::Program;
use soak::{Options, fresh_seed, run};

const SEED: u64 = 20_261_130;
const SENDS: usize = 300;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

async fn soak(seed: u64) {
    let program = Program { path: env!("CARGO_BIN_EXE_soak").into(), args: vec!["function".to_owned()] };
    let sends = number("SOAK_SENDS").map_or(SENDS, |sends| usize::try_from(sends).unwrap());
    println!("SOAK_SEED={seed} repeats this");
    let summary = run(Options { program, seed, sends }).await;
    println!("{summary}");
    assert!(summary.passed(), "SOAK_SEED={seed} cargo test -p soak\n{summary}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fixed_seed() {
    soak(SEED).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fresh_seed() {
    soak(number("SOAK_SEED").unwrap_or_else(|| fresh_seed().unwrap())).await;
}
