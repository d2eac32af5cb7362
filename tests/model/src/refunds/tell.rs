//! How a step of this model is told.

use super::{
    Action, Refunds,
    checks::DRAINS,
    world::{Desk, Held, World},
};
use crate::trace::{Do, Tell, TraceStep};
use protocol::machine::{Named, payout::Purpose};

impl Tell for Refunds {
    fn aftermath(&self, state: &World, property: &str) -> Vec<TraceStep> {
        if property == DRAINS { self.fair_run(state).0 } else { Vec::new() }
    }

    fn tell(&self, before: &World, action: &Action) -> TraceStep {
        let payout = |number: Option<&u8>| number.map_or_else(String::new, |number| format!("payout {number}"));
        let step = |function: &str, at: u8, effect: &str, what, about| {
            TraceStep::new(function, usize::from(at), effect, what, about)
        };
        match *action {
            Action::Desk(who, what) => {
                let effect = match &before.desks[usize::from(who)] {
                    Desk::Asking(_, effect) => effect.name(),
                    Desk::Answered(_) | Desk::Gone => "over",
                };
                let asks = if who < self.config.approvers { "approve" } else { "reject" };
                step("refunds", who, effect, what, asks.to_owned())
            }
            Action::Relay(what) => step("relay", 0, "send", what, payout(before.stream.first())),
            Action::Receive(at) => {
                let about = payout(before.queue.get(usize::from(at)));
                // Its place among those that run, which are in the order of their tokens.
                let token = before.fresh_token();
                let place = before.runs.iter().filter(|run| run.token < token).count();
                TraceStep::new("payout", place, "receive", Do::Start, about)
            }
            Action::Duplicate(at) => {
                step("sqs", 0, "deliver", Do::Duplicate, payout(before.queue.get(usize::from(at))))
            }
            Action::Bury(at) => step("sqs", 0, "deliver", Do::Bury, payout(before.queue.get(usize::from(at)))),
            Action::Exhume(at, what) => {
                step("dead_letter", 0, "redrive", what, payout(before.dead.get(usize::from(at))))
            }
            Action::Run(at, what) => {
                let run = &before.runs[usize::from(at)];
                step("payout", at, run.pending.name(), what, payout(Some(&run.number)))
            }
            Action::Arrive(at) => {
                let what = match &before.network[usize::from(at)] {
                    Held::Call(_) => "call",
                    Held::Decide(_) => "decide",
                    Held::Write(held) => match held.purpose {
                        Purpose::Stamp => "stamp",
                        Purpose::Record => "record",
                        Purpose::Withdraw => "withdraw",
                    },
                };
                step("network", 0, what, Do::Arrive, String::new())
            }
            Action::Provider(_, stands) => step("provider", 0, "decide", Do::Pass, format!("{stands:?}")),
            Action::Event(at, again) => {
                let event = before.provider.events[usize::from(at)];
                let what = if again { Do::Duplicate } else { Do::Apply };
                step("webhook", 0, "event", what, format!("payout {} {:?}", event.number, event.stands))
            }
            Action::Retry(what) => step("refunds", 0, "retry", what, String::new()),
            Action::Resolve => step("refunds", 0, "resolve", Do::Apply, String::new()),
            Action::Window => step("time", 0, "payout_window", Do::Pass, String::new()),
            Action::Settle => step("time", 0, "payout_window_settled", Do::Pass, String::new()),
            Action::Forget => step("time", 0, "provider_key", Do::Pass, String::new()),
            Action::Wait => step("time", 0, "payout_busy", Do::Pass, String::new()),
        }
    }
}
