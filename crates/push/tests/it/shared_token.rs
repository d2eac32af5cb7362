//! The provider token that all instances share.

use crate::{
    apns::{TOKEN, ios, send_to},
    world::{World, answer, code, world},
};
use aws_lc_rs::{
    digest::{SHA256, digest},
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use base64::Engine;
use futures_util::future::join_all;
use protocol::answer::Answer;
use push::Push;
use std::time::Duration;
use store::{ProviderToken, ProviderTokenId, ProviderTokenWrite, StoredProviderToken};

impl World {
    /// Sends through this instance; what came of it.
    async fn through(&self, push: &Push) -> Answer {
        send_to(&push.prepare("acme", &[ios(TOKEN)]).await.unwrap(), TOKEN).await
    }

    async fn works(&self, push: &Push) {
        let answer = self.through(push).await;
        assert!(matches!(answer, Answer::Accepted { .. }), "{answer:?}");
    }

    /// Team, key id and the public key's fingerprint.
    async fn ids(&self) -> (String, String, String) {
        let secret = self.secret("sendonce/acme/apns").await;
        let text = |name: &str| secret[name].as_str().unwrap().to_owned();
        let base64: String = text("key").lines().filter(|line| !line.starts_with('-')).collect();
        let der = base64::engine::general_purpose::STANDARD.decode(base64).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der).unwrap();
        let hash = digest(&SHA256, pair.public_key().as_ref());
        let fingerprint = hash.as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        (text("team_id"), text("key_id"), fingerprint)
    }

    async fn stored(&self) -> ProviderToken {
        let (team, key_id, fingerprint) = self.ids().await;
        let id = ProviderTokenId { environment: "sandbox", team: &team, key_id: &key_id, fingerprint: &fingerprint };
        match self.store.provider_token(id).await.unwrap() {
            StoredProviderToken::Token(token) => token,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_that_start_at_once_share_one_token() {
    let world = world().await;
    let instances: Vec<Push> = (0..12).map(|_| world.instance()).collect();
    let answers = join_all(instances.iter().map(|push| world.through(push))).await;
    assert!(answers.iter().all(|answer| matches!(answer, Answer::Accepted { .. })), "{answers:?}");
    assert_eq!(world.sandbox.provider_tokens_seen(), 1);
    assert_eq!(world.stored().await.version, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_refreshed_once_between_40_and_50_minutes() {
    let world = world().await;
    let instances: Vec<Push> = (0..4).map(|_| world.instance()).collect();
    for push in &instances {
        world.works(push).await;
    }
    world.clock.advance(Duration::from_secs(40 * 60 - 10));
    for push in &instances {
        world.works(push).await;
    }
    assert_eq!(world.sandbox.provider_tokens_seen(), 1);
    world.clock.advance(Duration::from_secs(10 * 60 + 10));
    let answers = join_all(instances.iter().map(|push| world.through(push))).await;
    assert!(answers.iter().all(|answer| matches!(answer, Answer::Accepted { .. })), "{answers:?}");
    assert_eq!((world.sandbox.provider_tokens_seen(), world.stored().await.version), (2, 2));
}

#[tokio::test]
async fn a_refused_token_is_reloaded_and_signed_anew_only_after_20_minutes() {
    let world = world().await;
    world.works(&world.push).await;
    let expired = vec![answer(403, Some("ExpiredProviderToken"), None)];
    world.sandbox.script(TOKEN, expired.clone()).unwrap();
    assert_eq!(code(&world.through(&world.push).await), "ExpiredProviderToken");
    world.works(&world.push).await;
    assert_eq!(world.stored().await.version, 1, "too young to be replaced");
    world.clock.advance(Duration::from_secs(20 * 60));
    world.sandbox.script(TOKEN, expired).unwrap();
    assert_eq!(code(&world.through(&world.push).await), "ExpiredProviderToken");
    world.works(&world.push).await;
    assert_eq!((world.stored().await.version, world.sandbox.provider_tokens_seen()), (2, 2));
}

#[tokio::test]
async fn too_many_updates_are_no_reason_for_another() {
    let world = world().await;
    world.works(&world.push).await;
    world.sandbox.script(TOKEN, vec![answer(429, Some("TooManyProviderTokenUpdates"), None); 3]).unwrap();
    for _ in 0..3 {
        assert_eq!(code(&world.through(&world.push).await), "TooManyProviderTokenUpdates");
    }
    world.works(&world.push).await;
    assert_eq!((world.stored().await.version, world.sandbox.provider_tokens_seen()), (1, 1));
}

#[tokio::test]
async fn a_stored_token_of_another_key_is_replaced() {
    let world = world().await;
    let (team, key_id, fingerprint) = world.ids().await;
    let id = ProviderTokenId { environment: "sandbox", team: &team, key_id: &key_id, fingerprint: &fingerprint };
    let issued_s = world.clock.now_ms() / 1_000;
    let foreign = ProviderToken { jwt: "eyJh.eyJp.c2ln".into(), issued_s, version: 7 };
    let absent = StoredProviderToken::Absent;
    assert!(matches!(world.store.write_provider_token(id, &foreign, &absent).await, ProviderTokenWrite::Written));
    world.works(&world.push).await;
    assert_eq!(world.stored().await.version, 8);
    // Whoever comes late gets the winner back with the lost condition.
    match world.store.write_provider_token(id, &foreign, &StoredProviderToken::Token(foreign.clone())).await {
        ProviderTokenWrite::Conflict(StoredProviderToken::Token(winner)) => assert_eq!(winner, world.stored().await),
        other => panic!("{other:?}"),
    }
}

/// A secret that names another's ids with a key of its own neither sends with the other's token nor replaces it.
#[tokio::test]
async fn another_key_under_the_same_ids_has_no_part_in_the_token() {
    let world = world().await;
    world.works(&world.push).await;
    let mut impostor = world.secret("sendonce/acme/apns").await;
    let der = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap().to_pkcs8v1().unwrap();
    let body = base64::engine::general_purpose::STANDARD.encode(der.as_ref());
    impostor["key"] = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n").into();
    world.put_secret("sendonce/impostor/apns", &impostor).await;
    let prepared = world.push.prepare("impostor", &[ios(TOKEN)]).await.unwrap();
    assert_eq!(code(&send_to(&prepared, TOKEN).await), "InvalidProviderToken");
    world.works(&world.push).await;
    assert_eq!(world.stored().await.version, 1, "nobody wrote over it");
}
