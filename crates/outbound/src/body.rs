//! A request's body that knows whether its connection has begun to take it.
//!
//! Used where a call is given up: a provider that was never handed the body cannot have had the request, however long it
//! waited for a stream. hyper asks for a body only when it writes it (`ClientTask` in its `proto/h2/client.rs`, the
//! dispatcher of its `proto/h1`), and one that is withheld is never handed out after that, so what is said of it stays
//! true whatever the connection's own task does in that moment.

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll},
};

const WAITING: u8 = 0;
const TAKEN: u8 = 1;
const WITHHELD: u8 = 2;

/// A body, and what becomes of it.
#[derive(Debug)]
pub struct Watched {
    body: Full<Bytes>,
    fate: Fate,
}

/// What becomes of a body.
#[derive(Clone, Debug)]
pub struct Fate(Arc<AtomicU8>);

/// The body was withheld before anybody asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the call was given up before its body was written")]
pub struct Withheld;

impl Watched {
    /// Nobody has asked for it yet. An empty body goes out with the head and is never asked for: it counts as taken.
    #[must_use]
    pub fn new(body: Full<Bytes>) -> Self {
        let state = if body.is_end_stream() { TAKEN } else { WAITING };
        Self { body, fate: Fate(Arc::new(AtomicU8::new(state))) }
    }

    /// A second hand on its fate, for when the body is the connection's.
    #[must_use]
    pub fn fate(&self) -> Fate {
        self.fate.clone()
    }

    /// The body, for another connection.
    #[must_use]
    pub fn into_inner(self) -> Full<Bytes> {
        self.body
    }
}

impl Fate {
    /// From now on nobody gets the body who has not asked for it before. Says whether nobody had: then not one byte of it
    /// was or will be written.
    #[must_use]
    pub fn withhold(&self) -> bool {
        match self.0.compare_exchange(WAITING, WITHHELD, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(state) => state == WITHHELD,
        }
    }

    fn take(&self) -> Result<(), Withheld> {
        match self.0.compare_exchange(WAITING, TAKEN, Ordering::AcqRel, Ordering::Acquire) {
            Err(WITHHELD) => Err(Withheld),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = Withheld;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if let Err(withheld) = self.fate.take() {
            return Poll::Ready(Some(Err(withheld)));
        }
        Pin::new(&mut self.body).poll_frame(context).map_err(|never| match never {})
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    fn watched(text: &'static str) -> Watched {
        Watched::new(Bytes::from_static(text.as_bytes()).into())
    }

    #[tokio::test]
    async fn a_body_that_was_withheld_in_time_is_handed_to_nobody() {
        let body = watched("{}");
        let fate = body.fate();
        assert!(fate.withhold() && fate.withhold(), "nobody had it");
        assert_eq!(body.collect().await.unwrap_err(), Withheld);
    }

    #[tokio::test]
    async fn a_body_that_was_asked_for_cannot_be_withheld() {
        let mut body = watched("{}");
        let fate = body.fate();
        assert_eq!(body.size_hint().exact(), Some(2));
        assert!(body.frame().await.is_some_and(|frame| frame.is_ok()));
        assert!(!fate.withhold());
        assert!(body.frame().await.is_none() && body.is_end_stream());
    }

    /// It goes out with the head, so nobody can tell when.
    #[test]
    fn an_empty_body_counts_as_written() {
        assert!(!watched("").fate().withhold());
    }
}
