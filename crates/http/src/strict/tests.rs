//! What the strict reader takes and what it refuses, by rule, and the same against serde_json on random values.

use super::*;
use proptest::prelude::*;
use std::time::Instant;

fn refused(body: &str) -> (&'static str, String) {
    let refusal = read(body.as_bytes()).expect_err(body);
    let word = match refusal.kind {
        RefusalKind::InvalidJson => "invalid_json",
        RefusalKind::DuplicateMember => "duplicate_member",
        RefusalKind::NumberNotExact => "number_not_exact",
    };
    (word, refusal.pointer)
}

#[test]
fn duplicate_members_are_found_at_every_depth_and_behind_escapes() {
    assert_eq!(refused(r#"{"a":1,"a":2}"#), ("duplicate_member", "/a".into()));
    assert_eq!(refused(r#"{"a":1,"\u0061":1}"#), ("duplicate_member", "/a".into()));
    assert_eq!(refused(r#"{"x":[{},{"a~/b":{"c":1,"d":2,"c":3}}]}"#), ("duplicate_member", "/x/1/a~0~1b/c".into()));
    let many: Vec<String> = (0..40).map(|n| format!(r#""m{n}":0"#)).collect();
    assert!(read(format!("{{{}}}", many.join(",")).as_bytes()).is_ok());
    assert_eq!(refused(&format!(r#"{{{},"m3":0}}"#, many.join(","))), ("duplicate_member", "/m3".into()));
    // Names are compared as they are: no normalisation, no folding.
    assert!(read("{\"\u{e9}\":1,\"e\u{301}\":1,\"A\":1,\"a\":1}".as_bytes()).is_ok());
}

#[test]
fn integers_are_judged_by_their_decimal_text() {
    for exact in [
        "0",
        "-0",
        "9007199254740991",
        "-9007199254740991",
        "9007199254740991.000",
        "90071992547409910e-1",
        "1e15",
        "0e999999999999999999999",
        "0.000e-99",
        "0.1",
        "60.00000000000000001",
        "1e-400",
        "9007199254740993.5",
    ] {
        assert!(read(format!(r#"{{"n":{exact}}}"#).as_bytes()).is_ok(), "{exact}");
    }
    for not in [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740992.0",
        "1e20",
        "1e400",
        "-1e400",
        "18446744073709551616",
        "900719925474099.2e1",
        "1e99999999999999999999",
        "123456789012345678901234567890",
    ] {
        assert_eq!(refused(&format!(r#"{{"a":[{not}]}}"#)), ("number_not_exact", "/a/0".into()), "{not}");
    }
}

#[test]
fn an_integer_has_many_spellings_and_one_value() {
    let integer = |text: &str| Number::new(text).as_integer();
    for sixty in ["60", "60.0", "6e1", "6E+1", "600e-1", "0.6e2", "60.000000000000000000000000000000"] {
        assert_eq!(integer(sixty), Some(60), "{sixty}");
    }
    assert_eq!([integer("-0"), integer("-7"), integer("0.0e5")], [Some(0), Some(-7), Some(0)]);
    for fraction in ["60.5", "60.00000000000000001", "1e-1", "1e-99999999999999999999"] {
        assert_eq!(integer(fraction), None, "{fraction}");
    }
}

#[test]
fn what_is_no_i_json_is_refused_with_its_place() {
    for body in [
        "",
        " ",
        "[]",
        "1",
        "null",
        "\"a\"",
        "{",
        "{}{}",
        "{} x",
        "{,}",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        r#"{a:1}"#,
        r#"{"a":01}"#,
        r#"{"a":1.}"#,
        r#"{"a":.5}"#,
        r#"{"a":+1}"#,
        r#"{"a":-}"#,
        r#"{"a":1e}"#,
        r#"{"a":NaN}"#,
        r#"{"a":tru}"#,
        r#"{"a":"\x"}"#,
        r#"{"a":"\u12"}"#,
        r#"{"a":"\ud800"}"#,
        r#"{"a":"\ud800\u0041"}"#,
        r#"{"a":"\udc00"}"#,
        "{\"a\":\"\n\"}",
        r#"{"a":[1 2]}"#,
        "{'a':1}",
        "{\"a\":1}\u{0}",
        "\u{feff}{}",
        "{\"a\":\u{a0}1}",
    ] {
        assert_eq!(refused(body).0, "invalid_json", "{body}");
    }
    assert_eq!(refused(r#"{"to":[{"token":"\ud800"}]}"#), ("invalid_json", "/to/0/token".into()));
    assert_eq!(read(b"{\"a\":\"\xff\"}").unwrap_err().kind, RefusalKind::InvalidJson);
    // A surrogate encoded in UTF-8 is not UTF-8.
    assert_eq!(read(b"{\"a\":\"\xed\xa0\x80\"}").unwrap_err().kind, RefusalKind::InvalidJson);
}

#[test]
fn noncharacters_and_pairs_are_text() {
    let object = read(r#"{"a":"\ud83d\ude00\uffff\ufffe\u0000é"}"#.as_bytes()).unwrap();
    assert_eq!(object.get("a").and_then(Json::as_str), Some("😀\u{ffff}\u{fffe}\u{0}é"));
}

#[test]
fn nesting_ends_at_sixty_four() {
    let nested = |levels: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1));
    assert!(read(nested(64).as_bytes()).is_ok());
    assert_eq!(refused(&nested(65)).0, "invalid_json");
    assert_eq!(refused(&nested(100_000)).0, "invalid_json");
}

#[test]
fn null_is_absent() {
    let object = read(br#"{"a":null,"b":false}"#).unwrap();
    assert_eq!((object.get("a"), object.get("b")), (None, Some(&Json::Bool(false))));
}

/// Four times the text may take some four times as long, never sixteen: shapes that are quadratic in careless readers.
#[test]
fn time_is_linear_in_the_body() {
    let shapes: [fn(usize) -> String; 5] = [
        |n| format!("{{{}}}", (0..n / 12).map(|i| format!(r#""m{i:07}":0"#)).collect::<Vec<_>>().join(",")),
        |n| format!(r#"{{"a":"{}"}}"#, r"\n".repeat(n / 2)),
        |n| format!(r#"{{"a":[{}0]}}"#, "0,".repeat(n / 2)),
        |n| format!(r#"{{"a":1{}.5}}"#, "0".repeat(n.min(300))),
        |n| format!(r#"{{"a":0.{}1}}"#, "0".repeat(n)),
    ];
    for (index, shape) in shapes.iter().enumerate() {
        let best = |size: usize| {
            let text = shape(size);
            (0..5)
                .map(|_| {
                    let from = Instant::now();
                    let _ = read(text.as_bytes());
                    from.elapsed()
                })
                .min()
                .unwrap()
        };
        let (small, large) = (best(65_536), best(262_144));
        assert!(large < small * 10 + std::time::Duration::from_millis(5), "shape {index}: {small:?} then {large:?}");
    }
}

fn same(ours: &Json<'_>, theirs: &serde_json::Value) -> bool {
    match (ours, theirs) {
        (Json::Null, serde_json::Value::Null) => true,
        (Json::Bool(a), serde_json::Value::Bool(b)) => a == b,
        (Json::Number(a), serde_json::Value::Number(b)) => match (a.as_integer(), b.as_f64()) {
            (Some(a), Some(b)) => a as f64 == b,
            (None, Some(b)) => a.text().parse::<f64>() == Ok(b),
            _ => false,
        },
        (Json::String(a), serde_json::Value::String(b)) => a == b,
        (Json::Array(a), serde_json::Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), serde_json::Value::Object(b)) => {
            a.members.len() == b.len() && a.iter().all(|(name, value)| b.get(name).is_some_and(|b| same(value, b)))
        }
        _ => false,
    }
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::hash_map(any::<String>(), inner, 0..6)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn reads_what_serde_json_writes(inner in value()) {
        let theirs = serde_json::json!({"v": inner});
        let text = serde_json::to_string_pretty(&theirs).unwrap();
        let ours = read(text.as_bytes()).unwrap();
        prop_assert!(same(&Json::Object(ours), &theirs), "{text}");
    }

    #[test]
    fn never_takes_what_serde_json_refuses_and_never_panics(body in prop::collection::vec(
        prop::sample::select(br#"{}[]",:0123456789eE+-. \ntrufalsn"#.to_vec()), 0..60))
    {
        if let Ok(ours) = read(&body) {
            let theirs: serde_json::Value = serde_json::from_slice(&body).unwrap();
            prop_assert!(same(&Json::Object(ours), &theirs));
        }
    }
}
