//! A queue's settings: as they are asked for, and as they stand.
//!
//! Used by `Sqs::create_queue` and by the actions that make, change and show queues. Source: API reference,
//! CreateQueue and SetQueueAttributes.

use super::{Redrive, RedrivePolicy, kept::is_kept, redrive::check_allow_policy};
use crate::{SqsError, limits};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, ops::RangeInclusive};

/// Settings to give to a queue; what is `None` keeps its default, or on a change its present value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueAttributes {
    /// `VisibilityTimeout`: seconds, 0 to 43,200; default 30.
    pub visibility_timeout_s: Option<u32>,
    /// `MessageRetentionPeriod`: seconds, 60 to 1,209,600; default 345,600.
    pub retention_s: Option<u32>,
    /// `DelaySeconds`: 0 to 900; default 0.
    pub delay_s: Option<u32>,
    /// `ReceiveMessageWaitTimeSeconds`: 0 to 20; default 0.
    pub receive_wait_s: Option<u32>,
    /// `MaximumMessageSize`: bytes, 1,024 to 1,048,576; default 1,048,576.
    pub max_message_bytes: Option<u32>,
    /// `RedrivePolicy`; default off.
    pub redrive: Option<Redrive>,
    /// Other attributes by name, kept as they are: `Policy`, `RedriveAllowPolicy`, `KmsMasterKeyId`,
    /// `KmsDataKeyReusePeriodSeconds`, `SqsManagedSseEnabled`.
    pub other: BTreeMap<String, String>,
}

impl QueueAttributes {
    /// Reads the attributes of a request.
    ///
    /// # Errors
    /// `InvalidAttributeName`, `InvalidAttributeValue`, `UnsupportedOperation` for FIFO ones.
    pub(crate) fn read(given: BTreeMap<String, String>) -> Result<Self, SqsError> {
        let mut out = Self::default();
        for (name, value) in given {
            let number = || value.parse::<u32>().map(Some).map_err(|_| SqsError::InvalidAttributeValue(name.clone()));
            match name.as_str() {
                "VisibilityTimeout" => out.visibility_timeout_s = number()?,
                "MessageRetentionPeriod" => out.retention_s = number()?,
                "DelaySeconds" => out.delay_s = number()?,
                "ReceiveMessageWaitTimeSeconds" => out.receive_wait_s = number()?,
                "MaximumMessageSize" => out.max_message_bytes = number()?,
                "RedrivePolicy" => out.redrive = Some(Redrive::read(&value)?),
                "FifoQueue" | "ContentBasedDeduplication" | "DeduplicationScope" | "FifoThroughputLimit" => {
                    return Err(SqsError::UnsupportedOperation(format!(
                        "{name}: FIFO queues are not offered here: this server has standard queues only."
                    )));
                }
                other if is_kept(other) => {
                    out.other.insert(name, value);
                }
                _ => return Err(SqsError::InvalidAttributeName(name)),
            }
        }
        Ok(out)
    }

    /// Checks every range.
    ///
    /// # Errors
    /// `InvalidAttributeValue`, `InvalidAttributeName`, or `InvalidParameterValue` for a policy.
    pub(crate) fn check(&self) -> Result<(), SqsError> {
        let ranges: [(&str, Option<u32>, RangeInclusive<u32>); 5] = [
            ("VisibilityTimeout", self.visibility_timeout_s, limits::VISIBILITY_S),
            ("MessageRetentionPeriod", self.retention_s, limits::RETENTION_S),
            ("DelaySeconds", self.delay_s, limits::DELAY_S),
            ("ReceiveMessageWaitTimeSeconds", self.receive_wait_s, limits::WAIT_S),
            ("MaximumMessageSize", self.max_message_bytes, limits::MAXIMUM_MESSAGE_SIZE),
        ];
        for (name, value, range) in ranges {
            if value.is_some_and(|value| !range.contains(&value)) {
                return Err(SqsError::InvalidAttributeValue(name.to_owned()));
            }
        }
        if let Some(unknown) = self.other.keys().find(|name| !is_kept(name)) {
            return Err(SqsError::InvalidAttributeName(unknown.clone()));
        }
        if let Some(text) = self.other.get("RedriveAllowPolicy") {
            check_allow_policy(text)?;
        }
        match &self.redrive {
            Some(Redrive::To(policy)) => policy.check(),
            Some(Redrive::Off) | None => Ok(()),
        }
    }
}

/// A queue's settings as they stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Config {
    pub(crate) visibility_timeout_s: u32,
    pub(crate) retention_s: u32,
    pub(crate) delay_s: u32,
    pub(crate) receive_wait_s: u32,
    pub(crate) max_message_bytes: u32,
    pub(crate) redrive: Option<RedrivePolicy>,
    pub(crate) other: BTreeMap<String, String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            visibility_timeout_s: limits::DEFAULT_VISIBILITY_S,
            retention_s: limits::DEFAULT_RETENTION_S,
            delay_s: 0,
            receive_wait_s: 0,
            max_message_bytes: limits::MESSAGE_BYTES,
            redrive: None,
            // What AWS shows for a new queue since encryption by default (October 2022).
            other: BTreeMap::from([("SqsManagedSseEnabled".to_owned(), "true".to_owned())]),
        }
    }
}

impl Config {
    /// These settings with `change` applied. An empty text removes an attribute that is kept as text.
    #[must_use]
    pub(crate) fn with(&self, change: &QueueAttributes) -> Self {
        let mut other = self.other.clone();
        for (name, value) in &change.other {
            if value.is_empty() {
                other.remove(name);
            } else {
                other.insert(name.clone(), value.clone());
            }
        }
        Self {
            visibility_timeout_s: change.visibility_timeout_s.unwrap_or(self.visibility_timeout_s),
            retention_s: change.retention_s.unwrap_or(self.retention_s),
            delay_s: change.delay_s.unwrap_or(self.delay_s),
            receive_wait_s: change.receive_wait_s.unwrap_or(self.receive_wait_s),
            max_message_bytes: change.max_message_bytes.unwrap_or(self.max_message_bytes),
            redrive: match &change.redrive {
                None => self.redrive.clone(),
                Some(Redrive::Off) => None,
                Some(Redrive::To(policy)) => Some(policy.clone()),
            },
            other,
        }
    }

    /// The settings by attribute name, as GetQueueAttributes shows them.
    pub(crate) fn write(&self) -> BTreeMap<&str, String> {
        let mut out = BTreeMap::from([
            ("VisibilityTimeout", self.visibility_timeout_s.to_string()),
            ("MessageRetentionPeriod", self.retention_s.to_string()),
            ("DelaySeconds", self.delay_s.to_string()),
            ("ReceiveMessageWaitTimeSeconds", self.receive_wait_s.to_string()),
            ("MaximumMessageSize", self.max_message_bytes.to_string()),
        ]);
        out.extend(self.redrive.as_ref().map(|policy| ("RedrivePolicy", policy.write())));
        out.extend(self.other.iter().map(|(name, value)| (name.as_str(), value.clone())));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<QueueAttributes, SqsError> {
        let read = QueueAttributes::read(BTreeMap::from([(name.to_owned(), value.to_owned())]))?;
        read.check().map(|()| read)
    }

    #[test]
    fn ranges() {
        for (name, low, high) in [
            ("VisibilityTimeout", 0, 43_200),
            ("MessageRetentionPeriod", 60, 1_209_600),
            ("DelaySeconds", 0, 900),
            ("ReceiveMessageWaitTimeSeconds", 0, 20),
            ("MaximumMessageSize", 1_024, 1_048_576),
        ] {
            assert!(read(name, &low.to_string()).is_ok() && read(name, &high.to_string()).is_ok(), "{name}");
            for bad in [(low - 1).to_string(), (high + 1).to_string(), String::new(), "x".to_owned()] {
                assert_eq!(read(name, &bad), Err(SqsError::InvalidAttributeValue(name.to_owned())), "{bad}");
            }
        }
    }

    #[test]
    fn unknown_and_fifo_attributes_are_refused() {
        assert!(matches!(read("Colour", "red"), Err(SqsError::InvalidAttributeName(_))));
        assert!(matches!(read("FifoQueue", "true"), Err(SqsError::UnsupportedOperation(_))));
    }

    #[test]
    fn a_change_touches_only_what_it_names() {
        let base = Config::default().with(&QueueAttributes { delay_s: Some(5), ..QueueAttributes::default() });
        let change = QueueAttributes { redrive: Some(Redrive::to_queue("dead", 3)), ..QueueAttributes::default() };
        let changed = base.with(&change);
        assert_eq!((changed.delay_s, changed.redrive.is_some()), (5, true));
        let off = changed.with(&QueueAttributes { redrive: Some(Redrive::Off), ..QueueAttributes::default() });
        assert_eq!(off, base);
    }
}
