//! The routes, and the order in which a request is refused.
//!
//! As for messages: route, method, API key, scope, content type, size, syntax, unknown members, key, validation, and
//! only then what is stored.

use crate::{
    Refunds,
    change::change,
    create::create,
    decide::decide,
    list::asked,
    request::{read_refund, read_resolve, read_retry},
    view::{Created, Decided, Page, Resolved, Retried, Shown},
    webhook::webhook,
};
use axum::{
    Extension, Json, Router,
    body::Body,
    extract::{Path, RawQuery, State, rejection::PathRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use platform::{RandomError, rfc3339_ms};
use protocol::{
    machine::{
        change_payout::{Answer, Ask, Verdict as Changed},
        create_refund::Verdict as CreateVerdict,
        decide_refund::Verdict as DecideVerdict,
    },
    refund::{
        decide::Verdict,
        id::RefundId,
        payout::State as PayoutState,
        person::{Resolve, Retry, Seen},
    },
};
use sendonce_http::{
    Caller, Code, Noted, Problem, REPLAYED,
    contract::{ROUTES, RefundRoute, Route},
    list::to_cursor,
    read_body,
};
use std::sync::Arc;

type Shared = State<Arc<Refunds>>;
type Id = Result<Path<String>, PathRejection>;

/// The router that AWS and the local system serve.
pub fn router(refunds: Arc<Refunds>) -> Router {
    let routes: Vec<_> = ROUTES.iter().filter_map(|row| Some((row.path, handler(row.route)?))).collect();
    sendonce_http::router(&routes, &refunds.cors, refunds.clock.clone(), Arc::clone(&refunds))
}

/// The handler of a route that this function serves.
fn handler(route: Route) -> Option<MethodRouter<Arc<Refunds>>> {
    let Route::Refunds(route) = route else { return None };
    Some(match route {
        RefundRoute::Create => post(create_refund),
        RefundRoute::List => get(list),
        RefundRoute::Show => get(show),
        RefundRoute::Approve => post(approve),
        RefundRoute::Reject => post(reject),
        RefundRoute::Retry => post(retry),
        RefundRoute::Resolve => post(resolve),
        RefundRoute::Webhook => post(webhook),
    })
}

/// The caller of a route, with the route's scope. A route without one is never asked.
async fn caller(refunds: &Refunds, route: RefundRoute, headers: &HeaderMap, noted: &Noted) -> Result<Caller, Problem> {
    match Route::Refunds(route).scope() {
        Some(scope) => {
            let caller = refunds.auth.caller(headers, scope).await?;
            noted.caller(&caller);
            Ok(caller)
        }
        None => Err(missing()),
    }
}

fn missing() -> Problem {
    Problem::new(Code::NotFound, "There is no such refund.")
}

/// A path that is no id of ours, or not UTF-8 once decoded, names nothing.
fn named(id: Id) -> Result<RefundId, Problem> {
    id.ok().and_then(|Path(id)| RefundId::parse(&id)).ok_or_else(missing)
}

fn no_nonce(error: RandomError) -> Problem {
    tracing::error!(error = %error, "a nonce could not be made");
    Problem::unavailable()
}

async fn create_refund(
    State(refunds): Shared,
    Extension(noted): Extension<Noted>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let caller = caller(&refunds, RefundRoute::Create, &headers, &noted).await?;
    let bytes = read_body(&headers, body).await?;
    let (key, request) = read_refund(&headers, &bytes)?;
    let location = |id: RefundId| [(header::LOCATION, format!("/v1/refunds/{id}"))];
    match create(&refunds, &caller, &key, request).await.map_err(no_nonce)? {
        CreateVerdict::Created(id) => {
            noted.refund(id, false);
            Ok((StatusCode::CREATED, location(id), Json(Created::new("pending", id))).into_response())
        }
        CreateVerdict::Duplicate(id) => {
            noted.refund(id, true);
            let replayed = [(REPLAYED, "true")];
            Ok((location(id), replayed, Json(Created::new("duplicate_ignored", id))).into_response())
        }
        CreateVerdict::Reused => {
            let detail = "This idempotency key was used for a refund with another body. Send the first body again to \
                          learn its id, or choose a new key for a new refund.";
            Err(Problem::new(Code::IdempotencyKeyReused, detail))
        }
        CreateVerdict::Unavailable => Err(Problem::unavailable()),
    }
}

async fn show(
    State(refunds): Shared,
    Extension(noted): Extension<Noted>,
    headers: HeaderMap,
    id: Id,
) -> Result<Response, Problem> {
    let caller = caller(&refunds, RefundRoute::Show, &headers, &noted).await?;
    let id = named(id)?;
    let stored = refunds.store.refund(id).await.map_err(|error| {
        tracing::error!(%id, error = %error, "a refund could not be read");
        Problem::unavailable()
    })?;
    let refund = stored.filter(|refund| refund.project == caller.project).ok_or_else(missing)?;
    noted.refund(id, false);
    Ok(Json(Shown::whole(&refund)).into_response())
}

async fn list(
    State(refunds): Shared,
    Extension(noted): Extension<Noted>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let caller = caller(&refunds, RefundRoute::List, &headers, &noted).await?;
    let (status, asked) = asked(query.as_deref())?;
    let page = refunds.store.refunds(&caller.project, status, asked.limit, asked.after).await;
    let page = page.map_err(|error| {
        tracing::error!(error = %error, "refunds could not be listed");
        Problem::unavailable()
    })?;
    let rows = page.refunds.iter().map(Shown::row).collect();
    Ok(Json(Page { refunds: rows, next_cursor: page.next.map(|next| to_cursor(&next.to_string())) }).into_response())
}

async fn approve(
    State(refunds): Shared,
    Extension(noted): Extension<Noted>,
    headers: HeaderMap,
    id: Id,
) -> Result<Response, Problem> {
    let caller = caller(&refunds, RefundRoute::Approve, &headers, &noted).await?;
    decision(&refunds, &caller, named(id)?, Verdict::Approve, &noted).await
}

async fn reject(
    State(refunds): Shared,
    Extension(noted): Extension<Noted>,
    headers: HeaderMap,
    id: Id,
) -> Result<Response, Problem> {
    let caller = caller(&refunds, RefundRoute::Reject, &headers, &noted).await?;
    decision(&refunds, &caller, named(id)?, Verdict::Reject, &noted).await
}

async fn decision(
    refunds: &Refunds,
    caller: &Caller,
    id: RefundId,
    verdict: Verdict,
    noted: &Noted,
) -> Result<Response, Problem> {
    match decide(refunds, caller, id, verdict).await.map_err(no_nonce)? {
        DecideVerdict::Decided { decision, payout, already } => {
            noted.refund(id, already);
            Ok(Json(Decided::new(id, &decision, payout, already)).into_response())
        }
        DecideVerdict::NotPending(decision) => {
            noted.refund(id, false);
            let detail = match decision.verdict {
                Verdict::Approve => "This refund was approved before. A decision is final.",
                Verdict::Reject => "This refund was rejected before. A decision is final.",
            };
            let problem = Problem::new(Code::RefundNotPending, detail).with_member("decided_by", decision.by);
            Err(problem.with_member("decided_at", rfc3339_ms(decision.at_ms)))
        }
        DecideVerdict::NotFound => Err(missing()),
        DecideVerdict::Unavailable => Err(Problem::unavailable()),
    }
}

async fn retry(
    State(refunds): Shared,
    Extension(noted): Extension<Noted>,
    headers: HeaderMap,
    id: Id,
    body: Body,
) -> Result<Response, Problem> {
    let caller = caller(&refunds, RefundRoute::Retry, &headers, &noted).await?;
    let failed = read_retry(&read_body(&headers, body).await?)?;
    let id = named(id)?;
    let ask = Ask::Retry { named: failed, actor: caller.actor.clone() };
    let retry = match change(&refunds, &caller.project, id, ask).await {
        Changed::Answer(Answer::Retry(retry)) => retry,
        // One of another kind answers nothing that was asked here.
        Changed::Unavailable | Changed::Answer(_) => return Err(Problem::unavailable()),
        Changed::NotFound => return Err(missing()),
    };
    match retry {
        Retry::Write(_, _, successor) => {
            noted.refund(id, false);
            Ok(Json(Retried::new(failed, successor, false)).into_response())
        }
        Retry::Repeated(successor) => {
            noted.refund(id, true);
            Ok(Json(Retried::new(failed, successor, true)).into_response())
        }
        Retry::Busy(until_ms) => {
            let seconds = until_ms.saturating_sub(refunds.clock.now_ms()).div_ceil(1_000).max(1);
            let detail = "The payout failed a moment ago, and a call for it may still be under way.";
            Err(Problem::new(Code::PayoutBusy, detail).retry_after(seconds))
        }
        Retry::NotFailed(state) => {
            Err(Problem::new(Code::PayoutNotFailed, format!("The payout is {}, not failed.", state.as_str())))
        }
        Retry::Unknown => Err(Problem::new(Code::NotFound, "This refund has no such payout.")),
    }
}

async fn resolve(
    State(refunds): Shared,
    Extension(noted): Extension<Noted>,
    headers: HeaderMap,
    id: Id,
    body: Body,
) -> Result<Response, Problem> {
    let caller = caller(&refunds, RefundRoute::Resolve, &headers, &noted).await?;
    let (payout, seen) = read_resolve(&read_body(&headers, body).await?)?;
    let id = named(id)?;
    let stands = match &seen {
        Seen::Paid { .. } => PayoutState::Paid,
        Seen::NotPaid { .. } => PayoutState::Failed,
    };
    let ask = Ask::Resolve { named: payout, seen, actor: caller.actor.clone() };
    let resolve = match change(&refunds, &caller.project, id, ask).await {
        Changed::Answer(Answer::Resolve(resolve)) => resolve,
        // One of another kind answers nothing that was asked here.
        Changed::Unavailable | Changed::Answer(_) => return Err(Problem::unavailable()),
        Changed::NotFound => return Err(missing()),
    };
    let resolved = |already| {
        noted.refund(id, already);
        Ok(Json(Resolved::new(id, stands.as_str(), already)).into_response())
    };
    match resolve {
        Resolve::Write(..) => resolved(false),
        Resolve::Repeated => resolved(true),
        Resolve::NotInReview(state) => {
            Err(Problem::new(Code::PayoutNotInReview, format!("The payout is {}, not in review.", state.as_str())))
        }
        Resolve::OtherReference => {
            let detail = "The payout is paid, under another reference than this one.";
            Err(Problem::new(Code::PayoutNotInReview, detail))
        }
        Resolve::ObjectFailed => {
            let detail = "The provider said that the object with this reference failed.";
            Err(Problem::new(Code::PayoutNotInReview, detail))
        }
        Resolve::NotNamed(object) => Err(Problem::new(
            Code::PayoutNotInReview,
            format!("The provider shows {object} for this payout: give that as reference, if it is what was not paid."),
        )),
        Resolve::NotCurrent(current) => Err(Problem::new(
            Code::PayoutNotInReview,
            format!("The refund's payout is {current}: name that one, if it is the one that you looked at."),
        )),
        Resolve::Unknown => Err(Problem::new(Code::PayoutNotInReview, "This refund has no payout.")),
    }
}
