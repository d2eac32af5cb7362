//! A letter as people read it: what it is about, and never what it says or to whom.

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use platform::rfc3339_ms;
use queue::{Envelope, ParseError};
use serde_json::{Map, Value, json};

/// Members of an envelope that say what it is about. Everything else may be a token or a person's message.
const ABOUT: [&str; 8] = ["id", "chunk", "at", "deliver_by", "policy", "origin", "payout", "number"];

/// The type of what is in the parking queue.
const PARKED: &str = "parked_v1";

/// A letter.
#[derive(Debug)]
pub(crate) struct Letter {
    message_id: String,
    sent_ms: Option<u64>,
    receives: Option<u64>,
    kind: String,
    /// None: it does not say, or nobody of ours can read it.
    project: Option<String>,
    about: Map<String, Value>,
    /// Why it was sent, by whoever sent it.
    reason: Option<String>,
    /// Why no code of this version can read it.
    fault: Option<String>,
}

impl Letter {
    pub(crate) fn of(message: &Message) -> Self {
        let attribute = |name: MessageSystemAttributeName| {
            message.attributes.as_ref().and_then(|attributes| attributes.get(&name)).cloned()
        };
        let number = |name| attribute(name).and_then(|text: String| text.parse::<u64>().ok());
        let body = message.body.as_deref().unwrap_or_default();
        let members: Map<String, Value> = serde_json::from_str(body).unwrap_or_default();
        let (kind, fault) = match Envelope::parse(body) {
            Ok(_) => (members.get("type").and_then(Value::as_str).unwrap_or("-").to_owned(), None),
            // Not a copy: what the relay or the dead-letter function put aside, with its reason in our own words.
            Err(ParseError::UnknownType(kind)) if kind == PARKED => {
                let reason = members.get("reason").and_then(Value::as_str).unwrap_or("no reason was given");
                (kind, Some(reason.to_owned()))
            }
            Err(ParseError::UnknownType(kind)) => {
                (kind.clone(), Some(format!("this version does not know {kind}: left for code that does")))
            }
            Err(fault @ ParseError::Garbage(_)) => ("-".to_owned(), Some(fault.to_string())),
        };
        let readable = fault.is_none();
        let parked = kind == PARKED;
        let about = members.iter().filter(|(name, value)| {
            readable && ABOUT.contains(&name.as_str()) && (value.is_string() || value.is_number())
        });
        let project = members.get("project").and_then(Value::as_str).filter(|_| readable).map(str::to_owned);
        let reason = message.message_attributes.as_ref().and_then(|attributes| attributes.get("reason"));
        Self {
            message_id: message.message_id.clone().unwrap_or_default(),
            sent_ms: number(MessageSystemAttributeName::SentTimestamp),
            receives: number(MessageSystemAttributeName::ApproximateReceiveCount),
            kind,
            // A copy's group is its project; what was parked has the group of the function that parked it.
            project: project.or_else(|| attribute(MessageSystemAttributeName::MessageGroupId).filter(|_| !parked)),
            about: about.map(|(name, value)| (name.clone(), value.clone())).collect(),
            reason: reason.and_then(|value| value.string_value.clone()),
            fault,
        }
    }

    /// For `--json`.
    pub(crate) fn json(&self) -> Value {
        json!({
            "message_id": self.message_id,
            "sent_at": self.sent_ms.map(rfc3339_ms),
            "receives": self.receives,
            "type": self.kind,
            "project": self.project,
            "about": self.about,
            "reason": self.reason,
            "fault": self.fault,
        })
    }

    /// For people: when, receives, type, project, about, why.
    pub(crate) fn row(&self) -> [String; 6] {
        let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut about = self.about.get("id").map(word).unwrap_or_default();
        if let Some(chunk) = self.about.get("chunk") {
            about.push_str(&format!(" chunk {chunk}"));
        }
        [
            self.sent_ms.map_or_else(|| "-".to_owned(), rfc3339_ms),
            self.receives.map_or_else(|| "-".to_owned(), |receives| receives.to_string()),
            self.kind.clone(),
            self.project.clone().unwrap_or_else(|| "-".to_owned()),
            about,
            self.fault.clone().or_else(|| self.reason.clone()).unwrap_or_default(),
        ]
    }
}
