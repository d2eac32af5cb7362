//! API keys: stored once, read back, never overwritten.

use super::support::database;
use crate::{ApiKey, SeedOutcome};

fn key(name: &str) -> ApiKey {
    ApiKey {
        project: "acme".into(),
        name: name.into(),
        scopes: vec!["messages:send".into(), "messages:read".into()],
        revoked_at_ms: None,
    }
}

#[tokio::test]
async fn an_api_key_is_stored_once() {
    let (_, store) = database().await;
    let hash = [7; 32];
    assert_eq!(store.api_key(&hash).await.unwrap(), None);
    assert!(matches!(store.add_api_key(&hash, &key("ada")).await, SeedOutcome::Stored));
    assert!(matches!(store.add_api_key(&hash, &key("eve")).await, SeedOutcome::AlreadyThere));
    assert_eq!(store.api_key(&hash).await.unwrap(), Some((key("ada"), hash)), "with the hash it is stored under");
    assert_eq!(store.api_key(&[8; 32]).await.unwrap(), None);
}

#[tokio::test]
async fn creating_the_table_again_finds_it() {
    let (_, store) = database().await;
    let first = store.create_table().await.unwrap();
    assert_eq!(store.create_table().await.unwrap(), first);
}
