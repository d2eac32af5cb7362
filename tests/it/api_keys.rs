//! API keys: stored hashed, cached for a bounded time both ways, revoked within it.

use super::support::{TestApp, push};
use aws_sdk_dynamodb::types::AttributeValue;
use http::Method;
use platform::{AwsTimeouts, aws_config_at};
use sha2::{Digest, Sha256};
use store::{ApiKey, SeedOutcome};

fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

fn hex(hash: &[u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn status(app: &TestApp, key: &str) -> u16 {
    let authorization = format!("Bearer {key}");
    let headers = [("authorization", authorization.as_str())];
    let url = format!("{}/v1/messages?idempotency_key=none", app.system.ready().api);
    app.http.send(&Method::GET, &url, &headers, "").await.status.as_u16()
}

#[tokio::test]
async fn a_key_works_from_within_the_cache_s_time_and_stops_within_it() {
    let app = TestApp::start().await;
    let key = "a-key-of-acme-that-is-new";
    assert_eq!(status(&app, key).await, 401);
    let item = ApiKey {
        project: "acme".to_owned(),
        name: "new@acme.example".to_owned(),
        scopes: vec!["messages:read".to_owned()],
        revoked_at_ms: None,
    };
    assert!(matches!(app.system.store().add_api_key(&hash(key), &item).await, SeedOutcome::Stored));
    assert!(matches!(app.system.store().add_api_key(&hash(key), &item).await, SeedOutcome::AlreadyThere));
    // "No such key" is remembered too, for as long.
    assert_eq!(status(&app, key).await, 401);
    app.advance(3);
    assert_eq!(status(&app, key).await, 404);

    let config = aws_config_at(AwsTimeouts::within(20_000), &app.system.ready().dynamodb).await;
    let table = aws_sdk_dynamodb::Client::new(&config);
    let pk = AttributeValue::S(format!("A#{}", hex(&hash(key))));
    #[expect(clippy::disallowed_methods, reason = "a person with the console revokes a key")]
    let update = table.update_item();
    update
        .table_name(&app.table)
        .key("pk", pk)
        .key("sk", AttributeValue::S("A".to_owned()))
        .update_expression("SET revoked_at = :now")
        .expression_attribute_values(":now", AttributeValue::N("1".to_owned()))
        .send()
        .await
        .unwrap();
    assert_eq!(status(&app, key).await, 404, "cached");
    app.advance(3);
    assert_eq!(status(&app, key).await, 401);
    app.stop().await;
}

#[tokio::test]
async fn the_table_never_holds_a_key_in_the_clear() {
    let app = TestApp::start().await;
    app.queued(&push("some-key", "device-0000001")).await;
    let config = aws_config_at(AwsTimeouts::within(20_000), &app.system.ready().dynamodb).await;
    let items = aws_sdk_dynamodb::Client::new(&config).scan().table_name(&app.table).send().await.unwrap();
    assert!(items.count > 4);
    let text = format!("{:?}", items.items());
    for key in app.system.ready().api_keys.values() {
        assert!(text.contains(&hex(&hash(key))) && !text.contains(key.as_str()), "{key}");
    }
    app.stop().await;
}
