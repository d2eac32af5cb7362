//! How a step of this model is told.

use super::{
    Action, Messages,
    checks::DRAINS,
    world::{Api, Copy, Held, HeldItem, Phase, World},
};
use crate::trace::{Do, Tell, TraceStep};
use protocol::machine::{Named, deliver::Effect};

fn copy(of: Copy) -> String {
    format!("message {} chunk {}", of.message, of.chunk)
}

impl Tell for Messages {
    fn aftermath(&self, state: &World, property: &str) -> Vec<TraceStep> {
        if property == DRAINS { self.fair_steps(state) } else { Vec::new() }
    }

    fn tell(&self, before: &World, action: &Action) -> TraceStep {
        match *action {
            Action::Api(request, what) => {
                let effect = match &before.apis[usize::from(request)] {
                    Api::Asking(_, effect) => effect.name(),
                    Api::Over => "over",
                };
                let asked = self.requests[usize::from(request)].asked;
                let about = format!("project {} body {}", asked.project, asked.body);
                TraceStep::new("api", usize::from(request), effect, what, about)
            }
            Action::Relay(what) => {
                let messages = before.relay.as_ref().map_or(&before.stream, |run| &run.batch);
                let effect = if before.relay.is_some() { "send" } else { "look" };
                TraceStep::new("relay", 0, effect, what, format!("messages {messages:?}"))
            }
            Action::Receive(at, what) => {
                let of = before.queue[usize::from(at)];
                TraceStep::new("deliver", before.runs.len(), "receive", what, copy(of))
            }
            Action::Run(at, effect, what) => {
                let run = &before.runs[usize::from(at)];
                let effect = run.pending.get(usize::from(effect));
                let device = match effect {
                    Some(Effect::Call { device }) => format!(" device {device}"),
                    _ => String::new(),
                };
                let name = effect.map_or("acknowledge", Named::name);
                TraceStep::new("deliver", usize::from(at), name, what, copy(run.copy) + &device)
            }
            Action::Duplicate(at) => {
                TraceStep::new("sqs", 0, "deliver", Do::Duplicate, copy(before.runs[usize::from(at)].copy))
            }
            Action::Bury(at) => TraceStep::new("sqs", 0, "deliver", Do::Bury, copy(before.queue[usize::from(at)])),
            Action::Exhume(at) => {
                TraceStep::new("dead_letter", 0, "receive", Do::Start, copy(before.dead[usize::from(at)]))
            }
            Action::Letter(what) => {
                let (name, about) = before
                    .letter
                    .as_ref()
                    .map_or(("none", String::new()), |letter| (letter.pending.name(), copy(letter.copy)));
                TraceStep::new("dead_letter", 0, name, what, about)
            }
            Action::Arrive(at) => {
                let what = match before.network[usize::from(at)] {
                    Held::Put(..) => "put",
                    Held::Item(HeldItem { claim: true, .. }) => "claim",
                    Held::Item(..) => "record",
                };
                TraceStep::new("network", 0, what, Do::Arrive, String::new())
            }
            Action::Lease(message, chunk) => {
                TraceStep::new("time", 0, "lease", Do::Pass, format!("message {message} chunk {chunk}"))
            }
            Action::Phase(message) => {
                let what = if before.life(message).phase == Phase::Open { "deadline" } else { "clock_rule" };
                TraceStep::new("time", 0, what, Do::Pass, format!("message {message}"))
            }
            Action::Key(_) => TraceStep::new("time", 0, "key", Do::Pass, String::new()),
            Action::Hold(held) => {
                TraceStep::new("time", 0, if held { "hold" } else { "hold_lifted" }, Do::Pass, String::new())
            }
            Action::Audit(message, chunk) => {
                TraceStep::new("audit", 0, "send", Do::Apply, format!("message {message} chunk {chunk}"))
            }
            Action::LoseDead => TraceStep::new("sqs", 0, "dead_letters", Do::Lose, String::new()),
            Action::LoseItem(message, chunk) => {
                TraceStep::new("time", 0, "item", Do::Lose, format!("message {message} chunk {chunk}"))
            }
        }
    }
}
