//! How long a function takes from its start to its first answer, and how much memory at most: each binary is started as
//! Lambda starts it, against a Runtime API of ours that hands it one event. Printed, not judged: they are figures of this
//! machine, with warm caches, and no cold start of AWS; what counts is how they stand beside each other.

use crate::{processes::command, say};
use anyhow::{Context, ensure};
use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use serde_json::json;
use std::{
    future::pending,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{net::TcpListener, sync::mpsc};

/// Real time for a first answer, on a busy machine.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// An address at which nothing listens: a function that called anybody before its first event would not answer in time.
const NOBODY: &str = "http://127.0.0.1:9";

/// A binary's name and path, written as `NAME=PATH`.
pub(crate) fn named(text: &str) -> Result<(String, PathBuf), String> {
    let (name, path) = text.split_once('=').ok_or("must be NAME=PATH")?;
    Ok((name.to_owned(), PathBuf::from(path)))
}

struct Start {
    answer_ms: f64,
    peak_mib: f64,
}

struct Runtime {
    handed_out: AtomicBool,
    answered: mpsc::Sender<(bool, Bytes)>,
}

async fn next(State(runtime): State<Arc<Runtime>>) -> Response {
    if runtime.handed_out.swap(true, Ordering::Relaxed) {
        // There is one event only.
        return pending().await;
    }
    let event = json!({
        "version": "2.0", "routeKey": "GET /healthz", "rawPath": "/healthz", "rawQueryString": "",
        "headers": {"host": "localhost"}, "isBase64Encoded": false,
        "requestContext": {
            "accountId": "000000000000", "apiId": "api", "domainName": "localhost", "domainPrefix": "api",
            "http": {"method": "GET", "path": "/healthz", "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "figures"},
            "requestId": "r", "routeKey": "GET /healthz", "stage": "$default",
            "time": "01/Jan/2026:00:00:00 +0000", "timeEpoch": 1_767_225_600_000_u64,
        },
    });
    let headers = [
        ("Lambda-Runtime-Aws-Request-Id", "r"),
        // Far in the future, in ms.
        ("Lambda-Runtime-Deadline-Ms", "4102444800000"),
        ("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:f"),
        (CONTENT_TYPE.as_str(), "application/json"),
    ];
    (headers, event.to_string()).into_response()
}

async fn response(State(runtime): State<Arc<Runtime>>, body: Bytes) -> StatusCode {
    // Nobody waits any more if it came too late.
    let _ = runtime.answered.send((true, body)).await;
    StatusCode::ACCEPTED
}

async fn error(State(runtime): State<Arc<Runtime>>, body: Bytes) -> StatusCode {
    let _ = runtime.answered.send((false, body)).await;
    StatusCode::ACCEPTED
}

async fn start(binary: &Path) -> anyhow::Result<Start> {
    let (answered, mut answers) = mpsc::channel(1);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?.to_string();
    let router = Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
        .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
        .route("/2018-06-01/runtime/init/error", post(error))
        .with_state(Arc::new(Runtime { handed_out: AtomicBool::new(false), answered }));
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
    let mut function = command(binary);
    function.env_clear().envs([
        ("AWS_LAMBDA_RUNTIME_API", address.as_str()),
        ("AWS_LAMBDA_FUNCTION_NAME", "f"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("AWS_ENDPOINT_URL", NOBODY),
        ("TABLE_NAME", "t"),
        ("DELIVERIES_QUEUE_URL", "http://127.0.0.1:9/q"),
    ]);
    let began = Instant::now();
    let mut child = function.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let answer = tokio::time::timeout(ANSWERS_WITHIN, answers.recv()).await.context("it did not answer in time")?;
    let answer_ms = began.elapsed().as_secs_f64() * 1_000.0;
    let (well, body) = answer.context("the Runtime API is gone")?;
    ensure!(well, "its answer is an error: {}", String::from_utf8_lossy(&body));
    let pid = child.id().context("it ended")?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let peak: f64 = peak.trim().trim_end_matches("kB").trim().parse()?;
    child.kill().await?;
    serving.abort();
    Ok(Start { answer_ms, peak_mib: peak / 1_024.0 })
}

/// Starts each binary `runs` times, in turn, and prints what came of it.
pub(crate) async fn print(runs: u32, binaries: &[(String, PathBuf)]) -> anyhow::Result<()> {
    let mut starts: Vec<Vec<Start>> = binaries.iter().map(|_| Vec::new()).collect();
    // In turn, so that a moment in which the machine is busy falls on all of them.
    for _ in 0..runs.max(1) {
        for ((name, path), starts) in binaries.iter().zip(&mut starts) {
            starts.push(start(path).await.with_context(|| format!("{name} ({})", path.display()))?);
        }
    }
    for ((name, path), starts) in binaries.iter().zip(&mut starts) {
        starts.sort_by(|a, b| a.answer_ms.total_cmp(&b.answer_ms));
        let bytes = std::fs::metadata(path)?.len();
        let (least, most) = (starts[0].answer_ms, starts[starts.len() - 1].answer_ms);
        let peak = starts.iter().map(|start| start.peak_mib).fold(0.0, f64::max);
        let median = starts[starts.len() / 2].answer_ms;
        say(&format!(
            "{name:<8} start to first answer: median {median:.1} ms ({least:.1} to {most:.1}, {runs} starts); \
             peak memory {peak:.1} MiB; binary {bytes} bytes"
        ));
    }
    Ok(())
}
