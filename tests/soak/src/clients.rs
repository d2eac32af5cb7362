//! Clients: each owns one idempotency key, asks until it is answered, and asks again afterwards.

use crate::{
    evidence::{Answer, Said},
    plan::{Repeat, Send},
    weather::Weather,
};
use ::http::Method;
use fault::{Action, Rule, World, http};
use serde_json::Value;

/// Requests until a client stops asking. Faults end sooner.
const TRIES_MAX: usize = 12;
/// Requests to the table that are lost when no record of an attempt arrives: more than an invocation tries.
const RECORDS_LOST: u32 = 12;

/// One look at a message: the words of its devices, and when, by the clock of the system.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) asked_ms: u64,
    pub(crate) told_ms: u64,
    pub(crate) words: Vec<String>,
}

/// What a client heard, and the words of its devices when it looked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    /// Every answer.
    pub(crate) answers: Vec<Answer>,
    /// Every look at the devices' words.
    pub(crate) looks: Vec<Seen>,
    /// The statuses of looks that showed nothing.
    pub(crate) not_shown: Vec<u16>,
}

impl Heard {
    /// Takes a look, or the status of one that showed nothing.
    pub(crate) fn sees(&mut self, look: Result<Seen, u16>) {
        match look {
            Ok(seen) => self.looks.push(seen),
            Err(status) => self.not_shown.push(status),
        }
    }

    /// The id that it was told first.
    #[must_use]
    pub(crate) fn id(&self) -> Option<&str> {
        self.answers.iter().find_map(|answer| match &answer.said {
            Said::Queued(id) | Said::Duplicate(id) => Some(id.as_str()),
            _ => None,
        })
    }
}

fn said(answer: &http::Answer) -> Said {
    let body = &answer.body;
    match (answer.status.as_u16(), body["status"].as_str(), body["id"].as_str()) {
        (202, Some("queued"), Some(id)) => Said::Queued(id.to_owned()),
        (202, Some("duplicate_ignored"), Some(id)) => Said::Duplicate(id.to_owned()),
        (422, _, _) if body["code"] == "idempotency_key_reused" => Said::Reused,
        (502..=504, _, _) => Said::Nothing,
        (status, _, _) => Said::Odd(format!("{status} {body}")),
    }
}

async fn ask(world: &World, variant: u8, body: String) -> Answer {
    let answer = world.request(&Method::POST, "/v1/messages", "acme", body).await;
    Answer { variant, said: said(&answer) }
}

/// Sends, and asks again as planned.
pub(crate) async fn run(world: &World, weather: &Weather, send: &Send, looks: bool) -> Heard {
    for (token, script) in &send.scripts {
        world.script(token, script).await;
    }
    if send.inline_lost {
        weather.until_round_ends(world.no_inline_send(&send.key));
    }
    if send.record_lost {
        // The first write of the chunk's item is the claim.
        let rule = Rule::new("UpdateItem", Action::DropRequest).key(&World::pk(&send.key)).key("#0000");
        weather.until_round_ends(world.rule(rule.nth(2).times(RECORDS_LOST)));
    }
    let mut heard = Heard::default();
    if send.races {
        let ask = |variant: u8| ask(world, variant, send.body(variant).to_string());
        let (one, other) = tokio::join!(ask(0), ask(1));
        heard.answers.extend([one, other]);
    }
    until_answered(world, send, Repeat::Same, &mut heard).await;
    if send.gives_up && heard.id().is_none() {
        return heard;
    }
    for repeat in &send.repeats {
        until_answered(world, send, *repeat, &mut heard).await;
    }
    if looks && let Some(id) = heard.id() {
        let seen = look(world, id).await;
        heard.sees(seen);
    }
    heard
}

async fn until_answered(world: &World, send: &Send, repeat: Repeat, heard: &mut Heard) {
    for _ in 0..if send.gives_up { 1 } else { TRIES_MAX } {
        let (variant, body) = match repeat {
            Repeat::Same => (0, send.body(0).to_string()),
            Repeat::Respelled => (0, send.respelled()),
            Repeat::Other => (1, send.body(1).to_string()),
        };
        let answer = ask(world, variant, body).await;
        let answered = answer.said != Said::Nothing;
        heard.answers.push(answer);
        if answered {
            return;
        }
    }
}

/// The words of a message's devices, or the status of an answer that is not 200.
pub(crate) async fn look(world: &World, id: &str) -> Result<Seen, u16> {
    let (answer, seen) = get(world, &format!("/v1/messages/{id}")).await;
    if answer.status == 200 { Ok(seen) } else { Err(answer.status.as_u16()) }
}

/// A GET of a message, and the words in its answer.
pub(crate) async fn get(world: &World, path: &str) -> (http::Answer, Seen) {
    let asked_ms = world.system.clock().now_ms();
    let answer = world.get(path).await;
    let (told_ms, words) = (world.system.clock().now_ms(), words_of(&answer.body));
    (answer, Seen { asked_ms, told_ms, words })
}

fn words_of(body: &Value) -> Vec<String> {
    let deliveries = body["deliveries"].as_array().map_or(&[][..], Vec::as_slice);
    deliveries.iter().map(|device| device["status"].as_str().unwrap_or_default().to_owned()).collect()
}
