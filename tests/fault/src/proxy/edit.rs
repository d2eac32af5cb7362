//! Answers that the services never gave: errors, and batches of which some entries failed.

use super::{Side, exchange::Request, wire::Answer};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};

/// An error that AWS documents and stand-ins never show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// DynamoDB: too many requests of an account (Amazon DynamoDB developer guide, "Error handling").
    Throttling,
    /// DynamoDB: too many requests of a table or a partition.
    ThroughputExceeded,
    /// DynamoDB: another write of the same item is under way.
    TransactionConflict,
    /// 500, of either service.
    InternalServerError,
    /// 503, of either service.
    ServiceUnavailable,
    /// SQS: too many requests (Amazon SQS API reference, common errors).
    SqsThrottled,
}

impl Failure {
    /// All of DynamoDB's.
    pub const DYNAMODB: [Self; 5] = [
        Self::Throttling,
        Self::ThroughputExceeded,
        Self::TransactionConflict,
        Self::InternalServerError,
        Self::ServiceUnavailable,
    ];
    /// All of SQS's.
    pub const SQS: [Self; 3] = [Self::SqsThrottled, Self::InternalServerError, Self::ServiceUnavailable];

    pub(super) fn answer(self, request: &Request) -> Answer {
        let (status, code) = match self {
            Self::Throttling => (StatusCode::BAD_REQUEST, "ThrottlingException"),
            Self::ThroughputExceeded => (StatusCode::BAD_REQUEST, "ProvisionedThroughputExceededException"),
            Self::TransactionConflict => (StatusCode::BAD_REQUEST, "TransactionConflictException"),
            Self::InternalServerError => (StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError"),
            Self::ServiceUnavailable => (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"),
            Self::SqsThrottled => (StatusCode::BAD_REQUEST, "RequestThrottled"),
        };
        let namespace = match request.side() {
            Side::DynamoDb => "com.amazonaws.dynamodb.v20120810",
            Side::Sqs => "com.amazonaws.sqs",
            Side::Providers => "com.amazonaws.secretsmanager",
        };
        let body = json!({"__type": format!("{namespace}#{code}"), "message": "The proxy says so."});
        json_answer(status, &body)
    }
}

fn json_answer(status: StatusCode, body: &Value) -> Answer {
    let json = HeaderValue::from_static("application/x-amz-json-1.0");
    Answer::new(status, HeaderMap::from_iter([(CONTENT_TYPE, json)]), Bytes::from(body.to_string()))
}

/// A batch without these entries (none if nothing is left), and what an answer says of them.
pub(super) fn without_entries(
    request: &Request,
    entries: &[usize],
    sender_fault: bool,
) -> (Option<Request>, Vec<Value>) {
    let mut body: Value = serde_json::from_slice(request.body()).unwrap();
    let all = body["Entries"].as_array_mut().unwrap();
    let code = if sender_fault { "InvalidMessageContents" } else { "InternalError" };
    let failed: Vec<Value> = all
        .iter()
        .enumerate()
        .filter(|(at, _)| entries.contains(at))
        .map(|(_, entry)| {
            json!({"Id": entry["Id"], "SenderFault": sender_fault, "Code": code, "Message": "The proxy says so."})
        })
        .collect();
    let mut at = 0;
    all.retain(|_| {
        at += 1;
        !entries.contains(&(at - 1))
    });
    let request = (!all.is_empty()).then(|| request.with_body(Bytes::from(body.to_string())));
    (request, failed)
}

/// A batch's answer that names these entries as failed besides its own.
pub(super) fn with_failed(answer: Option<Answer>, failed: Vec<Value>) -> Answer {
    let answer = answer.unwrap_or_else(|| json_answer(StatusCode::OK, &json!({"Successful": [], "Failed": []})));
    let mut body: Value = serde_json::from_slice(answer.body()).unwrap();
    match body["Failed"].as_array_mut() {
        Some(all) => all.extend(failed),
        None => body["Failed"] = failed.into(),
    }
    answer.with_body(Bytes::from(body.to_string()))
}

/// The answer to a query that found nothing.
pub(super) fn nothing() -> Answer {
    json_answer(StatusCode::OK, &json!({"Items": [], "Count": 0, "ScannedCount": 0}))
}
