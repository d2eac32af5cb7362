//! The start of each function, as the process that Lambda starts: it asks nobody anything before its first event, and a
//! bad environment ends it at once with one message that names every fault.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    collections::BTreeMap,
    io::{ErrorKind, Read},
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};
use template::{binary, settings};

/// Real time for a start, on a busy machine.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// Ends the process with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// A function as Lambda starts it, and nothing of this process's own environment.
fn function(path: &Path, runtime: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(path);
    command.env_clear().env("AWS_LAMBDA_RUNTIME_API", runtime).envs(variables.iter().copied()).envs([
        ("AWS_LAMBDA_FUNCTION_NAME", "f"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
    ]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn binaries() -> BTreeMap<String, PathBuf> {
    let binaries = binary::built().unwrap();
    assert_eq!(
        binaries.keys().map(String::as_str).collect::<Vec<_>>(),
        settings::binaries().into_iter().collect::<Vec<_>>()
    );
    binaries
}

fn nobody_came(listener: &TcpListener) -> bool {
    listener.set_nonblocking(true).unwrap();
    listener.accept().is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn a_function_calls_nobody_before_its_first_event() {
    for (name, path) in binaries() {
        let ((runtime, runtime_address), (aws, aws_address)) = (listener(), listener());
        let endpoint = format!("http://{aws_address}");
        let queue = format!("{endpoint}/q");
        let variables = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("STRIPE_URL", &endpoint),
            ("TABLE_NAME", "t"),
            ("DELIVERIES_QUEUE_URL", &queue),
            ("PAYOUTS_QUEUE_URL", &queue),
            ("PARKING_QUEUE_URL", &queue),
        ];
        let _running = Ended(function(&path, &runtime_address, &variables).spawn().unwrap());
        let (asked, first) = mpsc::channel();
        thread::spawn(move || {
            let (mut stream, _) = runtime.accept().unwrap();
            let mut head = [0; 256];
            let read = stream.read(&mut head).unwrap();
            asked.send(String::from_utf8_lossy(&head[..read]).into_owned()).unwrap();
            // The connection stays open until the function is ended: an answer that does not come.
            let _ = stream.read(&mut head);
        });
        let first = first.recv_timeout(STARTS_WITHIN).unwrap_or_else(|_| panic!("{name} asks for no event"));
        assert!(first.starts_with("GET /2018-06-01/runtime/invocation/next "), "{name} begins with {first}");
        assert!(nobody_came(&aws), "{name} called AWS before its first event");
    }
}

#[test]
fn a_bad_environment_ends_the_start_with_every_fault_in_one_message() {
    for (name, path) in binaries() {
        let (runtime, runtime_address) = listener();
        let variables = [
            ("TIMING", "fast"),
            ("KEY_VALID_DAYS", "1"),
            ("SECRET_NAME", "a name/{project}/{provider}"),
            ("STRIPE_URL", "https://user:word@stripe.example"),
            ("TABLE_NAME", "a table"),
            ("DELIVERIES_QUEUE_URL", "x"),
            ("PAYOUTS_QUEUE_URL", "x"),
            ("RUST_LOG", "nonsense="),
        ];
        let faults = settings::refusals(&name, &variables);
        assert!(faults.len() >= 4, "{name} finds only {faults:?}");
        for (variable, _) in [variables[0], variables[4], variables[7]] {
            assert!(
                faults.iter().any(|fault| fault.starts_with(variable)),
                "{name} does not find {variable}: {faults:?}"
            );
        }
        let mut started = Ended(function(&path, &runtime_address, &variables).spawn().unwrap());
        let mut stderr = started.0.stderr.take().unwrap();
        let (sender, said) = mpsc::channel();
        thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            sender.send(text).unwrap();
        });
        let said = said.recv_timeout(STARTS_WITHIN).unwrap_or_else(|_| panic!("{name} does not end"));
        let status = started.0.wait().unwrap();
        assert!(!status.success(), "{name} ended well: {said}");
        assert_eq!(said.matches("bad settings").count(), 1, "{name} says:\n{said}");
        let message = said.split_once("bad settings").unwrap().1;
        for fault in &faults {
            assert!(message.contains(fault.as_str()), "{name} does not say {fault:?}:\n{said}");
        }
        assert!(nobody_came(&runtime), "{name} asked for events with bad settings");
    }
}
