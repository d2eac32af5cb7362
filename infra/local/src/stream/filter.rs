//! Lambda's filter criteria, as much of them as ours need.
//!
//! Called by the local system for the relay's mapping, with the very pattern that template.yaml has. A pattern is an
//! object as deep as what it is about; at its leaves stands a list of which one entry must hold: a text, or
//! `{"exists": true|false}`. As in AWS, `exists` is about leaves: whatever is no leaf does not exist. Source: AWS Lambda
//! Developer Guide, "Using event filtering with a DynamoDB event source".

use serde_json::Value;

/// Whether a record matches a pattern.
#[must_use]
pub fn matches(pattern: &Value, record: &Value) -> bool {
    match pattern {
        Value::Object(members) => members.iter().all(|(name, pattern)| matches(pattern, &record[name])),
        Value::Array(choices) => choices.iter().any(|choice| leaf(choice, record)),
        _ => false,
    }
}

fn leaf(choice: &Value, value: &Value) -> bool {
    match choice {
        Value::Object(operator) => {
            let there = !matches!(value, Value::Null | Value::Object(_));
            operator.len() == 1 && operator.get("exists").and_then(Value::as_bool) == Some(there)
        }
        text => text == value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_relay_sees_messages_and_refunds_that_are_there() {
        let pattern = serde_json::from_str(relay::EVENT_FILTER).unwrap();
        let image = json!({"pk": {"S": "K#…"}, "sk": {"S": "M"}});
        for (sk, sees) in [("M", true), ("R", true), ("D#…#0000", false), ("A", false)] {
            let record = json!({"dynamodb": {"Keys": {"sk": {"S": sk}}, "NewImage": image}});
            assert_eq!(matches(&pattern, &record), sees, "{sk}");
        }
        assert!(!matches(&pattern, &json!({"dynamodb": {"Keys": {"sk": {"S": "M"}}, "OldImage": image}})));
        assert!(!matches(&pattern, &json!({})));
    }

    #[test]
    fn exists_is_about_leaves() {
        let image = json!({"image": {"pk": {"S": "x"}}});
        assert!(!matches(&json!({"image": {"pk": [{"exists": true}]}}), &image));
        assert!(matches(&json!({"image": {"pk": {"S": [{"exists": true}]}}}), &image));
        assert!(matches(&json!({"image": {"sk": {"S": ["y", {"exists": false}]}}}), &image));
        assert!(!matches(&json!({"image": {"pk": {"S": [{"prefix": "x"}]}}}), &image), "an operator that is not known");
    }
}
