//! The soak: thousands of random sends, retries and devices under faults of every kind, then a drain, then the ledger,
//! the table and the answers compared.
//!
//! Runs on `fault`'s world: each function a process that is killed and frozen, behind a proxy. One seed decides what
//! clients send, what providers do and which faults come before which send; how the machine interleaves them is its own
//! affair, so a seed repeats a run's decisions and not its every microsecond. `oracle` judges and is pure; `witness`
//! puts into its words what was seen. A run in which a kind of fault never happened fails, since it shows nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![allow(clippy::missing_panics_doc, reason = "a test that cannot go on panics")]

mod attempts;
mod case;
mod clients;
mod dice;
pub mod evidence;
mod looks;
pub mod oracle;
#[cfg(test)]
mod oracle_tests;
mod plan;
mod run;
mod scripts;
mod stall;
pub mod summary;
pub mod tally;
mod weather;
mod witness;

pub use run::{Options, run};
pub use summary::Summary;

/// A seed that nobody chose.
///
/// # Errors
/// When the system has no random bytes.
pub fn fresh_seed() -> anyhow::Result<u64> {
    Ok(u32::from_be_bytes(platform::Random::system().bytes()?).into())
}
