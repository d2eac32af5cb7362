//! A process of the fleet, seen from outside: started, invoked, frozen, killed.

use crate::{
    canaries,
    function::{AHEAD_HEADER, POINT_HEADER},
    http::HttpClient,
    kill::Point,
    wait::within,
};
use http::{HeaderMap, HeaderValue, Method};
use local::{elsewhere::Invoker, invoke::Invocation};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStderr, Command},
    sync::{mpsc, watch},
};

/// How processes are started: a program, and the arguments before the function's name.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// Its first arguments.
    pub args: Vec<String>,
}

/// A running or dead process.
#[derive(Debug)]
pub struct Process {
    function: &'static str,
    name: String,
    pid: u32,
    url: String,
    /// How far its clock is ahead of the fleet's, in ms; negative: behind.
    skew_ms: i64,
    kill: mpsc::Sender<()>,
    doomed: AtomicBool,
    frozen: AtomicBool,
    dead: watch::Receiver<bool>,
    /// How often it stood still at a point so far.
    held: watch::Receiver<u64>,
    invoker: Invoker,
    http: HttpClient,
}

impl Process {
    /// Starts one of this function and name, and waits until it answers.
    pub async fn start(
        program: &Program,
        (function, name): (&'static str, String),
        environment: &BTreeMap<String, String>,
        skew_ms: i64,
        deaths: Arc<AtomicUsize>,
    ) -> Self {
        let mut child = Command::new(&program.path)
            .args(&program.args)
            .arg(function)
            .envs(environment)
            // The SDK tells it in every request (aws_config::AppName), so the proxy knows who asks.
            .env("AWS_SDK_UA_APP_ID", &name)
            // All that it can be made to say: it is read as it is said.
            .env("RUST_LOG", "trace")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{} cannot be started: {error}", program.path.display()));
        tokio::spawn(listen(function, child.stderr.take().unwrap()));
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = within(&format!("{function} gets ready"), lines.next_line()).await.unwrap();
        let url = line.as_deref().and_then(|line| line.strip_prefix("ready ")).map(ToOwned::to_owned);
        let url = url.unwrap_or_else(|| panic!("{function} does not start: {line:?}"));
        let pid = child.id().unwrap();
        let (kill, killing) = mpsc::channel(1);
        let (dies, dead) = watch::channel(false);
        let (holds, held) = watch::channel(0);
        tokio::spawn(watch_over(child, killing, dies, deaths));
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                if line.starts_with("held ") {
                    holds.send_modify(|times| *times += 1);
                }
            }
        });
        Self {
            function,
            name,
            pid,
            url,
            skew_ms,
            kill,
            doomed: AtomicBool::new(false),
            frozen: AtomicBool::new(false),
            dead,
            held,
            invoker: Invoker::default(),
            http: HttpClient::default(),
        }
    }

    /// Its function.
    #[must_use]
    pub fn function(&self) -> &'static str {
        self.function
    }

    /// Its name, which no other process of the fleet has, before it or after.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is reached.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether it is gone.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.doomed.load(Ordering::SeqCst) || *self.dead.borrow()
    }

    /// Resolves once it is gone.
    pub async fn dies(&self) {
        // The sender goes only after it said so.
        let _ = self.dead.clone().wait_for(|dead| *dead).await;
    }

    /// Resolves once it stands still at a point, for the `times`-th time.
    pub async fn holds(&self, times: u64) {
        let held = self.held.clone().wait_for(|held| *held >= times).await.is_ok();
        assert!(held, "the process died before it was held");
    }

    /// How often it stood still at a point so far.
    #[must_use]
    pub fn held(&self) -> u64 {
        *self.held.borrow()
    }

    /// SIGKILL, and wait for its end.
    pub async fn kill(&self) {
        let _ = self.kill.try_send(());
        within("a killed process dies", self.dies()).await;
    }

    /// SIGKILL without a wait. It counts as dead at once.
    pub(crate) fn kill_now(&self) {
        self.doomed.store(true, Ordering::SeqCst);
        let _ = self.kill.try_send(());
    }

    /// SIGSTOP: not one instruction of it runs until [`Process::thaw`].
    pub async fn freeze(&self) {
        self.frozen.store(true, Ordering::SeqCst);
        self.signal("-STOP").await;
    }

    /// SIGCONT. Its clock is set to that of the fleet at once: a frozen machine wakes with the right time.
    pub async fn thaw(&self, ahead_ms: u64) {
        self.signal("-CONT").await;
        self.frozen.store(false, Ordering::SeqCst);
        self.set_ahead(ahead_ms).await;
    }

    async fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(signal).arg(self.pid.to_string()).status().await.unwrap();
        assert!(sent.success(), "kill {signal} {}", self.pid);
    }

    /// Lets what is held at a point go on.
    pub async fn release(&self) {
        self.http.send(&Method::POST, &format!("{}/-/release", self.url), &[], "").await.unwrap().expect(204);
    }

    /// Moves its clock to `ahead_ms` of the fleet and its own skew. A process that is gone or frozen is left
    /// alone.
    pub async fn set_ahead(&self, ahead_ms: u64) {
        if self.frozen.load(Ordering::SeqCst) {
            return;
        }
        let ahead = self.ahead(ahead_ms).to_string();
        let url = format!("{}/-/clock", self.url);
        match self.http.send(&Method::POST, &url, &[(AHEAD_HEADER, &ahead)], "").await {
            Ok(answer) => drop(answer.expect(204)),
            Err(error) => within(&format!("after {error} a process is dead"), self.dies()).await,
        }
    }

    fn ahead(&self, fleet_ms: u64) -> u64 {
        fleet_ms.saturating_add_signed(self.skew_ms)
    }

    /// What goes along with an invocation.
    pub(crate) fn headers(&self, ahead_ms: u64, point: Option<&Point>) -> HeaderMap {
        let mut headers = HeaderMap::from_iter([(AHEAD_HEADER.parse().unwrap(), self.ahead(ahead_ms).into())]);
        if let Some(point) = point {
            headers.insert(POINT_HEADER, HeaderValue::from_str(&point.to_string()).unwrap());
        }
        headers
    }

    /// Invokes it with an event.
    ///
    /// # Errors
    /// When it does not answer, or with an error.
    pub(crate) async fn invoke(
        &self,
        event: &Value,
        invocation: &Invocation,
        ahead_ms: u64,
        point: Option<&Point>,
    ) -> Result<Value, String> {
        let headers = self.headers(ahead_ms, point);
        tokio::select! {
            biased;
            answer = self.invoker.invoke(&self.url, "function", event, invocation, headers) => answer,
            () = self.dies() => Err("the process died".to_owned()),
        }
    }
}

/// Reads what a process says to its end. What is for people (a panic) is repeated; the log for whoever asks for it.
async fn listen(function: &'static str, stderr: ChildStderr) {
    let shown = std::env::var_os("RUST_LOG").is_some();
    let (mut stderr, mut line) = (BufReader::new(stderr), Vec::new());
    while stderr.read_until(b'\n', &mut line).await.is_ok_and(|bytes| bytes > 0) {
        let said = String::from_utf8_lossy(&line);
        canaries::look(function, said.trim_end());
        if shown || !said.starts_with('{') {
            eprint!("{said}");
        }
        line.clear();
    }
}

async fn watch_over(
    mut child: Child,
    mut killing: mpsc::Receiver<()>,
    dies: watch::Sender<bool>,
    deaths: Arc<AtomicUsize>,
) {
    // Its end is the process's end, and `wait` would close it at once.
    let _stdin = child.stdin.take();
    tokio::select! {
        _ = child.wait() => {}
        // A closed channel says that nobody wants it any more.
        _ = killing.recv() => {
            let _ = child.start_kill();
            let _ = child.wait().await;
        }
    }
    deaths.fetch_add(1, Ordering::SeqCst);
    dies.send_replace(true);
}
