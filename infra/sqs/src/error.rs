//! What a request can be refused for, and how that looks on the wire.
//!
//! Used by every module here. The JSON protocol names the error twice: `__type` in the body is the modelled shape,
//! and the header `x-amzn-query-error` holds the code of the older protocol; SDKs read either. An error without a
//! modelled shape (`InvalidParameterValue`) carries the name that Amazon's own front end gives it.

/// Why a request was refused. The text is what the client is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SqsError {
    /// No queue under that URL or name.
    #[error("The specified queue does not exist.")]
    QueueDoesNotExist,
    /// A queue or a move task that the actions on dead letters name and that does not exist.
    #[error("The resource that you specified for the {0} parameter doesn't exist.")]
    ResourceNotFound(&'static str),
    /// CreateQueue with other attributes than the existing queue's.
    #[error("A queue already exists with the same name and a different value for an attribute.")]
    QueueNameExists,
    /// CreateQueue within a minute after DeleteQueue of the same name.
    #[error("You must wait 60 seconds after deleting a queue before you can create another with the same name.")]
    QueueDeletedRecently,
    /// PurgeQueue within a minute after another one.
    #[error("Only one PurgeQueue operation on {0} is allowed every 60 seconds.")]
    PurgeQueueInProgress(String),
    /// A queue URL that is not one of ours by its form.
    #[error("The address {0} is not valid for this endpoint.")]
    InvalidAddress(String),
    /// A receipt handle that this queue never gave out.
    #[error("The input receipt handle is invalid.")]
    ReceiptHandleIsInvalid,
    /// ChangeMessageVisibility on a message that is visible or delayed.
    #[error("The specified message is not in flight.")]
    MessageNotInflight,
    /// Too many messages in flight.
    #[error("Too many messages are in flight; the limit of this queue is {0}.")]
    OverLimit(usize),
    /// A character that SQS does not carry.
    #[error(
        "Invalid binary character '#x{character:x}' was found in the {place}, the set of allowed characters is \
         #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"
    )]
    InvalidMessageContents {
        /// The character's code point.
        character: u32,
        /// Where it was found, in words.
        place: String,
    },
    /// A batch without entries.
    #[error("There should be at least one {0} in the request.")]
    EmptyBatchRequest(&'static str),
    /// A batch with more than ten entries.
    #[error("Maximum number of entries per request are {max}. You have sent {0}.", max = crate::limits::BATCH_ENTRIES)]
    TooManyEntriesInBatchRequest(usize),
    /// Two entries of a batch share an id.
    #[error("Id {0} repeated.")]
    BatchEntryIdsNotDistinct(String),
    /// An entry's id is empty, too long or holds other characters than letters, digits, `-` and `_`.
    #[error(
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long."
    )]
    InvalidBatchEntryId,
    /// All messages of a batch together are too large.
    #[error("Batch requests cannot be longer than {max} bytes. You have sent {0} bytes.", max = crate::limits::BATCH_BYTES)]
    BatchRequestTooLong(usize),
    /// An attribute name that a standard queue or a message does not have.
    #[error("Unknown Attribute {0}.")]
    InvalidAttributeName(String),
    /// A queue attribute's value is out of range or malformed.
    #[error("Invalid value for the parameter {0}.")]
    InvalidAttributeValue(String),
    /// A parameter's value is out of range or malformed.
    #[error("{0}")]
    InvalidParameterValue(String),
    /// A required parameter is missing or empty.
    #[error("The request must contain the parameter {0}.")]
    MissingParameter(&'static str),
    /// Something that this stand-in does not offer, said in full.
    #[error("{0}")]
    UnsupportedOperation(String),
    /// The request's body is not the JSON that the action needs.
    #[error("The request could not be read: {0}")]
    Serialization(String),
    /// An action that SQS does not have.
    #[error("The action or operation requested is invalid: {0}")]
    UnknownOperation(String),
    /// The machine gave no random bytes, an answer could not be written, or the disk did not take what was done.
    #[error("The request could not be served: {0}")]
    Internal(String),
}

impl SqsError {
    /// A parameter's value with Amazon's usual wording.
    pub(crate) fn parameter(value: impl std::fmt::Display, parameter: &str, reason: impl std::fmt::Display) -> Self {
        Self::InvalidParameterValue(format!("Value {value} for parameter {parameter} is invalid. Reason: {reason}."))
    }

    /// The shape in `__type`, with its namespace.
    #[must_use]
    pub fn shape(&self) -> &'static str {
        match self {
            Self::QueueDoesNotExist => "com.amazonaws.sqs#QueueDoesNotExist",
            Self::ResourceNotFound(_) => "com.amazonaws.sqs#ResourceNotFoundException",
            Self::QueueNameExists => "com.amazonaws.sqs#QueueNameExists",
            Self::QueueDeletedRecently => "com.amazonaws.sqs#QueueDeletedRecently",
            Self::PurgeQueueInProgress(_) => "com.amazonaws.sqs#PurgeQueueInProgress",
            Self::InvalidAddress(_) => "com.amazonaws.sqs#InvalidAddress",
            Self::ReceiptHandleIsInvalid => "com.amazonaws.sqs#ReceiptHandleIsInvalid",
            Self::MessageNotInflight => "com.amazonaws.sqs#MessageNotInflight",
            Self::OverLimit(_) => "com.amazonaws.sqs#OverLimit",
            Self::InvalidMessageContents { .. } => "com.amazonaws.sqs#InvalidMessageContents",
            Self::EmptyBatchRequest(_) => "com.amazonaws.sqs#EmptyBatchRequest",
            Self::TooManyEntriesInBatchRequest(_) => "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
            Self::BatchEntryIdsNotDistinct(_) => "com.amazonaws.sqs#BatchEntryIdsNotDistinct",
            Self::InvalidBatchEntryId => "com.amazonaws.sqs#InvalidBatchEntryId",
            Self::BatchRequestTooLong(_) => "com.amazonaws.sqs#BatchRequestTooLong",
            Self::InvalidAttributeName(_) => "com.amazonaws.sqs#InvalidAttributeName",
            Self::InvalidAttributeValue(_) => "com.amazonaws.sqs#InvalidAttributeValue",
            Self::InvalidParameterValue(_) => "com.amazon.coral.service#InvalidParameterValueException",
            Self::MissingParameter(_) => "com.amazon.coral.service#MissingRequiredParameterException",
            Self::UnsupportedOperation(_) => "com.amazonaws.sqs#UnsupportedOperation",
            Self::Serialization(_) => "com.amazon.coral.service#SerializationException",
            Self::UnknownOperation(_) => "com.amazon.coral.service#UnknownOperationException",
            Self::Internal(_) => "com.amazon.coral.service#InternalFailure",
        }
    }

    /// The code of the older protocol, as in `x-amzn-query-error` and in a batch's `Failed` entries.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::QueueDoesNotExist => "AWS.SimpleQueueService.NonExistentQueue",
            Self::ResourceNotFound(_) => "ResourceNotFoundException",
            Self::QueueNameExists => "QueueAlreadyExists",
            Self::QueueDeletedRecently => "AWS.SimpleQueueService.QueueDeletedRecently",
            Self::PurgeQueueInProgress(_) => "AWS.SimpleQueueService.PurgeQueueInProgress",
            Self::InvalidAddress(_) => "InvalidAddress",
            Self::ReceiptHandleIsInvalid => "ReceiptHandleIsInvalid",
            Self::MessageNotInflight => "AWS.SimpleQueueService.MessageNotInflight",
            Self::OverLimit(_) => "OverLimit",
            Self::InvalidMessageContents { .. } => "InvalidMessageContents",
            Self::EmptyBatchRequest(_) => "AWS.SimpleQueueService.EmptyBatchRequest",
            Self::TooManyEntriesInBatchRequest(_) => "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
            Self::BatchEntryIdsNotDistinct(_) => "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
            Self::InvalidBatchEntryId => "AWS.SimpleQueueService.InvalidBatchEntryId",
            Self::BatchRequestTooLong(_) => "AWS.SimpleQueueService.BatchRequestTooLong",
            Self::InvalidAttributeName(_) => "InvalidAttributeName",
            Self::InvalidAttributeValue(_) => "InvalidAttributeValue",
            Self::InvalidParameterValue(_) => "InvalidParameterValue",
            Self::MissingParameter(_) => "MissingParameter",
            Self::UnsupportedOperation(_) => "AWS.SimpleQueueService.UnsupportedOperation",
            Self::Serialization(_) => "MalformedInput",
            Self::UnknownOperation(_) => "InvalidAction",
            Self::Internal(_) => "InternalFailure",
        }
    }

    /// Whether the request was at fault, not the server: repeating it unchanged is pointless.
    #[must_use]
    pub fn is_senders_fault(&self) -> bool {
        !matches!(self, Self::Internal(_))
    }
}

impl From<platform::RandomError> for SqsError {
    fn from(error: platform::RandomError) -> Self {
        Self::Internal(error.to_string())
    }
}
