//! The canonical writer: RFC 8785's own facts, and another implementation's output.

use crate::common::{send_request, text};
use proptest::{collection, prelude::*};
use protocol::{canonical::Value, fingerprint::send_value};
use serde_json::json;

fn to_serde(value: &Value) -> serde_json::Value {
    match value {
        Value::Integer(number) => json!(number),
        Value::String(text) => json!(text),
        Value::Array(items) => items.iter().map(to_serde).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), to_serde(value)));
            serde_json::Value::Object(members.collect())
        }
    }
}

fn other_implementation(value: &Value) -> String {
    serde_json_canonicalizer::to_string(&to_serde(value)).unwrap()
}

fn string(value: &str) -> Value {
    Value::String(value.to_owned())
}

#[test]
fn members_are_sorted_by_utf_16_code_units() {
    // The names of RFC 8785 section 3.2.3: a surrogate pair sorts before U+FB33, which scalar order would turn round.
    let names = ["\u{20ac}", "\r", "\u{fb33}", "1", "\u{1f600}", "\u{80}", "\u{f6}"];
    let object = Value::Object(names.iter().map(|name| ((*name).to_owned(), string("x"))).collect());
    let sorted = ["\\r", "1", "\u{80}", "\u{f6}", "\u{20ac}", "\u{1f600}", "\u{fb33}"];
    let expected = sorted.map(|name| format!("\"{name}\":\"x\"")).join(",");
    assert_eq!(object.to_canonical(), format!("{{{expected}}}"));
}

#[test]
fn sorting_goes_down_into_every_object_but_leaves_arrays_alone() {
    let inner = |a: &str, b: &str| Value::Object(vec![(a.to_owned(), Value::Integer(1)), (b.to_owned(), string("2"))]);
    let value = Value::Object(vec![
        ("b".to_owned(), Value::Array(vec![inner("z", "y"), Value::Integer(-7), inner("a", "")])),
        ("".to_owned(), inner("aa", "a")),
    ]);
    let expected = r#"{"":{"a":"2","aa":1},"b":[{"y":"2","z":1},-7,{"":"2","a":1}]}"#;
    assert_eq!(value.to_canonical(), expected);
}

#[test]
fn strings_are_escaped_as_little_as_the_rfc_says() {
    // The string of RFC 8785 section 3.2.2.2's example.
    let sample = string("\u{20ac}$\u{f}\nA'B\"\\\\\"/");
    assert_eq!(sample.to_canonical(), "\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
    let controls: String = (0..0x20_u8).map(char::from).collect();
    let escaped = string(&controls).to_canonical();
    assert_eq!(
        escaped,
        "\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f\
         \\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f\""
    );
    let plain = "/\u{7f}\u{80}\u{2028}\u{2029}\u{ffff}\u{10ffff}";
    assert_eq!(string(plain).to_canonical(), format!("\"{plain}\""));
}

#[test]
fn integers_are_written_as_a_double_of_the_same_value_would_be() {
    let exact = (1_i64 << 53) - 1;
    for number in [0, 1, -1, 86_400, 2_419_200, exact, -exact] {
        assert_eq!(Value::Integer(number).to_canonical(), number.to_string());
        assert_eq!(Value::Integer(number).to_canonical(), other_implementation(&Value::Integer(number)));
    }
}

fn value() -> impl Strategy<Value = Value> {
    let exact = (1_i64 << 53) - 1;
    let leaf = prop_oneof![text().prop_map(Value::String), (-exact..=exact).prop_map(Value::Integer)];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            // Members in random order: shuffled, not as a map would sort them.
            collection::hash_map(text(), inner, 0..5).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_is_written_as_another_implementation_writes_it(value in value()) {
        prop_assert_eq!(value.to_canonical(), other_implementation(&value));
    }

    #[test]
    fn any_send_is_written_as_another_implementation_writes_it(request in send_request()) {
        let value = send_value(&request);
        let canonical = value.to_canonical();
        prop_assert_eq!(&canonical, &other_implementation(&value));
        let read: serde_json::Value = serde_json::from_str(&canonical).unwrap();
        prop_assert_eq!(read, to_serde(&value));
    }
}
