//! Sends that SQS never does, in every way in which it can say so or keep silent, by every function that sends: what is
//! not confirmed is neither deleted nor passed, and arrives later without anybody's hand (G4).

use crate::setup;
use fault::{
    Action, Rule, World,
    body::push,
    proxy::{Failure, Handle},
    queues::{DEAD, DELIVERIES, PARKING, PAYOUTS, PAYOUTS_DEAD},
    wait::eventually,
};
use serde_json::json;

/// The ways in which a send is not done, and may be done later.
fn ways() -> [Action; 4] {
    [
        Action::DropRequest,
        Action::Fail(Failure::InternalServerError),
        Action::FailEntries(vec![0]),
        Action::ForgetEntries(vec![0]),
    ]
}

/// The same, and that SQS refuses the entry for good.
fn ways_and_refused() -> Vec<Action> {
    ways().into_iter().chain([Action::RefuseEntries(vec![0])]).collect()
}

/// No send that holds `key` is done, whoever sends it and as often as it is tried.
fn none_is_done(world: &World, key: &str, way: &Action) -> Handle {
    world.rule(Rule::new("SendMessageBatch", way.clone()).key(key).times(u32::MAX))
}

/// Lets `function` meet its copy once in each of these ways, and it must still be in `queue` after each, and alone.
async fn stays(world: &World, key: &str, function: &str, queue: &str, ways: &[Action]) {
    for way in ways {
        let rule = none_is_done(world, key, way);
        if *way == ways[0] {
            world.control(&json!({function: "resume"}));
        } else {
            comes_back(world).await;
        }
        rule.hit().await;
        world.nobody_works().await;
        for name in [DELIVERIES, DEAD, PAYOUTS, PAYOUTS_DEAD] {
            assert_eq!(world.queues.held(name), usize::from(name == queue), "{name} after {way:?}");
        }
        rule.remove();
    }
    comes_back(world).await;
}

/// Past the visibility timeout and every wait before another attempt.
async fn comes_back(world: &World) {
    world.advance_ms(world.timing.visibility.max(world.timing.retry_delay_max()) + 1_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_stays_until_its_re_drive_is_confirmed() {
    let world = World::start(setup()).await;
    world.control(&json!({"deliver": "pause", "relay": "pause", "dead_letter": "pause"}));
    let id = world.queued(&push("unc-d", "device-of-unc-d")).await;
    world.wear_out(1).await;
    stays(&world, &id, "dead_letter", DEAD, &ways_and_refused()).await;
    // The relay rests: nobody else has a copy.
    world.control(&json!({"deliver": "resume"}));
    world.reaches(&id, "sent").await;
    world.control(&json!({"relay": "resume"}));
    world.drained().await;
    assert_eq!(world.calls("device-of-unc-d").len(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_s_dead_letter_stays_until_its_re_drive_is_confirmed() {
    let world = World::start(setup()).await;
    world.control(&json!({"payout": "pause", "relay": "pause", "dead_letter": "pause"}));
    let id = world.asked_back("unc-p", "pi_unconfirmed_p").await;
    world.decide("acme", &id, "approve").await.expect(200);
    world.wear_out_payouts(1).await;
    stays(&world, &id, "dead_letter", PAYOUTS_DEAD, &ways_and_refused()).await;
    world.control(&json!({"payout": "resume"}));
    world.payout_becomes(&id, "paid").await;
    world.control(&json!({"relay": "resume"}));
    world.drained().await;
    assert_eq!(world.paid("pi_unconfirmed_p").len(), 1);
    world.stop().await;
}

/// The relay repeats its record in each of these ways, at once, and passes it when the copy is confirmed; `before` kept
/// the inline send away.
async fn is_repeated(world: &World, key: &str, mut before: Handle) {
    for way in ways() {
        let rule = none_is_done(world, key, &way);
        before.remove();
        if way == ways()[0] {
            world.control(&json!({"relay": "resume"}));
            world.advance(3).await;
        }
        // More than one send tries (three times without an answer, once with one), so the record itself is repeated.
        rule.hit_times(if matches!(way, Action::DropRequest | Action::Fail(_)) { 4 } else { 2 }).await;
        before = rule;
    }
    before.remove();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_relay_repeats_a_message_that_nobody_confirmed() {
    let world = World::start(setup()).await;
    world.control(&json!({"relay": "pause"}));
    let inline = none_is_done(&world, "unc-r", &Action::DropRequest);
    let id = world.queued(&push("unc-r", "device-of-unc-r")).await;
    inline.hit().await;
    is_repeated(&world, &id, inline).await;
    world.advance(3).await;
    world.reaches(&id, "sent").await;
    world.drained().await;
    assert_eq!(world.calls("device-of-unc-r").len(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_relay_repeats_a_payout_that_nobody_confirmed() {
    let world = World::start(setup()).await;
    world.control(&json!({"relay": "pause"}));
    let id = world.asked_back("unc-q", "pi_unconfirmed_q").await;
    let inline = none_is_done(&world, &id, &Action::DropRequest);
    world.decide("acme", &id, "approve").await.expect(200);
    inline.hit().await;
    is_repeated(&world, &id, inline).await;
    world.advance(3).await;
    world.payout_becomes(&id, "paid").await;
    world.drained().await;
    assert_eq!(world.paid("pi_unconfirmed_q").len(), 1);
    world.stop().await;
}

/// What SQS refuses for good is parked and passed: the message behind it is delivered, and the audit enqueues what was
/// parked, once SQS takes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_relay_parks_what_sqs_refuses_for_good() {
    let world = World::start(setup()).await;
    world.control(&json!({"relay": "pause"}));
    let inline = none_is_done(&world, "unc-s", &Action::DropRequest);
    let refused = world.queued(&push("unc-s1", "device-of-unc-s1")).await;
    let behind = world.queued(&push("unc-s2", "device-of-unc-s2")).await;
    inline.hit_times(2).await;
    let rule = none_is_done(&world, &refused, &Action::RefuseEntries(vec![0]));
    inline.remove();
    world.control(&json!({"relay": "resume"}));
    world.advance(3).await;
    rule.hit().await;
    eventually("the record is parked", async || (world.queues.held(PARKING) == 1).then_some(())).await;
    world.reaches(&behind, "sent").await;
    world.drained().await;
    assert_eq!(world.message(&refused).await["status"], "queued");
    rule.remove();
    world.advance(600).await;
    let report = world.audited().await;
    assert_eq!(report["enqueued"]["no_delivery_item"], 1, "{report}");
    world.reaches(&refused, "sent").await;
    world.drained().await;
    assert_eq!((world.calls("device-of-unc-s1").len(), world.calls("device-of-unc-s2").len()), (1, 1));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_stays_until_its_successor_is_confirmed() {
    // In production's durations nothing comes back of itself meanwhile.
    let world = World::start(setup().production()).await;
    world.control(&json!({"deliver": "pause", "relay": "pause"}));
    let ways = ways_and_refused();
    let refusals = vec![json!({"status": 429}); ways.len()];
    world.script("device-of-unc-t", &refusals.into()).await;
    let id = world.queued(&push("unc-t", "device-of-unc-t")).await;
    stays(&world, &id, "deliver", DELIVERIES, &ways).await;
    world.reaches(&id, "sent").await;
    world.control(&json!({"relay": "resume"}));
    world.drained().await;
    let calls = world.calls("device-of-unc-t");
    assert_eq!((calls.len(), calls.iter().filter(|call| call.accepted).count()), (ways.len() + 1, 1));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inline_send_is_never_taken_for_confirmed() {
    let world = World::start(setup()).await;
    let mut sent = Vec::new();
    for (number, way) in ways_and_refused().iter().enumerate() {
        let token = format!("device-of-unc-i{number}");
        let key = format!("unc-i{number}");
        world.control(&json!({"relay": "pause"}));
        let rule = none_is_done(&world, &key, way);
        sent.push((world.queued(&push(&key, &token)).await, token));
        rule.hit().await;
        rule.remove();
    }
    world.control(&json!({"relay": "resume"}));
    world.advance(3).await;
    for (id, _) in &sent {
        world.reaches(id, "sent").await;
    }
    world.drained().await;
    for (_, token) in &sent {
        assert_eq!(world.calls(token).len(), 1, "{token}");
    }
    world.stop().await;
}

/// What it cannot read or send now is neither gone nor refused: the pass does not end, and a later one repeats the page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_audit_passes_nothing_that_it_could_not_read_or_send() {
    let world = World::start(setup().production()).await;
    world.control(&json!({"relay": "pause"}));
    let inline = none_is_done(&world, "unc-a", &Action::DropRequest);
    let id = world.queued(&push("unc-a", "device-of-unc-a")).await;
    inline.hit().await;
    inline.remove();
    world.advance(600).await;
    let unread = Rule::new("GetItem", Action::Fail(Failure::InternalServerError)).key(&World::pk("unc-a"));
    let faults = ways().into_iter().map(|way| Rule::new("SendMessageBatch", way).key(&id));
    for fault in [unread].into_iter().chain(faults) {
        let rule = world.rule(fault.times(u32::MAX));
        let report = world.audited().await;
        assert!(rule.hits() > 0, "{report}");
        assert_eq!((&report["ended"], &report["enqueued"]["no_delivery_item"]), (&json!("failed"), &json!(0)));
        rule.remove();
    }
    let report = world.audited().await;
    assert_eq!((&report["ended"], &report["enqueued"]["no_delivery_item"]), (&json!("finished"), &json!(1)));
    world.reaches(&id, "sent").await;
    world.control(&json!({"relay": "resume"}));
    world.drained().await;
    assert_eq!(world.calls("device-of-unc-a").len(), 1);
    world.stop().await;
}
