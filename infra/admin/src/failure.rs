//! Why a command was not carried out, in a sentence that says what to do where we know it.

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use platform::{AwsMissing, RandomError, SettingsError};
use std::{io, path::PathBuf};
use store::StoreError;

/// Why nothing, or not all, was done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// No region or no credentials.
    #[error(transparent)]
    Missing(#[from] AwsMissing),
    /// A setting is missing or bad.
    #[error("{0}")]
    Settings(#[from] SettingsError),
    /// The table is not there.
    #[error("there is no table {table} in {place}: give --table NAME, --region, or --local for the local system")]
    NoTable {
        /// Which one was meant.
        table: String,
        /// Where.
        place: String,
    },
    /// The table did not answer, or holds what cannot be read.
    #[error(transparent)]
    Store(StoreError),
    /// Another service of AWS did not do what it was asked.
    #[error("{service} did not carry out {operation}: {detail}")]
    Aws {
        /// Which one.
        service: &'static str,
        /// What it was asked.
        operation: &'static str,
        /// Its code and its words.
        detail: String,
    },
    /// A file cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Nobody reads the answer.
    #[error("the answer could not be written: {source}{}{}", if unread.is_some() { ". " } else { "" }, unread.as_deref().unwrap_or_default())]
    Stdout {
        /// Why.
        source: io::Error,
        /// What to do now.
        unread: Option<String>,
    },
    /// The operating system gives no random bytes.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// Anything else that is said in its own words.
    #[error("{0}")]
    Said(String),
}

impl Failure {
    /// What an SDK's error says, without anything of a response.
    pub(crate) fn aws<E, R>(service: &'static str, operation: &'static str, error: &SdkError<E, R>) -> Self
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
        R: std::fmt::Debug + 'static,
    {
        let detail = match (error.code(), error.message()) {
            (Some(code), Some(message)) => format!("{code}: {message}"),
            (Some(code), None) => code.to_owned(),
            _ => platform::causes(error),
        };
        Self::Aws { service, operation, detail }
    }
}

/// A failure in its own words.
pub(crate) fn said(text: impl Into<String>) -> Failure {
    Failure::Said(text.into())
}
