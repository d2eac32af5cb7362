//! Webhooks of the sandbox, verified with the project's secrets.

use crate::world::{World, ask, world};
use payments::{Unverified, webhook};
use serde_json::json;
use std::time::Duration;

async fn verified(world: &World, project: &str, signature: &str, body: &str) -> Result<(), Unverified> {
    world.payments.verify(project, Some(signature), body.as_bytes()).await
}

#[tokio::test]
async fn the_provider_s_events_are_believed_and_nobody_else_s() {
    let world = world().await;
    world.prepared().await.create(&ask("pi_1")).await;
    let event = world.sandbox.settle("pi_1", "failed", Some("declined")).unwrap();
    assert_eq!(verified(&world, "acme", &event.signature, &event.body).await, Ok(()));
    let webhook::Said::About(said) = webhook::read(event.body.as_bytes()).unwrap() else { panic!() };
    assert_eq!((said.id, said.payout), (event.id, crate::world::payout()));
    let refused = Err(Unverified::Signature);
    assert_eq!(verified(&world, "acme", &event.signature, &format!("{} ", event.body)).await, refused);
    assert_eq!(world.payments.verify("acme", None, event.body.as_bytes()).await, refused);
    for project in ["globex", "nobody", "", "acme/../acme", "a b"] {
        assert_eq!(verified(&world, project, &event.signature, &event.body).await, refused, "{project}");
    }
    world.clock.advance(Duration::from_secs(302));
    assert_eq!(verified(&world, "acme", &event.signature, &event.body).await, refused);
}

#[tokio::test]
async fn a_rolled_secret_is_in_use_within_a_minute_and_the_old_one_as_long_as_it_is_listed() {
    let world = world().await;
    world.prepared().await.create(&ask("pi_1")).await;
    let old = |world: &World| world.sandbox.settle("pi_1", "succeeded", None).unwrap();
    let event = old(&world);
    assert_eq!(verified(&world, "acme", &event.signature, &event.body).await, Ok(()));
    world.put_secret(&json!({"api_key": "sk_test_sandbox_acme", "webhook_secrets": ["whsec_new"]})).await;
    // Known for less than a minute: the secret is not asked for again, and the old one still counts.
    assert_eq!(verified(&world, "acme", &event.signature, &event.body).await, Ok(()));
    world
        .put_secret(&json!({"api_key": "sk_test_sandbox_acme", "webhook_secrets": ["whsec_new", "whsec_sandbox_acme"]}))
        .await;
    world.clock.advance(Duration::from_secs(301));
    let event = old(&world);
    assert_eq!(verified(&world, "acme", &event.signature, &event.body).await, Ok(()));
    world.put_secret(&json!({"api_key": "sk_test_sandbox_acme", "webhook_secrets": ["whsec_new"]})).await;
    world.clock.advance(Duration::from_secs(301));
    let event = old(&world);
    assert_eq!(verified(&world, "acme", &event.signature, &event.body).await, Err(Unverified::Signature));
    // Rolled back: a signature that does not fit makes it look again once what it knows is a minute old.
    world.put_secret(&json!({"api_key": "sk_test_sandbox_acme", "webhook_secrets": ["whsec_sandbox_acme"]})).await;
    assert_eq!(verified(&world, "acme", &event.signature, &event.body).await, Err(Unverified::Signature));
    world.clock.advance(Duration::from_secs(61));
    let event = old(&world);
    assert_eq!(verified(&world, "acme", &event.signature, &event.body).await, Ok(()));
}
