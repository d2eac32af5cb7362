//! One HTTP/2 connection for all calls under one signing key, to a provider that wants it to prove itself first.
//!
//! Used by the APNs client. A fresh connection carries one call alone; only when its answer says that the provider
//! took the token do others join. Apple allows one stream until then and refuses the rest, and a client that opens
//! more before it has read SETTINGS loses 19 of 20. A slow first call does not keep the others back: after a quarter
//! of its time the next one goes first, on a connection of its own.
//!
//! A call is written once. One that the connection hands back unwritten (it has just been told to go away) moves to
//! the next connection; nothing else is ever repeated. Where no answer came, [`Failed`] says whether the request
//! certainly did not reach the provider. Speaks HTTP/2 with prior knowledge, over TLS or not as the address says.

use crate::transport::{
    Answered, BODY_MAX_BYTES, Failed, IDLE_MAX_MS, PING_AFTER, PING_TIMEOUT, http2_connector, read, root_cause,
    sent_or_not, too_late,
};
use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::Full;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::connect::{Connection, HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use outbound::body::Watched;
use platform::Clock;
use std::{
    error::Error as StdError,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, timeout, timeout_at};
use tower::ServiceExt;

type Call = Request<Full<Bytes>>;
type Turn<'a> = tokio::sync::MutexGuard<'a, Option<Arc<Link>>>;

/// What an answer says of the connection it came on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The provider took the token: others may use it.
    Proven,
    /// It says nothing about that.
    Open,
    /// No further call goes out on it.
    Spent,
}

/// Calls to one address under one signing key.
pub(crate) struct Pool {
    address: Uri,
    clock: Clock,
    connector: HttpsConnector<HttpConnector>,
    /// Held by the call that goes first; the connection that the last one left unproven.
    first: tokio::sync::Mutex<Option<Arc<Link>>>,
    proven: Mutex<Option<Arc<Link>>>,
}

/// One connection. It closes when nobody holds it and its last call has ended.
struct Link {
    sender: SendRequest<Watched>,
    used_ms: AtomicU64,
}

/// When a call is given up, and how long it had until then.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    limit: Duration,
}

enum Tried {
    Ended(Result<Answered, Failed>),
    /// Not one byte of it was written.
    Unwritten(Call),
}

impl Pool {
    /// Nothing is connected yet. `address` has a scheme and a host.
    pub(crate) fn new(address: Uri, clock: Clock) -> Self {
        let (first, proven) = (tokio::sync::Mutex::default(), Mutex::default());
        Self { address, clock, connector: http2_connector(), first, proven }
    }

    /// Makes one call and reads the answer, all within `limit` of real time, waiting for others included. `judge`
    /// says what an answer means for the connection.
    pub(crate) async fn call(
        &self,
        mut call: Call,
        limit: Duration,
        judge: impl Fn(&Answered) -> Standing,
    ) -> Result<Answered, Failed> {
        let deadline = Deadline { at: Instant::now() + limit, limit };
        // Whoever waits longer would have too little time left for the call itself.
        let patience = Instant::now() + limit / 2;
        loop {
            if let Some(link) = self.proven() {
                match link.call(call, deadline, &self.clock).await {
                    Tried::Ended(result) => {
                        let spent = result.as_ref().map_or(true, |answered| judge(answered) == Standing::Spent);
                        if spent {
                            self.retire(&link);
                        }
                        return result;
                    }
                    Tried::Unwritten(unwritten) => {
                        self.retire(&link);
                        call = unwritten;
                    }
                }
            }
            let Ok(turn) = timeout_at(patience, self.first.lock()).await else {
                let detail = "no connection was ready in time; others went first on it".to_owned();
                return Err(Failed::NotSent { code: "connection_not_ready", detail });
            };
            if self.proven().is_none() {
                return self.go_first(turn, call, deadline, judge).await;
            }
        }
    }

    /// A call alone on a connection that is not proven; the turn ends with it, or after a quarter of its time.
    async fn go_first(
        &self,
        mut turn: Turn<'_>,
        call: Call,
        deadline: Deadline,
        judge: impl Fn(&Answered) -> Standing,
    ) -> Result<Answered, Failed> {
        let left = turn.take().filter(|link| self.usable(link));
        let mut turn = Some(turn);
        let mut trying = pin!(self.alone(left, call, deadline));
        let result = match timeout(deadline.limit / 4, trying.as_mut()).await {
            Ok(result) => result,
            Err(_) => {
                turn = None;
                trying.await
            }
        };
        let (link, answered) = result?;
        // Before the turn ends, so that the next in line finds it.
        match (judge(&answered), turn.as_mut()) {
            // A late first call does not replace another's connection.
            (Standing::Proven, _) => drop(self.slot().get_or_insert(link)),
            (Standing::Open, Some(turn)) => **turn = Some(link),
            (Standing::Open, None) | (Standing::Spent, _) => {}
        }
        Ok(answered)
    }

    /// On the connection that the last one left unproven, else on a fresh one.
    async fn alone(
        &self,
        left: Option<Arc<Link>>,
        mut call: Call,
        deadline: Deadline,
    ) -> Result<(Arc<Link>, Answered), Failed> {
        if let Some(link) = left {
            match link.call(call, deadline, &self.clock).await {
                Tried::Ended(result) => return result.map(|answered| (link, answered)),
                Tried::Unwritten(unwritten) => call = unwritten,
            }
        }
        let link = self.connect(deadline).await?;
        match link.call(call, deadline, &self.clock).await {
            Tried::Ended(result) => result.map(|answered| (link, answered)),
            Tried::Unwritten(_) => {
                let detail = "the connection ended before the request was written".to_owned();
                Err(Failed::NotSent { code: "not_written", detail })
            }
        }
    }

    async fn connect(&self, deadline: Deadline) -> Result<Arc<Link>, Failed> {
        let not_sent = |code, detail: String| Failed::NotSent { code, detail };
        let connecting = self.connector.clone().oneshot(self.address.clone());
        let stream = match timeout_at(deadline.at, connecting).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(not_sent("connect_failed", root_cause(&*error))),
            Err(_) => return Err(not_sent("connect_timeout", "no connection in time".to_owned())),
        };
        if self.address.scheme_str() == Some("https") && !stream.connected().is_negotiated_h2() {
            return Err(not_sent("connect_failed", "the provider does not speak HTTP/2 there".to_owned()));
        }
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            // Until SETTINGS says otherwise. Not a proof of ours: the turn is.
            .initial_max_send_streams(1)
            .keep_alive_interval(PING_AFTER)
            .keep_alive_timeout(PING_TIMEOUT);
        let (sender, connection) = match timeout_at(deadline.at, builder.handshake(stream)).await {
            Ok(Ok(pair)) => pair,
            Ok(Err(error)) => return Err(not_sent("connect_failed", root_cause(&error))),
            Err(_) => return Err(not_sent("connect_timeout", "no connection in time".to_owned())),
        };
        // It ends by itself with its last call. Its error reaches the calls; nobody else wants it.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Arc::new(Link { sender, used_ms: AtomicU64::new(self.clock.now_ms()) }))
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<Link>>> {
        self.proven.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection that others may join. One that was told to go away, or that slept with a frozen instance while
    /// the wall clock went on, is forgotten instead.
    fn proven(&self) -> Option<Arc<Link>> {
        let mut slot = self.slot();
        if slot.as_ref().is_some_and(|link| !self.usable(link)) {
            *slot = None;
        }
        slot.clone()
    }

    fn usable(&self, link: &Link) -> bool {
        let unused_ms = self.clock.now_ms().saturating_sub(link.used_ms.load(Ordering::Relaxed));
        unused_ms < IDLE_MAX_MS && !link.sender.is_closed()
    }

    fn retire(&self, link: &Arc<Link>) {
        let mut slot = self.slot();
        if slot.as_ref().is_some_and(|current| Arc::ptr_eq(current, link)) {
            *slot = None;
        }
    }
}

impl Link {
    async fn call(&self, call: Call, deadline: Deadline, clock: &Clock) -> Tried {
        self.used_ms.store(clock.now_ms(), Ordering::Relaxed);
        let call = call.map(Watched::new);
        let fate = call.body().fate();
        let answer = self.sender.clone().try_send_request(call);
        let response = match timeout_at(deadline.at, answer).await {
            Ok(Ok(response)) => response,
            Ok(Err(mut error)) => {
                if let Some(unwritten) = error.take_message() {
                    return Tried::Unwritten(unwritten.map(Watched::into_inner));
                }
                let error = error.into_error();
                let detail = root_cause(&error);
                let first: &(dyn StdError + 'static) = &error;
                return Tried::Ended(Err(sent_or_not(Some(first), &fate, detail)));
            }
            // On a connection with as many open calls as the provider takes, it may still have waited for its turn.
            Err(_) => return Tried::Ended(Err(too_late(&fate, deadline.limit))),
        };
        self.used_ms.store(clock.now_ms(), Ordering::Relaxed);
        Tried::Ended(Ok(read(response, deadline.at, BODY_MAX_BYTES).await))
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
