//! The shared provider token: whatever was read is written over, and nothing else.

use super::support::database;
use crate::{
    ProviderToken, ProviderTokenId, ProviderTokenWrite, StoredProviderToken,
    attr::{n, s},
    names::{ISSUED, JWT, VERSION},
    provider_token::encode,
};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::expect::Expect;

const ID: ProviderTokenId<'static> =
    ProviderTokenId { environment: "sandbox", team: "TEAM", key_id: "KEY", fingerprint: "f00d" };

fn token(version: u32) -> ProviderToken {
    ProviderToken { jwt: "a.b.c".into(), issued_s: 1_700_000_000, version }
}

#[tokio::test]
async fn an_item_that_cannot_be_read_is_replaced_as_it_was_read() {
    let absent: Option<AttributeValue> = None;
    let unreadable: [(&[&str], Option<AttributeValue>, u32); 9] = [
        (&[VERSION], absent.clone(), 1),
        (&[VERSION], Some(n(4_294_967_296_u64)), 1),
        (&[VERSION], Some(n(-1)), 1),
        (&[VERSION], Some(s("1")), 1),
        (&[VERSION], Some(AttributeValue::Null(true)), 1),
        (&[JWT], absent.clone(), 4),
        (&[ISSUED], absent.clone(), 4),
        (&[ISSUED], Some(s("today")), 4),
        (&[JWT, ISSUED, VERSION], absent, 1),
    ];
    for (names, value, next) in unreadable {
        let (_, store) = database().await;
        let mut item = encode(ID, &token(3));
        for name in names {
            item.remove(*name);
            item.extend(value.clone().map(|value| ((*name).to_owned(), value)));
        }
        store.put(item, Expect::Absent).await;
        let read = store.provider_token(ID).await.unwrap();
        assert!(matches!(read, StoredProviderToken::Unreadable(_)), "{names:?}: {read:?}");
        assert_eq!(read.next_version(), next, "{names:?}");
        // Whoever read something else meets it in the lost condition.
        for other in [StoredProviderToken::Absent, StoredProviderToken::Token(token(9))] {
            match store.write_provider_token(ID, &token(7), &other).await {
                ProviderTokenWrite::Conflict(winner) => assert_eq!(winner, read, "{names:?}"),
                wrote => panic!("{names:?}: {wrote:?}"),
            }
        }
        let wrote = store.write_provider_token(ID, &token(next), &read).await;
        assert!(matches!(wrote, ProviderTokenWrite::Written), "{names:?}: {wrote:?}");
        // The second one that read it is too late.
        match store.write_provider_token(ID, &token(8), &read).await {
            ProviderTokenWrite::Conflict(StoredProviderToken::Token(winner)) => assert_eq!(winner, token(next)),
            wrote => panic!("{names:?}: {wrote:?}"),
        }
    }
}

/// An item that is gone is not one without a version.
#[tokio::test]
async fn an_unreadable_item_that_is_gone_is_not_written_over() {
    let (_, store) = database().await;
    let mut item = encode(ID, &token(3));
    item.remove(VERSION);
    store.put(item, Expect::Absent).await;
    let read = store.provider_token(ID).await.unwrap();
    let elsewhere = ProviderTokenId { team: "OTHER", ..ID };
    let wrote = store.write_provider_token(elsewhere, &token(1), &read).await;
    assert!(matches!(wrote, ProviderTokenWrite::Conflict(StoredProviderToken::Absent)), "{wrote:?}");
}
