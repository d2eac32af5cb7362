//! Which attributes a receive asked for.
//!
//! Used by `receive`. Source: API reference, ReceiveMessage, MessageSystemAttributeNames and MessageAttributeNames.

use crate::{
    SqsError,
    message::{Content, TRACE_HEADER},
    names::ACCOUNT,
    queue::Received,
};
use std::collections::BTreeMap;

/// System attributes that exist. The last two belong to FIFO queues: asking for them is allowed, no message has them.
const SYSTEM: [&str; 9] = [
    "ApproximateFirstReceiveTimestamp",
    "ApproximateReceiveCount",
    TRACE_HEADER,
    "DeadLetterQueueSourceArn",
    "MessageGroupId",
    "SenderId",
    "SentTimestamp",
    "MessageDeduplicationId",
    "SequenceNumber",
];

/// The system attributes that were asked for.
pub(super) struct SystemNames(Vec<&'static str>);

impl SystemNames {
    /// Reads the names, `All` included.
    ///
    /// # Errors
    /// `InvalidAttributeName` for one that does not exist.
    pub(super) fn read(names: impl Iterator<Item = String>) -> Result<Self, SqsError> {
        let mut out = Vec::new();
        for name in names {
            if name == "All" {
                out.extend(SYSTEM);
            } else {
                let known = SYSTEM.into_iter().find(|known| *known == name);
                out.push(known.ok_or(SqsError::InvalidAttributeName(name))?);
            }
        }
        Ok(Self(out))
    }

    pub(super) fn show(&self, received: &Received) -> BTreeMap<&'static str, String> {
        let value = |name: &str| match name {
            "ApproximateFirstReceiveTimestamp" => Some(received.first_received_ms.to_string()),
            "ApproximateReceiveCount" => Some(received.receive_count.to_string()),
            "DeadLetterQueueSourceArn" => received.dead_letter_source.clone(),
            "MessageGroupId" => received.payload.group_id.clone(),
            "SenderId" => Some(ACCOUNT.to_owned()),
            "SentTimestamp" => Some(received.sent_ms.to_string()),
            TRACE_HEADER => match &received.payload.system.get(TRACE_HEADER)?.content {
                Content::Text(text) => Some(text.clone()),
                Content::Binary(_) => None,
            },
            _ => None,
        };
        self.0.iter().filter_map(|name| Some((*name, value(name)?))).collect()
    }
}

/// The message attributes that were asked for: names, `All`, or a prefix and `.*`.
pub(super) struct AttributeNames(Vec<String>);

impl AttributeNames {
    pub(super) fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    pub(super) fn wants(&self, name: &str) -> bool {
        self.0.iter().any(|wanted| match wanted.strip_suffix(".*") {
            Some(prefix) => name.starts_with(prefix),
            None => wanted == "All" || wanted == name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns() {
        let wants = |pattern: &str, name: &str| AttributeNames::new(vec![pattern.to_owned()]).wants(name);
        assert!(wants("All", "a") && wants(".*", "a") && wants("a", "a") && wants("bar.*", "bar.x"));
        assert!(!wants("a", "b") && !wants("bar.*", "foo"));
        assert!(!AttributeNames::new(Vec::new()).wants("a"));
    }

    #[test]
    fn unknown_system_attributes_are_refused() {
        assert!(SystemNames::read(["All".to_owned()].into_iter()).is_ok());
        assert!(SystemNames::read(["Colour".to_owned()].into_iter()).is_err());
    }
}
