//! The service against a hostile world: processes that die, freeze and disagree about the time, and a network that
//! loses, delays, doubles and holds back.
//!
//! Each test has a world of its own, whose functions are processes behind a proxy (`fault::World`), and says what the
//! API answered, what reached the provider, and what is stored. `schedule_01_…` to `schedule_25_…` are the nastiest
//! schedules that this protocol was designed against; 25 is about refunds. Of 13 the sweeper, and of
//! 21 the parent copies, are of designs that were not built: what is left of both is tested. `kill_points` dies at every
//! boundary of every machine; `weather` has throttling, stale reads and clocks that disagree; `unconfirmed` has
//! sends that are never done; `replay` plays traces of the model.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod acceptance;
mod acceptance_keys;
mod backlog;
mod consumers;
mod dead_letters;
mod delivery;
mod harness;
mod kill_points;
mod refunds;
mod relay;
mod replay;
mod unconfirmed;
mod weather;

use fault::{Setup, process::Program};

/// The usual setup, with this package's own program.
fn setup() -> Setup {
    Setup::new(Program { path: env!("CARGO_BIN_EXE_function").into(), args: Vec::new() })
}
