//! What all batch actions share: the checks on their entries, and answers in which each entry fares for itself.
//!
//! Used by `send`, `delete` and `visibility`. Source: API reference, the batch actions' "Errors".

use crate::{SqsError, limits, names::is_word};
use serde::Serialize;
use std::collections::HashSet;

/// The answer of a batch.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BatchAnswer<T> {
    successful: Vec<T>,
    failed: Vec<Failed>,
}

/// One entry that was refused.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Failed {
    id: String,
    sender_fault: bool,
    code: &'static str,
    message: String,
}

/// An entry that succeeded and has nothing more to say.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Done {
    id: String,
}

impl Done {
    pub(super) fn new(id: &str) -> Self {
        Self { id: id.to_owned() }
    }
}

/// Checks number and ids of a batch's entries and returns each with its id. `kind` names an entry in words.
///
/// # Errors
/// The four refusals that concern a batch as a whole, or `MissingParameter`.
pub(super) fn entries<T>(
    entries: Option<Vec<T>>,
    kind: &'static str,
    id: impl Fn(&mut T) -> Option<String>,
) -> Result<Vec<(String, T)>, SqsError> {
    let entries = entries.unwrap_or_default();
    match entries.len() {
        0 => return Err(SqsError::EmptyBatchRequest(kind)),
        many if many > limits::BATCH_ENTRIES => return Err(SqsError::TooManyEntriesInBatchRequest(many)),
        _ => {}
    }
    let mut seen = HashSet::new();
    let mut out = Vec::with_capacity(entries.len());
    for mut entry in entries {
        let id = id(&mut entry).ok_or(SqsError::MissingParameter("Id"))?;
        if !is_word(&id) || id.len() > limits::BATCH_ID_CHARS {
            return Err(SqsError::InvalidBatchEntryId);
        }
        if !seen.insert(id.clone()) {
            return Err(SqsError::BatchEntryIdsNotDistinct(id));
        }
        out.push((id, entry));
    }
    Ok(out)
}

/// Runs every entry; one's failure leaves the others alone.
pub(super) fn each<T, R>(
    entries: Vec<(String, T)>,
    mut run: impl FnMut(&str, T) -> Result<R, SqsError>,
) -> BatchAnswer<R> {
    let mut answer = BatchAnswer { successful: Vec::new(), failed: Vec::new() };
    for (id, entry) in entries {
        match run(&id, entry) {
            Ok(done) => answer.successful.push(done),
            Err(error) => answer.failed.push(Failed {
                id,
                sender_fault: error.is_senders_fault(),
                code: error.code(),
                message: error.to_string(),
            }),
        }
    }
    answer
}
