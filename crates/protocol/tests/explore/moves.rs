//! What can happen next in a world.

use super::world::{Action, CLOCK_RULE, Copy, DELIVER_BY, How, Waiting, World};
use protocol::machine::deliver::Effect;

impl World {
    /// Every action that is possible now; faults only while the budget lasts.
    pub(crate) fn moves(&self) -> Vec<Action> {
        let mut moves = Vec::new();
        let fault = self.budget > 0;
        for (run, consumer) in self.running.iter().enumerate() {
            for (effect, waiting) in consumer.waiting.iter().enumerate() {
                match waiting {
                    Waiting::Todo(todo) => {
                        moves.push(Action::Perform(run, effect, How::Well));
                        if fault {
                            moves.extend(self.faults(todo).iter().map(|how| Action::Perform(run, effect, *how)));
                        }
                    }
                    Waiting::Done(_) => {
                        moves.push(Action::Hear(run, effect));
                        if fault && self.acknowledges(Action::Hear(run, effect)) {
                            moves.push(Action::HearAndLoseAck(run, effect));
                        }
                    }
                }
            }
            if fault {
                moves.push(Action::Crash(run));
            }
        }
        for (copy, message) in self.queue.iter().enumerate() {
            // Copies that are alike lead to worlds that are alike.
            if copy > 0 && self.queue[copy - 1] == *message {
                continue;
            }
            if message.visible_at <= self.now && self.running.len() < self.consumers {
                moves.push(Action::Receive(copy));
            }
            if fault {
                moves.extend([Action::Duplicate(copy), Action::Bury(copy)]);
            }
        }
        if let Some(grave) = &self.grave {
            moves.push(Action::Rebury(How::Well));
            if fault {
                moves.extend(self.grave_faults(&grave.effect).iter().map(|how| Action::Rebury(*how)));
            }
        } else {
            let visible = |(_, letter): &(usize, &Copy)| letter.visible_at <= self.now;
            moves.extend(self.dead.iter().enumerate().filter(visible).map(|(letter, _)| Action::Exhume(letter)));
        }
        moves.extend((0..self.network.len()).map(Action::Arrive));
        moves.extend(self.instants().into_iter().map(Action::Advance));
        moves
    }

    fn faults(&self, effect: &Effect) -> &'static [How] {
        match effect {
            Effect::Prepare => &[How::NotApplied, How::Held],
            Effect::Read | Effect::Release { .. } => &[How::NotApplied],
            Effect::Successor { .. } => &[How::AnswerLost, How::NotApplied],
            Effect::Write { expect, .. } if self.holds(*expect) => {
                &[How::AnswerLost, How::MeetsItself, How::NotApplied, How::InTheNetwork]
            }
            Effect::Write { .. } => &[How::NotApplied, How::InTheNetwork],
            Effect::Call { .. } => &[
                How::Permanent,
                How::NotNow,
                How::AmbiguousAccepted,
                How::AmbiguousNot,
                How::LostAccepted,
                How::LostNot,
            ],
        }
    }

    /// Whether a consumer ends with this and its copy goes.
    fn acknowledges(&self, action: Action) -> bool {
        self.apply(action)
            .is_ok_and(|next| next.running.len() < self.running.len() && next.queue.len() == self.queue.len())
    }

    /// The instants at which something changes. While a consumer runs, time passes only as a fault: a little, so that
    /// no call may start any more, or past the end of the invocation, which is a stall.
    fn instants(&self) -> Vec<u64> {
        let mut instants = vec![DELIVER_BY, CLOCK_RULE];
        instants.extend(self.queue.iter().chain(&self.dead).map(|copy| copy.visible_at));
        instants.extend(self.item.iter().flat_map(|item| [item.lease_ms + 1, item.not_before_ms]));
        if self.budget == 0 && (self.grave.is_some() || !self.running.is_empty()) {
            return Vec::new();
        }
        instants.extend(self.running.iter().map(|run| run.ends - 1));
        instants.retain(|instant| *instant > self.now);
        instants.sort_unstable();
        instants.dedup();
        instants
    }
}
