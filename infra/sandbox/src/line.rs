//! How a request ends without an answer, on whichever protocol it came.
//!
//! In the extensions of every request of [`crate::Sandbox::serve`]; a provider's handler uses it to play a script.

use crate::http2;
use axum::response::{IntoResponse, Response};
use h2::Reason;
use http::StatusCode;
use std::sync::Arc;
use tokio::sync::Notify;

/// An end without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection is closed.
    Cut,
    /// The stream is reset; nothing says whether it was processed.
    Reset,
    /// The stream is refused: not processed.
    RefusedStream,
    /// GOAWAY below the stream: not processed.
    Goaway,
    /// GOAWAY that includes the stream, then the connection is closed.
    GoawayAfterAccept,
    /// Nothing, until the client goes away.
    Hang,
}

/// The way that a request came.
#[derive(Clone)]
pub(crate) enum Line {
    /// Told when the connection is to be closed: HTTP/1 has no other way to say nothing.
    Http1(Arc<Notify>),
    /// A stream of its own.
    Http2(http2::Stream),
}

/// Asks the server to reset the stream instead of answering. In the extensions of a response.
#[derive(Clone, Copy)]
pub(crate) struct ResetWith(pub(crate) Reason);

impl Line {
    /// Ends the request. Gives a response only where the server must act on it; else it never returns, and is dropped
    /// with its connection.
    pub(crate) async fn fail(self, fault: Fault) -> Response {
        match (self, fault) {
            (_, Fault::Hang) => {}
            (Self::Http1(cut), _) => cut.notify_one(),
            (Self::Http2(stream), Fault::Cut) => stream.connection.cut(),
            (Self::Http2(_), Fault::Reset) => return reset(Reason::INTERNAL_ERROR),
            (Self::Http2(_), Fault::RefusedStream) => return reset(Reason::REFUSED_STREAM),
            (Self::Http2(stream), Fault::Goaway) => {
                if !stream.connection.go_away_below(stream.id) {
                    return reset(Reason::REFUSED_STREAM);
                }
            }
            (Self::Http2(stream), Fault::GoawayAfterAccept) => stream.connection.go_away(),
        }
        std::future::pending().await
    }
}

fn reset(reason: Reason) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.extensions_mut().insert(ResetWith(reason));
    response
}
