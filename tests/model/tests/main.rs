//! The model's tests: every state of every configuration, and the seeded mistakes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use mimalloc::MiMalloc;

mod design;
mod messages;
mod once;
mod pinned;
mod refunds;
mod shared;
mod teeth;

/// A quarter of a search's time is spent on getting and freeing small pieces of memory with the system's allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;
