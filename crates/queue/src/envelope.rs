//! What a queue message says: a tagged, versioned enum.
//!
//! A body carries all that the consumer needs, so a delivery reads no item on its happy path. A consumer that meets a
//! type or a version it does not know leaves the message, since newer code may have written it; what has no tag at all is
//! garbage, and parked. So is a known version with a value that it does not have, which cannot be told from garbage:
//! a new value of any member needs a new version (docs/ARCHITECTURE.md, "Two versions at a time").

use crate::ascii::to_ascii_json;
use protocol::{
    DEVICES_PER_CHUNK,
    claim::ChunkFacts,
    content::{Content, Device, Policy},
    ids::MessageId,
    message::Message,
    refund::id::PayoutId,
    timing::Timing,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Who sent a copy. Everything but an inline copy reads the item before it writes, since it probably finds one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The api function, right after accepting.
    Inline,
    /// The relay, from the stream.
    Relay,
    /// A consumer, as the successor of its own copy.
    Retry,
    /// The dead-letter function.
    Redrive,
    /// The audit, for a chunk that seemed to have no copy.
    Audit,
}

/// One chunk of a message, to be delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliverV1 {
    /// The message.
    #[serde(serialize_with = "write_id", deserialize_with = "read_id")]
    pub id: MessageId,
    /// Whose it is.
    pub project: String,
    /// Which chunk.
    pub chunk: u16,
    /// When it was accepted, in ms.
    pub at: u64,
    /// When delivery is given up, in ms.
    pub deliver_by: u64,
    /// What the provider is told as the end of its life, in ms.
    pub expires_at: u64,
    /// End of the key's validity, in whole seconds.
    pub valid_until: u64,
    /// What happens when an answer is lost.
    pub policy: Policy,
    /// The chunk's devices, in order.
    pub devices: Vec<Device>,
    /// What is sent.
    pub content: Content,
    /// Who sent this copy.
    pub origin: Origin,
}

/// A payout, to be brought to its end. What is paid is read from the refund.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayoutV1 {
    /// The payout.
    #[serde(serialize_with = "write_payout", deserialize_with = "read_payout")]
    pub payout: PayoutId,
    /// Whose it is.
    pub project: String,
    /// Who sent this copy.
    pub origin: Origin,
}

/// Every message that a queue of ours may hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[expect(clippy::large_enum_variant, reason = "one is in hand at a time, and the larger one is the usual")]
pub enum Envelope {
    /// Deliver a chunk.
    #[serde(rename = "deliver_v1")]
    Deliver(DeliverV1),
    /// Bring a payout to its end.
    #[serde(rename = "payout_v1")]
    Payout(PayoutV1),
}

/// Why a body is no envelope.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ParseError {
    /// It has a tag of our form that this code does not know: leave it for code that does.
    #[error("a queue message of an unknown type: {0}")]
    UnknownType(String),
    /// It is not ours, or it is broken.
    #[error("a queue message that is no envelope: {0}")]
    Garbage(String),
}

/// How our own bodies for a chunk begin.
const DELIVER_HEAD: &str = r#"{"type":"deliver_v1","#;

#[derive(Deserialize)]
struct Tag {
    r#type: String,
}

fn write_id<S: Serializer>(id: &MessageId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

fn read_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MessageId, D::Error> {
    let text = String::deserialize(deserializer)?;
    MessageId::parse(&text).ok_or_else(|| de::Error::custom("id is no message id"))
}

fn write_payout<S: Serializer>(id: &PayoutId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

fn read_payout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PayoutId, D::Error> {
    let text = String::deserialize(deserializer)?;
    PayoutId::parse(&text).ok_or_else(|| de::Error::custom("payout is no payout id"))
}

/// `name_v12`: a word of lower-case letters, digits, '_' and '-' that begins with a letter, then a version.
fn is_tag(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-';
    text.rsplit_once("_v").is_some_and(|(name, version)| {
        name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.bytes().all(allowed)
            && !version.is_empty()
            && version.bytes().all(|b| b.is_ascii_digit())
    })
}

impl DeliverV1 {
    /// The copy for one chunk of a message.
    #[must_use]
    pub fn of(message: &Message, chunk: u16, origin: Origin) -> Self {
        Self {
            id: message.id,
            project: message.project.clone(),
            chunk,
            at: message.at_ms,
            deliver_by: message.deliver_by_ms,
            expires_at: message.expires_ms,
            valid_until: message.valid_until_s,
            policy: message.policy,
            devices: message.chunk(chunk).to_vec(),
            content: message.content.clone(),
            origin,
        }
    }

    /// What the claim decision needs of it.
    #[must_use]
    pub fn facts(&self, timing: &Timing) -> ChunkFacts {
        ChunkFacts {
            deliver_by_ms: self.deliver_by,
            policy: self.policy,
            devices: self.devices.len(),
            expires_s: timing.delivery_expires_s(self.at, self.valid_until),
        }
    }
}

impl Envelope {
    /// The body, ASCII only.
    ///
    /// # Errors
    /// Never in practice: every field has a JSON form.
    pub fn to_body(&self) -> Result<String, serde_json::Error> {
        to_ascii_json(self)
    }

    /// Reads a body.
    ///
    /// # Errors
    /// [`ParseError`] says whether to leave it or to park it. The text never repeats the body: it holds device tokens.
    pub fn parse(body: &str) -> Result<Self, ParseError> {
        // Read once, into its own type: a tagged enum is read into an intermediate form first. Anything that this does
        // not read whole is judged below.
        if body.starts_with(DELIVER_HEAD)
            && let Ok(copy) = serde_json::from_str::<DeliverV1>(body)
            && is_chunk(&copy)
        {
            return Ok(Self::Deliver(copy));
        }
        let tag = serde_json::from_str::<Tag>(body)
            .map_err(|error| ParseError::Garbage(format!("no type, {}", position(&error))))?
            .r#type;
        match tag.as_str() {
            "deliver_v1" | "payout_v1" => {
                let envelope: Self = serde_json::from_str(body)
                    .map_err(|error| ParseError::Garbage(format!("{tag}, {}", position(&error))))?;
                match &envelope {
                    Self::Deliver(copy) if !is_chunk(copy) => {
                        Err(ParseError::Garbage("deliver_v1, a chunk holds 1 to 20 devices".to_owned()))
                    }
                    Self::Deliver(_) | Self::Payout(_) => Ok(envelope),
                }
            }
            tag if is_tag(tag) => Err(ParseError::UnknownType(tag.to_owned())),
            _ => Err(ParseError::Garbage("its type is none of ours".to_owned())),
        }
    }
}

fn is_chunk(copy: &DeliverV1) -> bool {
    (1..=DEVICES_PER_CHUNK).contains(&copy.devices.len())
}

fn position(error: &serde_json::Error) -> String {
    format!("{:?} error at line {} column {}", error.classify(), error.line(), error.column())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use protocol::{
        content::{Platform, Priority, Token},
        ids::{KeyHash, Nonce, Operation},
        refund::id::RefundId,
    };

    fn payout(number: u16) -> PayoutV1 {
        let refund = RefundId { key: KeyHash::of(Operation::Refund, "p", "k"), nonce: Nonce([7; 5]) };
        PayoutV1 { payout: PayoutId { refund, number }, project: "projé".into(), origin: Origin::Inline }
    }

    fn copy() -> DeliverV1 {
        DeliverV1 {
            id: MessageId { key: KeyHash::of(Operation::Message, "p", "k"), nonce: Nonce([7; 5]) },
            project: "p".into(),
            chunk: 0,
            at: 1,
            deliver_by: 2,
            expires_at: 3,
            valid_until: 4,
            policy: Policy::AtMostOnce,
            devices: vec![Device { platform: Platform::Web, token: Token("tok-é".into()) }],
            content: Content {
                notification: None,
                data: [("k".to_owned(), "\u{0}\u{ffff}".to_owned())].into(),
                collapse_key: None,
                app: None,
                priority: Default::default(),
            },
            origin: Origin::Relay,
        }
    }

    /// Not the deadline: a copy that comes later must still find the item.
    #[test]
    fn a_chunk_s_item_outlives_its_message_s_key() {
        let (timing, copy) = (Timing::PRODUCTION, copy());
        assert_eq!(copy.facts(&timing).expires_s, timing.delivery_expires_s(copy.at, copy.valid_until));
        assert!(copy.facts(&timing).expires_s * 1_000 >= copy.at + Timing::DELIVERY_LIVES);
    }

    #[test]
    fn a_body_is_ascii_and_reads_back() {
        let envelope = Envelope::Deliver(copy());
        let body = envelope.to_body().unwrap();
        assert!(body.is_ascii() && body.starts_with(r#"{"type":"deliver_v1""#), "{body}");
        assert_eq!(Envelope::parse(&body).unwrap(), envelope);
    }

    #[test]
    fn a_payout_s_body_names_it_and_reads_back() {
        for number in [1, u16::MAX] {
            let envelope = Envelope::Payout(payout(number));
            let body = envelope.to_body().unwrap();
            assert!(body.is_ascii() && body.starts_with(r#"{"type":"payout_v1","payout":"payout_rf_"#), "{body}");
            assert_eq!(Envelope::parse(&body).unwrap(), envelope);
        }
        let body = Envelope::Payout(payout(1)).to_body().unwrap();
        for broken in [body.replace("payout_rf_", "payout_rg_"), body.replace(r#"_1","#, r#"_01","#)] {
            assert!(matches!(Envelope::parse(&broken), Err(ParseError::Garbage(_))), "{broken}");
        }
    }

    #[test]
    fn the_app_is_carried_and_a_body_without_one_is_as_before() {
        let mut named = copy();
        named.content.app = Some("com.example.other".into());
        let body = Envelope::Deliver(named.clone()).to_body().unwrap();
        assert!(body.contains(r#""app":"com.example.other""#), "{body}");
        assert_eq!(Envelope::parse(&body).unwrap(), Envelope::Deliver(named));
        assert!(!Envelope::Deliver(copy()).to_body().unwrap().contains("app"));
    }

    /// Whatever order its members are in, and with members of a later release.
    #[test]
    fn a_body_that_is_written_otherwise_means_the_same() {
        let body = Envelope::Deliver(copy()).to_body().unwrap();
        assert!(body.starts_with(DELIVER_HEAD));
        let sorted = serde_json::from_str::<serde_json::Value>(&body).unwrap().to_string();
        assert!(!sorted.starts_with(DELIVER_HEAD));
        let more = body.replacen('{', r#"{"later":[1],"#, 1);
        let spaced = body.replacen(':', ": ", 1);
        for other in [sorted, more, spaced] {
            assert_eq!(Envelope::parse(&other).unwrap(), Envelope::Deliver(copy()), "{other}");
        }
        let mut empty = copy();
        empty.devices.clear();
        let error = Envelope::parse(&Envelope::Deliver(empty).to_body().unwrap()).unwrap_err();
        assert_eq!(error, ParseError::Garbage("deliver_v1, a chunk holds 1 to 20 devices".to_owned()));
    }

    #[test]
    fn a_later_version_is_left_and_garbage_is_named_without_its_text() {
        assert_eq!(Envelope::parse(r#"{"type":"deliver_v2"}"#), Err(ParseError::UnknownType("deliver_v2".into())));
        assert_eq!(Envelope::parse(r#"{"type":"payout_v2"}"#), Err(ParseError::UnknownType("payout_v2".into())));
        for later in ["email2_v1", "live-activity_v1", "a_b-2_v10"] {
            let left = Envelope::parse(&format!(r#"{{"type":"{later}"}}"#));
            assert_eq!(left, Err(ParseError::UnknownType(later.into())));
        }
        for body in [
            "",
            "null",
            "{}",
            r#"{"type":"secret"}"#,
            r#"{"type":"deliver_v1","token":"secret"}"#,
            r#"{"type":"2_v1"}"#,
            r#"{"type":"_v1"}"#,
            r#"{"type":"Secret_v1"}"#,
            r#"{"type":"secret_v"}"#,
            r#"{"type":"secret word_v1"}"#,
        ] {
            let error = Envelope::parse(body).unwrap_err();
            assert!(matches!(error, ParseError::Garbage(_)), "{body}: {error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    /// An older version parks what it does not know as garbage. A value that is missing here is one more version of the
    /// envelope, not one more value of this one.
    #[test]
    fn a_new_value_is_a_new_version() {
        let body = Envelope::Deliver(copy()).to_body().unwrap();
        for (now, later) in [
            (r#""origin":"relay""#, r#""origin":"later""#),
            (r#""policy":"O""#, r#""policy":"Z""#),
            (r#""platform":"web""#, r#""platform":"watch""#),
        ] {
            assert!(body.contains(now), "{body}");
            assert!(matches!(Envelope::parse(&body.replace(now, later)), Err(ParseError::Garbage(_))), "{later}");
        }
        // Each of these fails to compile, or to agree, when a value comes.
        let origins = [Origin::Inline, Origin::Relay, Origin::Retry, Origin::Redrive, Origin::Audit];
        let policies = [Policy::AtLeastOnce, Policy::AtMostOnce];
        let platforms = [Platform::Ios, Platform::Android, Platform::Web];
        let priorities = [Priority::High, Priority::Normal];
        for origin in origins {
            match origin {
                Origin::Inline | Origin::Relay | Origin::Retry | Origin::Redrive | Origin::Audit => {}
            }
        }
        for (policy, platform) in policies.into_iter().zip(platforms) {
            match (policy, platform) {
                (Policy::AtLeastOnce | Policy::AtMostOnce, Platform::Ios | Platform::Android | Platform::Web) => {}
            }
        }
        for priority in priorities {
            match priority {
                Priority::High | Priority::Normal => {}
            }
        }
        let words = serde_json::json!([origins, policies, platforms, priorities]);
        let written =
            r#"[["inline","relay","retry","redrive","audit"],["L","O"],["ios","android","web"],["high","normal"]]"#;
        assert_eq!(words.to_string(), written);
    }

    proptest! {
        #[test]
        fn any_body_is_an_envelope_or_says_why_not(body in any::<String>()) {
            if let Ok(envelope) = Envelope::parse(&body) {
                prop_assert_eq!(Envelope::parse(&envelope.to_body().unwrap()).unwrap(), envelope);
            }
        }

        #[test]
        fn a_damaged_envelope_never_panics_and_never_tells_a_token(
            damage in prop::collection::vec((any::<prop::sample::Index>(), prop::char::range(' ', '~')), 1..5))
        {
            let mut body: Vec<char> = Envelope::Deliver(copy()).to_body().unwrap().chars().collect();
            for (place, c) in damage {
                let at = place.index(body.len());
                body[at] = c;
            }
            let body: String = body.into_iter().collect();
            match Envelope::parse(&body) {
                Ok(envelope) => prop_assert!(envelope.to_body().unwrap().is_ascii()),
                Err(error) => prop_assert!(!error.to_string().contains("tok-")),
            }
        }
    }
}
