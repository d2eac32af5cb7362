//! Every rule broken alone, and what means the same.

use super::*;
use protocol::fingerprint::Fingerprint;
use sendonce_http::refund_rules::RULES;
use serde_json::{Value, json};
use std::collections::HashSet;

fn whole() -> Value {
    json!({
        "idempotency_key": "order-1042-refund", "order_id": "order-1042", "payment_id": "pi_1", "amount": 4200,
        "currency": "usd", "reason": "requested_by_customer", "note": "The parcel came back.",
    })
}

fn read(body: &Value) -> Result<(String, RefundRequest), Problem> {
    read_refund(&HeaderMap::new(), &Bytes::from(body.to_string()))
}

fn with(member: &str, value: Value) -> Value {
    let mut body = whole();
    body[member] = value;
    body
}

fn faults(problem: &Problem) -> Vec<(String, String)> {
    problem.errors().iter().map(|fault| (fault.pointer.clone(), fault.detail.clone())).collect()
}

#[test]
fn every_rule_is_broken_alone_and_named_at_its_place() {
    let long = |characters: usize| json!("é".repeat(characters));
    let mut broken = HashSet::new();
    let creates = [
        ("order_id", vec![json!(null), json!(""), json!(7), long(129)]),
        ("payment_id", vec![json!(null), json!(""), json!({}), long(129)]),
        ("amount", vec![json!(null), json!(0), json!(-1), json!("4200"), json!(42.5), json!(true)]),
        ("currency", vec![json!(null), json!("us"), json!("usdx"), json!("u$d"), json!("ééé"), json!(840)]),
        ("reason", vec![json!(null), json!("Duplicate"), json!(""), json!([])]),
        ("note", vec![json!(7), long(501)]),
    ];
    for (member, values) in creates {
        let rule = RULES.iter().find(|rule| rule.pointer == format!("/{member}")).unwrap();
        for value in values {
            let problem = read(&with(member, value.clone())).unwrap_err();
            assert_eq!(problem.code(), rule.code.word(), "{member} {value}");
            assert_eq!(faults(&problem), [(rule.pointer.to_owned(), rule.text())], "{member} {value}");
            broken.insert(rule.pointer);
        }
    }
    for body in ["{}", r#"{"payout_id":7}"#, r#"{"payout_id":"payout_rf_x_1"}"#] {
        let problem = read_retry(&Bytes::from(body)).unwrap_err();
        assert_eq!(faults(&problem), [("/payout_id".to_owned(), rules::PAYOUT_ID.text())], "{body}");
        broken.insert(rules::PAYOUT_ID.pointer);
    }
    for (body, rule) in [
        ("{}", &rules::OUTCOME),
        (r#"{"outcome":"PAID"}"#, &rules::OUTCOME),
        (r#"{"outcome":"paid"}"#, &rules::REFERENCE),
        (r#"{"outcome":"paid","reference":""}"#, &rules::REFERENCE),
        (r#"{"outcome":"paid","reference":" "}"#, &rules::REFERENCE),
        (r#"{"outcome":"paid","reference":"by bank transfer"}"#, &rules::REFERENCE),
        (r#"{"outcome":"paid","reference":"re_\u0000"}"#, &rules::REFERENCE),
        (r#"{"outcome":"not_paid","reference":""}"#, &rules::REFERENCE),
        (r#"{"payout_id":"1","outcome":"not_paid"}"#, &rules::PAYOUT_ID),
    ] {
        let problem = read_resolve(&Bytes::from(body)).unwrap_err();
        assert_eq!(faults(&problem), [(rule.pointer.to_owned(), rule.text())], "{body}");
        broken.insert(rule.pointer);
    }
    assert_eq!(broken.len(), RULES.len(), "a rule that nothing breaks");
}

#[test]
fn all_faults_are_reported_together_and_limits_are_reached() {
    let nothing = read(&json!({"idempotency_key": "k"})).unwrap_err();
    let pointers: Vec<String> = faults(&nothing).into_iter().map(|(pointer, _)| pointer).collect();
    assert_eq!(pointers, ["/order_id", "/payment_id", "/amount", "/currency", "/reason"]);
    for (member, value) in [
        ("order_id", json!("é".repeat(128))),
        ("payment_id", json!("x")),
        ("amount", json!(9_007_199_254_740_991_u64)),
        ("amount", json!(1)),
        ("note", json!("")),
        ("note", json!("é".repeat(500))),
    ] {
        read(&with(member, value)).unwrap();
    }
}

#[test]
fn spellings_of_one_refund_have_one_fingerprint_and_meanings_differ() {
    let hash = |body: &str| {
        let (key, request) = read_refund(&HeaderMap::new(), &Bytes::from(body.to_owned())).unwrap();
        Fingerprint::of_refund("acme", &key, &request)
    };
    let one = hash(&whole().to_string());
    for same in [
        with("currency", json!("USD")).to_string(),
        whole().to_string().replace("4200", "4.2e3"),
        whole().to_string().replace("4200", "4200.0"),
    ] {
        assert_eq!(hash(&same), one, "{same}");
    }
    let mut without = whole();
    without.as_object_mut().unwrap().remove("note");
    assert_eq!(hash(&without.to_string()), hash(&with("note", json!(null)).to_string()));
    let mut seen = HashSet::from([one.hash]);
    for (member, value) in [
        ("order_id", json!("order-1043")),
        ("payment_id", json!("pi_2")),
        ("amount", json!(4201)),
        ("currency", json!("eur")),
        ("reason", json!("other")),
        ("note", json!(null)),
        ("note", json!("")),
    ] {
        assert!(seen.insert(hash(&with(member, value.clone()).to_string()).hash), "{member} {value}");
    }
}

#[test]
fn refusals_come_in_the_order_of_the_contract() {
    for (body, code) in [
        ("[]", "invalid_json"),
        (r#"{"amount":1,"amount":1,"order":""}"#, "duplicate_member"),
        (r#"{"amount":9007199254740992,"order":""}"#, "number_not_exact"),
        (r#"{"order":"","idempotency_key":""}"#, "unknown_member"),
        (r#"{"idempotency_key":""}"#, "idempotency_key_invalid"),
        (r#"{"amount":0}"#, "idempotency_key_missing"),
        (r#"{"idempotency_key":"k","amount":0}"#, "validation_failed"),
    ] {
        assert_eq!(read_refund(&HeaderMap::new(), &Bytes::from(body)).unwrap_err().code(), code, "{body}");
    }
    for body in [r#"{"payout":1}"#, r#"{"payout_id":1,"x":1}"#] {
        assert_eq!(read_retry(&Bytes::from(body)).unwrap_err().code(), "unknown_member", "{body}");
    }
    assert_eq!(read_resolve(&Bytes::from(r#"{"outcome":"paid","ref":"re_1"}"#)).unwrap_err().code(), "unknown_member");
    let seen = read_resolve(&Bytes::from(r#"{"outcome":"paid","reference":"re_1"}"#)).unwrap();
    assert_eq!(seen, (None, Seen::Paid { reference: "re_1".to_owned() }));
    let body = r#"{"payout_id":null,"outcome":"not_paid","reference":null}"#;
    assert_eq!(read_resolve(&Bytes::from(body)).unwrap(), (None, Seen::NotPaid { reference: None }));
    let payout = format!("payout_rf_{}_2", "a".repeat(40));
    let body = format!(r#"{{"payout_id":"{payout}","outcome":"not_paid"}}"#);
    assert_eq!(
        read_resolve(&Bytes::from(body)).unwrap(),
        (PayoutId::parse(&payout), Seen::NotPaid { reference: None })
    );
    let named = Seen::NotPaid { reference: Some("re_1".into()) };
    let body = Bytes::from(r#"{"outcome":"not_paid","reference":"re_1"}"#);
    assert_eq!(read_resolve(&body).unwrap(), (None, named));
}
