//! A consumer that stands still with claims in its hands, frozen, until its leases are over and others took its work.
//!
//! One claim is held at a point; the others of its batch are wherever they were, with calls under way or not.

use crate::{
    dice::Dice,
    evidence::{Fault, Harm, Hit},
    tally::Tally,
    witness::chunks_of,
};
use fault::{
    World,
    queues::{DELIVERIES, event},
};
use serde_json::json;
use std::time::Duration;

/// How long its copies stay hidden from others, in s.
const HIDDEN_S: i32 = 30;
/// Looks at whether others took the work, and the pause between two: nobody tells.
const LOOKS_MAX: usize = 60;
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Stalls one consumer; whether it stood still, which it does not if its copies left nothing to do. The consumers must
/// be paused; they go on once it stands still.
pub(crate) async fn stall(world: &World, dice: &mut Dice, tally: &mut Tally, faults: &mut Vec<Fault>) -> bool {
    let apart = world.fleet.apart("deliver").await;
    let process = apart.process().clone();
    let copies = world.queues.take(DELIVERIES, HIDDEN_S).await;
    let effect = *dice.pick(&["call", "call", "claim"]);
    let held = process.held();
    let hand = world.hand_and_hold(&process, &copies, effect);
    let mut hand = std::pin::pin!(hand);
    let early = tokio::select! {
        biased;
        ended = &mut hand => Some(ended),
        () = process.holds(held + 1) => None,
    };
    let stalled = early.is_none();
    let ended = if let Some(ended) = early {
        // Nothing of it was left to do.
        ended
    } else {
        let from_ms = world.system.clock().now_ms();
        // Before it is frozen, so that it wakes with the right time as a machine does.
        world.advance_ms(world.timing.lease + 1_000).await;
        process.freeze().await;
        tally.add("process frozen past its lease", 1);
        world.control(&json!({"deliver": "resume"}));
        for _ in 0..LOOKS_MAX {
            if world.queues.visible(DELIVERIES) == 0 {
                break;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        process.thaw(world.ahead_ms()).await;
        let to_ms = world.system.clock().now_ms();
        for (message, chunk) in chunks_of(&event(&copies)) {
            let (name, hit) = ("stalled past its lease", Hit::Chunk(message, chunk));
            faults.push(Fault { name, hit, from_ms, to_ms, harm: Harm::Stalled });
        }
        process.release().await;
        hand.await
    };
    // As its poller would have done.
    for (copy, _) in copies.iter().zip(ended.unwrap_or_default()).filter(|(_, kept)| !kept) {
        world.queues.delete(DELIVERIES, copy).await;
    }
    stalled
}
