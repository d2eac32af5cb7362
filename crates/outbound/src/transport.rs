//! One HTTP client for all providers that speak HTTP: one request, one deadline, and the truth about what happened.
//!
//! Called by FCM's and Stripe's clients, for calls and for token endpoints. It writes a request once, follows no redirect and
//! uses no proxy. One that a connection hands back unwritten (it has just ended, or was told to go away) moves to
//! another connection; nothing else is ever repeated. Where no answer came it says whether the request certainly never
//! reached the provider ([`Failed::NotSent`]) or may have ([`Failed::Lost`]); when in doubt, the latter.
//!
//! Over TLS the handshake chooses HTTP/2 or HTTP/1 (ALPN), unless only HTTP/2 is spoken. Calls that share an HTTP/2 connection do not share its fate
//! longer than they must: a call that fails takes the connection out of use, and the next one opens another.

use crate::body::{Fate, Watched};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, Uri, uri::Scheme};
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
pub const IDLE_MAX_MS: u64 = 60_000;
/// A connection with open calls that says nothing for this long is asked whether it is alive …
pub const PING_AFTER: Duration = Duration::from_secs(5);
/// … and given up after this long: a dead HTTP/2 connection would otherwise swallow every call until TCP gives up,
/// a quarter of an hour later (restatedev/restate pull 5252).
pub const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a request may come back unwritten. Each time it was on another connection, so more is no accident.
const UNWRITTEN_MAX: usize = 3;
/// Longest answer that is read unless a caller expects longer ones; most are a few hundred bytes.
pub const BODY_MAX_BYTES: usize = 65_536;

type HttpClient = Client<HttpsConnector<HttpConnector>, Watched>;

/// An answer whose status line was read.
#[derive(Debug)]
pub struct Answered {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// `None` if the body broke off, was too long or did not come within the deadline.
    pub body: Option<Bytes>,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Failed {
    /// The request was never written, or the provider said that it did not process it.
    NotSent {
        /// In one word.
        code: &'static str,
        /// As a sentence.
        detail: String,
    },
    /// It may have arrived.
    Lost {
        /// In one word.
        code: &'static str,
        /// As a sentence.
        detail: String,
    },
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent { code, detail } | Self::Lost { code, detail } => write!(f, "{code}: {detail}"),
        }
    }
}

/// What is spoken where there is no TLS handshake to choose it, which is on this machine only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleartext {
    /// HTTP/1.1.
    Http1,
    /// With prior knowledge (RFC 9113, section 3.3).
    Http2,
}

/// The client. Its connections are shared by all calls.
pub struct Transport {
    clock: Clock,
    maker: Maker,
    body_max_bytes: usize,
    pooled: Mutex<Pooled>,
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("cleartext", &self.maker.cleartext).finish_non_exhaustive()
    }
}

struct Pooled {
    clients: Clients,
    used_ms: u64,
}

/// What clients are made from, as often as they are made.
struct Maker {
    connector: HttpsConnector<HttpConnector>,
    cleartext: Cleartext,
    /// Whether only HTTP/2 is spoken over TLS.
    http2_only: bool,
}

#[derive(Clone)]
struct Clients {
    tls: HttpClient,
    plain: HttpClient,
}

impl Maker {
    fn make(&self) -> Clients {
        let client = |http2_only: bool| builder().http2_only(http2_only).build(self.connector.clone());
        let tls = client(self.http2_only);
        let plain = self.cleartext == Cleartext::Http2;
        Clients { plain: if plain == self.http2_only { tls.clone() } else { client(plain) }, tls }
    }
}

impl Clients {
    fn of(&self, uri: &Uri) -> &HttpClient {
        if uri.scheme() == Some(&Scheme::HTTP) { &self.plain } else { &self.tls }
    }
}

/// What came of handing a request to a connection.
enum Tried {
    Ended(Result<Answered, Failed>),
    /// Not one byte of it was written.
    Unwritten(Failed),
}

impl Transport {
    /// Reads answers of up to [`BODY_MAX_BYTES`].
    #[must_use]
    pub fn new(clock: Clock, cleartext: Cleartext) -> Self {
        Self::reading(clock, cleartext, BODY_MAX_BYTES)
    }

    /// Reads answers of up to `body_max_bytes`.
    #[must_use]
    pub fn reading(clock: Clock, cleartext: Cleartext, body_max_bytes: usize) -> Self {
        Self::made_by(Maker { connector: connector(), cleartext, http2_only: false }, clock, body_max_bytes)
    }

    /// Speaks HTTP/2 and nothing else, with TLS or without, and reads answers of up to [`BODY_MAX_BYTES`]. Calls that
    /// begin together know that they will share a connection, and wait for the one that is being opened; where the
    /// handshake chooses, they cannot know and open one each. Calls that begin on two threads in the moment in which it
    /// is ready may open a second, which ends with the call that it was opened for.
    #[must_use]
    pub fn http2(clock: Clock) -> Self {
        let maker = Maker { connector: http2_connector(), cleartext: Cleartext::Http2, http2_only: true };
        Self::made_by(maker, clock, BODY_MAX_BYTES)
    }

    fn made_by(maker: Maker, clock: Clock, body_max_bytes: usize) -> Self {
        let pooled = Mutex::new(Pooled { clients: maker.make(), used_ms: clock.now_ms() });
        Self { clock, maker, body_max_bytes, pooled }
    }

    /// Sends the request once and reads the answer, all within `limit` of real time.
    ///
    /// # Errors
    /// Why there is no answer, and whether the request may have arrived.
    pub async fn call(&self, request: Request<Full<Bytes>>, limit: Duration) -> Result<Answered, Failed> {
        let deadline = Instant::now() + limit;
        for _ in 1..UNWRITTEN_MAX {
            if let Tried::Ended(result) = self.attempt(request.clone(), deadline, limit).await {
                return result;
            }
        }
        match self.attempt(request, deadline, limit).await {
            Tried::Ended(result) => result,
            Tried::Unwritten(failed) => Err(failed),
        }
    }

    async fn attempt(&self, request: Request<Full<Bytes>>, deadline: Instant, limit: Duration) -> Tried {
        let mut request = request.map(Watched::new);
        let fate = request.body().fate();
        // Filled in by the client when it has a connection, just before the request is handed to it. As long as it
        // is empty, not one byte of this request can have been written; and a future that is dropped writes none.
        let connection = capture_connection(&mut request);
        let handed_over = || connection.connection_metadata().is_some();
        // Whatever went wrong on a connection, no other call is put onto it; those that are on it go on.
        let retire = || {
            if let Some(connected) = &*connection.connection_metadata() {
                connected.poison();
            }
        };
        let response = match timeout_at(deadline, self.client(request.uri()).request(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                retire();
                let failed = classify(&error, handed_over(), &fate);
                let unwritten = matches!(failed, Failed::NotSent { code: NOT_WRITTEN, .. });
                return if unwritten { Tried::Unwritten(failed) } else { Tried::Ended(Err(failed)) };
            }
            Err(_) if handed_over() => {
                retire();
                return Tried::Ended(Err(too_late(&fate, limit)));
            }
            Err(_) => {
                let detail = format!("no connection within {} ms", limit.as_millis());
                return Tried::Ended(Err(Failed::NotSent { code: "connect_timeout", detail }));
            }
        };
        let answered = read(response, deadline, self.body_max_bytes).await;
        if answered.body.is_none() {
            retire();
        }
        Tried::Ended(Ok(answered))
    }

    /// The client in use, or a new one if the wall clock says that this one slept too long. The pool's own idle limit
    /// goes by a clock that may stand still while an instance is frozen.
    fn client(&self, uri: &Uri) -> HttpClient {
        let now_ms = self.clock.now_ms();
        let mut pooled = self.pooled.lock().unwrap_or_else(PoisonError::into_inner);
        if now_ms.saturating_sub(pooled.used_ms) > IDLE_MAX_MS {
            pooled.clients = self.maker.make();
        }
        pooled.used_ms = now_ms;
        pooled.clients.of(uri).clone()
    }
}

/// Reads what follows a status line, until the deadline.
pub async fn read(response: Response<Incoming>, deadline: Instant, body_max_bytes: usize) -> Answered {
    let (head, body) = response.into_parts();
    let body = timeout_at(deadline, Limited::new(body, body_max_bytes).collect()).await;
    let body = body.ok().and_then(Result::ok).map(http_body_util::Collected::to_bytes);
    Answered { status: head.status, headers: head.headers, body }
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
#[must_use]
pub fn http2_connector() -> HttpsConnector<HttpConnector> {
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
        // One stream until the provider's SETTINGS say how many it takes: it refuses those that are too many.
        .http2_initial_max_send_streams(1)
        // Ours to decide, and bounded there.
        .retry_canceled_requests(false);
    builder
}

/// The code of a request that its connection handed back, or never took.
const NOT_WRITTEN: &str = "not_written";

/// The proofs that a request was not sent:
///  - no connection was chosen for it yet, or connecting failed;
///  - hyper's "canceled": the connection closed before it took the request out of its queue;
///  - the connection ended and had not asked for the body ([`Fate::withhold`]), as while the request waited for the
///    provider to allow one more stream: the provider cannot have had a whole one, even if the head went out;
///  - HTTP/2: REFUSED_STREAM, or a GOAWAY below our stream (RFC 9113, sections 6.8 and 8.7).
fn classify(error: &Error, handed_over: bool, fate: &Fate) -> Failed {
    let detail = root_cause(error);
    if error.is_connect() || !handed_over {
        return Failed::NotSent { code: "connect_failed", detail };
    }
    sent_or_not(error.source(), fate, detail)
}

/// What a chain of causes, and the body's fate, say of a request that had a connection.
#[must_use]
pub fn sent_or_not(first: Option<&(dyn StdError + 'static)>, fate: &Fate, detail: String) -> Failed {
    let mut source = first;
    while let Some(cause) = source {
        if cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled) {
            return Failed::NotSent { code: NOT_WRITTEN, detail };
        }
        if cause.downcast_ref::<h2::Error>().is_some_and(not_processed) {
            return Failed::NotSent { code: "not_processed", detail };
        }
        source = cause.source();
    }
    if fate.withhold() {
        return Failed::NotSent { code: NOT_WRITTEN, detail };
    }
    Failed::Lost { code: "connection_lost", detail }
}

/// What is said of a request that had a connection when its time was over: lost, unless the connection never asked for
/// its body, which it does not get any more then.
#[must_use]
pub fn too_late(fate: &Fate, limit: Duration) -> Failed {
    if fate.withhold() {
        let detail =
            format!("it waited for its turn on a connection, and was not written within {} ms", limit.as_millis());
        return Failed::NotSent { code: NOT_WRITTEN, detail };
    }
    Failed::Lost { code: "timeout", detail: format!("no answer within {} ms", limit.as_millis()) }
}

fn not_processed(error: &h2::Error) -> bool {
    let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    error.is_remote() && (refused || error.is_go_away())
}

/// The last of a chain of causes.
pub fn root_cause(error: &dyn StdError) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tls_tests;
