//! What Google's token endpoint refuses is refused.

use crate::client::{GRANT, SEND, message, world};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_good_assertion_gives_an_hour() {
    let world = world().await;
    let answer = world.grant(&json!({"alg": "RS256"}), &world.claims().await).await;
    assert_eq!((answer.status, answer.json()["expires_in"].as_u64()), (200, Some(3_600)));
    let bearer = format!("Bearer {}", answer.json()["access_token"].as_str().unwrap());
    let body = message("device").to_string();
    let headers = [("authorization", bearer.as_str())];
    let send = || world.call("POST", SEND, &headers, &body);
    world.clock.advance(Duration::from_secs(3_590));
    assert_eq!(send().await.unwrap().status, 200);
    world.clock.advance(Duration::from_secs(11));
    let refused = send().await.unwrap();
    assert_eq!((refused.status, refused.json()["error"]["status"].as_str()), (401, Some("UNAUTHENTICATED")));
}

#[tokio::test]
async fn a_bad_assertion_is_an_invalid_grant() {
    let world = world().await;
    let good = world.claims().await;
    let now = good["iat"].as_u64().unwrap();
    let cases = [
        ("iss", json!("nobody@example.com"), "invalid_grant"),
        ("aud", json!("https://oauth2.googleapis.com/token"), "invalid_grant"),
        ("exp", json!(now + 3_601), "invalid_grant"),
        ("exp", json!(now), "invalid_grant"),
        ("iat", json!(now + 3_000), "invalid_grant"),
        ("iat", json!("now"), "invalid_grant"),
        ("scope", json!("https://www.googleapis.com/auth/drive"), "invalid_scope"),
    ];
    for (member, value, error) in cases {
        let mut claims = good.clone();
        claims[member] = value;
        let answer = world.grant(&json!({"alg": "RS256"}), &claims).await;
        assert_eq!((answer.status, answer.json()["error"].as_str()), (400, Some(error)), "{member}");
    }
    let other = world.grant(&json!({"alg": "HS256"}), &good).await;
    assert_eq!(other.json()["error"], "invalid_grant");
    assert_eq!(world.sandbox.tokens_issued(), 0);
}

#[tokio::test]
async fn a_bad_signature_or_form_is_refused() {
    let world = world().await;
    let cases = [
        (format!("grant_type={GRANT}&assertion=a.b.c"), "invalid_grant"),
        (format!("grant_type={GRANT}&assertion=nothing"), "invalid_grant"),
        (format!("grant_type={GRANT}"), "invalid_grant"),
        ("grant_type=password&assertion=a.b.c".to_owned(), "unsupported_grant_type"),
        (String::new(), "unsupported_grant_type"),
    ];
    for (form, error) in cases {
        let answer = world.token(&form).await;
        assert_eq!((answer.status, answer.json()["error"].as_str()), (400, Some(error)), "{form}");
    }
    let no_form = world.call("POST", "/token", &[("content-type", "application/json")], "{}").await.unwrap();
    assert_eq!((no_form.status, no_form.json()["error"].as_str()), (400, Some("invalid_request")));
    // Well formed, from a known account, but signed by somebody else.
    use base64::Engine;
    let part = |text: String| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    let claims = world.claims().await.to_string();
    let forged = format!("{}.{}.{}", part(json!({"alg": "RS256"}).to_string()), part(claims), part("x".repeat(256)));
    let answer = world.token(&format!("grant_type={GRANT}&assertion={forged}")).await;
    assert_eq!(answer.json()["error_description"], "Invalid JWT Signature.");
}

#[tokio::test]
async fn a_key_speaks_for_its_own_account_only() {
    let world = world().await;
    world.sandbox.seed_project("globex").unwrap();
    let claims = world.claims().await;
    world.mix_up("acme", "globex", "fcm", "private_key").await;
    let forged = world.grant(&json!({"alg": "RS256"}), &claims).await;
    assert_eq!((forged.status, &forged.json()["error_description"]), (400, &json!("Invalid JWT Signature.")));
    // Seeding again restores the key that Google knows.
    world.sandbox.seed_project("acme").unwrap();
    assert_eq!(world.grant(&json!({"alg": "RS256"}), &claims).await.status, 200);
}
