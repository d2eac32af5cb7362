//! The faults of a run: which one comes before which send, and who pauses when. Decided by the seed.

use crate::{dice::Dice, tally::Tally, witness::REDRIVE};
use fault::{Action, Rule, World, proxy::Failure, proxy::Handle, queues::DEAD, queues::DELIVERIES, wait::eventually};
use serde_json::json;
use std::sync::{Mutex, PoisonError};

/// Before every so many sends the next rule of the catalogue is placed.
const RULE_EVERY: usize = 2;
/// In so many of a hundred sends a process is told to die, by function.
const KILLS: [(&str, usize); 4] = [("deliver", 5), ("api", 4), ("relay", 2), ("dead_letter", 1)];
/// In so many of a hundred sends an invocation's answer is to be lost.
const ANSWERS_LOST: usize = 1;
/// Where deliver dies, the places where it matters most often.
const DELIVER: [&str; 10] =
    ["call", "call", "call", "claim", "claim", "record", "record", "prepare", "successor", "read"];
/// Receives that wear copies out at most.
const WEAR_MAX: usize = 200;
/// Longest delay of a request in real ms: far within every limit, so it loses no answer.
const DELAY_MAX_MS: usize = 300;

/// Operations and what can happen to them.
const CATALOGUE: [(&str, &str); 31] = [
    ("PutItem", "drop_request"),
    ("UpdateItem", "apply_drop_response"),
    ("SendMessageBatch", "error"),
    ("fcm", "drop_request"),
    ("Query", "stale"),
    ("PutItem", "apply_drop_response"),
    ("UpdateItem", "drop_request"),
    ("SendMessageBatch", "fail_entries"),
    ("apns", "apply_drop_response"),
    ("PutItem", "error"),
    ("UpdateItem", "delay"),
    ("SendMessageBatch", "duplicate"),
    ("fcm", "apply_drop_response"),
    ("GetItem", "error"),
    ("Query", "stale"),
    ("UpdateItem", "duplicate"),
    ("SendMessageBatch", "drop_request"),
    ("GetSecretValue", "error"),
    ("PutItem", "hold"),
    ("UpdateItem", "error"),
    ("SendMessageBatch", "apply_drop_response"),
    ("apns", "drop_request"),
    ("Query", "error"),
    ("UpdateItem", "hold"),
    ("SendMessageBatch", "hold"),
    ("ChangeMessageVisibility", "error"),
    ("fcm", "delay"),
    ("PutItem", "duplicate"),
    ("GetItem", "drop_request"),
    ("SendMessageBatch", "delay"),
    ("oauth", "drop_request"),
];

/// The weather of one run.
#[derive(Debug)]
pub(crate) struct Weather {
    seed: u64,
    rules: Mutex<Vec<Handle>>,
    armed: Mutex<Vec<&'static str>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Weather {
    /// For a seed.
    #[must_use]
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, rules: Mutex::default(), armed: Mutex::default() }
    }

    /// What comes before the `number`-th send.
    pub(crate) fn before(&self, world: &World, number: usize) {
        let mut dice = Dice::new(self.seed, "weather", number);
        if number.is_multiple_of(RULE_EVERY) {
            let (operation, action) = CATALOGUE[number / RULE_EVERY % CATALOGUE.len()];
            let rule = Rule::new(operation, self::action(&mut dice, operation, action));
            // Of a message, not of the lists of dead tokens, which are looked at more often and matter less.
            let rule = if operation == "Query" { rule.key("K#") } else { rule };
            // Several in a row outlast the SDK's own tries.
            let rule = rule.nth(u32::try_from(dice.between(1, 4)).unwrap_or(1));
            let times = match action {
                "stale" => 8,
                // Costs its client a whole limit, in real time.
                "hold" => 1,
                _ => dice.between(1, 4),
            };
            locked(&self.rules).push(world.rule(rule.times(u32::try_from(times).unwrap_or(1))));
        }
        for (function, percent) in KILLS {
            if dice.percent(percent) {
                self.kill(world, &mut dice, function);
            }
        }
        if dice.percent(ANSWERS_LOST) {
            let function = if dice.percent(50) { "deliver" } else { "relay" };
            world.fleet.lose_answer(function);
        }
    }

    fn kill(&self, world: &World, dice: &mut Dice, function: &'static str) {
        let effect = match function {
            "deliver" => *dice.pick(&DELIVER),
            "api" => *dice.pick(&["put", "send"]),
            "relay" => *dice.pick(&["look", "send"]),
            _ => *dice.pick(&["read", "redrive"]),
        };
        let nth = if effect == "call" { u32::try_from(dice.between(1, 3)).unwrap_or(1) } else { 1 };
        world.fleet.kill_after(function, effect, nth);
        locked(&self.armed).push(function);
    }

    /// What dead letters meet, besides the rules that are still there: the deaths of others are over, and either the
    /// function that reads them dies (`dies`), or sends of its own fail.
    pub(crate) fn before_letters(&self, world: &World, dice: &mut Dice, dies: bool, tally: &mut Tally) {
        self.disarm(world, tally);
        if dies {
            world.fleet.kill_after("dead_letter", "read", 1);
            locked(&self.armed).push("dead_letter");
            return;
        }
        let action = match *dice.pick(&["drop_request", "error", "fail_entries"]) {
            "fail_entries" => Action::FailEntries(vec![0]),
            other => self::action(dice, "SendMessageBatch", other),
        };
        // As often as the SDK tries at least.
        let times = u32::try_from(dice.between(3, 6)).unwrap_or(3);
        self.until_round_ends(world.rule(Rule::new("SendMessageBatch", action).key(REDRIVE).times(times)));
    }

    /// One more death of each function that works only when time passes.
    pub(crate) fn before_time_passes(&self, world: &World) {
        // Where each invocation comes by.
        for (function, effect) in [("relay", "look"), ("dead_letter", "read")] {
            world.fleet.kill_after(function, effect, 1);
            locked(&self.armed).push(function);
        }
        let stale = Rule::new("Query", Action::Stale).key("K#").times(8);
        locked(&self.rules).push(world.rule(stale));
    }

    /// Keeps somebody's rule, which ends with all others.
    pub(crate) fn until_round_ends(&self, rule: Handle) {
        locked(&self.rules).push(rule);
    }

    /// Lets go what is held.
    pub(crate) fn release(&self) {
        locked(&self.rules).iter().for_each(Handle::release);
    }

    /// Ends all of it, and counts the deaths.
    pub(crate) fn end(&self, world: &World, tally: &mut Tally) {
        locked(&self.rules).drain(..).for_each(|rule| rule.remove());
        self.disarm(world, tally);
    }

    /// Ends the deaths alone.
    fn disarm(&self, world: &World, tally: &mut Tally) {
        let left = world.fleet.disarm();
        let mut armed = std::mem::take(&mut *locked(&self.armed));
        for function in left {
            if let Some(at) = armed.iter().position(|name| *name == function) {
                armed.remove(at);
            }
        }
        armed.into_iter().for_each(|function| tally.add(&format!("{function} killed at a point"), 1));
    }
}

fn action(dice: &mut Dice, operation: &str, action: &str) -> Action {
    match action {
        "drop_request" => Action::DropRequest,
        "apply_drop_response" => Action::DropResponse,
        "delay" => Action::Delay(dice.between(20, DELAY_MAX_MS) as u64),
        "duplicate" => Action::Duplicate,
        "hold" => Action::Hold,
        "stale" => Action::Stale,
        "fail_entries" => Action::FailEntries((0..dice.between(1, 3)).collect()),
        _ if matches!(operation, "SendMessageBatch" | "ChangeMessageVisibility") => {
            Action::Fail(*dice.pick(&Failure::SQS))
        }
        _ => Action::Fail(*dice.pick(&Failure::DYNAMODB)),
    }
}

/// Receives copies without handling them until SQS gives up on some, and lets their function meet them. The consumers
/// must be paused.
pub(crate) async fn wear_out(world: &World, tally: &mut Tally) {
    world.control(&json!({"dead_letter": "pause"}));
    for _ in 0..WEAR_MAX {
        if world.queues.take(DELIVERIES, 0).await.is_empty() || world.queues.held(DEAD) > 2 {
            break;
        }
    }
    tally.add("copies worn out", world.queues.held(DEAD));
    world.control(&json!({"dead_letter": "resume"}));
    eventually("every dead letter is met", async || (world.queues.visible(DEAD) == 0).then_some(())).await;
    world.nobody_works().await;
}
