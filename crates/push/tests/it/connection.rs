//! APNs' connections: the first call alone, one connection for all, and none that is not trusted.

use crate::{
    apns::{TOKEN, ios, send_to},
    world::{TIMING, World, answer, code, world, world_with},
};
use futures_util::future::join_all;
use protocol::{answer::Answer, timing::Timing};
use sandbox::Outcome;
use std::time::{Duration, Instant};

fn tokens(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("c0ffee{number:058x}")).collect()
}

/// Sends to all devices at once.
async fn all(world: &World, tokens: &[String]) -> Vec<Answer> {
    let prepared = world.ready().await;
    join_all(tokens.iter().map(|token| send_to(&prepared, token))).await
}

fn accepted(answers: &[Answer]) -> usize {
    answers.iter().filter(|answer| matches!(answer, Answer::Accepted { .. })).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cold_start_loses_nothing_and_repeats_nothing() {
    let world = world_with(Timing { call: 2_000, ..TIMING }).await;
    world.sandbox.delay_settings(Duration::from_millis(50));
    let before = world.sandbox.connections();
    world.ready().await;
    let others = world.sandbox.connections() - before;
    let tokens = tokens(20);
    let answers = all(&world, &tokens).await;
    assert_eq!(accepted(&answers), 20, "{answers:?}");
    let ledger = world.sandbox.ledger(None);
    assert_eq!((ledger.len(), ledger.iter().filter(|entry| entry.accepted).count()), (20, 20));
    assert!(tokens.iter().all(|token| world.sandbox.ledger(Some(token)).len() == 1));
    assert_eq!(world.sandbox.streams_refused(), 0, "no stream before the first answer");
    assert_eq!(world.sandbox.connections() - before - others, 1, "one connection for all");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_call_that_is_refused_for_its_device_opens_the_way_and_one_that_hangs_does_not_block_it() {
    for outcome in [answer(410, Some("Unregistered"), None), Outcome::Hang, Outcome::Goaway, Outcome::DropAfterAccept] {
        let world = world_with(Timing { call: 2_000, ..TIMING }).await;
        let tokens = tokens(20);
        world.sandbox.script(&tokens[0], vec![outcome.clone()]).unwrap();
        let answers = all(&world, &tokens).await;
        assert_eq!(accepted(&answers[1..]), 19, "{outcome:?}: {answers:?}");
        assert!(!matches!(answers[0], Answer::Accepted { .. }));
        assert_eq!(world.sandbox.ledger(None).len(), 20, "{outcome:?}");
        assert_eq!(world.sandbox.streams_refused(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_nothing_answers_nobody_waits_longer_than_a_call() {
    let world = world().await;
    let tokens = tokens(20);
    for token in &tokens {
        world.sandbox.script(token, vec![Outcome::Hang]).unwrap();
    }
    let prepared = world.ready().await;
    let started = Instant::now();
    let answers = join_all(tokens.iter().map(|token| send_to(&prepared, token))).await;
    assert!(started.elapsed() < Duration::from_millis(TIMING.call + 200), "{:?}", started.elapsed());
    let lost = answers.iter().filter(|answer| matches!(answer, Answer::Lost(_))).count();
    assert_eq!(lost, world.sandbox.ledger(None).len(), "only what was sent can be lost");
    assert!((1..=3).contains(&lost), "{lost}");
    let waited = answers.iter().filter(|answer| code(answer) == "connection_not_ready").count();
    assert_eq!(lost + waited, 20);
}

#[tokio::test]
async fn a_connection_is_used_again_until_it_slept() {
    let world = world().await;
    let prepared = world.ready().await;
    send_to(&prepared, TOKEN).await;
    let connections = world.sandbox.connections();
    for (advance_s, fresh) in [(0, 0), (59, 0), (60, 1), (59, 1)] {
        world.clock.advance(Duration::from_secs(advance_s));
        assert!(matches!(send_to(&prepared, TOKEN).await, Answer::Accepted { .. }));
        assert_eq!(world.sandbox.connections() - connections, fresh, "after {advance_s} s");
    }
}

#[tokio::test]
async fn projects_share_a_connection_only_under_the_same_key() {
    let world = world().await;
    world.sandbox.seed_project("globex").unwrap();
    let secret = world.secret("sendonce/acme/apns").await.to_string();
    world.secrets.create_secret().name("sendonce/acme2/apns").secret_string(secret).send().await.unwrap();
    let mut prepared = Vec::new();
    for project in ["acme", "acme2", "globex"] {
        prepared.push(world.push.prepare(project, &[ios(TOKEN)]).await.unwrap());
    }
    let mut connections = Vec::new();
    for prepared in &prepared {
        let before = world.sandbox.connections();
        assert!(matches!(send_to(prepared, TOKEN).await, Answer::Accepted { .. }));
        connections.push(world.sandbox.connections() - before);
    }
    assert_eq!(connections, [1, 0, 1]);
    assert_eq!(world.sandbox.provider_tokens_seen(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_goaway_is_replaced_at_once() {
    let world = world().await;
    let tokens = tokens(10);
    assert_eq!(accepted(&all(&world, &tokens).await), 10);
    world.sandbox.script(&tokens[0], vec![Outcome::Goaway]).unwrap();
    let prepared = world.ready().await;
    assert_eq!(code(&send_to(&prepared, &tokens[0]).await), "not_processed");
    let answers = join_all(tokens.iter().map(|token| send_to(&prepared, token))).await;
    assert_eq!(accepted(&answers), 10, "{answers:?}");
    assert!(tokens[1..].iter().all(|token| world.sandbox.ledger(Some(token)).len() == 2));
}
