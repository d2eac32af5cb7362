//! Every rule can be broken, alone, at its place; and all that is broken is said together.

use super::*;
use crate::rules::RULES;
use sendonce_http::strict::read;

const TO: &str = r#""to":[{"platform":"web","token":"t"}]"#;

/// The project's, the default first.
/// Places that an answer names at most, as docs/HTTP.md promises.
const FAULTS_MAX: usize = 1_024;

fn apps() -> [String; 2] {
    ["com.example.shop".to_owned(), "com.example.shop-beta".to_owned()]
}

fn faults(body: &str) -> Vec<(String, String)> {
    let object = read(body.as_bytes()).unwrap();
    match send_request(&object, &apps()) {
        Ok(_) => Vec::new(),
        Err(problem) => problem.errors().iter().map(|f| (f.pointer.clone(), f.detail.clone())).collect(),
    }
}

fn typed(body: &str) -> SendRequest {
    send_request(&read(body.as_bytes()).unwrap(), &apps()).unwrap()
}

/// A rule, a body that breaks it and no other, and where.
fn broken() -> Vec<(Rule, String, &'static str)> {
    let n = r#""notification":{"title":"t","body":"b"}"#;
    let with = |member: &str| format!("{{{TO},{n},{member}}}");
    let to = |to: &str| format!(r#"{{"to":{to},{n}}}"#);
    vec![
        (rules::TO, to("null"), "/to"),
        (rules::TO, to("[]"), "/to"),
        (rules::TO, to(&format!("[{}]", vec![r#"{"platform":"web","token":"t"}"#; 501].join(","))), "/to"),
        (rules::DEVICE, to(r#"["t"]"#), "/to/0"),
        (rules::PLATFORM, to(r#"[{"platform":"web","token":"t"},{"platform":"Web","token":"t"}]"#), "/to/1/platform"),
        (rules::TOKEN, to(r#"[{"platform":"web","token":""}]"#), "/to/0/token"),
        (rules::TOKEN, to(r#"[{"platform":"web"}]"#), "/to/0/token"),
        (rules::TOKEN_IOS, to(r#"[{"platform":"ios","token":"abc"}]"#), "/to/0/token"),
        (rules::TOKEN_IOS, to(r#"[{"platform":"ios","token":"zz"}]"#), "/to/0/token"),
        (rules::TOKEN_IOS, to(&format!(r#"[{{"platform":"ios","token":"{}"}}]"#, "a".repeat(402))), "/to/0/token"),
        (rules::TOKEN_FCM, to(r#"[{"platform":"android","token":"a b"}]"#), "/to/0/token"),
        (rules::TOKEN_FCM, to(r#"[{"platform":"android","token":"é"}]"#), "/to/0/token"),
        (rules::TOKEN_FCM, to(&format!(r#"[{{"platform":"web","token":"{}"}}]"#, "t".repeat(4_097))), "/to/0/token"),
        (rules::NOTIFICATION, format!(r#"{{{TO},"notification":"hi"}}"#), "/notification"),
        (rules::TITLE, format!(r#"{{{TO},"notification":{{"body":"b"}}}}"#), "/notification/title"),
        (rules::BODY, format!(r#"{{{TO},"notification":{{"title":"t","body":""}}}}"#), "/notification/body"),
        (
            rules::IMAGE,
            format!(r#"{{{TO},"notification":{{"title":"t","body":"b","image":"http://x.example"}}}}"#),
            "/notification/image",
        ),
        (rules::DATA, with(r#""data":[]"#), "/data"),
        (rules::DATA_NAME, with(r#""data":{"google.x":"1"}"#), "/data/google.x"),
        (rules::DATA_NAME, with(r#""data":{"message_id":"1"}"#), "/data/message_id"),
        (rules::DATA_VALUE, with(r#""data":{"a/b":1}"#), "/data/a~1b"),
        (rules::DATA_VALUE, with(r#""data":{"a":null}"#), "/data/a"),
        (rules::COLLAPSE_KEY, with(r#""collapse_key":"""#), "/collapse_key"),
        (rules::COLLAPSE_KEY, with(&format!(r#""collapse_key":"{}""#, "é".repeat(33))), "/collapse_key"),
        (rules::APP, with(r#""app":7"#), "/app"),
        (rules::APP, with(r#""app":"""#), "/app"),
        (rules::APP, with(r#""app":"com.example_shop""#), "/app"),
        (rules::APP, with(r#""app":"com.éxample""#), "/app"),
        (rules::APP, with(&format!(r#""app":"{}""#, "a".repeat(256))), "/app"),
        (rules::APP_KNOWN, with(&format!(r#""app":"{}""#, "a".repeat(255))), "/app"),
        (rules::APP_KNOWN, with(r#""app":"com.example.Shop""#), "/app"),
        (rules::TTL, with(r#""ttl_seconds":60.5"#), "/ttl_seconds"),
        (rules::TTL, with(r#""ttl_seconds":60.00000000000000001"#), "/ttl_seconds"),
        (rules::TTL, with(r#""ttl_seconds":-1"#), "/ttl_seconds"),
        (rules::TTL, with(r#""ttl_seconds":2419201"#), "/ttl_seconds"),
        (rules::TTL, with(r#""ttl_seconds":"60""#), "/ttl_seconds"),
        (rules::PRIORITY, with(r#""priority":"High""#), "/priority"),
        (rules::DELIVERY, with(r#""delivery":1"#), "/delivery"),
        (rules::SOMETHING, format!("{{{TO}}}"), ""),
        (rules::SOMETHING, format!(r#"{{{TO},"data":{{}},"notification":null}}"#), ""),
    ]
}

#[test]
fn every_rule_is_broken_alone_and_named_at_its_place() {
    for (rule, body, pointer) in broken() {
        let short: String = body.chars().take(120).collect();
        assert_eq!(faults(&body), [(pointer.to_owned(), rule.text())], "{short}");
    }
    for rule in RULES.iter().copied() {
        assert!(broken().iter().any(|(broken, ..)| *broken == rule), "no body breaks {rule:?}: add one above");
    }
}

#[test]
fn all_faults_are_reported_together() {
    let body = r#"{"to":[1,{"platform":"x"}],"notification":{"title":1},"data":{"from":2},"app":"x","ttl_seconds":true,"priority":0}"#;
    let pointers: Vec<String> = faults(body).into_iter().map(|(pointer, _)| pointer).collect();
    let expected = [
        "/to/0",
        "/to/1/platform",
        "/to/1/token",
        "/notification/title",
        "/notification/body",
        "/data/from",
        "/app",
        "/ttl_seconds",
        "/priority",
    ];
    assert_eq!(pointers, expected);
}

#[test]
fn limits_are_reached_and_not_passed() {
    let long = format!(
        r#"{{"to":[{{"platform":"web","token":"{}"}}],"data":{{"a":""}},"collapse_key":"{}","ttl_seconds":2419200}}"#,
        "t".repeat(4_096),
        "é".repeat(32)
    );
    assert_eq!(typed(&long).ttl_seconds, 2_419_200);
    let full = format!(r#"{{"to":[{}],"data":{{"a":"b"}}}}"#, vec![r#"{"platform":"web","token":"t"}"#; 500].join(","));
    assert_eq!(typed(&full).to.len(), 1);
}

#[test]
fn spellings_of_one_request_make_one_typed_request() {
    let plain = typed(&format!(r#"{{{TO},"notification":{{"title":"t","body":"b"}}}}"#));
    let spelled = r#" { "delivery":"at_least_once" , "priority":null, "ttl_seconds":8.64e4, "collapse_key":null, "data":{},
        "notification":{"image":null,"body":"\u0062","title":"t"},
        "to":[{"token":"t","platform":"web"},{"platform":"web","token":"\u0074"}] } "#;
    assert_eq!(typed(spelled), plain);
}

#[test]
fn a_named_app_is_part_of_the_request_unless_it_is_the_default() {
    let app = |member: &str| typed(&format!(r#"{{{TO},"data":{{"a":"b"}}{member}}}"#)).content.app;
    for none in ["", r#","app":null"#, r#","app":"com.example.shop""#] {
        assert_eq!(app(none), None, "{none}");
    }
    assert_eq!(app(r#","app":"com.example.shop-beta""#).as_deref(), Some("com.example.shop-beta"));
    // A project without apps has none to name, and everything else works.
    let without = |body: &str| send_request(&read(body.as_bytes()).unwrap(), &[]).map_err(|problem| problem.code());
    assert!(without(&format!(r#"{{{TO},"data":{{"a":"b"}}}}"#)).is_ok());
    let named = format!(r#"{{{TO},"data":{{"a":"b"}},"app":"com.example.shop"}}"#);
    assert_eq!(without(&named), Err("validation_failed"));
}

#[test]
fn the_first_unknown_member_in_the_text_is_named() {
    let first = |body: &str| {
        let problem = known(&read(body.as_bytes()).unwrap()).unwrap_err();
        (problem.code(), problem.errors()[0].pointer.clone())
    };
    assert_eq!(first(r#"{"to":[{"platform":"web","tokn":"t"}],"prio":1}"#), ("unknown_member", "/to/0/tokn".into()));
    assert_eq!(first(r#"{"prio":1,"to":[{"tokn":"t"}]}"#), ("unknown_member", "/prio".into()));
    assert_eq!(first(r#"{"notification":{"a/b":1}}"#), ("unknown_member", "/notification/a~1b".into()));
}

#[test]
fn the_payload_is_measured_before_anything_is_stored() {
    for (platform, token) in [(Platform::Web, "t"), (Platform::Android, "t"), (Platform::Ios, "00ff")] {
        let name = platform.as_str();
        let body = |bytes: usize| {
            format!(r#"{{"to":[{{"platform":"{name}","token":"{token}"}}],"data":{{"a":"{}"}}}}"#, "x".repeat(bytes))
        };
        let code = |bytes: usize| {
            let text = body(bytes);
            send_request(&read(text.as_bytes()).unwrap(), &apps()).err().map(|problem| problem.code())
        };
        let (id, content) = ("x".repeat(ID_LEN), typed(&body(1)).content);
        let (size, limit) = match platform {
            Platform::Ios => (apns::payload_size(&id, &content), apns::PAYLOAD_MAX_BYTES),
            Platform::Android | Platform::Web => (fcm::payload_size(platform, &id, &content), fcm::PAYLOAD_MAX_BYTES),
        };
        assert_eq!(code(limit - (size - 1)), None, "{name}");
        assert_eq!(code(limit - (size - 1) + 1), Some("payload_too_large_for_provider"), "{name}");
    }
}

#[test]
fn only_the_platforms_of_the_request_are_measured() {
    // What FCM does not count, APNs does: JSON's own punctuation.
    let data: Vec<String> = (0..400).map(|n| format!(r#""k{n:03}":"v""#)).collect();
    let with = |platform: &str, token: &str| {
        format!(r#"{{"to":[{{"platform":"{platform}","token":"{token}"}}],"data":{{{}}}}}"#, data.join(","))
    };
    assert!(send_request(&read(with("android", "t").as_bytes()).unwrap(), &apps()).is_ok());
    let refused = send_request(&read(with("ios", "00ff").as_bytes()).unwrap(), &apps()).unwrap_err();
    assert_eq!(refused.code(), "payload_too_large_for_provider");
}

#[test]
fn a_hostile_body_gets_a_bounded_answer() {
    let members: Vec<String> = (0..30_000).map(|n| format!(r#""{n}":0"#)).collect();
    let found = faults(&format!(r#"{{{TO},"data":{{{}}}}}"#, members.join(",")));
    assert_eq!(found.len(), FAULTS_MAX + 1);
    assert_eq!(found.last().unwrap().1, format!("And {} more.", 30_000 - FAULTS_MAX));
}

#[test]
fn an_image_is_an_https_url_by_the_url_standard() {
    for yes in ["https://e.x/a", "HTTPS://é.example/é.png", "https://e.x:8443/?q"] {
        assert!(is_https(yes), "{yes}");
    }
    for no in [
        "",
        "http://e.x/",
        "https://",
        "https:///",
        "//e.x/",
        "https://e.x:99999/",
        "data:,x",
        "https://e x/",
        "https:/e.x",
        " https://e.x",
        "https://e.x\n",
    ] {
        assert!(!is_https(no), "{no}");
    }
}
