//! One HTTP client for all providers that speak HTTP: one request, one deadline, and the truth about what happened.
//!
//! Called by each provider's client. It never sends a request twice, follows no redirect and uses no proxy. Where no
//! answer came it says whether the request certainly never reached the provider ([`Failed::NotSent`]) or may have
//! ([`Failed::Lost`]); when in doubt, the latter.

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        Builder, Client, Error,
        connect::{HttpConnector, capture_connection},
    },
    rt::{TokioExecutor, TokioTimer},
};
use platform::Clock;
use std::{
    error::Error as StdError,
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, timeout_at};

/// A connection unused for longer is not used again. A frozen Lambda instance wakes with dead sockets, and a request
/// written to one has no answer that anybody could explain.
pub(crate) const IDLE_MAX_MS: u64 = 60_000;
/// A connection with open calls that says nothing for this long is asked whether it is alive …
pub(crate) const PING_AFTER: Duration = Duration::from_secs(5);
/// … and given up after this long: a dead HTTP/2 connection would otherwise swallow every call until TCP gives up,
/// a quarter of an hour later (restatedev/restate pull 5252).
pub(crate) const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest answer that is read; a provider's answers are a few hundred bytes.
pub(crate) const BODY_MAX_BYTES: usize = 65_536;

type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// An answer whose status line was read.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// `None` if the body broke off, was too long or did not come within the deadline.
    pub(crate) body: Option<Bytes>,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The request was never written, or the provider said that it did not process it.
    NotSent { code: &'static str, detail: String },
    /// It may have arrived.
    Lost { code: &'static str, detail: String },
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent { code, detail } | Self::Lost { code, detail } => write!(f, "{code}: {detail}"),
        }
    }
}

pub(crate) struct Transport {
    clock: Clock,
    pooled: Mutex<Pooled>,
}

struct Pooled {
    client: HttpClient,
    used_ms: u64,
}

impl Transport {
    pub(crate) fn new(clock: Clock) -> Self {
        let pooled = Mutex::new(Pooled { client: client(), used_ms: clock.now_ms() });
        Self { clock, pooled }
    }

    /// Sends the request once and reads the answer, all within `limit` of real time.
    pub(crate) async fn call(&self, mut request: Request<Full<Bytes>>, limit: Duration) -> Result<Answered, Failed> {
        let deadline = Instant::now() + limit;
        // Filled in by the client when it has a connection, just before the request is handed to it. As long as it
        // is empty, not one byte of this request can have been written; and a future that is dropped writes none.
        let connection = capture_connection(&mut request);
        let handed_over = || connection.connection_metadata().is_some();
        let response = match timeout_at(deadline, self.client().request(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(classify(&error, handed_over())),
            Err(_) if handed_over() => {
                return Err(Failed::Lost {
                    code: "timeout",
                    detail: format!("no answer within {} ms", limit.as_millis()),
                });
            }
            Err(_) => {
                let detail = format!("no connection within {} ms", limit.as_millis());
                return Err(Failed::NotSent { code: "connect_timeout", detail });
            }
        };
        Ok(read(response, deadline).await)
    }

    /// The client in use, or a new one if the wall clock says that this one slept too long. The pool's own idle limit
    /// goes by a clock that may stand still while an instance is frozen.
    fn client(&self) -> HttpClient {
        let now_ms = self.clock.now_ms();
        let mut pooled = self.pooled.lock().unwrap_or_else(PoisonError::into_inner);
        if now_ms.saturating_sub(pooled.used_ms) > IDLE_MAX_MS {
            pooled.client = client();
        }
        pooled.used_ms = now_ms;
        pooled.client.clone()
    }
}

/// Reads what follows a status line, until the deadline.
pub(crate) async fn read(response: Response<Incoming>, deadline: Instant) -> Answered {
    let (head, body) = response.into_parts();
    let body = timeout_at(deadline, Limited::new(body, BODY_MAX_BYTES).collect()).await;
    let body = body.ok().and_then(Result::ok).map(http_body_util::Collected::to_bytes);
    Answered { status: head.status, headers: head.headers, body }
}

fn client() -> HttpClient {
    builder().build(connector())
}

fn tcp() -> HttpConnector {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http
}

fn connector() -> HttpsConnector<HttpConnector> {
    HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().enable_http2().wrap_connector(tcp())
}

/// Only HTTP/2 is offered in the TLS handshake; without TLS the caller speaks what it likes.
pub(crate) fn http2_connector() -> HttpsConnector<HttpConnector> {
    HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http2().wrap_connector(tcp())
}

fn builder() -> Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .pool_idle_timeout(Duration::from_millis(IDLE_MAX_MS))
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .http2_keep_alive_interval(PING_AFTER)
        .http2_keep_alive_timeout(PING_TIMEOUT)
        // Even a repeat that is safe would be a call that nobody counted.
        .retry_canceled_requests(false);
    builder
}

/// The proofs that a request was not sent, each from the client's own source:
///  - no connection was chosen for it yet, or connecting failed;
///  - hyper's "canceled": the connection closed before it took the request out of its queue;
///  - HTTP/2: REFUSED_STREAM, or a GOAWAY below our stream (RFC 9113, sections 6.8 and 8.7).
fn classify(error: &Error, handed_over: bool) -> Failed {
    let detail = root_cause(error);
    if error.is_connect() || !handed_over {
        return Failed::NotSent { code: "connect_failed", detail };
    }
    sent_or_not(error.source(), detail)
}

/// What a chain of causes says of a request that had a connection.
pub(crate) fn sent_or_not(first: Option<&(dyn StdError + 'static)>, detail: String) -> Failed {
    let mut source = first;
    while let Some(cause) = source {
        if cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled) {
            return Failed::NotSent { code: "not_written", detail };
        }
        if cause.downcast_ref::<h2::Error>().is_some_and(not_processed) {
            return Failed::NotSent { code: "not_processed", detail };
        }
        source = cause.source();
    }
    Failed::Lost { code: "connection_lost", detail }
}

fn not_processed(error: &h2::Error) -> bool {
    let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    error.is_remote() && (refused || error.is_go_away())
}

pub(crate) fn root_cause(error: &dyn StdError) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests;
