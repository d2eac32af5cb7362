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

/// What a client heard, and the words of its devices when it looked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    /// Every answer.
    pub(crate) answers: Vec<Answer>,
    /// Every look at the devices' words.
    pub(crate) looks: Vec<Vec<String>>,
}

impl Heard {
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
        let words = words(world, id).await;
        heard.looks.extend(words);
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

/// The words of a message's devices, if the API can say them now.
pub(crate) async fn words(world: &World, id: &str) -> Option<Vec<String>> {
    let answer = world.get(&format!("/v1/messages/{id}")).await;
    (answer.status == 200).then(|| words_of(&answer.body))
}

/// The words in an answer to a GET.
#[must_use]
pub(crate) fn words_of(body: &Value) -> Vec<String> {
    let deliveries = body["deliveries"].as_array().map_or(&[][..], Vec::as_slice);
    deliveries.iter().map(|device| device["status"].as_str().unwrap_or_default().to_owned()).collect()
}
