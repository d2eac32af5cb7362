//! The accept loop. It serves each connection itself, because some outcomes close one in the middle of a request,
//! which a router alone cannot do.

use crate::{Sandbox, http2, line::Line};
use axum::Router;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    task::JoinSet,
};
use tower::ServiceExt;

/// How long open requests may take to end after shutdown; those that hang on purpose never would.
const DRAIN: Duration = Duration::from_secs(1);
/// Pause after a failed accept (out of file descriptors, usually), so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long to wait before another look at a connection whose first bytes do not say yet what it speaks.
const PEEK_PAUSE: Duration = Duration::from_millis(1);
/// What the HTTP/2 preface begins with (RFC 9113, section 3.4); no HTTP/1 method does.
const HTTP2: [u8; 3] = *b"PRI";

impl Sandbox {
    /// Serves the sandbox's routes and `extra` (which may not name one of ours) until `shutdown` turns true or its
    /// sender is gone. Returns after open requests have ended or a second has passed.
    pub async fn serve(&self, listener: TcpListener, extra: Router, mut shutdown: watch::Receiver<bool>) {
        let router = self.router().merge(extra);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        self.shared.connections.fetch_add(1, Ordering::Relaxed);
                        connections.spawn(connection(stream, self.clone(), router.clone(), shutdown.clone()));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the sandbox could not accept a connection");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(_) = connections.join_next() => {}
                () = stopped(&mut shutdown) => break,
            }
        }
        drop(listener);
        let drained = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN, drained).await.is_err() {
            connections.shutdown().await;
        }
    }
}

/// Serves one connection to its end. Dropping it is what closes the socket; a client that goes away ends it too, and
/// with it the request that it waited for.
async fn connection(stream: TcpStream, sandbox: Sandbox, router: Router, mut shutdown: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let http2 = tokio::select! {
        http2 = is_http2(&stream) => http2,
        () = stopped(&mut shutdown) => return,
    };
    if http2 {
        return http2::serve(stream, &sandbox, router, shutdown).await;
    }
    let cut = Arc::new(Notify::new());
    let for_requests = Arc::clone(&cut);
    let service = service_fn(move |mut request: http::Request<Incoming>| {
        request.extensions_mut().insert(Line::Http1(Arc::clone(&for_requests)));
        router.clone().oneshot(request)
    });
    let mut serving = std::pin::pin!(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // A broken connection is the client's affair.
        _ = serving.as_mut() => return,
        () = cut.notified() => return,
        () = stopped(&mut shutdown) => serving.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = serving => {}
        () = cut.notified() => {}
    }
}

/// Looks at the first bytes without taking them.
async fn is_http2(stream: &TcpStream) -> bool {
    loop {
        let mut first = [0; HTTP2.len()];
        match stream.peek(&mut first).await {
            Ok(3) => return first == HTTP2,
            Ok(read) if read > 0 && HTTP2.starts_with(&first[..read]) => tokio::time::sleep(PEEK_PAUSE).await,
            _ => return false,
        }
    }
}

/// Waits for the order to stop, or for whoever could give it to be gone.
pub(crate) async fn stopped(shutdown: &mut watch::Receiver<bool>) {
    let _ = shutdown.wait_for(|stop| *stop).await;
}
