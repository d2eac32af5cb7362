//! The proxy between the functions and DynamoDB, SQS and the providers: a network that fails where it is told to.
//!
//! Called by [`crate::World`]. One port for each upstream, HTTP/1 and HTTP/2 with prior knowledge on it, and one
//! connection upstream for each connection of a client, of the same version. It guarantees that a rule is used up
//! exactly as often as it says, that a request is passed on even if its client has gone meanwhile (as a network does),
//! and that everything that came by is in the log.

mod edit;
mod exchange;
mod gate;
mod rule;
mod wire;

pub use edit::Failure;
pub use exchange::Exchange;
pub use gate::{Decision, Gate, Held};
pub use rule::{Action, Handle, Rule};

use exchange::Request;
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use platform::Clock;
use rule::{Placed, Rules};
use std::{
    collections::HashMap,
    fmt,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};
use wire::{Answer, Upstream};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The client's connection ends here, or its stream is reset: as if the network had failed. With the status that its
/// request got, if it arrived.
#[derive(Debug, thiserror::Error)]
#[error("the proxy cuts this off")]
struct Cut(Option<http::StatusCode>);

/// Why a client gets no answer. What the upstream said of it (HTTP/2: why it reset the stream) is passed on as well.
#[derive(Debug, thiserror::Error)]
#[error("no answer")]
struct NoAnswer(#[source] BoxError);

/// What stands behind the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// DynamoDB.
    DynamoDb,
    /// SQS.
    Sqs,
    /// APNs, FCM, OAuth, and Secrets Manager.
    Providers,
}

const SIDES: [Side; 3] = [Side::DynamoDb, Side::Sqs, Side::Providers];

/// A running proxy.
pub struct Proxy {
    shared: Arc<Shared>,
    ports: [SocketAddr; 3],
    tasks: JoinSet<()>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("ports", &self.ports).finish_non_exhaustive()
    }
}

struct Shared {
    upstreams: watch::Sender<[Option<SocketAddr>; 3]>,
    rules: Rules,
    /// The first answer to each read that may be behind, by the request: what a stale read gives again.
    reads: Mutex<HashMap<String, Answer>>,
    clock: OnceLock<Clock>,
    log: Mutex<Vec<Exchange>>,
    gate: gate::Door,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Proxy {
    /// Listens; requests wait until [`Proxy::forward_to`] says where they go.
    pub async fn start() -> Self {
        let shared = Arc::new(Shared {
            upstreams: watch::Sender::new([None; 3]),
            rules: Rules::default(),
            reads: Mutex::default(),
            clock: OnceLock::new(),
            log: Mutex::default(),
            gate: gate::Door::default(),
        });
        let mut tasks = JoinSet::new();
        let mut ports = Vec::new();
        for side in SIDES {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            ports.push(listener.local_addr().unwrap());
            tasks.spawn(accept(listener, side, shared.clone()));
        }
        Self { shared, ports: ports.try_into().unwrap(), tasks }
    }

    /// Where requests of a side go, by URL.
    pub fn forward_to(&self, side: Side, url: &str) {
        let address = url.trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
        self.shared.upstreams.send_modify(|all| all[side as usize] = Some(address));
    }

    /// The clock by which exchanges are dated. Said once.
    pub(crate) fn set_clock(&self, clock: Clock) {
        self.shared.clock.set(clock).expect("said once");
    }

    /// The URL under which a side is reached.
    #[must_use]
    pub fn url(&self, side: Side) -> String {
        format!("http://{}", self.ports[side as usize])
    }

    /// Places a rule. Of several that match a request the one placed first is followed.
    pub fn rule(&self, rule: Rule) -> Handle {
        self.shared.rules.place(rule)
    }

    /// Tells the gate that a consumer's slot is handed a new copy.
    pub fn begins(&self, slot: usize) {
        self.shared.gate.begins(slot);
    }

    /// From now on every effect of a machine waits for a decision, until the gate is dropped.
    #[must_use]
    pub fn gate(&self) -> Gate {
        self.shared.gate.close()
    }

    /// Everything that came by, in the order in which it ended.
    #[must_use]
    pub fn log(&self) -> Vec<Exchange> {
        locked(&self.shared.log).clone()
    }

    /// Everything that came by since this was last asked, which the log forgets: for runs too long to keep it all.
    #[must_use]
    pub fn take_log(&self) -> Vec<Exchange> {
        std::mem::take(&mut *locked(&self.shared.log))
    }

    /// The exchanges of an operation whose request holds `key`.
    #[must_use]
    pub fn seen(&self, operation: &str, key: &str) -> Vec<Exchange> {
        let log = locked(&self.shared.log);
        log.iter().filter(|exchange| exchange.operation == operation && exchange.holds(key)).cloned().collect()
    }

    /// Ends it; open connections are cut.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

async fn accept(listener: TcpListener, side: Side, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        connections.spawn(connection(stream, side, shared.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, side: Side, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let mut upstreams = shared.upstreams.subscribe();
    let Ok(upstream) = upstreams.wait_for(|all| all[side as usize].is_some()).await.map(|all| all[side as usize])
    else {
        return;
    };
    let upstream = Arc::new(Upstream::new(upstream.unwrap()));
    let service = service_fn(move |request: http::Request<Incoming>| {
        let (shared, upstream) = (shared.clone(), upstream.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = match body.collect().await {
                Ok(body) => body.to_bytes(),
                Err(error) => return Err(NoAnswer(error.into())),
            };
            let request = Request::new(side, head, body);
            // A task of its own: what was sent arrives, whether its sender waits or not.
            let exchange = tokio::spawn(async move { shared.exchange(request, &upstream).await });
            match exchange.await {
                Ok(Ok(answer)) => Ok(answer.into_response().map(Full::new)),
                Ok(Err(error)) => Err(NoAnswer(error)),
                Err(error) => Err(NoAnswer(error.into())),
            }
        }
    });
    let mut server = Builder::new(TokioExecutor::new());
    server.http2().max_concurrent_streams(1_000);
    // How a connection ends is the client's story.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

impl Shared {
    async fn exchange(&self, request: Request, upstream: &Upstream) -> Result<Answer, BoxError> {
        let from_ms = self.now_ms();
        if let Some(asked) = self.gate.ask(&request) {
            let ended = asked.follow(self, &request, upstream).await;
            self.write_down(&request, from_ms, Some("gate"), ended.as_ref());
            return ended;
        }
        let placed = self.rules.find(&request);
        let name = placed.as_ref().map(|placed| placed.action().name());
        let ended = match &placed {
            Some(placed) => self.follow(placed, &request, upstream).await,
            None => self.pass(&request, upstream).await,
        };
        self.write_down(&request, from_ms, name, ended.as_ref());
        // A rule that acts after the upstream is hit only now, when the log says so.
        if let Some(placed) = placed {
            placed.done();
        }
        ended
    }

    fn now_ms(&self) -> u64 {
        self.clock.get().map_or(0, Clock::now_ms)
    }

    fn write_down(
        &self,
        request: &Request,
        from_ms: u64,
        done: Option<&'static str>,
        ended: Result<&Answer, &BoxError>,
    ) {
        locked(&self.log).push(Exchange::new(request, done, ended, (from_ms, self.now_ms())));
    }

    async fn pass(&self, request: &Request, upstream: &Upstream) -> Result<Answer, BoxError> {
        let answer = upstream.send(request).await?;
        if request.reads_stale() {
            locked(&self.reads).entry(request.json().to_string()).or_insert_with(|| answer.clone());
        }
        Ok(answer)
    }

    /// The first answer that the same request got. The SDK writes maps in any order, and a JSON value in one.
    fn earlier(&self, request: &Request) -> Option<Answer> {
        locked(&self.reads).get(&request.json().to_string()).cloned()
    }

    async fn follow(&self, placed: &Placed, request: &Request, upstream: &Upstream) -> Result<Answer, BoxError> {
        match placed.action() {
            Action::DropRequest => Err(Cut(None).into()),
            Action::DropResponse => {
                let answer = self.pass(request, upstream).await?;
                Err(Cut(Some(answer.status())).into())
            }
            Action::Delay(by) => {
                tokio::time::sleep(Duration::from_millis(*by)).await;
                self.pass(request, upstream).await
            }
            Action::Duplicate => {
                let first = self.pass(request, upstream).await;
                let second = self.pass(request, upstream).await;
                first.or(second)
            }
            Action::Hold => {
                placed.hold().await;
                self.pass(request, upstream).await
            }
            Action::HoldThenDrop => {
                placed.hold().await;
                Err(Cut(None).into())
            }
            Action::HoldDropResponse => {
                placed.hold().await;
                let answer = self.pass(request, upstream).await?;
                Err(Cut(Some(answer.status())).into())
            }
            Action::HoldResponse => {
                let answer = self.pass(request, upstream).await;
                placed.hold().await;
                answer
            }
            Action::Fail(failure) => Ok(failure.answer(request)),
            Action::FailEntries(entries) | Action::ForgetEntries(entries) | Action::RefuseEntries(entries) => {
                let refused = matches!(placed.action(), Action::RefuseEntries(_));
                let (request, mut failed) = edit::without_entries(request, entries, refused);
                let answer = match &request {
                    Some(request) => Some(self.pass(request, upstream).await?),
                    None => None,
                };
                if matches!(placed.action(), Action::ForgetEntries(_)) {
                    failed.clear();
                }
                Ok(edit::with_failed(answer, failed))
            }
            Action::Stale => Ok(self.earlier(request).unwrap_or_else(edit::nothing)),
        }
    }
}
