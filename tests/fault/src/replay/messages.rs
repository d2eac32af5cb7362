//! The replay of a trace of the messages' model.

use super::{
    Step, Unplayable,
    stage::{DELIVER, PROCESSES, Stage, number},
};
use crate::{
    Setup, World,
    body::{push, under},
    http::Answer,
    proxy::{Decision, Held},
    queues::DELIVERIES,
};
use model::trace::{Do, Trace};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::task::JoinHandle;

/// How long messages of a trace are delivered for, in s; what traces call the deadline.
const TTL_S: u64 = 86_400;

/// What came of a trace.
#[derive(Debug)]
pub struct Played {
    /// The world, drained.
    pub world: World,
    /// What each request was answered; none whose process died.
    pub answers: Vec<Answer>,
    /// The ids of the messages that were accepted, in order.
    pub ids: Vec<String>,
}

/// The device of a body of a trace.
#[must_use]
pub fn token(body: u32) -> String {
    format!("device-of-body-{body}")
}

/// The next effect of a consumer, which is named by its place among those running; the places shift when one before it
/// ends.
fn next_of(mut invocation: u8, later: &[Step]) -> &str {
    for step in later.iter().filter(|step| step.function == "deliver") {
        if step.invocation == invocation {
            return &step.effect;
        }
        let over = step.effect == "acknowledge" || matches!(step.r#do, Do::CrashBefore | Do::CrashAfter);
        if over && step.invocation < invocation {
            invocation -= 1;
        }
    }
    ""
}

/// Plays a trace in which every request is made under this policy.
///
/// # Errors
/// When a step is of a kind that cannot be played. Panics when the functions do something else than the trace says.
pub async fn play(setup: Setup, policy: &str, trace: &Trace) -> Result<Played, Unplayable> {
    let mut setup = setup.production();
    for function in ["api", "deliver", "relay", "dead_letter"] {
        setup = setup.processes(function, if function == "relay" { 1 } else { PROCESSES });
    }
    let world = Arc::new(World::start(setup).await);
    let mut player = Player { stage: Stage::new(world.clone(), DELIVER), policy: policy.to_owned(), apis: Vec::new() };
    for (at, step) in trace.steps.iter().enumerate() {
        if !player.step(step).await {
            return Err(Unplayable { at, step: step.clone() });
        }
        player.ends(step, &trace.steps[at + 1..]).await;
    }
    let (answers, ids) = player.finish().await;
    let world = Arc::into_inner(world).expect("nobody else holds it");
    world.drained().await;
    Ok(Played { world, answers, ids })
}

struct Player {
    stage: Stage,
    policy: String,
    apis: Vec<(usize, JoinHandle<Answer>)>,
}

impl Player {
    async fn step(&mut self, step: &Step) -> bool {
        match (step.function.as_str(), step.effect.as_str(), step.r#do) {
            ("time", "lease", Do::Pass) => self.stage.world.advance_ms(self.stage.world.timing.lease + 1_000).await,
            ("time", "deadline", Do::Pass) => self.stage.world.advance_ms(TTL_S * 1_000).await,
            ("time", "clock_rule", Do::Pass) => {
                self.stage.world.advance_ms(self.stage.world.timing.lease + self.stage.world.timing.skew + 1_000).await;
            }
            ("sqs", _, Do::Duplicate) => {
                let copy = self.stage.runs[0].copy.body.clone().unwrap();
                self.stage.world.queues.send(DELIVERIES, &copy).await;
            }
            ("sqs", _, Do::Bury) => self.stage.bury(&step.about, self.chunk(&step.about)).await,
            ("network", effect, Do::Arrive) => self.stage.arrives(effect).await,
            ("deliver", "receive", Do::Start) => {
                let place = self.stage.runs.len();
                self.stage.receive(place, &step.about, self.chunk(&step.about)).await;
            }
            ("dead_letter", "receive", Do::Start) => self.stage.exhume(&step.about, self.chunk(&step.about)).await,
            // Credentials come from a cache or do not come; no request says which.
            ("deliver", "prepare", Do::Apply) => {}
            ("deliver", "prepare", _) | ("api", "over", _) | (_, _, Do::Lose | Do::ApplyInPart | Do::Pass) => {
                return false;
            }
            ("deliver", "acknowledge", what) => self.acknowledge(usize::from(step.invocation), what).await,
            ("relay", "look", what @ (Do::Start | Do::Apply | Do::ReadStale)) => {
                self.stage.relay_comes("look").await;
                let what = if what == Do::Start { Do::Apply } else { what };
                self.stage.effect(step, what).await;
            }
            ("api", ..) => {
                while self.apis.len() <= usize::from(step.invocation) {
                    self.request(&step.about);
                }
                self.stage.effect(step, step.r#do).await;
            }
            ("relay" | "deliver" | "dead_letter", _, what) => self.stage.effect(step, what).await,
            _ => return false,
        }
        true
    }

    /// A consumer that was heard of asks for something next, or ends. The model has no step for what nobody else sees: a
    /// read or a release, and an acknowledgement where no fault is left for it.
    async fn ends(&mut self, step: &Step, later: &[Step]) {
        let alive = step.effect != "acknowledge" && !matches!(step.r#do, Do::CrashBefore | Do::CrashAfter | Do::Stall);
        if step.function != "deliver" || !alive {
            return;
        }
        let Some(run) = self.stage.runs.get(usize::from(step.invocation)) else { return };
        let (slot, mut ended) = (Some(run.slot), false);
        let next = next_of(step.invocation, later);
        crate::wait::eventually("a consumer goes on or ends", async || {
            self.stage.waiting.extend(self.stage.gate.come());
            let asked = |held: &Held| held.function == "deliver" && (held.slot.is_none() || held.slot == slot);
            match self.stage.waiting.iter().position(asked) {
                Some(at)
                    if ["read", "release"].contains(&self.stage.waiting[at].effect)
                        && next != self.stage.waiting[at].effect =>
                {
                    self.stage.waiting.remove(at).decide(Decision::Apply).await;
                    None
                }
                Some(_) => Some(()),
                None => {
                    ended = self.stage.runs[usize::from(step.invocation)].ended.is_finished();
                    ended.then_some(())
                }
            }
        })
        .await;
        if ended && next != "acknowledge" {
            self.stage.puts_back(usize::from(step.invocation)).await;
        }
    }

    /// The next request of the api.
    fn request(&mut self, about: &str) {
        let world = self.stage.world.clone();
        let mut body = under(&self.policy, push("key-of-the-replay", &token(number(about, "body ").unwrap_or(0))));
        body["ttl_seconds"] = json!(TTL_S);
        let project = if number(about, "project ").unwrap_or(0) == 0 { "acme" } else { "globex" };
        let slot = self.apis.len();
        let post = async move { world.request(&http::Method::POST, "/v1/messages", project, body.to_string()).await };
        self.apis.push((slot, tokio::spawn(post)));
    }

    /// Whether a copy is of the chunk that a step is about.
    fn chunk(&self, about: &str) -> impl Fn(&Value) -> bool + use<> {
        let (message, chunk) = (number(about, "message ").unwrap_or(0), number(about, "chunk ").unwrap_or(0));
        let id = self.stage.ids[message as usize].clone();
        move |body: &Value| body["id"] == id.as_str() && body["chunk"] == chunk
    }

    /// An invocation ends: its copy is deleted if it may be, unless the acknowledgement is lost.
    async fn acknowledge(&mut self, invocation: usize, what: Do) {
        let run = self.stage.runs.remove(invocation);
        let kept = crate::wait::within("an invocation ends", run.ended).await.unwrap().unwrap()[0];
        assert!(!kept, "the trace acknowledges");
        if what == Do::Apply {
            self.stage.world.queues.delete(DELIVERIES, &run.copy).await;
        } else {
            self.stage.world.queues.show(DELIVERIES, &run.copy).await;
        }
    }

    /// Lets everything run.
    async fn finish(self) -> (Vec<Answer>, Vec<String>) {
        let ids = self.stage.ids.clone();
        self.stage.opens().await;
        let mut answers = Vec::new();
        for (_, asked) in self.apis {
            answers.push(crate::wait::within("the api answers", asked).await.unwrap());
        }
        (answers, ids)
    }
}
