//! API keys: stored once, read back, listed, ended, never overwritten.

use super::support::{Answer, Proxy, database, store_at};
use crate::{ApiKey, ListedApiKey, Project, ReplaceOutcome, RevokeOutcome, SeedOutcome};

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

#[tokio::test]
async fn keys_are_listed_under_their_project_and_nowhere_else() {
    let (_, store) = database().await;
    assert!(matches!(store.create_api_key(&[0xab; 32], &key("ada"), Some(7)).await, SeedOutcome::Stored));
    assert!(matches!(store.add_api_key(&[0xac; 32], &key("bob")).await, SeedOutcome::Stored));
    let other = ApiKey { project: "acme-2".into(), ..key("eve") };
    assert!(matches!(store.add_api_key(&[0xad; 32], &other).await, SeedOutcome::Stored));
    let listed =
        |hash: u8, name: &str, created_at_ms| ListedApiKey { hash: [hash; 32], created_at_ms, key: Some(key(name)) };
    assert_eq!(store.api_keys("acme", "").await.unwrap(), [listed(0xab, "ada", Some(7)), listed(0xac, "bob", None)]);
    assert_eq!(store.api_keys("acme", "acac").await.unwrap(), [listed(0xac, "bob", None)]);
    assert_eq!(store.api_keys("acme", "ad").await.unwrap(), []);
    // The project's own item lies in the same partition and is no key.
    assert!(matches!(store.add_project("acme", &Project::default()).await, SeedOutcome::Stored));
    assert_eq!(store.api_keys("acme", "").await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_creation_that_breaks_off_leaves_an_entry_that_opens_nothing_and_can_be_finished() {
    let (upstream, direct) = database().await;
    let (proxy, url) = Proxy::start(&upstream).await;
    let store = store_at(&url, 300).await;
    // The entry is stored; nobody hears of it, and the key is never asked for.
    proxy.lose(&[Answer::Withhold; 3]);
    assert!(matches!(store.add_api_key(&[7; 32], &key("ada")).await, SeedOutcome::Unknown(_)));
    let puts = proxy.seen().iter().filter(|(operation, _)| operation == "PutItem").count();
    assert!(puts >= 1);
    let listed = direct.api_keys("acme", "").await.unwrap();
    assert_eq!(listed, [ListedApiKey { hash: [7; 32], created_at_ms: None, key: None }]);
    assert_eq!(direct.api_key(&[7; 32]).await.unwrap(), None);
    assert!(matches!(direct.add_api_key(&[7; 32], &key("ada")).await, SeedOutcome::Stored));
    assert_eq!(direct.api_keys("acme", "").await.unwrap()[0].key, Some(key("ada")));
}

#[tokio::test]
async fn a_key_s_end_only_comes_nearer() {
    let (_, store) = database().await;
    let hash = [7; 32];
    assert!(matches!(store.revoke_api_key(&hash, 5).await, RevokeOutcome::NoSuchKey));
    assert_eq!(store.api_key(&hash).await.unwrap(), None, "nothing was made of it");
    store.add_api_key(&hash, &key("ada")).await;
    let end = async || store.api_key(&hash).await.unwrap().unwrap().0.revoked_at_ms;
    assert!(matches!(store.revoke_api_key(&hash, 500).await, RevokeOutcome::Revoked));
    assert!(matches!(store.revoke_api_key(&hash, 500).await, RevokeOutcome::Revoked), "a repeat is the first");
    assert!(matches!(store.revoke_api_key(&hash, 600).await, RevokeOutcome::AlreadyRevoked { at_ms: 500 }));
    assert_eq!(end().await, Some(500));
    assert!(matches!(store.revoke_api_key(&hash, 400).await, RevokeOutcome::Revoked));
    assert_eq!(end().await, Some(400));
    assert_eq!(store.api_key(&hash).await.unwrap().unwrap().0, ApiKey { revoked_at_ms: Some(400), ..key("ada") });
}

#[tokio::test]
async fn a_key_gets_one_successor() {
    let (upstream, direct) = database().await;
    let hash = [7; 32];
    assert!(matches!(direct.replace_api_key(&hash, 500, &[1; 32]).await, ReplaceOutcome::NoSuchKey));
    direct.add_api_key(&hash, &key("ada")).await;
    // The answer of the one that is first is lost, and the SDK asks again; the others come within the same millisecond.
    let (proxy, url) = Proxy::start(&upstream).await;
    let store = store_at(&url, 2_000).await;
    proxy.lose(&[Answer::Withhold]);
    assert!(matches!(store.replace_api_key(&hash, 500, &[1; 32]).await, ReplaceOutcome::Replaced));
    for successor in 2..5 {
        let lost = direct.replace_api_key(&hash, 500, &[successor; 32]).await;
        assert!(matches!(lost, ReplaceOutcome::EndsAlready { at_ms: 500 }), "{lost:?}");
    }
    assert!(matches!(direct.replace_api_key(&hash, 400, &[2; 32]).await, ReplaceOutcome::EndsAlready { at_ms: 500 }));
    assert_eq!(direct.api_key(&hash).await.unwrap().unwrap().0, ApiKey { revoked_at_ms: Some(500), ..key("ada") });
    // A revocation still brings its end nearer, and then it gets no successor either.
    assert!(matches!(direct.revoke_api_key(&hash, 300).await, RevokeOutcome::Revoked));
    assert!(matches!(direct.replace_api_key(&hash, 600, &[3; 32]).await, ReplaceOutcome::EndsAlready { at_ms: 300 }));
}
