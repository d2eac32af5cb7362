//! One message as its sender gave it: checked, measured and hashed once, then shared by all its copies.
//!
//! Made by the send actions, outside the lock of the queues, and read by receives. Nothing about time, visibility or
//! receive counts is here; that belongs to a copy (`queue::copies`).

mod attribute;
mod digest;
mod text;

pub(crate) use attribute::{AttributeValue, Content, RawAttribute};
pub(crate) use digest::{of_attributes, of_body};

use crate::{SqsError, limits};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The one system attribute that a sender may set. API reference, SendMessage, MessageSystemAttributes.
pub(crate) const TRACE_HEADER: &str = "AWSTraceHeader";

/// What never changes about a message. Also how it is kept on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Payload {
    pub(crate) message_id: String,
    pub(crate) body: String,
    pub(crate) body_md5: String,
    pub(crate) attributes: BTreeMap<String, AttributeValue>,
    pub(crate) attributes_md5: Option<String>,
    pub(crate) system: BTreeMap<String, AttributeValue>,
    pub(crate) system_md5: Option<String>,
    pub(crate) group_id: Option<String>,
}

impl Payload {
    /// The same message under another id: what a move back from a dead-letter queue makes.
    pub(crate) fn renamed(&self, message_id: String) -> Self {
        Self { message_id, ..self.clone() }
    }
}

/// What a sender gave, before any check.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) body: Option<String>,
    pub(crate) attributes: BTreeMap<String, RawAttribute>,
    pub(crate) system: BTreeMap<String, RawAttribute>,
    pub(crate) group_id: Option<String>,
    pub(crate) deduplication_id: Option<String>,
}

impl Draft {
    /// Bytes that count against the size limits: the body, and each attribute's name, type and value. System
    /// attributes do not count.
    pub(crate) fn bytes(&self) -> usize {
        let attributes: usize = self.attributes.iter().map(|(name, value)| name.len() + value.bytes()).sum();
        self.body.as_ref().map_or(0, String::len) + attributes
    }

    /// Checks everything and makes the message.
    ///
    /// # Errors
    /// The first fault in the order: body, its size, its characters, attributes, ids.
    pub(crate) fn check(self, max_bytes: u32, message_id: String) -> Result<Payload, SqsError> {
        let bytes = self.bytes();
        let body = self.body.filter(|body| !body.is_empty()).ok_or(SqsError::MissingParameter("MessageBody"))?;
        if usize::try_from(max_bytes).is_ok_and(|max| bytes > max) {
            return Err(SqsError::InvalidParameterValue(format!(
                "One or more parameters are invalid. Reason: Message must be shorter than {max_bytes} bytes."
            )));
        }
        text::check(&body, || "message body".to_owned())?;
        if self.attributes.len() > limits::MESSAGE_ATTRIBUTES {
            let reason =
                format!("Number of message attributes [{}] exceeds the allowed maximum [10].", self.attributes.len());
            return Err(SqsError::InvalidParameterValue(reason));
        }
        let attributes = attribute::check_all(self.attributes)?;
        let system = attribute::check_all(self.system)?;
        if let Some((name, _)) =
            system.iter().find(|(name, value)| *name != TRACE_HEADER || value.data_type != "String")
        {
            return Err(SqsError::InvalidParameterValue(format!(
                "Message system attribute name '{name}' is invalid, or its type is not String."
            )));
        }
        if self.deduplication_id.is_some() {
            return Err(SqsError::parameter(
                "given",
                "MessageDeduplicationId",
                "The request includes a parameter that is not valid for this queue type",
            ));
        }
        if let Some(group) = &self.group_id {
            let fits =
                (1..=limits::GROUP_ID_CHARS).contains(&group.len()) && group.bytes().all(|b| b.is_ascii_graphic());
            if !fits {
                let reason =
                    "MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length";
                return Err(SqsError::parameter(group, "MessageGroupId", reason));
            }
        }
        Ok(Payload {
            message_id,
            body_md5: of_body(&body),
            body,
            attributes_md5: of_attributes(&attributes),
            attributes,
            system_md5: of_attributes(&system),
            system,
            group_id: self.group_id,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(body: &str) -> Draft {
        Draft { body: Some(body.to_owned()), ..Draft::default() }
    }

    #[test]
    fn size_counts_bytes_of_body_and_attributes() {
        let mut message = draft("é");
        message.attributes.insert("name".to_owned(), RawAttribute::text("String", "abc"));
        assert_eq!(message.bytes(), 2 + 4 + 6 + 3);
        assert!(matches!(message.check(14, String::new()), Err(SqsError::InvalidParameterValue(_))));
        assert!(draft(&"x".repeat(1_024)).check(1_024, String::new()).is_ok());
    }

    #[test]
    fn an_empty_or_missing_body_is_refused() {
        assert_eq!(draft("").check(9, String::new()).unwrap_err(), SqsError::MissingParameter("MessageBody"));
        assert_eq!(Draft::default().check(9, String::new()).unwrap_err(), SqsError::MissingParameter("MessageBody"));
    }

    #[test]
    fn a_group_is_welcome_and_a_deduplication_id_is_not() {
        let grouped = |group: &str| Draft { group_id: Some(group.to_owned()), ..draft("x") }.check(99, String::new());
        assert_eq!(grouped("acme").unwrap().group_id.as_deref(), Some("acme"));
        assert!(grouped("").is_err());
        assert!(grouped("a b").is_err());
        assert!(grouped(&"g".repeat(129)).is_err());
        let fifo = Draft { deduplication_id: Some("d".to_owned()), ..draft("x") };
        assert!(fifo.check(99, String::new()).is_err());
    }
}
