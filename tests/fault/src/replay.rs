//! A trace of the model, played on the real functions: one step after the other, as the trace has them.
//!
//! A step is what `tests/model` tells: function, which of its invocations, effect, its number, what is done to
//! it. The replay stands at the proxy's gate, so nothing happens that the trace does not say; where it says "crash" the
//! process is killed. The replay is also the event source of deliver and dead_letter, one copy at a time. After the last
//! step everything runs free until nothing is left to do. What the trace expects at an effect is checked: a step whose
//! effect never comes, or comes as another one, fails the replay.

use crate::{
    Setup, World,
    body::{push, under},
    http::Answer,
    process::Process,
    proxy::{Decision, Failure, Gate, Held},
    queues::{DEAD, DELIVERIES},
};
use aws_sdk_sqs::types::Message;
use model::trace::{Do, Trace, TraceStep as Step};
use serde_json::json;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Tries of one operation by the SDK (`platform::AwsTimeouts::within`).
const TRIES: u32 = 3;
/// Processes for each function: more invocations than this never run at once in a trace.
const PROCESSES: usize = 3;
/// How long messages of a trace are delivered for, in s; what traces call the deadline.
const TTL_S: u64 = 86_400;

/// A step that no proxy can play.
#[derive(Clone, Debug, thiserror::Error)]
#[error("step {at} cannot be replayed: {step:?}")]
pub struct Unplayable {
    /// Its place, from 0.
    pub at: usize,
    /// The step.
    pub step: Step,
}

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

/// The number after a word in what a step is about.
fn number(about: &str, word: &str) -> Option<u32> {
    about.split(word).nth(1)?.split_whitespace().next()?.parse().ok()
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
    world.control(&json!({"deliver": "pause", "relay": "pause", "dead_letter": "pause"}));
    let gate = world.proxy.gate();
    let mut player = Player {
        world: world.clone(),
        policy: policy.to_owned(),
        gate,
        waiting: Vec::new(),
        network: Vec::new(),
        apis: Vec::new(),
        runs: Vec::new(),
        letters: Vec::new(),
        ids: Vec::new(),
    };
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

/// An invocation of deliver or dead_letter.
struct Run {
    slot: usize,
    process: Arc<Process>,
    copy: Message,
    ended: JoinHandle<Result<Vec<bool>, String>>,
}

struct Player {
    world: Arc<World>,
    policy: String,
    gate: Gate,
    /// At the gate, and nobody's turn yet.
    waiting: Vec<Held>,
    /// Held in the network.
    network: Vec<Held>,
    apis: Vec<(usize, JoinHandle<Answer>)>,
    runs: Vec<Run>,
    letters: Vec<Run>,
    ids: Vec<String>,
}

impl Player {
    async fn step(&mut self, step: &Step) -> bool {
        match (step.function.as_str(), step.effect.as_str(), step.r#do) {
            ("time", "lease", Do::Pass) => self.advance_ms(self.world.timing.lease + 1_000).await,
            ("time", "deadline", Do::Pass) => self.advance_ms(TTL_S * 1_000).await,
            ("time", "clock_rule", Do::Pass) => {
                self.advance_ms(self.world.timing.lease + self.world.timing.skew + 1_000).await;
            }
            ("sqs", _, Do::Duplicate) => {
                let copy = self.runs[0].copy.body.clone().unwrap();
                self.world.queues.send(DELIVERIES, &copy).await;
            }
            ("sqs", _, Do::Bury) => {
                let copy = self.take(DELIVERIES, &step.about).await;
                self.world.queues.send(DEAD, copy.body.as_deref().unwrap()).await;
                self.world.queues.delete(DELIVERIES, &copy).await;
            }
            ("network", effect, Do::Arrive) => {
                let at = self.network.iter().position(|held| held.effect == effect).expect("it was held");
                let held = self.network.remove(at);
                held.decide(Decision::ApplyDropResponse).await;
            }
            ("deliver", "receive", Do::Start) => {
                let run = self.receive("deliver", DELIVERIES, &step.about).await;
                self.runs.push(run);
            }
            ("dead_letter", "receive", Do::Start) => {
                let run = self.receive("dead_letter", DEAD, &step.about).await;
                self.letters.push(run);
            }
            // Credentials come from a cache or do not come; no request says which.
            ("deliver", "prepare", Do::Apply) => {}
            ("deliver", "prepare", _) | ("api", "over", _) | (_, _, Do::Lose | Do::ApplyInPart | Do::Pass) => {
                return false;
            }
            ("deliver", "acknowledge", what) => self.acknowledge(usize::from(step.invocation), what).await,
            ("relay", "look", Do::Start | Do::Apply) => {
                self.world.control(&json!({"relay": "resume"}));
                self.relay_looks().await;
                self.effect(step, Do::Apply).await;
            }
            ("relay", "look", Do::ReadStale) => {
                self.world.control(&json!({"relay": "resume"}));
                self.relay_looks().await;
                self.effect(step, Do::ReadStale).await;
            }
            ("api", ..) => {
                while self.apis.len() <= usize::from(step.invocation) {
                    self.request(&step.about);
                }
                self.effect(step, step.r#do).await;
            }
            ("relay" | "deliver" | "dead_letter", _, what) => self.effect(step, what).await,
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
        let Some(run) = self.runs.get(usize::from(step.invocation)) else { return };
        let (slot, mut ended) = (Some(run.slot), false);
        let next = next_of(step.invocation, later);
        crate::wait::eventually("a consumer goes on or ends", async || {
            self.waiting.extend(self.gate.come());
            let asked = |held: &Held| held.function == "deliver" && (held.slot.is_none() || held.slot == slot);
            match self.waiting.iter().position(asked) {
                Some(at)
                    if ["read", "release"].contains(&self.waiting[at].effect) && next != self.waiting[at].effect =>
                {
                    self.waiting.remove(at).decide(Decision::Apply).await;
                    None
                }
                Some(_) => Some(()),
                None => {
                    ended = self.runs[usize::from(step.invocation)].ended.is_finished();
                    ended.then_some(())
                }
            }
        })
        .await;
        if ended && next != "acknowledge" {
            let run = self.runs.remove(usize::from(step.invocation));
            let kept = run.ended.await.unwrap().unwrap()[0];
            if kept {
                self.world.queues.show(DELIVERIES, &run.copy).await;
            } else {
                self.world.queues.delete(DELIVERIES, &run.copy).await;
            }
        }
    }

    /// Lets the stream's window pass, which begins when the poller notices the record, until the relay is at the gate.
    async fn relay_looks(&mut self) {
        crate::wait::eventually("the relay looks", async || {
            self.waiting.extend(self.gate.come());
            if self.waiting.iter().any(|held| held.effect == "look") {
                return Some(());
            }
            self.world.advance_ms(self.world.timing.window / 20).await;
            None
        })
        .await;
    }

    async fn advance_ms(&self, ms: u64) {
        self.world.advance_ms(ms).await;
    }

    /// The next request of the api.
    fn request(&mut self, about: &str) {
        let world = self.world.clone();
        let mut body = under(&self.policy, push("key-of-the-replay", &token(number(about, "body ").unwrap_or(0))));
        body["ttl_seconds"] = json!(TTL_S);
        let project = if number(about, "project ").unwrap_or(0) == 0 { "acme" } else { "globex" };
        let slot = self.apis.len();
        let post = async move { world.request(&http::Method::POST, "/v1/messages", project, body.to_string()).await };
        self.apis.push((slot, tokio::spawn(post)));
    }

    /// A copy of a queue, of the chunk that a step is about.
    async fn take(&mut self, queue: &str, about: &str) -> Message {
        let (message, chunk) = (number(about, "message ").unwrap_or(0), number(about, "chunk ").unwrap_or(0));
        let id = self.ids[message as usize].clone();
        crate::wait::eventually(&format!("a copy of {about} is in {queue}"), async || {
            // Nothing else looks at the queues, and what is not wanted comes back at once.
            self.world.queues.take_one(queue, |body| body["id"] == id.as_str() && body["chunk"] == chunk).await
        })
        .await
    }

    async fn receive(&mut self, function: &'static str, queue: &str, about: &str) -> Run {
        let copy = self.take(queue, about).await;
        let running = if function == "deliver" { &self.runs } else { &self.letters };
        let slot = (0..PROCESSES).find(|slot| running.iter().all(|run| run.slot != *slot)).expect("a free process");
        let process = self.world.fleet.process(function, slot).await;
        if function == "deliver" {
            self.world.proxy.begins(slot);
        }
        let ended = tokio::spawn({
            let (world, process, copy) = (self.world.clone(), process.clone(), copy.clone());
            async move { world.hand(&process, &[copy]).await }
        });
        Run { slot, process, copy, ended }
    }

    /// The request of this step, once it is at the gate. Whether a consumer reads before it writes hangs on SQS's count
    /// of receives, and a poller's own receive may have counted: a read that the trace does not have passes, and a read
    /// that it has may be missing (`None`) unless something happens to it.
    async fn held(&mut self, step: &Step) -> Option<Held> {
        let slot = match step.function.as_str() {
            "deliver" => Some(self.runs[usize::from(step.invocation)].slot),
            "dead_letter" => Some(self.letters[usize::from(step.invocation)].slot),
            _ => None,
        };
        let mine = |held: &Held| {
            held.function == step.function && (slot.is_none() || held.slot.is_none() || held.slot == slot)
        };
        loop {
            if let Some(at) = self.waiting.iter().position(|held| mine(held) && held.effect == step.effect) {
                return Some(self.waiting.remove(at));
            }
            if let Some(at) = self.waiting.iter().position(|held| step.function == "deliver" && mine(held)) {
                match self.waiting[at].effect {
                    "read" => drop(self.waiting.remove(at).decide(Decision::Apply).await),
                    _ if step.effect == "read" && step.r#do == Do::Apply => return None,
                    _ => {}
                }
            }
            let next = self.gate.next(&format!("{step:?}, while {:?} wait", self.waiting)).await;
            self.waiting.push(next);
        }
    }

    /// Does to the effect of a step what the step says.
    async fn effect(&mut self, step: &Step, what: Do) {
        let Some(held) = self.held(step).await else { return };
        if what == Do::Stall {
            // It sleeps before this effect, whose turn comes later or never.
            self.advance_ms(self.world.timing.lease + 1_000).await;
            self.waiting.push(held);
            return;
        }
        let asked = held.slot;
        let put = held.body["Item"]["id"]["S"].as_str().map(ToOwned::to_owned);
        let once = (step.function == "api" && step.effect == "send") || step.effect == "call";
        let decision = match what {
            Do::Apply | Do::Start => Decision::Apply,
            Do::ApplyAndRepeat | Do::ApplyDropResponse | Do::CrashAfter => Decision::ApplyDropResponse,
            Do::DropRequest | Do::CrashBefore => Decision::DropRequest,
            Do::AcceptAndFail => Decision::ApplyAndFail(Failure::InternalServerError),
            Do::RefuseAndFail => Decision::Fail(Failure::ServiceUnavailable),
            Do::Error => Decision::Fail(Failure::InternalServerError),
            Do::ReadStale => Decision::ReadNothing,
            Do::RefuseForGood | Do::RefuseForNow => {
                let answer = if what == Do::RefuseForNow {
                    json!([{"status": 429}])
                } else {
                    json!([{"status": 404, "reason": "UNREGISTERED"}])
                };
                let token = held.body["message"]["token"].as_str().unwrap_or_default().to_owned();
                self.world.script(&token, &answer).await;
                Decision::Apply
            }
            other => unreachable!("{other:?} is no fault of an effect"),
        };
        if what == Do::Hold {
            self.network.push(held);
        } else {
            if matches!(what, Do::CrashBefore | Do::CrashAfter) {
                // Killed first: the request, if it arrives, is answered to nobody, and nobody repeats it.
                self.kill(step, asked).await;
            }
            let status = held.decide(decision.clone()).await;
            self.accepted(put, status);
        }
        // The SDK repeats what was not answered. A fault of the model is one of the whole operation.
        let repeated = matches!(what, Do::ApplyDropResponse | Do::DropRequest | Do::Error | Do::Hold) && !once;
        for _ in 1..if repeated { TRIES } else { 1 } {
            let again = self.held(step).await.expect("the SDK repeats");
            let decision = if what == Do::Hold { Decision::DropRequest } else { decision.clone() };
            again.decide(decision).await;
        }
        if what == Do::ApplyAndRepeat {
            let again = self.held(step).await.expect("the SDK repeats");
            again.decide(Decision::Apply).await;
        }
    }

    fn accepted(&mut self, put: Option<String>, status: Option<u16>) {
        if let Some(id) = put.filter(|id| status == Some(200) && !self.ids.contains(id)) {
            self.ids.push(id);
        }
    }

    /// Kills the process that a step is about. Its copy stays where it is: SQS shows it again.
    async fn kill(&mut self, step: &Step, slot: Option<usize>) {
        match step.function.as_str() {
            "deliver" | "dead_letter" => {
                let running = if step.function == "deliver" { &mut self.runs } else { &mut self.letters };
                let run = running.remove(usize::from(step.invocation));
                run.process.kill().await;
                let ended = run.ended.await.unwrap();
                assert!(ended.is_err(), "a killed process answers nothing");
                let queue = if step.function == "deliver" { DELIVERIES } else { DEAD };
                self.world.queues.show(queue, &run.copy).await;
            }
            function => self.world.fleet.process(function, slot.expect("it told its name")).await.kill().await,
        }
        // What else the dead process had asked for never arrives.
        let (dead, waiting): (Vec<Held>, Vec<Held>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|held| held.function == step.function && (held.slot == slot || held.slot.is_none()));
        self.waiting = waiting;
        for held in dead {
            held.decide(Decision::DropRequest).await;
        }
    }

    /// An invocation ends: its copy is deleted if it may be, unless the acknowledgement is lost.
    async fn acknowledge(&mut self, invocation: usize, what: Do) {
        let run = self.runs.remove(invocation);
        let kept = crate::wait::within("an invocation ends", run.ended).await.unwrap().unwrap()[0];
        assert!(!kept, "the trace acknowledges");
        if what == Do::Apply {
            self.world.queues.delete(DELIVERIES, &run.copy).await;
        } else {
            self.world.queues.show(DELIVERIES, &run.copy).await;
        }
    }

    /// Opens the gate, lets everything run, and hands copies back.
    async fn finish(self) -> (Vec<Answer>, Vec<String>) {
        drop((self.gate, self.waiting, self.network));
        for (runs, queue) in [(self.runs, DELIVERIES), (self.letters, DEAD)] {
            for run in runs {
                let kept = crate::wait::within("an invocation ends", run.ended).await.unwrap();
                match kept {
                    Ok(kept) if !kept[0] => self.world.queues.delete(queue, &run.copy).await,
                    _ => {}
                }
            }
        }
        let mut answers = Vec::new();
        for (_, asked) in self.apis {
            answers.push(crate::wait::within("the api answers", asked).await.unwrap());
        }
        self.world.control(&json!({"deliver": "resume", "relay": "resume", "dead_letter": "resume"}));
        (answers, self.ids)
    }
}
