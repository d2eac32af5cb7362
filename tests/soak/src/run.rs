//! One soak: rounds of sends under all faults, a drain without any, and the evidence for the oracle.

use crate::{
    clients::{self, Heard, Seen},
    dice::Dice,
    evidence::{Device, Evidence, Key, Message},
    oracle::judge,
    plan::{Repeat, Send},
    scripts,
    stall::stall,
    summary::Summary,
    tally::Tally,
    weather::{Weather, wear_out},
    witness::{Witness, by_device},
};
use fault::{Setup, World, process::Program};
use futures_util::{StreamExt, stream};
use protocol::{content::Policy, ids::MessageId};
use serde_json::json;
use std::collections::BTreeMap;

/// Clients at once.
const CLIENTS: usize = 16;
/// Sends of a round, at least and at most: one backlog, one stall, one passing of time.
const ROUND: (usize, usize) = (100, 250);
/// Rounds, where that is within these.
const ROUNDS: usize = 40;
/// From this hundredth of a round on, the consumers are paused.
const PAUSE_FROM: usize = 70;
/// Messages that are looked at after each round.
const LOOKS: usize = 20;
/// Consumers that are told to stand still until one does.
const STALLS_TRIED: usize = 3;
/// Drains until nobody has work any more.
const DRAINS: usize = 2;

/// What to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the functions' processes are started.
    pub program: Program,
    /// Decides everything that is decided by chance.
    pub seed: u64,
    /// Idempotency keys that are used.
    pub sends: usize,
}

/// Runs it.
pub async fn run(options: Options) -> Summary {
    let Options { program, seed, sends } = options;
    let apart = |count: usize| (0..count).map(|at| if at % 2 == 0 { 2_000 } else { -2_000 }).collect::<Vec<i64>>();
    // Production's durations: a busy machine is no fault, and what takes long here is the clock's to pass.
    let setup = Setup::new(program).production().skewed("api", apart(2)).skewed("deliver", apart(4));
    let world = World::start(setup).await;
    // It repairs what is lost, which is to be seen.
    world.control(&json!({"audit": "pause"}));
    let mut soak = Soak {
        weather: Weather::new(seed),
        sends: (0..sends).map(|number| Send::new(seed, number)).collect(),
        heard: Vec::new(),
        witness: Witness::default(),
        tally: Tally::default(),
        seed,
    };
    soak.tally.add("clocks of processes 2 s apart", 3);
    for round in 0..sends.div_ceil(soak.per_round()) {
        soak.round(&world, round).await;
    }
    for _ in 0..DRAINS {
        world.drained().await;
    }
    soak.witness.listen(&world, &mut soak.tally);
    let summary = soak.end(&world).await;
    world.stop().await;
    summary
}

struct Soak {
    seed: u64,
    sends: Vec<Send>,
    /// What the clients of the first sends heard.
    heard: Vec<Heard>,
    weather: Weather,
    witness: Witness,
    tally: Tally,
}

impl Soak {
    fn per_round(&self) -> usize {
        (self.sends.len() / ROUNDS).clamp(ROUND.0, ROUND.1)
    }

    async fn round(&mut self, world: &World, round: usize) {
        let mut dice = Dice::new(self.seed, "round", round);
        let first = round * self.per_round();
        let end = self.sends.len().min(first + self.per_round());
        let pause = first + (end - first) * PAUSE_FROM / 100;
        if round % 2 == 1 {
            world.control(&json!({"copies": "twice"}));
            self.tally.add("copies delivered twice", 1);
        }
        if round % 3 == 1 {
            world.control(&json!({"relay": "pause"}));
            self.tally.add("relay paused", 1);
        }
        self.send(world, first, pause).await;
        world.control(&json!({"deliver": "pause"}));
        self.tally.add("deliver paused", 1);
        self.send(world, pause, end).await;
        self.weather.release();
        if round.is_multiple_of(2) {
            // The network's faults go on for the dead letters.
            self.weather.before_letters(world, &mut dice, round.is_multiple_of(4), &mut self.tally);
            wear_out(world, &mut self.tally).await;
        }
        self.weather.end(world, &mut self.tally);
        self.weather.before_time_passes(world);
        if round % 3 == 2 {
            // What was not worth more than that is too late when the consumers go on.
            world.pass(world.timing.ttl_floor + 1_000).await;
            self.tally.add("deliver paused past deadlines", 1);
        } else {
            for _ in 0..STALLS_TRIED {
                if stall(world, &mut dice, &mut self.tally, &mut self.witness.faults).await {
                    break;
                }
            }
        }
        world.control(&json!({"copies": "once", "deliver": "resume", "relay": "resume"}));
        world.pass(world.timing.grace + world.timing.window).await;
        self.weather.end(world, &mut self.tally);
        // Past a visibility timeout in every second round, so that work piles up now and then.
        if dice.percent(50) {
            world.pass(world.timing.visibility + 1_000).await;
        }
        self.look(world, &mut dice).await;
        self.witness.listen(world, &mut self.tally);
    }

    async fn send(&mut self, world: &World, first: usize, end: usize) {
        let (weather, sends, seed) = (&self.weather, &self.sends, self.seed);
        let client = |number: usize| async move {
            weather.before(world, number);
            let looks = Dice::new(seed, "looks", number).percent(30);
            (number, clients::run(world, weather, &sends[number], looks).await)
        };
        // A client that waits holds up no other.
        let heard: BTreeMap<usize, Heard> =
            stream::iter(first..end).map(client).buffer_unordered(CLIENTS).collect().await;
        self.heard.extend(heard.into_values());
        for send in &self.sends[first..end] {
            self.tally.add("clients: two bodies raced for a key", usize::from(send.races));
            for repeat in &send.repeats {
                match repeat {
                    Repeat::Same => self.tally.add("clients: the same request again", 1),
                    Repeat::Respelled => self.tally.add("clients: the same request respelled", 1),
                    Repeat::Other => self.tally.add("clients: another body for the same key", 1),
                }
            }
        }
    }

    /// Looks at some messages, new ones and old ones.
    async fn look(&mut self, world: &World, dice: &mut Dice) {
        for _ in 0..LOOKS {
            let at = dice.below(self.heard.len());
            let heard = &mut self.heard[at];
            if let Some(id) = heard.id().map(ToOwned::to_owned) {
                heard.sees(clients::look(world, &id).await);
            }
        }
    }

    async fn end(mut self, world: &World) -> Summary {
        // Nothing fails any more: each message is found by its id and by its key.
        let last = stream::iter(&self.heard).map(|heard| last_look(world, heard)).buffered(CLIENTS);
        let last: Vec<Option<Result<Seen, u16>>> = last.collect().await;
        for (heard, last) in self.heard.iter_mut().zip(last) {
            last.into_iter().for_each(|last| heard.sees(last));
        }
        let stored = stream::iter(&self.sends).map(|send| stored(world, &send.key)).buffered(CLIENTS);
        let stored: Vec<Option<(Message, Seen)>> = stored.collect().await;
        let end_ms = world.system.clock().now_ms();
        let ledger = world.system.sandbox().ledger(None);
        assert!(ledger.first().is_none_or(|entry| entry.seq == 1), "the ledger forgot its first entries");
        let calls = self.witness.calls(&ledger, &self.sends, &mut self.tally);
        let (mut requests, mut looks, mut not_shown) = (0, 0, Vec::new());
        let mut keys = Vec::new();
        for ((send, heard), stored) in self.sends.iter().zip(&mut self.heard).zip(stored) {
            requests += heard.answers.len();
            looks += heard.looks.len() + heard.not_shown.len();
            let id = heard.id().unwrap_or_default().to_owned();
            not_shown.extend(heard.not_shown.iter().map(|status| (id.clone(), *status)));
            let message = stored.map(|(mut message, last)| {
                heard.looks.push(last);
                for (at, device) in message.devices.iter_mut().enumerate() {
                    device.looks = by_device(&heard.looks, at);
                }
                message
            });
            keys.push(Key { key: send.key.clone(), answers: heard.answers.clone(), message });
        }
        let Witness { faults, records, claims, works, jumps, .. } = self.witness;
        let verdict = judge(&Evidence { keys, calls, faults, records, claims, works, jumps, looks, not_shown, end_ms });
        Summary { seed: self.seed, sends: self.sends.len(), requests, verdict, tally: self.tally }
    }
}

/// The message by its id, if its client knows that.
async fn last_look(world: &World, heard: &Heard) -> Option<Result<Seen, u16>> {
    let id = heard.id()?;
    Some(clients::look(world, id).await)
}

/// What is stored under a key, from the table, and its devices' words, from the API.
async fn stored(world: &World, key: &str) -> Option<(Message, Seen)> {
    let (answer, seen) = clients::get(world, &format!("/v1/messages?idempotency_key={key}")).await;
    if answer.status == 404 {
        return None;
    }
    let answer = answer.expect(200);
    let id = answer.id();
    let message = world.system.store().message_alone(MessageId::parse(&id).unwrap()).await.unwrap().unwrap();
    let devices = message.devices.iter().map(|device| Device { token: device.token.0.clone(), looks: Vec::new() });
    let variant = message.content.notification.as_ref().and_then(|shown| scripts::variant(&shown.title));
    let message = Message {
        id,
        variant: variant.expect("every request has a title"),
        once: message.policy == Policy::AtMostOnce,
        deliver_by_ms: message.deliver_by_ms,
        devices: devices.collect(),
    };
    Some((message, seen))
}
