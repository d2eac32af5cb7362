//! What can go wrong between a function and its table.

use aws_sdk_dynamodb::error::{DisplayErrorContext, SdkError};

/// A read that was not answered, a write whose outcome nobody knows, or an item that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// DynamoDB did not answer, or refused to. After a write: nobody knows whether it happened.
    #[error("the table did not answer {operation}: {detail}")]
    Unavailable {
        /// Which call.
        operation: &'static str,
        /// The SDK's whole chain of causes, for the log.
        detail: String,
    },
    /// A stored item is not what this code writes.
    #[error("a stored item cannot be read: {0}")]
    Corrupt(String),
}

impl StoreError {
    pub(crate) fn sdk<E, R>(operation: &'static str, error: &SdkError<E, R>) -> Self
    where
        E: std::error::Error + 'static,
        R: std::fmt::Debug,
    {
        Self::Unavailable { operation, detail: DisplayErrorContext(error).to_string() }
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt(what.into())
    }
}
