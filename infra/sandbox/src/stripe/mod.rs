//! Stripe's refund calls: create with an idempotency key, list, retrieve. Checks a request as Stripe does, then plays the
//! payment's script, in which the payment's id stands for the device token.
//!
//! Every create call that passes the checks uses up one outcome of the script, also one that turns out to be a replay. The
//! listing of a payment has a script of its own, under `list:` and the payment's id. Calls that make nothing (listings)
//! leave no entry in the ledger.
//!
//! It knows no payments, so any payment exists and has money enough; a script says otherwise
//! (`{"status": 400, "reason": "charge_already_refunded"}`). Two things an id may say of itself: `pi_unknown…` and
//! `ch_unknown…` do not exist, and `pi_eur_…` was paid in euros, whatever currency is meant.
//!
//! Sources: <https://docs.stripe.com/api/refunds>, <https://docs.stripe.com/api/idempotent_requests>,
//! <https://docs.stripe.com/error-low-level>, stripe-python 15.3.1.

mod check;
mod keys;
mod refunds;
mod refusal;
mod webhook;

pub(crate) use refunds::Stripe;
pub(crate) use webhook::{API_KEYS, handle as send_webhook};
pub use webhook::{SettleFault, Webhook};

use crate::{
    Sandbox,
    ledger::{Entry, shown},
    line::{Fault, Line},
    respond::json,
    script::Outcome,
    state::State as Shelf,
};
use axum::{
    Extension,
    extract::{Path, RawQuery, State},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header::RETRY_AFTER};
use keys::{Found, Running, Stored};
use refunds::Object;
use refusal::Refusal;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The parameters of a form or a query.
pub(crate) type Params = BTreeMap<String, String>;

/// The name of the provider in the ledger.
pub(crate) const PROVIDER: &str = "stripe";
/// Whose API key an accepted request had, among the headers in the ledger, which do not show the key.
const ACCOUNT: &str = ":account";
/// What stands before a payment's id where its listing is meant.
const LISTING: &str = "list:";
/// Statuses that Stripe answers before its idempotency layer, so that nothing is kept under the key.
const NOT_KEPT: [u16; 5] = [401, 403, 409, 424, 429];

/// What becomes of a request after it was written down.
enum Then {
    Answer(Response),
    /// No answer. While it lasts the key may be in use.
    Fail(Fault, Option<Running>),
}

pub(crate) async fn create(
    State(sandbox): State<Sandbox>,
    line: Option<Extension<Line>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match (decide(&sandbox, &headers, &body), line) {
        (Then::Answer(response), _) => response,
        (Then::Fail(fault, running), line) => {
            // Dropped with this request, when the client goes away: the key is free, or its answer is kept, from then on.
            let _running = running;
            match line {
                Some(Extension(line)) => line.fail(fault).await,
                None => std::future::pending().await,
            }
        }
    }
}

/// Decides and writes the ledger entry in one step, so that an answer is never seen before its entry.
fn decide(sandbox: &Sandbox, headers: &HeaderMap, body: &[u8]) -> Then {
    let params: Params = url::form_urlencoded::parse(body).into_owned().collect();
    let mut entry = Entry {
        seq: 0,
        provider: PROVIDER,
        token: payment(&params).map(str::to_owned),
        id: None,
        collapse_id: None,
        headers: shown(headers),
        payload: json!(params),
        idempotency_key: headers.get("idempotency-key").map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned()),
        amount: params.get("amount").and_then(|amount| amount.parse().ok()),
        accepted: false,
        answered: true,
        status: None,
        at: sandbox.shared.clock.now_ms(),
    };
    let mut state = sandbox.state();
    let then = match check::create(&state.stripe, headers, &params) {
        Ok(account) => play(sandbox, &mut state, &account, params, &mut entry),
        Err(refusal) => Then::Answer(refusal.response()),
    };
    match &then {
        Then::Answer(response) => entry.status = Some(response.status().as_u16()),
        Then::Fail(..) => entry.answered = false,
    }
    state.ledger.add(entry);
    then
}

/// The payment that a request names.
fn payment(params: &Params) -> Option<&str> {
    let named = |name: &str| params.get(name).filter(|id| !id.is_empty()).map(String::as_str);
    named("payment_intent").or_else(|| named("charge"))
}

fn play(sandbox: &Sandbox, state: &mut Shelf, account: &str, params: Params, entry: &mut Entry) -> Then {
    let outcome = state.scripts.next(entry.token.as_deref().unwrap_or_default());
    match &outcome {
        Outcome::Answer { status, .. } | Outcome::AnswerAbout { status, .. } if NOT_KEPT.contains(status) => {
            return Then::Answer(scripted(&outcome));
        }
        Outcome::AnswerUnkept { .. } => return Then::Answer(scripted(&outcome)),
        Outcome::Reset | Outcome::Goaway | Outcome::RefusedStream => {
            return outcome
                .fault()
                .map_or_else(|| Then::Answer(Refusal::busy().response()), |fault| Then::Fail(fault, None));
        }
        _ => {}
    }
    let Ok(id) = refunds::fresh_id(&sandbox.shared.random, "re_") else {
        return Then::Answer(Refusal::internal().response());
    };
    let key = entry.idempotency_key.clone();
    let found = key.as_ref().map(|key| state.stripe.keys.find(account, key, &params, entry.at));
    match found {
        Some(Found::Other) => return Then::Answer(Refusal::other_parameters().response()),
        Some(Found::Running) => return Then::Answer(Refusal::in_use().response()),
        Some(Found::Kept(stored)) => {
            return match outcome.fault() {
                Some(fault) => Then::Fail(fault, None),
                None => Then::Answer(stored.response(true)),
            };
        }
        Some(Found::Free) | None => {}
    }
    let stored = match &outcome {
        // Nothing is made, and nothing kept; but the key is in use until the client gives up.
        Outcome::Hang => None,
        Outcome::Answer { .. } | Outcome::AnswerAbout { .. } => Some(stored_refusal(&outcome)),
        _ => {
            let object = Object::made(&id, account, &params, outcome.is_pending(), entry.at);
            let body = object.shown();
            if !state.stripe.add(object) {
                return Then::Answer(Refusal::busy().response());
            }
            entry.accepted = true;
            entry.id = Some(id);
            entry.headers.insert(ACCOUNT.to_owned(), account.to_owned());
            Some(match outcome {
                Outcome::ErrorAfterAccept => Refusal::internal().stored(),
                _ => Stored { status: 200, body },
            })
        }
    };
    match (outcome.fault(), stored) {
        (None, Some(stored)) => {
            let mut response = stored.response(false);
            wait(&mut response, &outcome);
            state.stripe.keys.keep(account, key, params, stored, entry.at);
            Then::Answer(response)
        }
        (Some(fault @ Fault::Hang), stored) => {
            let running = key.map(|key| {
                state.stripe.keys.run(account, &key, params, stored, entry.at);
                Running::new(sandbox.clone(), account, &key)
            });
            Then::Fail(fault, running)
        }
        (Some(fault), Some(stored)) => {
            state.stripe.keys.keep(account, key, params, stored, entry.at);
            Then::Fail(fault, None)
        }
        (None | Some(_), None) => Then::Fail(Fault::Hang, None),
    }
}

fn stored_refusal(outcome: &Outcome) -> Stored {
    match outcome {
        Outcome::Answer { status, reason, .. }
        | Outcome::AnswerAbout { status, reason, .. }
        | Outcome::AnswerUnkept { status, reason } => Refusal::scripted(*status, reason.clone()).stored(),
        _ => Refusal::internal().stored(),
    }
}

/// What a script asked for, with its wait.
fn scripted(outcome: &Outcome) -> Response {
    let mut response = stored_refusal(outcome).response(false);
    wait(&mut response, outcome);
    response
}

fn wait(response: &mut Response, outcome: &Outcome) {
    if let Outcome::Answer { retry_after: Some(seconds), .. } = outcome {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(*seconds));
    }
}

pub(crate) async fn list(
    State(sandbox): State<Sandbox>,
    line: Option<Extension<Line>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let params: Params = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect();
    match (page(&sandbox, &params, &headers), line) {
        (Ok(response), _) => response,
        (Err(fault), Some(Extension(line))) => line.fail(fault).await,
        (Err(_), None) => std::future::pending().await,
    }
}

/// The answer to a listing, or how it ends without one.
fn page(sandbox: &Sandbox, params: &Params, headers: &HeaderMap) -> Result<Response, Fault> {
    let mut state = sandbox.state();
    let checked = check::account(&state.stripe, headers).and_then(|account| {
        state.stripe.listings += 1;
        check::page(params).map(|page| (account, page))
    });
    let (account, page) = match checked {
        Ok(checked) => checked,
        Err(refusal) => return Ok(refusal.response()),
    };
    let outcome = state.scripts.next(&format!("{LISTING}{}", page.payment.as_deref().unwrap_or_default()));
    match (outcome.fault(), &outcome) {
        (Some(fault), _) => Err(fault),
        (None, Outcome::Accept | Outcome::Pending) => Ok(json(StatusCode::OK, &state.stripe.page(&account, &page))),
        (None, _) => Ok(scripted(&outcome)),
    }
}

pub(crate) async fn retrieve(State(sandbox): State<Sandbox>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    let state = sandbox.state();
    let object = check::account(&state.stripe, &headers)
        .and_then(|account| state.stripe.find(&account, &id).map(Object::shown).ok_or_else(|| Refusal::no_refund(&id)));
    match object {
        Ok(object) => json(StatusCode::OK, &object),
        Err(refusal) => refusal.response(),
    }
}

/// A request with another method, or to a path below that nobody has.
pub(crate) async fn unknown() -> Response {
    Refusal::unknown_url().response()
}

impl Sandbox {
    /// From now on listings do not show what is made after this, as one does that lags behind; or show everything again.
    pub fn lag_listings(&self, lag: bool) {
        self.state().stripe.lag(lag);
    }

    /// Listings answered so far.
    #[must_use]
    pub fn listings(&self) -> u64 {
        self.state().stripe.listings
    }

    /// The refunds of a payment as Stripe would show them, oldest first.
    #[must_use]
    pub fn refunds_of(&self, payment: &str) -> Vec<Value> {
        self.state().stripe.of_payment(payment).map(Object::shown).collect()
    }
}
