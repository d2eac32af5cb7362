//! A process with one function in it, as Lambda runs it: invoked over HTTP, configured by its environment.
//!
//! Started by [`crate::fleet::Fleet`]. The function is built by its library's `deployed`, as its `main.rs` does; what
//! differs is the boundary (`kill`) and a clock that the test moves. It ends when its standard input does, so it never
//! outlives the test that started it.

use crate::kill::{KillPoints, Point, with_point};
use anyhow::{Context, bail};
use axum::{
    Json, Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::post,
};
use local::elsewhere::DEADLINE_HEADER;
use platform::{Clock, EnvReader};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    io::{Read, Write},
    net::Ipv4Addr,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::net::TcpListener;

/// The functions that there are, as `POST /control` of the local system names them.
pub const FUNCTIONS: [&str; 7] = ["api", "refunds", "deliver", "payout", "relay", "dead_letter", "audit"];
/// Those of them that answer requests; the others take events.
pub(crate) const ANSWERING: [&str; 2] = ["api", "refunds"];
/// How far this process's clock is ahead of the machine's, in ms: with each invocation, and to `POST /-/clock`.
pub(crate) const AHEAD_HEADER: &str = "x-clock-ahead-ms";
/// Where this invocation dies or is held.
pub(crate) const POINT_HEADER: &str = "x-point";

/// Serves one function until standard input ends.
///
/// # Errors
/// When the name or the environment is wrong, or no port is free.
pub fn main(function: Option<&str>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(serve(function))
}

async fn serve(function: Option<&str>) -> anyhow::Result<()> {
    platform::init_logs("off");
    let process = Process::default();
    let env = EnvReader::process;
    let (clock, boundary) = (process.clock.clone(), process.points.clone());
    let function = match function {
        Some("api") => {
            let api = api::Api::deployed(api::Settings::read(env())?, clock, boundary).await;
            api::router(Arc::new(api))
        }
        Some("refunds") => {
            let refunds = refunds::Refunds::deployed(refunds::Settings::read(env())?, clock, boundary).await;
            refunds::router(Arc::new(refunds))
        }
        Some("deliver") => {
            let deliver = deliver::Deliver::deployed(deliver::Settings::read(env())?, clock, boundary).await;
            let deliver = Arc::new(deliver);
            invoked(move |event, ends_ms| {
                let deliver = deliver.clone();
                async move { deliver.handle(event, ends_ms).await }
            })
        }
        Some("payout") => {
            let payout = Arc::new(payout::Payout::deployed(payout::Settings::read(env())?, clock, boundary).await);
            invoked(move |event, ends_ms| {
                let payout = payout.clone();
                async move { payout.handle(event, ends_ms).await }
            })
        }
        Some("relay") => {
            let relay = Arc::new(relay::Relay::deployed(relay::Settings::read(env())?, clock, boundary).await);
            invoked(move |event: Value, _| {
                let relay = relay.clone();
                async move { relay.handle(&event).await }
            })
        }
        Some("dead_letter") => {
            let settings = dead_letter::Settings::read(env())?;
            let dead_letter = Arc::new(dead_letter::DeadLetter::deployed(settings, clock, boundary).await);
            invoked(move |event, _| {
                let dead_letter = dead_letter.clone();
                async move { dead_letter.handle(event).await }
            })
        }
        Some("audit") => {
            let audit = Arc::new(audit::Audit::deployed(audit::Settings::read(env())?, clock, boundary).await);
            invoked(move |event: Value, ends_ms| {
                let audit = audit.clone();
                // No random bytes, no report: the schedule's next invocation tries again.
                async move { audit.handle(&event, ends_ms).await.unwrap_or(Value::Null) }
            })
        }
        other => bail!("{other:?} is none of {}", FUNCTIONS.join(", ")),
    };
    let control = Router::new().route("/-/clock", post(set_clock)).route("/-/release", post(release));
    let served = function.layer(from_fn_with_state(process.clone(), invocation)).merge(control.with_state(process));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no port is free")?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "ready http://{}", listener.local_addr()?).and_then(|()| stdout.flush())?;
    // A thread of its own: standard input cannot be awaited.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    axum::serve(listener, served).await.context("the server ended")
}

/// What all invocations share.
#[derive(Clone, Debug)]
struct Process {
    clock: Clock,
    ahead_ms: Arc<Mutex<u64>>,
    points: Arc<KillPoints>,
}

impl Default for Process {
    fn default() -> Self {
        Self { clock: Clock::system(), ahead_ms: Arc::default(), points: Arc::default() }
    }
}

impl Process {
    /// Moves the clock so far ahead of the machine's; never back.
    fn set_ahead(&self, to_ms: u64) {
        let mut ahead = self.ahead_ms.lock().unwrap_or_else(PoisonError::into_inner);
        self.clock.advance(Duration::from_millis(to_ms.saturating_sub(*ahead)));
        *ahead = to_ms.max(*ahead);
    }
}

fn header<T: FromStr>(headers: &HeaderMap, name: &str) -> Option<T> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}

async fn invocation(State(process): State<Process>, request: Request, next: Next) -> Response {
    if let Some(ahead) = header(request.headers(), AHEAD_HEADER) {
        process.set_ahead(ahead);
    }
    let point: Option<Point> = header(request.headers(), POINT_HEADER);
    with_point(point, next.run(request)).await
}

async fn set_clock(State(process): State<Process>, headers: HeaderMap) -> StatusCode {
    match header(&headers, AHEAD_HEADER) {
        Some(ahead) => {
            process.set_ahead(ahead);
            StatusCode::NO_CONTENT
        }
        None => StatusCode::BAD_REQUEST,
    }
}

async fn release(State(process): State<Process>) -> StatusCode {
    process.points.release();
    StatusCode::NO_CONTENT
}

/// A function that takes events, behind Lambda's Invoke operation.
fn invoked<E, A, F>(handle: impl Fn(E, u64) -> F + Clone + Send + Sync + 'static) -> Router
where
    E: DeserializeOwned + Send + 'static,
    A: Serialize,
    F: Future<Output = A> + Send + 'static,
{
    let handler = async move |headers: HeaderMap, body: bytes::Bytes| -> Response {
        let Some(ends_ms) = header(&headers, DEADLINE_HEADER) else {
            return (StatusCode::BAD_REQUEST, "no deadline").into_response();
        };
        match serde_json::from_slice(&body) {
            Ok(event) => Json(handle(event, ends_ms).await).into_response(),
            Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
        }
    };
    let limit = axum::extract::DefaultBodyLimit::disable();
    Router::new().route("/2015-03-31/functions/function/invocations", post(handler)).layer(limit)
}
