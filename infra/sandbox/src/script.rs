//! What happens to the next requests for a device.
//!
//! `PUT /scripts/{token}` replaces a device's script; each request that passes the provider's own checks uses up one
//! outcome, and after the last one everything is accepted.

use crate::line::Fault;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};

/// Outcomes of one script at most.
pub const SCRIPT_MAX_OUTCOMES: usize = 1_000;
/// Devices with a script at most.
pub const SCRIPTS_MAX: usize = 100_000;
/// Longest `reason`, in bytes.
const REASON_MAX_BYTES: usize = 64;
/// Longest `retry_after`, in seconds: a day.
const RETRY_AFTER_MAX: u64 = 86_400;
/// How much of a wrong element is repeated in its fault.
const SHOWN_MAX_CHARS: usize = 200;
/// What an outcome that is an answer may say.
const MEMBERS: [&str; 7] = ["status", "reason", "retry_after", "timestamp", "field", "retry_after_date", "kept"];
/// Longest `field`, in bytes.
const FIELD_MAX_BYTES: usize = 128;
/// The outcomes that are words.
const WORDS: [(&str, Outcome); 10] = [
    ("accept", Outcome::Accept),
    ("drop_after_accept", Outcome::DropAfterAccept),
    ("hang_after_accept", Outcome::HangAfterAccept),
    ("hang", Outcome::Hang),
    ("reset", Outcome::Reset),
    ("goaway", Outcome::Goaway),
    ("goaway_after_accept", Outcome::GoawayAfterAccept),
    ("refused_stream", Outcome::RefusedStream),
    ("pending", Outcome::Pending),
    ("error_after_accept", Outcome::ErrorAfterAccept),
];

/// What happens to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Accepted and answered.
    Accept,
    /// Accepted; the connection is closed without an answer.
    DropAfterAccept,
    /// Accepted; no answer until the client goes away.
    HangAfterAccept,
    /// Neither accepted nor answered, until the client goes away.
    Hang,
    /// Not accepted; the stream is reset, which says nothing about it. Over HTTP/1 the connection is closed.
    Reset,
    /// Not accepted; a GOAWAY below the stream says so. Over HTTP/1 the connection is closed.
    Goaway,
    /// Accepted; a GOAWAY that includes the stream, and no answer. Over HTTP/1 the connection is closed.
    GoawayAfterAccept,
    /// Not accepted; the stream is refused, which says so. Over HTTP/1 the connection is closed.
    RefusedStream,
    /// Accepted, and answered that it is not decided yet. Payments only; a push is accepted.
    Pending,
    /// Accepted, and answered with 500. Payments only; a push is accepted.
    ErrorAfterAccept,
    /// Refused with this answer.
    Answer {
        /// 400 to 599.
        status: u16,
        /// The provider's own code, for example "UNREGISTERED".
        reason: Option<String>,
        /// Seconds.
        retry_after: Option<u64>,
        /// APNs only: since when the token is gone, in milliseconds since the Unix epoch.
        timestamp: Option<u64>,
    },
    /// Refused with an answer that says more than the usual.
    AnswerAbout {
        /// 400 to 599.
        status: u16,
        /// The provider's own code.
        reason: Option<String>,
        /// FCM only: the field that is complained about, for example "message.token".
        field: Option<String>,
        /// In seconds from now, written as an HTTP date.
        retry_after_date: Option<u64>,
    },
    /// Refused before idempotency keys are looked at, so that nothing is kept under the key, whatever the status. Payments
    /// only; a push is refused with this answer.
    AnswerUnkept {
        /// 400 to 599.
        status: u16,
        /// The provider's own code.
        reason: Option<String>,
    },
}

/// What is wrong with a script, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScriptFault(String);

impl Outcome {
    /// Reads a script.
    pub(crate) fn parse_all(script: &Value) -> Result<Vec<Self>, ScriptFault> {
        let elements =
            script.as_array().ok_or_else(|| ScriptFault("a script is a JSON array of outcomes".to_owned()))?;
        let parse = |(at, element): (usize, &Value)| {
            Self::parse(element).map_err(|rule| {
                let shown: String = element.to_string().chars().take(SHOWN_MAX_CHARS).collect();
                ScriptFault(format!("element {at} ({shown}): {rule}"))
            })
        };
        elements.iter().enumerate().map(parse).collect()
    }

    fn parse(element: &Value) -> Result<Self, String> {
        if let Some(word) = element.as_str() {
            let known = WORDS.iter().find(|(name, _)| *name == word).map(|(_, outcome)| outcome.clone());
            return known.ok_or_else(|| format!("the words are {}", WORDS.map(|(name, _)| name).join(", ")));
        }
        let members = element.as_object().ok_or("an outcome is a word or an object with a status")?;
        if let Some(name) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            return Err(format!("{name} is not a member; there are {}", MEMBERS.join(", ")));
        }
        let status = members.get("status").and_then(Value::as_u64).filter(|status| (400..=599).contains(status));
        let status = status.and_then(|status| u16::try_from(status).ok());
        let reason = match members.get("reason") {
            None => None,
            Some(Value::String(code)) if is_code(code) => Some(code.clone()),
            Some(_) => return Err(format!("reason is 1 to {REASON_MAX_BYTES} letters, digits and '_'")),
        };
        let seconds = |name: &str| match members.get(name) {
            None => Ok(None),
            Some(seconds) => match seconds.as_u64().filter(|seconds| *seconds <= RETRY_AFTER_MAX) {
                Some(seconds) => Ok(Some(seconds)),
                None => Err(format!("{name} is a whole number of seconds, 0 to {RETRY_AFTER_MAX}")),
            },
        };
        let (retry_after, retry_after_date) = (seconds("retry_after")?, seconds("retry_after_date")?);
        let field = match members.get("field") {
            None => None,
            Some(Value::String(field)) if (1..=FIELD_MAX_BYTES).contains(&field.len()) => Some(field.clone()),
            Some(_) => return Err(format!("field is a text of 1 to {FIELD_MAX_BYTES} bytes")),
        };
        let timestamp = match members.get("timestamp") {
            None => None,
            Some(at) => Some(at.as_u64().ok_or("timestamp is a whole number of milliseconds since the Unix epoch")?),
        };
        let status = status.ok_or("status is 400 to 599")?;
        match members.get("kept") {
            None => {}
            Some(Value::Bool(false))
                if members.keys().all(|name| ["status", "reason", "kept"].contains(&name.as_str())) =>
            {
                return Ok(Self::AnswerUnkept { status, reason });
            }
            Some(_) => return Err("kept is false, and goes with status and reason".to_owned()),
        }
        if field.is_some() || retry_after_date.is_some() {
            if retry_after.is_some() || timestamp.is_some() {
                return Err("field and retry_after_date do not go with retry_after or timestamp".to_owned());
            }
            return Ok(Self::AnswerAbout { status, reason, field, retry_after_date });
        }
        Ok(Self::Answer { status, reason, retry_after, timestamp })
    }

    /// Whether the device gets it.
    pub(crate) fn accepts(&self) -> bool {
        match self {
            Self::Accept | Self::DropAfterAccept | Self::HangAfterAccept | Self::GoawayAfterAccept => true,
            Self::Pending | Self::ErrorAfterAccept => true,
            Self::Hang | Self::Reset | Self::Goaway | Self::RefusedStream => false,
            Self::Answer { .. } | Self::AnswerAbout { .. } | Self::AnswerUnkept { .. } => false,
        }
    }

    /// Whether a payment is made and not decided yet.
    pub(crate) fn is_pending(&self) -> bool {
        *self == Self::Pending
    }

    /// How the request ends, if without an answer.
    pub(crate) fn fault(&self) -> Option<Fault> {
        match self {
            Self::Accept | Self::Pending | Self::ErrorAfterAccept => None,
            Self::Answer { .. } | Self::AnswerAbout { .. } | Self::AnswerUnkept { .. } => None,
            Self::DropAfterAccept => Some(Fault::Cut),
            Self::HangAfterAccept | Self::Hang => Some(Fault::Hang),
            Self::Reset => Some(Fault::Reset),
            Self::Goaway => Some(Fault::Goaway),
            Self::GoawayAfterAccept => Some(Fault::GoawayAfterAccept),
            Self::RefusedStream => Some(Fault::RefusedStream),
        }
    }
}

fn is_code(code: &str) -> bool {
    (1..=REASON_MAX_BYTES).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[derive(Default)]
pub(crate) struct Scripts {
    by_token: HashMap<String, VecDeque<Outcome>>,
}

impl Scripts {
    pub(crate) fn set(&mut self, token: &str, outcomes: Vec<Outcome>) -> Result<(), ScriptFault> {
        if outcomes.len() > SCRIPT_MAX_OUTCOMES {
            return Err(ScriptFault(format!("a script has at most {SCRIPT_MAX_OUTCOMES} outcomes")));
        }
        if outcomes.is_empty() {
            self.by_token.remove(token);
            return Ok(());
        }
        if self.by_token.len() >= SCRIPTS_MAX && !self.by_token.contains_key(token) {
            return Err(ScriptFault(format!("at most {SCRIPTS_MAX} devices can have a script")));
        }
        self.by_token.insert(token.to_owned(), outcomes.into());
        Ok(())
    }

    /// The next outcome for an iOS device. APNs has its token in lower case, whoever wrote the script may not.
    pub(crate) fn next_of_apns(&mut self, token: &str) -> Outcome {
        let written = self.by_token.keys().find(|key| key.eq_ignore_ascii_case(token)).cloned();
        self.next(written.as_deref().unwrap_or(token))
    }

    /// Uses up a device's next outcome.
    pub(crate) fn next(&mut self, token: &str) -> Outcome {
        let Some(left) = self.by_token.get_mut(token) else { return Outcome::Accept };
        let next = left.pop_front().unwrap_or(Outcome::Accept);
        if left.is_empty() {
            self.by_token.remove(token);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_documented_outcome_is_read() {
        let script = json!(["accept", "drop_after_accept", "hang_after_accept", "hang",
            "reset", "goaway", "goaway_after_accept", "refused_stream", "pending", "error_after_accept",
            {"status": 503, "retry_after": 2}, {"status": 410, "reason": "Unregistered", "timestamp": 7},
            {"status": 400, "kept": false}]);
        let read = Outcome::parse_all(&script).unwrap();
        assert_eq!(read[..10], WORDS.map(|(_, outcome)| outcome));
        assert_eq!(read[10], Outcome::Answer { status: 503, reason: None, retry_after: Some(2), timestamp: None });
        let reason = Some("Unregistered".to_owned());
        assert_eq!(read[11], Outcome::Answer { status: 410, reason, retry_after: None, timestamp: Some(7) });
        assert_eq!(read[12], Outcome::AnswerUnkept { status: 400, reason: None });
    }

    #[test]
    fn an_answer_may_complain_about_a_field_and_name_a_date() {
        let script = json!([{"status": 400, "reason": "INVALID_ARGUMENT", "field": "message.token"},
            {"status": 503, "retry_after_date": 7}]);
        let about = |status, reason: Option<&str>, field: Option<&str>, retry_after_date| Outcome::AnswerAbout {
            status,
            reason: reason.map(str::to_owned),
            field: field.map(str::to_owned),
            retry_after_date,
        };
        let expected =
            [about(400, Some("INVALID_ARGUMENT"), Some("message.token"), None), about(503, None, None, Some(7))];
        assert_eq!(Outcome::parse_all(&script).unwrap(), expected);
    }

    #[test]
    fn a_fault_names_the_element_and_the_rule() {
        let cases = [
            (json!("accept"), "a JSON array"),
            (json!(["accept", "resets"]), r#"element 1 ("resets"): the words are accept, drop_after_accept"#),
            (json!([7]), "element 0 (7): an outcome is a word or an object"),
            (json!([{"status": 200}]), "status is 400 to 599"),
            (json!([{"reason": "X"}]), "status is 400 to 599"),
            (json!([{"status": 503.5}]), "status is 400 to 599"),
            (json!([{"status": 503, "retry_after": -1}]), "retry_after is a whole number"),
            (json!([{"status": 503, "reason": ""}]), "reason is 1 to 64"),
            (json!([{"status": 400, "field": ""}]), "field is a text"),
            (json!([{"status": 503, "retry_after_date": "soon"}]), "retry_after_date is a whole number"),
            (json!([{"status": 503, "retry_after_date": 1, "retry_after": 1}]), "do not go with"),
            (json!([{"status": 503, "delay": 1}]), "delay is not a member"),
            (json!([{"status": 400, "kept": true}]), "kept is false"),
            (json!([{"status": 400, "kept": false, "retry_after": 1}]), "kept is false"),
            (json!([{"kept": false}]), "status is 400 to 599"),
            (json!([{"status": 410, "timestamp": "now"}]), "timestamp is a whole number"),
        ];
        for (script, words) in cases {
            let fault = Outcome::parse_all(&script).unwrap_err().to_string();
            assert!(fault.contains(words), "{fault}");
        }
    }

    #[test]
    fn scripts_are_used_up_and_bounded() {
        let mut scripts = Scripts::default();
        scripts.set("a", vec![Outcome::Hang, Outcome::Accept]).unwrap();
        assert_eq!(
            [scripts.next("a"), scripts.next("a"), scripts.next("a")],
            [Outcome::Hang, Outcome::Accept, Outcome::Accept]
        );
        assert!(scripts.by_token.is_empty());
        scripts.set("a", vec![Outcome::Hang]).unwrap();
        assert!(scripts.set("a", vec![Outcome::Accept; SCRIPT_MAX_OUTCOMES + 1]).is_err());
        assert_eq!(scripts.next("a"), Outcome::Hang);
        scripts.set("a", vec![Outcome::Hang]).unwrap();
        scripts.set("a", Vec::new()).unwrap();
        assert_eq!(scripts.next("a"), Outcome::Accept);
    }
}
