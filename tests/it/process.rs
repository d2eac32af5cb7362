//! The program as a process of its own, and with a folder that outlives it, for tests that start or kill it.

use crate::support::{DEADLINE, HttpClient, logs};
use http::Method;
use serde_json::Value;
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

/// Arguments with which programs do not get in each other's way.
pub(crate) const FREE_PORTS: [&str; 8] =
    ["--port", "0", "--dynamodb-port", "0", "--sqs-port", "0", "--sandbox-port", "0"];

/// A folder for `--data`, and beside it what the processes said on stderr. A failed test leaves both to look at.
pub(crate) struct DataDir(PathBuf);

impl DataDir {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("sendonce-it-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    fn log(&self) -> File {
        File::options().create(true).append(true).open(self.0.join("stderr")).unwrap()
    }

    /// What all processes with this folder said on stderr.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.0.join("stderr")).unwrap()
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("left to look at: {}", self.0.display());
        } else {
            let said = self.said();
            let _ = fs::remove_dir_all(&self.0);
            logs::read(&said);
        }
    }
}

/// A program next to this test, built anew if need be: a test of an old one would show nothing.
pub(crate) fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    // The whole workspace's features, and a test among the targets, as `cargo test --workspace` has them: cargo would choose
    // other ones without, and build everything a second time.
    let mut build = std::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.current_dir(workspace).args(["build", "--quiet", "--locked", "--workspace", "--bin", name]);
    build.env("CARGO_TARGET_DIR", folder.parent().unwrap());
    if folder.ends_with("release") {
        build.arg("--release");
    } else {
        build.args(["--test", "agreement"]);
    }
    assert!(build.status().unwrap().success(), "the program {name} cannot be built");
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The local system's program.
fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| built("local"))
}

/// The program with these arguments, all built in, its stdout and stderr to be read.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(arguments).env_remove("AWS_ENDPOINT_URL_DYNAMODB").env_remove("AWS_ENDPOINT_URL_SQS");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// A process that may or may not have come up yet.
pub(crate) struct Process {
    pub(crate) child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    pub(crate) fn spawn(dir: &DataDir, timing: &str) -> Self {
        let mut command = command(&FREE_PORTS);
        // All that it can be made to say: it is read once the test ends.
        command.env("RUST_LOG", "trace,dynoxide=error");
        command.args(["--timing", timing, "--data"]).arg(dir.data()).stderr(dir.log());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    /// Waits until everything answers.
    pub(crate) async fn ready(&mut self) -> Ready {
        let mut line = String::new();
        timeout(DEADLINE, self.stdout.read_line(&mut line)).await.expect("no ready line in time").unwrap();
        let urls = serde_json::from_str(&line).expect("it ended instead of getting ready");
        Ready { urls, http: HttpClient::new() }
    }

    /// Resident memory, in KiB.
    pub(crate) fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// `kill -9`. Returns once the process is gone.
    pub(crate) async fn kill(mut self) {
        self.child.start_kill().unwrap();
        timeout(DEADLINE, self.child.wait()).await.expect("it does not end").unwrap();
    }
}

/// A running system's addresses. Clones share connections.
#[derive(Clone)]
pub(crate) struct Ready {
    urls: Value,
    pub(crate) http: HttpClient,
}

impl Ready {
    pub(crate) fn url(&self, part: &str) -> &str {
        self.urls[part].as_str().unwrap()
    }

    /// The headers of acme's requests.
    pub(crate) fn headers(&self) -> [(&'static str, String); 2] {
        let key = self.urls["api_keys"]["acme"].as_str().unwrap();
        [("authorization", format!("Bearer {key}")), ("content-type", "application/json".to_owned())]
    }

    /// The message as it reads now.
    pub(crate) async fn message(&self, id: &str) -> Value {
        let [(name, value), _] = &self.headers();
        let url = format!("{}/v1/messages/{id}", self.url("api"));
        self.http.send(&Method::GET, &url, &[(name, value)], "").await.expect(200).body
    }

    /// Moves the whole system's clock.
    pub(crate) async fn advance(&self, seconds: u64) {
        let url = format!("{}/control", self.url("sandbox"));
        let order = format!(r#"{{"advance_seconds":{seconds}}}"#);
        self.http.send(&Method::POST, &url, &[], order).await.expect(204);
    }

    /// What reached the providers so far.
    pub(crate) async fn ledger(&self) -> Vec<Value> {
        let url = format!("{}/ledger", self.url("sandbox"));
        self.http.send(&Method::GET, &url, &[], "").await.expect(200).body.as_array().unwrap().clone()
    }

    /// A number among a queue's attributes.
    pub(crate) async fn queue(&self, queue: &str, attribute: &str) -> u64 {
        let sqs = self.url("sqs");
        let headers =
            [("x-amz-target", "AmazonSQS.GetQueueAttributes"), ("content-type", "application/x-amz-json-1.0")];
        let body = format!(r#"{{"QueueUrl":"{sqs}/000000000000/{queue}","AttributeNames":["{attribute}"]}}"#);
        let answer = self.http.send(&Method::POST, sqs, &headers, body).await.expect(200);
        answer.body["Attributes"][attribute].as_str().unwrap().parse().unwrap()
    }
}
