//! HTTP/2 with prior knowledge: one connection, frame by frame where a script asks for it.
//!
//! Started by the accept loop when a client sends the HTTP/2 preface. As APNs does, it allows one stream until a
//! request showed a good token (any request to somebody else than APNs counts as one) and refuses the rest, then
//! raises the limit. All requests of a connection run in its one task, so what a GOAWAY says about them is true: a
//! request that it does not include was not processed and never will be.

mod wire;

use crate::line::{Line, ResetWith};
use axum::{
    Router,
    body::{Body, to_bytes},
};
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream::FuturesUnordered};
use h2::{Reason, RecvStream, server::SendResponse};
use http::{Request, header::CONTENT_LENGTH};
use std::{
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    net::TcpStream,
    sync::{Notify, mpsc, watch},
    time::{Instant, sleep_until},
};
use tower::ServiceExt;
use wire::Order;

use crate::{respond::BODY_MAX_BYTES, serve::stopped, state::Sandbox};

/// Streams that a proven connection may have open, as APNs allows at most.
const STREAMS_MAX: u32 = 1_000;
/// What the paths of APNs begin with. Nobody else is so strict about the first stream.
const APNS: &str = "/3/";
/// How long a connection stays open after a GOAWAY, for the answers of others.
const GOODBYE: Duration = Duration::from_millis(50);
/// Bytes between the protocol's state machine and the socket, each way.
const BUFFER: usize = 65_536;

/// A request's place on its connection.
#[derive(Clone)]
pub(crate) struct Stream {
    pub(crate) id: u32,
    pub(crate) connection: Arc<Connection>,
}

/// What the requests of one connection share.
pub(crate) struct Connection {
    orders: mpsc::UnboundedSender<Order>,
    cut: Notify,
    /// A GOAWAY was sent: the connection has an end now.
    ending: Notify,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// A request showed a good token.
    proven: bool,
    /// Whose token, and of which key.
    holder: Option<(String, String)>,
    /// The highest stream whose request was processed.
    processed: u32,
    /// The last stream that will be processed, and when the connection closes.
    going: Option<(u32, Instant)>,
}

impl Connection {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection as soon as what was answered is written.
    pub(crate) fn cut(&self) {
        self.cut.notify_one();
    }

    /// More streams are allowed from now on.
    pub(crate) fn prove(&self) {
        let mut progress = self.progress();
        if !progress.proven {
            progress.proven = true;
            // Nobody receives any more if the connection is closing.
            let _ = self.orders.send(Order::MaxStreams(STREAMS_MAX));
        }
    }

    /// The team and key of the first good token on this connection, which may be this one.
    pub(crate) fn holder(&self, team: &str, key_id: &str) -> (String, String) {
        self.progress().holder.get_or_insert_with(|| (team.to_owned(), key_id.to_owned())).clone()
    }

    /// Says goodbye; everything that was processed is included.
    pub(crate) fn go_away(&self) {
        let mut progress = self.progress();
        let last = progress.processed;
        self.say(&mut progress, last);
    }

    /// Says goodbye without this stream, which is then not processed. False if a later stream was processed already:
    /// a GOAWAY below both would be a lie, so it includes both, and the stream must be refused in another way.
    pub(crate) fn go_away_below(&self, id: u32) -> bool {
        let mut progress = self.progress();
        let below = progress.processed <= id;
        let last = if below { id.saturating_sub(2) } else { progress.processed };
        self.say(&mut progress, last);
        below
    }

    fn say(&self, progress: &mut Progress, last: u32) {
        // A second GOAWAY may only include less, and never less than what was processed.
        let last = progress.going.map_or(last, |(before, _)| before.min(last));
        progress.going = Some((last, Instant::now() + GOODBYE));
        let _ = self.orders.send(Order::GoAway(last));
        self.ending.notify_one();
    }

    /// Whether a stream's request is processed; from then on it was.
    fn begin(&self, id: u32) -> bool {
        let mut progress = self.progress();
        if progress.going.is_some_and(|(last, _)| id > last) {
            return false;
        }
        progress.processed = progress.processed.max(id);
        true
    }

    fn going(&self) -> Option<Instant> {
        self.progress().going.map(|(_, until)| until)
    }
}

/// Serves a connection to its end.
pub(crate) async fn serve(socket: TcpStream, sandbox: &Sandbox, router: Router, shutdown: watch::Receiver<bool>) {
    tokio::time::sleep(sandbox.settings_delay()).await;
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let (orders, ordered) = mpsc::unbounded_channel();
    let connection = Connection { orders, cut: Notify::new(), ending: Notify::new(), progress: Mutex::default() };
    tokio::join!(wire::run(socket, theirs, ordered), streams(ours, sandbox, router, Arc::new(connection), shutdown));
}

async fn streams(
    io: tokio::io::DuplexStream,
    sandbox: &Sandbox,
    router: Router,
    shared: Arc<Connection>,
    mut shutdown: watch::Receiver<bool>,
) {
    // A broken connection is the client's affair.
    let Ok(mut connection) = h2::server::handshake(io).await else { return };
    let mut running = FuturesUnordered::new();
    let mut stopping = false;
    loop {
        let going = shared.going();
        tokio::select! {
            // First, so that answers are written before anything is closed.
            biased;
            accepted = connection.accept() => match accepted {
                Some(Ok((request, mut respond))) => {
                    if !request.uri().path().starts_with(APNS) {
                        shared.prove();
                    }
                    if !shared.progress().proven && !running.is_empty() {
                        sandbox.count_refused_stream();
                        respond.send_reset(Reason::REFUSED_STREAM);
                    } else {
                        running.push(answer(request, respond, router.clone(), Arc::clone(&shared)));
                    }
                }
                Some(Err(_)) | None => return,
            },
            Some(()) = running.next() => {}
            () = shared.cut.notified() => return,
            () = shared.ending.notified() => {}
            () = sleep_until(going.unwrap_or_else(Instant::now)), if going.is_some() => return,
            () = stopped(&mut shutdown), if !stopping => {
                stopping = true;
                connection.graceful_shutdown();
            }
        }
    }
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    router: Router,
    connection: Arc<Connection>,
) {
    let id = respond.stream_id().as_u32();
    let (head, body) = request.into_parts();
    let Some(body) = read(body).await else {
        respond.send_reset(Reason::REFUSED_STREAM);
        return;
    };
    if !connection.begin(id) {
        return std::future::pending().await;
    }
    let mut request = Request::from_parts(head, Body::from(body));
    request.extensions_mut().insert(Line::Http2(Stream { id, connection }));
    let response = tokio::select! {
        response = router.oneshot(request) => response,
        // The client gave up.
        _ = poll_fn(|cx| respond.poll_reset(cx)) => return,
    };
    let Ok(response) = response;
    if let Some(ResetWith(reason)) = response.extensions().get() {
        respond.send_reset(*reason);
        return;
    }
    let (mut head, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    head.headers.insert(CONTENT_LENGTH, body.len().into());
    // An error says that the client is gone.
    let sent = respond.send_response(http::Response::from_parts(head, ()), body.is_empty());
    if let Ok(mut stream) = sent
        && !body.is_empty()
    {
        let _ = stream.send_data(body, true);
    }
}

/// The whole body; `None` if the client broke it off or it is too long.
async fn read(mut body: RecvStream) -> Option<Bytes> {
    let mut all = BytesMut::new();
    while let Some(part) = body.data().await {
        let part = part.ok()?;
        let _ = body.flow_control().release_capacity(part.len());
        all.extend_from_slice(&part);
        if all.len() > BODY_MAX_BYTES {
            return None;
        }
    }
    Some(all.freeze())
}
