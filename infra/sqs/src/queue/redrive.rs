//! Where messages go that were received too often, and which queues may send them there.
//!
//! Used by `queue::attributes` to read the two policies and by `state` to apply them. Source: API reference,
//! SetQueueAttributes, RedrivePolicy and RedriveAllowPolicy.

use crate::{SqsError, limits, names};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A queue's dead-letter queue, or that it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redrive {
    /// Messages are received for as long as the retention lasts.
    Off,
    /// A message leaves on the receive after the limit.
    To(RedrivePolicy),
}

/// Which queue takes dead letters, and after how many receives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedrivePolicy {
    /// ARN of a queue of this server that exists.
    pub dead_letter_target_arn: String,
    /// Receives that do not count as too many: 1 to 1,000.
    pub max_receive_count: u32,
}

impl Redrive {
    /// To the queue called `name`, after `max_receive_count` receives.
    #[must_use]
    pub fn to_queue(name: &str, max_receive_count: u32) -> Self {
        Self::To(RedrivePolicy { dead_letter_target_arn: names::arn(name), max_receive_count })
    }

    /// Reads the attribute; an empty one switches redriving off.
    pub(super) fn read(text: &str) -> Result<Self, SqsError> {
        if text.is_empty() {
            return Ok(Self::Off);
        }
        let refuse = |reason: &str| SqsError::parameter(text, "RedrivePolicy", reason);
        let json: Value = serde_json::from_str(text).map_err(|_| refuse("Redrive policy is not a valid JSON map"))?;
        let arn = json.get("deadLetterTargetArn").and_then(Value::as_str);
        let arn =
            arn.ok_or_else(|| refuse("Redrive policy does not contain mandatory attribute: deadLetterTargetArn"))?;
        let count = match json.get("maxReceiveCount") {
            Some(Value::Number(number)) => number.as_u64(),
            Some(Value::String(digits)) => digits.parse().ok(),
            _ => return Err(refuse("Redrive policy does not contain mandatory attribute: maxReceiveCount")),
        };
        let max_receive_count = count.and_then(|n| u32::try_from(n).ok()).unwrap_or(u32::MAX);
        Ok(Self::To(RedrivePolicy { dead_letter_target_arn: arn.to_owned(), max_receive_count }))
    }
}

impl RedrivePolicy {
    /// The attribute's text.
    pub(crate) fn write(&self) -> String {
        let arn = Value::from(self.dead_letter_target_arn.as_str());
        format!(r#"{{"deadLetterTargetArn":{arn},"maxReceiveCount":{}}}"#, self.max_receive_count)
    }

    pub(super) fn check(&self) -> Result<(), SqsError> {
        if limits::MAX_RECEIVE_COUNT.contains(&self.max_receive_count) {
            Ok(())
        } else {
            let reason = "Invalid value for maxReceiveCount: from 1 to 1000";
            Err(SqsError::parameter(self.write(), "RedrivePolicy", reason))
        }
    }
}

/// Checks the attribute `RedriveAllowPolicy`: JSON with one of the three permissions.
pub(super) fn check_allow_policy(text: &str) -> Result<(), SqsError> {
    let permission = serde_json::from_str::<Value>(text).ok().and_then(|json| json.get("redrivePermission").cloned());
    let known = matches!(permission.as_ref().and_then(Value::as_str), Some("allowAll" | "denyAll" | "byQueue"));
    if text.is_empty() || known {
        Ok(())
    } else {
        let reason = "It must be JSON whose redrivePermission is allowAll, denyAll or byQueue";
        Err(SqsError::parameter(text, "RedriveAllowPolicy", reason))
    }
}

/// Whether a dead-letter queue with this `RedriveAllowPolicy` takes messages of the queue `source_arn`.
pub(crate) fn may_redrive(allow_policy: Option<&String>, source_arn: &str) -> bool {
    let Some(json) = allow_policy.and_then(|text| serde_json::from_str::<Value>(text).ok()) else { return true };
    match json.get("redrivePermission").and_then(Value::as_str) {
        Some("denyAll") => false,
        Some("byQueue") => {
            let listed = json.get("sourceQueueArns").and_then(Value::as_array);
            listed.is_some_and(|arns| arns.iter().any(|arn| arn.as_str() == Some(source_arn)))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_read_back() {
        let Redrive::To(policy) = Redrive::to_queue("dead", 5) else { panic!("a policy") };
        assert_eq!(Redrive::read(&policy.write()), Ok(Redrive::To(policy.clone())));
        let text = policy.write().replace(":5}", ":\"5\"}");
        assert_eq!(Redrive::read(&text), Ok(Redrive::To(policy)));
        assert_eq!(Redrive::read(""), Ok(Redrive::Off));
    }

    #[test]
    fn bad_policies() {
        for bad in ["x", "{}", r#"{"deadLetterTargetArn":"a"}"#, r#"{"maxReceiveCount":1}"#] {
            assert!(Redrive::read(bad).is_err(), "{bad}");
        }
        for count in [0, 1_001, u32::MAX] {
            let Redrive::To(policy) = Redrive::to_queue("dead", count) else { panic!("a policy") };
            assert!(policy.check().is_err(), "{count}");
        }
    }

    #[test]
    fn who_may_redrive() {
        let by_queue = r#"{"redrivePermission":"byQueue","sourceQueueArns":["a"]}"#.to_owned();
        assert!(may_redrive(None, "a") && may_redrive(Some(&by_queue), "a"));
        assert!(!may_redrive(Some(&by_queue), "b"));
        assert!(!may_redrive(Some(&r#"{"redrivePermission":"denyAll"}"#.to_owned()), "a"));
        assert!(check_allow_policy(&by_queue).is_ok() && check_allow_policy("{}").is_err());
    }
}
