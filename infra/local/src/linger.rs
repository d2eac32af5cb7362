//! A request body that may be refused unread without the client losing the answer.
//!
//! Used by the front. A function refuses some bodies before reading them (413). A server that answers and closes while
//! the client still sends makes the client see a reset instead of the answer, so what is left of a body is read and
//! dropped behind the answer, within bounds.

use axum::body::{Body, Bytes};
use futures_util::StreamExt;
use http_body::{Body as HttpBody, Frame, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

/// Most that is read behind an answer, in bytes (API Gateway takes 10 MB at most; HTTP API quotas).
const LINGER_BYTES: usize = 10 * 1_024 * 1_024;
/// Longest time for it, in real time.
const LINGER: Duration = Duration::from_secs(10);

/// A body whose rest is read when it is dropped.
#[derive(Debug)]
pub(crate) struct Lingering(Option<Body>);

impl Lingering {
    pub(crate) fn new(body: Body) -> Self {
        Self(Some(body))
    }
}

impl HttpBody for Lingering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = self.0.as_mut() else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        if let Poll::Ready(None | Some(Err(_))) = polled {
            self.0 = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let Some(body) = self.0.take().filter(|body| !body.is_end_stream()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let mut read = 0;
            let mut rest = body.into_data_stream();
            let drain = async {
                while let Some(Ok(bytes)) = rest.next().await {
                    read += bytes.len();
                    if read > LINGER_BYTES {
                        return;
                    }
                }
            };
            let _ = tokio::time::timeout(LINGER, drain).await;
        });
    }
}
