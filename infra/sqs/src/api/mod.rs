//! The HTTP side: one POST for every action, told apart by `X-Amz-Target`, and the local control switch.
//!
//! Called through `Sqs::router`. It reads, checks and answers; what a queue does is decided in `queue` and `state`.
//! An action whose client has gone is dropped before it takes a message, or after the message is in flight, where its
//! visibility ends as usual: both are what SQS does when an answer is lost.

mod answer;
mod batch;
mod control;
mod delete;
mod list;
mod moves;
mod queues;
mod receive;
mod select;
mod send;
mod tags;
mod visibility;

use crate::{Sqs, SqsError, limits};
pub(crate) use answer::uuid;
use answer::{refusal, success};
use axum::{
    Router,
    body::{Bytes, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, Method, header},
    response::Response,
    routing::post,
};
use serde::{Serialize, de::DeserializeOwned};

/// The prefix of `X-Amz-Target` for SQS.
const TARGET: &str = "AmazonSQS.";

pub(crate) fn router(sqs: Sqs) -> Router {
    // SDKs post to "/" or to the queue's URL; the target decides, so every path is the same.
    Router::new().route("/control", post(control::control)).fallback(serve).with_state(sqs)
}

async fn serve(State(sqs): State<Sqs>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let outcome = async {
        let action = action(&parts.method, &parts.headers)?;
        let too_long = |_| SqsError::InvalidParameterValue("The request is too long or ended early.".to_owned());
        let body = to_bytes(body, limits::REQUEST_BYTES).await.map_err(too_long)?;
        run(&sqs, action, &body).await
    };
    let outcome = outcome.await;
    let request_id = sqs.random().bytes().map(answer::uuid).unwrap_or_default();
    match outcome {
        Ok(body) => success(&request_id, body),
        Err(error) => refusal(&request_id, &error),
    }
}

/// The action that a request names.
fn action<'a>(method: &Method, headers: &'a HeaderMap) -> Result<&'a str, SqsError> {
    let target = headers.get("x-amz-target").and_then(|value| value.to_str().ok());
    match target {
        Some(target) if *method == Method::POST => {
            target.strip_prefix(TARGET).ok_or_else(|| SqsError::UnknownOperation(target.to_owned()))
        }
        Some(_) | None => {
            let form = headers
                .get(header::CONTENT_TYPE)
                .is_some_and(|value| value.as_bytes().starts_with(b"application/x-www-form"));
            let reason = if form || *method == Method::GET {
                "The query (XML) protocol is not offered here: use an SDK that speaks the AWS JSON 1.0 protocol."
            } else {
                "Requests are POSTs with the header X-Amz-Target: AmazonSQS.<action>."
            };
            Err(SqsError::UnsupportedOperation(reason.to_owned()))
        }
    }
}

async fn run(sqs: &Sqs, action: &str, body: &Bytes) -> Result<Vec<u8>, SqsError> {
    match action {
        "SendMessage" => send::send(sqs, read(body)?),
        "SendMessageBatch" => send::send_batch(sqs, read(body)?),
        "ReceiveMessage" => receive::receive(sqs, read(body)?).await,
        "DeleteMessage" => delete::delete(sqs, read(body)?),
        "DeleteMessageBatch" => delete::delete_batch(sqs, read(body)?),
        "ChangeMessageVisibility" => visibility::change(sqs, read(body)?),
        "ChangeMessageVisibilityBatch" => visibility::change_batch(sqs, read(body)?),
        "CreateQueue" => queues::create(sqs, read(body)?),
        "GetQueueUrl" => queues::url(sqs, read(body)?),
        "GetQueueAttributes" => queues::attributes(sqs, read(body)?),
        "SetQueueAttributes" => queues::change(sqs, read(body)?),
        "DeleteQueue" => queues::delete(sqs, read(body)?),
        "PurgeQueue" => queues::purge(sqs, read(body)?),
        "ListQueues" => list::queues(sqs, read(body)?),
        "ListDeadLetterSourceQueues" => list::sources(sqs, read(body)?),
        "TagQueue" => tags::tag(sqs, read(body)?),
        "UntagQueue" => tags::untag(sqs, read(body)?),
        "ListQueueTags" => tags::list(sqs, read(body)?),
        "StartMessageMoveTask" => moves::start(sqs, read(body)?),
        "ListMessageMoveTasks" => moves::list(sqs, read(body)?),
        "CancelMessageMoveTask" => moves::cancel(sqs, read(body)?),
        "AddPermission" | "RemovePermission" => {
            Err(SqsError::UnsupportedOperation(format!("{action} is not offered here: any credentials pass.")))
        }
        _ => Err(SqsError::UnknownOperation(action.to_owned())),
    }
}

fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, SqsError> {
    serde_json::from_slice(body).map_err(|error| SqsError::Serialization(error.to_string()))
}

fn write(answer: &impl Serialize) -> Result<Vec<u8>, SqsError> {
    serde_json::to_vec(answer).map_err(|error| SqsError::Internal(error.to_string()))
}

/// The answer of actions that have nothing to say.
fn nothing() -> Vec<u8> {
    b"{}".to_vec()
}

/// A parameter that must be there.
fn required<T>(value: Option<T>, name: &'static str) -> Result<T, SqsError> {
    value.ok_or(SqsError::MissingParameter(name))
}

/// A number that must lie in `range`, if given.
fn within(value: Option<i64>, range: &std::ops::RangeInclusive<u32>, name: &str) -> Result<Option<u32>, SqsError> {
    let Some(value) = value else { return Ok(None) };
    match u32::try_from(value) {
        Ok(number) if range.contains(&number) => Ok(Some(number)),
        _ => {
            let reason = format!("Must be between {} and {}, if provided", range.start(), range.end());
            Err(SqsError::parameter(value, name, reason))
        }
    }
}
