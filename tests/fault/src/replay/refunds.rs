//! The replay of a trace of the refunds' model.

use super::{
    Step, Unplayable,
    stage::{PAYOUT, PROCESSES, Stage, number},
};
use crate::{
    Setup, World,
    http::Answer,
    proxy::{Decision, Held},
};
use http::Method;
use model::{refunds::Told, trace::Do};
use protocol::timing::{PROVIDER_KEY_LIVES_MS, Timing};
use sandbox::Webhook;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};
use tokio::task::JoinHandle;

/// The payment of every replay.
pub const PAYMENT: &str = "pi_replayed";
/// Who approves or rejects, by place.
const PEOPLE: [&str; 3] = ["acme", "acme_second", "acme"];
/// What is a second later than a moment, in ms.
const LATER_MS: u64 = 1_000;

/// What came of a trace.
#[derive(Debug)]
pub struct Played {
    /// The world, drained.
    pub world: World,
    /// The refund's id.
    pub id: String,
    /// The refund after the last step.
    pub then: Value,
    /// Requests to pay that had reached the provider by then.
    pub calls: usize,
    /// What each person was answered.
    pub answers: Vec<Answer>,
}

/// Plays a story of the model.
///
/// # Errors
/// When a step is of a kind that cannot be played. Panics when the functions do something else than the trace says.
pub async fn play(setup: Setup, told: &Told) -> Result<Played, Unplayable> {
    let mut setup = setup.production();
    for function in ["refunds", "payout", "dead_letter"] {
        setup = setup.processes(function, PROCESSES);
    }
    let world = Arc::new(World::start(setup).await);
    let id = world.asked_back("replayed refund", PAYMENT).await;
    let stage = Stage::new(world.clone(), PAYOUT);
    let events = HashMap::new();
    let mut player = Player { stage, id: id.clone(), later: told.later, desks: BTreeMap::new(), events };
    for (at, step) in told.trace.steps.iter().enumerate() {
        if !player.step(step).await {
            return Err(Unplayable { at, step: step.clone() });
        }
    }
    let (then, calls) = (world.refund(&id).await, world.calls(PAYMENT).len());
    let answers = player.finish().await;
    let world = Arc::into_inner(world).expect("nobody else holds it");
    // The provider decides in the end.
    if world.system.sandbox().refunds_of(PAYMENT).iter().any(|refund| refund["status"] == "pending") {
        world.system.sandbox().settle(PAYMENT, "succeeded", None).unwrap();
    }
    world.drained().await;
    Ok(Played { world, id, then, calls, answers })
}

struct Player {
    stage: Stage,
    id: String,
    /// The provider decides later.
    later: bool,
    /// By place; whoever has not asked is not there.
    desks: BTreeMap<usize, JoinHandle<Answer>>,
    /// Events that were not delivered yet, by what they say.
    events: HashMap<String, Webhook>,
}

impl Player {
    async fn step(&mut self, step: &Step) -> bool {
        let timing = self.stage.world.timing;
        match (step.function.as_str(), step.effect.as_str(), step.r#do) {
            ("time", what, Do::Pass) => match passes(what, &timing) {
                Some(ms) => self.stage.world.advance_ms(ms).await,
                None => return false,
            },
            ("sqs", _, Do::Bury) => self.stage.bury(&step.about, copy_of(step)).await,
            ("provider", "decide", Do::Pass) => {
                let status = if step.about == "Succeeded" { "succeeded" } else { "failed" };
                let event = self.stage.world.system.sandbox().settle(PAYMENT, status, None).unwrap();
                self.events.insert(step.about.clone(), event);
            }
            ("webhook", "event", Do::Apply) => {
                let Some(event) = step.about.split(' ').nth(2).and_then(|stands| self.events.remove(stands)) else {
                    return false;
                };
                let world = self.stage.world.clone();
                let asked = tokio::spawn(async move { world.webhook(&event).await });
                self.answered(asked).await.expect(200);
            }
            ("refunds", "decide" | "send", what) => {
                self.sits_down(usize::from(step.invocation), &step.about);
                self.stage.effect(step, what).await;
                self.hears(usize::from(step.invocation), what).await;
            }
            ("refunds", "retry", Do::Apply) => {
                let world = self.stage.world.clone();
                let path = format!("/v1/refunds/{}/payout/retry", self.id);
                let refund = world.refund(&self.id).await;
                let body = json!({"payout_id": refund["payout"]["id"]}).to_string();
                let asked = tokio::spawn(async move { world.request(&Method::POST, &path, "acme", body).await });
                self.answered(asked).await.expect(200);
            }
            ("relay", "send", what @ (Do::Apply | Do::ApplyDropResponse | Do::DropRequest | Do::CrashAfter)) => {
                self.stage.relay_comes("send").await;
                self.stage.effect(step, what).await;
            }
            ("payout", "receive", Do::Start) => {
                let at = usize::from(step.invocation);
                self.stage.receive(at, &step.about, copy_of(step)).await;
                self.settles(at).await;
            }
            ("payout", effect, what) => {
                if effect == "call" {
                    self.says(what).await;
                }
                let what = match what {
                    Do::RefuseForNow | Do::RefuseForGood | Do::Error if effect == "call" => Do::Apply,
                    what => what,
                };
                // A listing has no refusal and no delay in these stories.
                if effect == "look" && !matches!(what, Do::Apply | Do::CrashBefore) {
                    return false;
                }
                let at = usize::from(step.invocation);
                self.stage.effect(step, what).await;
                if !matches!(what, Do::CrashBefore | Do::CrashAfter) {
                    self.settles(at).await;
                }
            }
            ("dead_letter", "redrive", Do::Apply) => {
                self.stage.exhume(&step.about, copy_of(step)).await;
                let step = Step { invocation: 0, ..step.clone() };
                self.stage.effect(&step, Do::Apply).await;
                let letter = self.stage.letters.remove(0);
                let kept = crate::wait::within("a letter is handled", letter.ended).await.unwrap().unwrap()[0];
                assert!(!kept, "the trace is done with it");
                self.stage.world.queues.delete(PAYOUT.dead, &letter.copy).await;
            }
            _ => return false,
        }
        true
    }

    /// A person asks, unless it has.
    fn sits_down(&mut self, desk: usize, about: &str) {
        let (world, id, what) = (self.stage.world.clone(), self.id.clone(), about.to_owned());
        self.stage.asked.resize(PEOPLE.len(), None);
        let asks = || tokio::spawn(async move { world.decide(PEOPLE[desk], &id, &what).await });
        self.desks.entry(desk).or_insert_with(asks);
    }

    /// A person who was heard of asks for something next, or is answered.
    async fn hears(&mut self, desk: usize, what: Do) {
        if matches!(what, Do::CrashBefore | Do::CrashAfter) {
            return;
        }
        let slot = self.stage.asked[desk];
        crate::wait::eventually("a person's request goes on or is answered", async || {
            self.stage.waiting.extend(self.stage.gate.come());
            let asks = |held: &Held| held.function == "refunds" && held.slot == slot;
            (self.desks[&desk].is_finished() || self.stage.waiting.iter().any(asks)).then_some(())
        })
        .await;
    }

    /// The answer to a request whose steps are one in the model: all that it asks for passes.
    async fn answered<T>(&mut self, mut asked: JoinHandle<T>) -> T {
        loop {
            let held = tokio::select! {
                answer = &mut asked => return answer.unwrap(),
                held = self.stage.gate.next("a request is answered") => held,
            };
            let others = held.function != "refunds" || self.stage.asked.contains(&held.slot);
            if others {
                self.stage.waiting.push(held);
            } else {
                held.decide(Decision::Apply).await;
            }
        }
    }

    /// What the provider answers to the call that is next.
    async fn says(&self, what: Do) {
        let refusal = "charge_already_refunded";
        let outcome = match what {
            Do::RefuseForNow => json!({"status": 429, "kept": false}),
            Do::RefuseForGood => json!({"status": 400, "reason": refusal}),
            // Before keys are looked at.
            Do::Error => json!({"status": 400, "reason": refusal, "kept": false}),
            _ if self.later => json!("pending"),
            _ => json!("accept"),
        };
        self.stage.world.script(PAYMENT, &json!([outcome])).await;
    }

    /// A consumer asks for something that others see, or ends.
    async fn settles(&mut self, at: usize) {
        let slot = Some(self.stage.runs[at].slot);
        let ended = crate::wait::eventually("a consumer goes on or ends", async || {
            self.stage.waiting.extend(self.stage.gate.come());
            let mut asked = false;
            for held in self.stage.waiting.iter_mut().filter(|held| held.function == "payout") {
                // The provider is not told who asks: whoever goes on now, since all others stand still.
                held.slot = held.slot.or(slot);
                asked |= held.slot == slot;
            }
            if asked {
                return Some(false);
            }
            self.stage.runs[at].ended.is_finished().then_some(true)
        })
        .await;
        if ended {
            self.stage.puts_back(at).await;
        }
    }

    /// Lets everything run; what each person was answered.
    async fn finish(self) -> Vec<Answer> {
        self.stage.opens().await;
        let mut answers = Vec::new();
        for asked in self.desks.into_values() {
            answers.push(crate::wait::within("a person is answered", asked).await.unwrap());
        }
        answers
    }
}

/// Whether a copy is of the payout that a step is about.
fn copy_of(step: &Step) -> impl Fn(&Value) -> bool + use<> {
    let end = format!("_{}", number(&step.about, "payout ").unwrap_or(0));
    move |body: &Value| body["payout"].as_str().is_some_and(|payout| payout.ends_with(&end))
}

/// How long it takes that this passes, in ms.
fn passes(what: &str, timing: &Timing) -> Option<u64> {
    Some(match what {
        "payout_window" => timing.payout_window,
        "payout_window_settled" | "payout_busy" => timing.payout_busy_until(0) + LATER_MS,
        "provider_key" => PROVIDER_KEY_LIVES_MS,
        _ => return None,
    })
}
