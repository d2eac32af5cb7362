//! POST /v1/webhooks/payments/{project}: the payment provider says what became of a payout.
//!
//! Guarantees that nothing is stored for a body that is not signed with one of the project's secrets, over its bytes as they
//! came, and that an event has its effect once, by the conditional write that applies it. Whatever cannot change anything
//! is answered 200, since the provider repeats what is not.

use crate::{Refunds, change::change};
use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State, rejection::PathRejection},
    http::HeaderMap,
};
use payments::{
    Unverified,
    webhook::{Said, read},
};
use platform::events::{self, WebhookOutcome};
use protocol::{
    machine::change_payout::{Answer, Ask, Verdict},
    refund::webhook::{Apply, Event, Ignored},
};
use sendonce_http::{Code, Fault, Noted, Problem, read_raw};
use serde::Serialize;
use std::sync::Arc;

/// The header that carries the signature.
const SIGNATURE: &str = "stripe-signature";

/// The answer: what became of the event.
#[derive(Debug, Serialize)]
pub(crate) struct Heard {
    result: &'static str,
}

pub(crate) async fn webhook(
    State(refunds): State<Arc<Refunds>>,
    Extension(noted): Extension<Noted>,
    project: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Heard>, Problem> {
    let bytes = read_raw(&headers, body).await?;
    // A path that is not UTF-8 once decoded is no project's.
    let project = project.map(|Path(project)| project).unwrap_or_default();
    let signature = headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
    let there = refunds.projects.has(&project).await.map_err(|error| {
        tracing::error!(error = %error, "a webhook's project cannot be looked up");
        observe(&refunds, None, None, WebhookOutcome::Unavailable);
        Problem::unavailable()
    })?;
    // A project that is not there has no secret: it is told the same as one whose secret did not sign.
    let verified = match there {
        true => refunds.payments.verify(&project, signature, &bytes).await,
        false => Err(Unverified::Signature),
    };
    match verified {
        Ok(()) => {}
        Err(Unverified::Signature) => {
            observe(&refunds, None, None, WebhookOutcome::Refused);
            return Err(Problem::new(Code::SignatureInvalid, "The body is not signed with this project's secret."));
        }
        Err(Unverified::Unavailable(error)) => {
            tracing::error!(project, error = %error, "a webhook's signature cannot be checked");
            observe(&refunds, None, None, WebhookOutcome::Unavailable);
            return Err(Problem::unavailable());
        }
    }
    let said = read(&bytes).map_err(|place| {
        observe(&refunds, Some(&project), None, WebhookOutcome::Refused);
        let fault = Fault::at("", place);
        Problem::at(Code::InvalidJson, "The body is not JSON.", vec![fault])
    })?;
    let event = match said {
        Said::About(event) => event,
        Said::NotOurs => return Ok(answer(&refunds, &project, None, WebhookOutcome::NotOurs)),
        Said::UnknownType => return Ok(answer(&refunds, &project, None, WebhookOutcome::UnknownType)),
    };
    let id = event.payout.refund;
    let outcome = match change(&refunds, &project, id, Ask::Event(event.clone())).await {
        Verdict::Answer(Answer::Event(apply)) => {
            let repeated = [Ignored::Repeated, Ignored::RepeatedGivenUp, Ignored::RepeatedDoubled];
            noted.refund(id, matches!(&apply, Apply::Ignore(ignored) if repeated.contains(ignored)));
            // Told by the repeat too: whoever stored it may have died before it was.
            match apply {
                Apply::Doubled(..) | Apply::Ignore(Ignored::RepeatedDoubled) => doubled(&refunds, &project, &event),
                Apply::Ignore(Ignored::RepeatedGivenUp) => {
                    observe(&refunds, Some(&project), Some(&event), WebhookOutcome::GivenUp);
                }
                _ => {}
            }
            outcome(&apply, &event)
        }
        Verdict::NotFound => WebhookOutcome::NotOurs,
        // One of another kind answers nothing that was asked here.
        Verdict::Unavailable | Verdict::Answer(_) => {
            observe(&refunds, Some(&project), Some(&event), WebhookOutcome::Unavailable);
            return Err(Problem::unavailable());
        }
    };
    Ok(answer(&refunds, &project, Some(&event), outcome))
}

fn outcome(apply: &Apply, event: &Event) -> WebhookOutcome {
    match apply {
        Apply::Write(..) | Apply::Doubled(..) => WebhookOutcome::Applied,
        Apply::Ignore(Ignored::Repeated | Ignored::RepeatedGivenUp | Ignored::RepeatedDoubled) => {
            WebhookOutcome::Repeated
        }
        Apply::Ignore(Ignored::OutOfOrder) => WebhookOutcome::OutOfOrder,
        // A payout that has a successor, and yet was paid or may be: two payments for one refund, or nearly.
        Apply::GivenUp(..) => WebhookOutcome::GivenUp,
        // One that nobody approved, as after a restore of the table.
        Apply::Ignore(Ignored::NotCurrent) if event.finding.is_alive() => WebhookOutcome::GivenUp,
        Apply::Ignore(Ignored::NotCurrent) => WebhookOutcome::NotCurrent,
    }
}

/// One payout was paid by two objects of the provider's.
fn doubled(refunds: &Refunds, project: &str, event: &Event) {
    events::PayoutDoubled {
        project,
        refund_id: &event.payout.refund.to_string(),
        payout_id: &event.payout.to_string(),
        refunds: 2,
    }
    .emit(refunds.clock.now_ms());
}

fn answer(refunds: &Refunds, project: &str, event: Option<&Event>, outcome: WebhookOutcome) -> Json<Heard> {
    observe(refunds, Some(project), event, outcome);
    Json(Heard { result: outcome.as_str() })
}

/// `project` is known once the signature is good: before that it is anybody's text.
fn observe(refunds: &Refunds, project: Option<&str>, event: Option<&Event>, outcome: WebhookOutcome) {
    let refund_id = event.map(|event| event.payout.refund.to_string());
    let payout_id = event.map(|event| event.payout.to_string());
    events::Webhook {
        project,
        refund_id: refund_id.as_deref(),
        payout_id: payout_id.as_deref(),
        event_id: event.map(|event| event.id.as_str()),
        outcome: outcome.as_str(),
    }
    .emit(refunds.clock.now_ms());
}
