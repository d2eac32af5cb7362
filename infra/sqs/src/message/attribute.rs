//! A message attribute: its name, its type and its value, checked as SQS checks them.
//!
//! Used by `message` for what senders give, and by receives to write it back. Source: developer guide, "Amazon SQS
//! message metadata", "Message attribute components" and "data types".

use super::text;
use crate::{SqsError, limits::ATTRIBUTE_NAME_CHARS};
use data_encoding::BASE64;
use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};
use std::collections::BTreeMap;

/// An attribute's value as it stands in a request.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct RawAttribute {
    data_type: Option<String>,
    string_value: Option<String>,
    binary_value: Option<String>,
    string_list_values: Option<Vec<String>>,
    binary_list_values: Option<Vec<String>>,
}

/// A checked attribute value. It is read from disk in the form in which receives write it, and checked again.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawAttribute")]
pub(crate) struct AttributeValue {
    pub(crate) data_type: String,
    pub(crate) content: Content,
}

/// What an attribute holds. Numbers are text, as in the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Text(String),
    Binary(Vec<u8>),
}

impl TryFrom<RawAttribute> for AttributeValue {
    type Error = SqsError;

    fn try_from(raw: RawAttribute) -> Result<Self, SqsError> {
        raw.check("(kept)")
    }
}

impl RawAttribute {
    #[cfg(test)]
    pub(crate) fn text(data_type: &str, value: &str) -> Self {
        Self { data_type: Some(data_type.to_owned()), string_value: Some(value.to_owned()), ..Self::default() }
    }

    /// Bytes of type and value; base64 counts as what it stands for.
    pub(crate) fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let padding = self.binary_value.as_ref().map_or(0, |v| v.bytes().rev().take_while(|b| *b == b'=').count());
        let binary = (length(&self.binary_value) / 4 * 3).saturating_sub(padding);
        length(&self.data_type) + length(&self.string_value) + binary
    }

    fn check(self, name: &str) -> Result<AttributeValue, SqsError> {
        let refuse =
            |reason: &str| Err(SqsError::InvalidParameterValue(format!("The message attribute '{name}' {reason}.")));
        if self.string_list_values.is_some_and(|l| !l.is_empty())
            || self.binary_list_values.is_some_and(|l| !l.is_empty())
        {
            let reason = "Message attribute list values in SendMessage operation are not supported.";
            return Err(SqsError::UnsupportedOperation(reason.to_owned()));
        }
        let data_type = self.data_type.unwrap_or_default();
        if data_type.is_empty() {
            return refuse("must contain a non-empty message attribute type");
        }
        if data_type.chars().count() > ATTRIBUTE_NAME_CHARS {
            return refuse("has a type that is longer than 256 characters");
        }
        let base = data_type.split('.').next().unwrap_or_default();
        let content = match (base, self.string_value, self.binary_value) {
            ("String" | "Number", Some(value), None) if !value.is_empty() => {
                text::check(&value, || format!("message attribute '{name}'"))?;
                // Written as a decimal number; its magnitude is not checked further.
                if base == "Number" && !value.trim().parse::<f64>().is_ok_and(f64::is_finite) {
                    return refuse("is of type Number but its value is not one");
                }
                Content::Text(value)
            }
            ("Binary", None, Some(value)) if !value.is_empty() => match BASE64.decode(value.as_bytes()) {
                Ok(bytes) => Content::Binary(bytes),
                Err(_) => return refuse("has a binary value that is not base64"),
            },
            ("String" | "Number" | "Binary", _, _) => {
                return refuse("must contain a non-empty value of its type, and no other");
            }
            _ => {
                return refuse(
                    "has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String",
                );
            }
        };
        Ok(AttributeValue { data_type, content })
    }
}

/// Checks all attributes of a message.
///
/// # Errors
/// The first fault, in the order of names.
pub(super) fn check_all(raw: BTreeMap<String, RawAttribute>) -> Result<BTreeMap<String, AttributeValue>, SqsError> {
    raw.into_iter()
        .map(|(name, value)| {
            check_name(&name)?;
            let value = value.check(&name)?;
            Ok((name, value))
        })
        .collect()
}

fn check_name(name: &str) -> Result<(), SqsError> {
    let lower = name.to_ascii_lowercase();
    let reserved = lower.starts_with("aws.") || lower.starts_with("amazon.");
    let dots = name.starts_with('.') || name.ends_with('.') || name.contains("..");
    let letters = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    if name.is_empty() || name.len() > ATTRIBUTE_NAME_CHARS || reserved || dots || !letters {
        return Err(SqsError::InvalidParameterValue(format!(
            "Message (system) attribute name '{name}' is invalid: 1 to 256 letters, digits, '_', '-' and single inner \
             '.', not starting with AWS. or Amazon."
        )));
    }
    Ok(())
}

impl Serialize for AttributeValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("MessageAttributeValue", 2)?;
        out.serialize_field("DataType", &self.data_type)?;
        match &self.content {
            Content::Text(text) => out.serialize_field("StringValue", text)?,
            Content::Binary(bytes) => out.serialize_field("BinaryValue", &BASE64.encode(bytes))?,
        }
        out.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, value: RawAttribute) -> Result<AttributeValue, SqsError> {
        check_all(BTreeMap::from([(name.to_owned(), value)])).map(|mut all| all.remove(name).unwrap())
    }

    fn binary(value: &str) -> RawAttribute {
        RawAttribute {
            data_type: Some("Binary".to_owned()),
            binary_value: Some(value.to_owned()),
            ..RawAttribute::default()
        }
    }

    #[test]
    fn good_values() {
        assert!(one("a", RawAttribute::text("String", "é")).is_ok());
        assert!(one("a.b", RawAttribute::text("String.custom", "x")).is_ok());
        assert!(one("n", RawAttribute::text("Number", "-1.5e3")).is_ok());
        assert_eq!(one("b", binary("AAE=")).unwrap().content, Content::Binary(vec![0, 1]));
    }

    #[test]
    fn bad_values() {
        for (data_type, value) in
            [("", "x"), ("Text", "x"), ("String", ""), ("Number", "x"), ("Number", "inf"), ("Binary", "x")]
        {
            assert!(one("a", RawAttribute::text(data_type, value)).is_err(), "{data_type} {value}");
        }
        assert!(one("a", binary("***")).is_err());
        assert!(matches!(
            one("a", RawAttribute::text("String", "\u{1}")),
            Err(SqsError::InvalidMessageContents { character: 1, .. })
        ));
    }

    #[test]
    fn bad_names() {
        for name in ["", ".a", "a.", "a..b", "a b", "é", "AWS.x", "amazon.x", &"x".repeat(257)] {
            assert!(one(name, RawAttribute::text("String", "x")).is_err(), "{name}");
        }
    }

    #[test]
    fn base64_is_measured_as_bytes() {
        assert_eq!(binary("AAE=").bytes(), 6 + 2);
        assert_eq!(binary("AAEC").bytes(), 6 + 3);
    }
}
