//! Lambda's reading of a function's answer to a batch (`ReportBatchItemFailures`), as a pure function.
//!
//! Called by the SQS and the stream poller with the ids of the batch that was sent. It guarantees the side that loses
//! nothing: whatever is not a well-formed answer about this very batch fails all of it, so every record comes again.
//! In one place it is stricter than AWS: a member that AWS does not know (`batchItemFailure`) reads there as no
//! answer, that is as success of the whole batch; here it fails the batch, so that the slip shows before it is deployed.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// What a batch's answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchResult {
    /// Every record succeeded.
    Succeeded,
    /// These ids failed (at least one, all of them in the batch); the others succeeded.
    Partial(BTreeSet<String>),
    /// The answer cannot be used: every record failed.
    Failed(Fault),
}

/// What is wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The payload is not JSON.
    #[error("the answer is not JSON")]
    NotJson,
    /// The answer is neither an object nor null, the list no list, or one of its entries no object.
    #[error("the answer's {0} has the wrong type")]
    WrongType(&'static str),
    /// A member that the answer's format does not have.
    #[error("the answer has a member {0:?} that means nothing")]
    UnknownMember(String),
    /// An entry without an id, or with one that is null, empty or no string.
    #[error("an entry's itemIdentifier is missing, null, empty or no string")]
    NoId,
    /// An id that was not in the batch.
    #[error("{0:?} was not in the batch")]
    UnknownId(String),
}

const LIST: &str = "batchItemFailures";
const ID: &str = "itemIdentifier";

/// Reads an answer as it came over the wire.
#[must_use]
pub fn read_text(answer: &str, in_batch: impl Fn(&str) -> bool) -> BatchResult {
    match serde_json::from_str(answer) {
        Ok(answer) => read(&answer, in_batch),
        Err(_) => BatchResult::Failed(Fault::NotJson),
    }
}

/// Reads an answer. `in_batch` says whether an id belongs to the batch.
#[must_use]
pub fn read(answer: &Value, in_batch: impl Fn(&str) -> bool) -> BatchResult {
    match failures(answer, in_batch) {
        Ok(ids) if ids.is_empty() => BatchResult::Succeeded,
        Ok(ids) => BatchResult::Partial(ids),
        Err(fault) => BatchResult::Failed(fault),
    }
}

fn failures(answer: &Value, in_batch: impl Fn(&str) -> bool) -> Result<BTreeSet<String>, Fault> {
    let Some(list) = only_member(answer, LIST, "body")? else { return Ok(BTreeSet::new()) };
    let list = list.as_array().ok_or(Fault::WrongType(LIST))?;
    let id = |entry| match only_member(entry, ID, "entry")?.and_then(Value::as_str) {
        None | Some("") => Err(Fault::NoId),
        Some(id) if in_batch(id) => Ok(id.to_owned()),
        Some(id) => Err(Fault::UnknownId(id.to_owned())),
    };
    list.iter().map(id).collect()
}

/// The one member that `value` may have; none if `value` or the member is null or the member is missing.
fn only_member<'a>(value: &'a Value, name: &str, what: &'static str) -> Result<Option<&'a Value>, Fault> {
    let empty = Map::new();
    let members = if value.is_null() { &empty } else { value.as_object().ok_or(Fault::WrongType(what))? };
    if let Some(other) = members.keys().find(|member| *member != name) {
        return Err(Fault::UnknownMember(other.clone()));
    }
    Ok(value.get(name).filter(|member| !member.is_null()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first three groups are AWS's lists "Success and failure conditions" (AWS Lambda Developer Guide, "Handling
    /// errors for an SQS event source in Lambda", and for streams "Configuring partial batch response with DynamoDB and
    /// Lambda"). The guide names invalid JSON and an unknown id for SQS only; here both hold for streams too. The batch
    /// holds the ids "1", "2" and "3".
    #[test]
    fn the_table() {
        let failed = |fault| BatchResult::Failed(fault);
        let partial = |ids: &[&str]| BatchResult::Partial(ids.iter().map(ToString::to_string).collect());
        let unknown_member = |name: &str| failed(Fault::UnknownMember(name.into()));
        let table = [
            // Complete success.
            (r#"{"batchItemFailures":[]}"#, BatchResult::Succeeded),
            (r#"{"batchItemFailures":null}"#, BatchResult::Succeeded),
            ("{}", BatchResult::Succeeded),
            ("null", BatchResult::Succeeded),
            // Partial.
            (r#"{"batchItemFailures":[{"itemIdentifier":"2"}]}"#, partial(&["2"])),
            (r#"{"batchItemFailures":[{"itemIdentifier":"3"},{"itemIdentifier":"1"}]}"#, partial(&["1", "3"])),
            // Complete failure.
            ("nonsense", failed(Fault::NotJson)),
            (r#"{"batchItemFailures":[{"itemIdentifier":""}]}"#, failed(Fault::NoId)),
            (r#"{"batchItemFailures":[{"itemIdentifier":null}]}"#, failed(Fault::NoId)),
            (r#"{"batchItemFailures":[{"itemIdentifer":"2"}]}"#, unknown_member("itemIdentifer")),
            (r#"{"batchItemFailures":[{"itemIdentifier":"4"}]}"#, failed(Fault::UnknownId("4".into()))),
            // The same rules where they meet: one bad entry spoils good ones.
            (r#"{"batchItemFailures":[{"itemIdentifier":"2"},{"itemIdentifier":""}]}"#, failed(Fault::NoId)),
            (r#"{"batchItemFailures":[{"itemIdentifier":"2"},{"itemIdentifier":"2"}]}"#, partial(&["2"])),
            (r#"{"batchItemFailures":[{"itemIdentifier":2}]}"#, failed(Fault::NoId)),
            (r#"{"batchItemFailures":[{}]}"#, failed(Fault::NoId)),
            (r#"{"batchItemFailures":[null]}"#, failed(Fault::NoId)),
            (r#"{"batchItemFailures":["2"]}"#, failed(Fault::WrongType("entry"))),
            (r#"{"batchItemFailures":{"itemIdentifier":"2"}}"#, failed(Fault::WrongType("batchItemFailures"))),
            (r#"{"batchItemFailures":"2"}"#, failed(Fault::WrongType("batchItemFailures"))),
            (r#"[{"itemIdentifier":"2"}]"#, failed(Fault::WrongType("body"))),
            (r#""2""#, failed(Fault::WrongType("body"))),
            ("", failed(Fault::NotJson)),
            // Stricter than AWS, see the head of this file.
            (r#"{"batchItemFailure":[]}"#, unknown_member("batchItemFailure")),
            (r#"{"BatchItemFailures":[{"itemIdentifier":"2"}]}"#, unknown_member("BatchItemFailures")),
            (r#"{"batchItemFailures":[{"itemIdentifier":"2","reason":"x"}]}"#, unknown_member("reason")),
        ];
        for (answer, expected) in table {
            assert_eq!(read_text(answer, |id| ["1", "2", "3"].contains(&id)), expected, "{answer}");
        }
    }

    /// What `aws_lambda_events` writes for a handler is understood.
    #[test]
    fn reads_the_event_crate() {
        let mut response = aws_lambda_events::sqs::SqsBatchResponse::default();
        assert_eq!(read(&serde_json::to_value(&response).unwrap(), |_| true), BatchResult::Succeeded);
        response.add_failure("a");
        let expected = BatchResult::Partial(BTreeSet::from(["a".to_owned()]));
        assert_eq!(read(&serde_json::to_value(&response).unwrap(), |_| true), expected);
    }
}
