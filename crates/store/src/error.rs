//! What can go wrong between a function and its table.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// A read that was not answered, a write whose outcome nobody knows, or an item that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// DynamoDB did not answer, or refused to. After a write: nobody knows whether it happened.
    #[error("the table did not answer {operation}: {detail}")]
    Unavailable {
        /// Which call.
        operation: &'static str,
        /// The SDK's chain of causes, for the log; nothing of a response.
        detail: String,
    },
    /// There is no such table here.
    #[error("there is no table {operation} could use")]
    NoTable {
        /// Which call.
        operation: &'static str,
    },
    /// A stored item is not what this code writes.
    #[error("a stored item cannot be read: {0}")]
    Corrupt(String),
}

impl StoreError {
    pub(crate) fn sdk<E, R>(operation: &'static str, error: &SdkError<E, R>) -> Self
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
        R: std::fmt::Debug + 'static,
    {
        if error.code() == Some("ResourceNotFoundException") {
            return Self::NoTable { operation };
        }
        Self::Unavailable { operation, detail: platform::causes(error) }
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt(what.into())
    }
}
