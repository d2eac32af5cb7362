//! What the replays of messages and of refunds share: the gate, who waits at it, and the invocations of consumers.

use super::Step;
use crate::{
    World,
    process::Process,
    proxy::{Decision, Failure, Gate, Held},
    queues::{DEAD, DELIVERIES, PAYOUTS, PAYOUTS_DEAD},
};
use aws_sdk_sqs::types::Message;
use model::trace::Do;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Tries of one operation by the SDK (`platform::AwsTimeouts::within`).
const TRIES: u32 = 3;
/// Processes for each function: more invocations than this never run at once in a trace.
pub(super) const PROCESSES: usize = 3;

/// The number after a word in what a step is about.
pub(super) fn number(about: &str, word: &str) -> Option<u32> {
    about.split(word).nth(1)?.split_whitespace().next()?.parse().ok()
}

/// A function that takes copies of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Consumer {
    pub(super) function: &'static str,
    pub(super) queue: &'static str,
    pub(super) dead: &'static str,
}

/// Who delivers.
pub(super) const DELIVER: Consumer = Consumer { function: "deliver", queue: DELIVERIES, dead: DEAD };
/// Who pays.
pub(super) const PAYOUT: Consumer = Consumer { function: "payout", queue: PAYOUTS, dead: PAYOUTS_DEAD };

/// An invocation of a consumer or of dead_letter.
pub(super) struct Run {
    pub(super) slot: usize,
    process: Arc<Process>,
    pub(super) copy: Message,
    pub(super) ended: JoinHandle<Result<Vec<bool>, String>>,
}

pub(super) struct Stage {
    pub(super) world: Arc<World>,
    consumer: Consumer,
    pub(super) gate: Gate,
    /// At the gate, and nobody's turn yet.
    pub(super) waiting: Vec<Held>,
    /// Held in the network.
    network: Vec<Held>,
    pub(super) runs: Vec<Run>,
    pub(super) letters: Vec<Run>,
    /// The process of each request, once it was heard of; known where they are told apart.
    pub(super) asked: Vec<Option<usize>>,
    /// The ids of the messages that were accepted, in order.
    pub(super) ids: Vec<String>,
}

impl Stage {
    /// Closes the gate of a world in which nobody is invoked but by the replay.
    pub(super) fn new(world: Arc<World>, consumer: Consumer) -> Self {
        world.control(&json!({consumer.function: "pause", "relay": "pause", "dead_letter": "pause"}));
        let gate = world.proxy.gate();
        Self {
            world,
            consumer,
            gate,
            waiting: Vec::new(),
            network: Vec::new(),
            runs: Vec::new(),
            letters: Vec::new(),
            asked: Vec::new(),
            ids: Vec::new(),
        }
    }

    /// SQS gives up on a copy.
    pub(super) async fn bury(&self, what: &str, wanted: impl Fn(&Value) -> bool) {
        let Consumer { queue, dead, .. } = self.consumer;
        let copy = self.take(queue, what, wanted).await;
        self.world.queues.send(dead, copy.body.as_deref().unwrap()).await;
        self.world.queues.delete(queue, &copy).await;
    }

    /// What the network held arrives.
    pub(super) async fn arrives(&mut self, effect: &str) {
        let at = self.network.iter().position(|held| held.effect == effect).expect("it was held");
        self.network.remove(at).decide(Decision::ApplyDropResponse).await;
    }

    /// A consumer receives a copy, and is at this place among those that run.
    pub(super) async fn receive(&mut self, place: usize, what: &str, wanted: impl Fn(&Value) -> bool) {
        let Consumer { function, queue, .. } = self.consumer;
        let run = self.hand(function, queue, &self.runs, what, wanted).await;
        self.runs.insert(place, run);
    }

    /// dead_letter receives a letter.
    pub(super) async fn exhume(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) {
        let run = self.hand("dead_letter", self.consumer.dead, &self.letters, what, wanted).await;
        self.letters.push(run);
    }

    async fn take(&self, queue: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Message {
        crate::wait::eventually(&format!("a copy of {what} is in {queue}"), async || {
            // Nothing else looks at the queues, and what is not wanted comes back at once.
            self.world.queues.take_one(queue, &wanted).await
        })
        .await
    }

    async fn hand(
        &self,
        function: &'static str,
        queue: &str,
        running: &[Run],
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Run {
        let copy = self.take(queue, what, wanted).await;
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

    /// An invocation that is over: its copy is deleted, or shows again.
    pub(super) async fn puts_back(&mut self, invocation: usize) {
        let run = self.runs.remove(invocation);
        let kept = run.ended.await.unwrap().unwrap()[0];
        if kept {
            self.world.queues.show(self.consumer.queue, &run.copy).await;
        } else {
            self.world.queues.delete(self.consumer.queue, &run.copy).await;
        }
    }

    /// Lets time pass, for the stream's window, which begins when the poller notices the record, and for the grace, until
    /// the relay is at the gate with this.
    pub(super) async fn relay_comes(&mut self, effect: &str) {
        self.world.control(&json!({"relay": "resume"}));
        crate::wait::eventually("the relay comes", async || {
            self.waiting.extend(self.gate.come());
            if self.waiting.iter().any(|held| held.function == "relay" && held.effect == effect) {
                return Some(());
            }
            self.world.advance_ms(self.world.timing.window / 20).await;
            None
        })
        .await;
    }

    /// The request of this step, once it is at the gate. Whether a consumer reads before it writes hangs on SQS's count
    /// of receives, and a poller's own receive may have counted: a read that the trace does not have passes, and a read
    /// that it has may be missing (`None`) unless something happens to it.
    async fn held(&mut self, step: &Step) -> Option<Held> {
        let slot = match step.function.as_str() {
            function if function == self.consumer.function => Some(self.runs[usize::from(step.invocation)].slot),
            "dead_letter" => Some(self.letters[usize::from(step.invocation)].slot),
            // Until it is known, whoever comes with the effect is the one.
            "refunds" => self.asked.get(usize::from(step.invocation)).copied().flatten(),
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
    pub(super) async fn effect(&mut self, step: &Step, what: Do) {
        let Some(held) = self.held(step).await else { return };
        if what == Do::Stall {
            // It sleeps before this effect, whose turn comes later or never.
            self.world.advance_ms(self.world.timing.lease + 1_000).await;
            self.waiting.push(held);
            return;
        }
        let asked = held.slot;
        if let Some(told) = self.asked.get_mut(usize::from(step.invocation)).filter(|_| step.function == "refunds") {
            *told = asked;
        }
        let put = held.body["Item"]["id"]["S"].as_str().map(ToOwned::to_owned);
        let asks = ["api", "refunds"].contains(&step.function.as_str());
        // Providers are asked once, and listed by nobody who repeats it.
        let provider = step.effect == "call" || (step.function == "payout" && step.effect == "look");
        let once = (asks && step.effect == "send") || provider;
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
            function if function == self.consumer.function || function == "dead_letter" => {
                let consumes = function == self.consumer.function;
                let running = if consumes { &mut self.runs } else { &mut self.letters };
                let run = running.remove(usize::from(step.invocation));
                run.process.kill().await;
                let ended = run.ended.await.unwrap();
                assert!(ended.is_err(), "a killed process answers nothing");
                let queue = if consumes { self.consumer.queue } else { self.consumer.dead };
                self.world.queues.show(queue, &run.copy).await;
            }
            function => self.world.fleet.process(function, slot.expect("it told its name")).await.kill().await,
        }
        // What else the dead process had asked for never arrives. A payout asks for one thing at a time.
        let of = |held: &Held| match held.slot {
            Some(_) => held.slot == slot,
            None => step.function != "payout",
        };
        let (dead, waiting): (Vec<Held>, Vec<Held>) =
            std::mem::take(&mut self.waiting).into_iter().partition(|held| held.function == step.function && of(held));
        self.waiting = waiting;
        for held in dead {
            held.decide(Decision::DropRequest).await;
        }
    }

    /// Opens the gate and hands copies back; who asks goes on.
    pub(super) async fn opens(self) {
        drop((self.gate, self.waiting, self.network));
        for (runs, queue) in [(self.runs, self.consumer.queue), (self.letters, self.consumer.dead)] {
            for run in runs {
                let kept = crate::wait::within("an invocation ends", run.ended).await.unwrap();
                match kept {
                    Ok(kept) if !kept[0] => self.world.queues.delete(queue, &run.copy).await,
                    _ => {}
                }
            }
        }
        self.world.control(&json!({self.consumer.function: "resume", "relay": "resume", "dead_letter": "resume"}));
    }
}
