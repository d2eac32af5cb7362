//! What a panic leaves in the log: its place.
//!
//! Called once by each function's main. The standard hook prints the panic's text to stderr, which on Lambda is the log
//! group, and a text may quote whatever the code had in hand: a device's token, a title, a secret.

use std::{panic, thread};

/// From now on a panic is one line at error level that says where it was, and nothing of what it said. Whoever catches
/// it says what becomes of the work.
pub fn init_panics() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string);
        let thread = thread::current();
        tracing::error!(place, thread = thread.name(), "a panic; its text is not logged");
    }));
}
