//! One log line and one line of metrics for each request, whatever becomes of it: answered, refused or panicked.
//!
//! The layer stands around the whole router, so unknown routes and methods are seen too. What only a handler knows
//! (who asks, which message) it notes in [`Noted`]; a refusal's code rides on the answer. The path is never logged: a
//! message's idempotency key may stand in its query.

use crate::{Caller, Code};
use axum::{
    extract::{MatchedPath, Request, State},
    http::Method,
    middleware::Next,
    response::Response,
};
use futures_util::FutureExt;
use lambda_http::RequestExt;
use platform::{Clock, Stopwatch, events};
use protocol::{ids::MessageId, refund::id::RefundId};
use std::{
    panic::{AssertUnwindSafe, resume_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What a request without a route is counted under.
const UNMATCHED: &str = "unmatched";
/// The code of a request whose handler panicked.
const PANIC: &str = "panic";

/// The id of the invocation that serves a request, where no Lambda runtime gives one.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// What a handler learned of its request. Clones are the same note.
#[derive(Clone, Debug, Default)]
pub struct Noted(Arc<Mutex<Facts>>);

#[derive(Debug, Default)]
struct Facts {
    caller: Option<Caller>,
    message: Option<MessageId>,
    refund: Option<RefundId>,
    replayed: bool,
}

impl Noted {
    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who asks.
    pub fn caller(&self, caller: &Caller) {
        self.facts().caller = Some(caller.clone());
    }

    /// Which message the answer is about, and whether it repeats an earlier answer.
    pub fn message(&self, id: MessageId, replayed: bool) {
        let mut facts = self.facts();
        facts.message = Some(id);
        facts.replayed = replayed;
    }

    /// Which refund the answer is about, and whether it repeats an earlier answer.
    pub fn refund(&self, id: RefundId, replayed: bool) {
        let mut facts = self.facts();
        facts.refund = Some(id);
        facts.replayed = replayed;
    }
}

/// The layer.
pub(crate) async fn observe(State(clock): State<Clock>, mut request: Request, next: Next) -> Response {
    let watch = Stopwatch::start();
    let noted = Noted::default();
    request.extensions_mut().insert(noted.clone());
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let method = word(request.method());
    let local = request.extensions().get::<RequestId>().map(|RequestId(id)| id.clone());
    let request_id = local.or_else(|| Some(request.extensions().lambda_context_ref()?.request_id.clone()));

    let emit = |status: u16, code: Option<&'static str>| {
        let facts = noted.facts();
        let message = facts.message.map(|id| id.to_string());
        let refund = facts.refund.map(|id| id.to_string());
        events::Request {
            route: route.as_deref().unwrap_or(UNMATCHED),
            method,
            status,
            code,
            project: facts.caller.as_ref().map(|caller| caller.project.as_str()),
            actor: facts.caller.as_ref().map(|caller| caller.actor.as_str()),
            message_id: message.as_deref(),
            refund_id: refund.as_deref(),
            replayed: facts.replayed,
            latency_ms: watch.ms(),
            request_id: request_id.as_deref(),
        }
        .emit(clock.now_ms());
    };
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => {
            emit(response.status().as_u16(), response.extensions().get::<Code>().map(|code| code.word()));
            response
        }
        Err(panic) => {
            // What the caller gets is the runtime's business, as without this layer.
            emit(500, Some(PANIC));
            resume_unwind(panic)
        }
    }
}

/// The method, from a closed set: anybody can send any token as one, and it is a dimension of metrics.
fn word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
