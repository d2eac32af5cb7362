//! What a process that starts as a function does leaves of a panic: read from a child's own stdout and stderr, since the
//! text would get there past every subscriber.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::{
    env,
    process::{self, Command},
    thread,
};

/// Says that this process is the child.
const CHILD: &str = "SENDONCE_PANICS";
const CANARY: &str = "canary-panic-5b81e0";

#[test]
fn a_panic_leaves_its_place_and_none_of_its_text() {
    if env::var_os(CHILD).is_some() {
        platform::init_logs("info");
        platform::init_panics();
        let panicked = thread::spawn(|| panic!("a bug that quotes {CANARY}")).join().is_err();
        process::exit(i32::from(!panicked));
    }
    let said = Command::new(env::current_exe().unwrap())
        .args(["--exact", "a_panic_leaves_its_place_and_none_of_its_text", "--nocapture"])
        .env(CHILD, "1")
        .env_remove("RUST_LOG")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "{out}{err}");
    assert!(!out.contains(CANARY) && !err.contains(CANARY), "{out}{err}");
    let lines: Vec<&str> = err.lines().filter(|line| line.contains("a panic")).collect();
    assert_eq!(lines.len(), 1, "{err}");
    assert!(lines[0].contains("\"level\":\"ERROR\"") && lines[0].contains("tests/panics.rs:"), "{}", lines[0]);
}
