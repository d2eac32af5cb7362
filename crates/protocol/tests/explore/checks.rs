//! What must be true of every world, and of every step from one world to the next.

use super::world::{Action, CLOCK_RULE, DELIVER_BY, How, TIMING, Waiting, World};
use protocol::{
    content::Policy,
    delivery::{Finished, State},
    letter::Letter,
    machine::deliver::Effect,
    status::{DeviceWord, device_words},
};

impl World {
    fn done(&self) -> bool {
        self.item.as_ref().is_some_and(|item| Finished::of(item).is_some())
    }

    pub(crate) fn words(&self) -> Vec<DeviceWord> {
        device_words(self.truth.len(), std::slice::from_ref(&self.item), DELIVER_BY, self.now, &TIMING)
    }

    /// G4 and G6 in this world.
    pub(crate) fn check(&self) -> Result<(), String> {
        // A consumer's copy in hand is still in the queue, invisible.
        let copies = self.queue.len() + self.running.len() + self.dead.len() + usize::from(self.grave.is_some());
        if !self.done() && self.now <= DELIVER_BY + TIMING.lease && copies == 0 {
            return Err("the chunk is not done and no copy of it is left".to_owned());
        }
        let Some(item) = &self.item else { return Ok(()) };
        if item.state == State::Done && !item.all_final() {
            return Err("done with an open device".to_owned());
        }
        if item.state != State::Done && item.all_final() {
            return Err("every device is final and the item is not done".to_owned());
        }
        for (index, (device, truth)) in item.devices.iter().zip(&self.truth).enumerate() {
            let lie = match device.letter {
                Letter::Sent => truth.accepted == 0 || device.provider_id.is_none(),
                Letter::Failed => truth.accepted > 0 || truth.calls == 0,
                Letter::Expired => truth.accepted > 0 || self.now < DELIVER_BY,
                Letter::Pending => item.state == State::Retry && truth.accepted > 0,
                Letter::Lost1 | Letter::Lost2 => self.policy == Policy::AtMostOnce,
                Letter::Unknown => false,
            };
            if lie {
                return Err(format!("device {index} is stored as {:?}, in truth {truth:?}", device.letter));
            }
            if u16::from(device.calls) > item.attempt {
                return Err(format!("device {index} counts {} calls in {} attempts", device.calls, item.attempt));
            }
            if item.state != State::InFlight && device.calls < truth.calls && self.running.is_empty() && !truth.excused
            {
                return Err(format!("device {index} counts {} calls of {}", device.calls, truth.calls));
            }
        }
        Ok(())
    }

    /// What a caller reads only goes forward, and every write is the next version.
    ///
    /// One exception: the clock rule takes a chunk for given up a lease and a skew after its deadline. A claim or
    /// record that arrives later still (its sender was stopped a lease earlier) may turn "expired" into "unknown", or
    /// "unknown" into "failed" or "expired". It never opens a device again and never takes back "sent".
    pub(crate) fn check_step(&self, action: Action, next: &Self) -> Result<(), String> {
        let writes = match action {
            Action::Arrive(_) => true,
            Action::Perform(run, effect, _) => {
                matches!(self.running[run].waiting[effect], Waiting::Todo(Effect::Write { .. }))
            }
            _ => false,
        };
        let overtaken = writes && self.now >= CLOCK_RULE;
        for (index, (before, after)) in self.words().into_iter().zip(next.words()).enumerate() {
            let forward = before == after
                || match before {
                    DeviceWord::Pending => true,
                    DeviceWord::Sending => after != DeviceWord::Pending,
                    DeviceWord::Unknown if overtaken => {
                        matches!(after, DeviceWord::Sent | DeviceWord::Failed | DeviceWord::Expired)
                    }
                    DeviceWord::Unknown => after == DeviceWord::Sent,
                    DeviceWord::Expired => overtaken && after == DeviceWord::Unknown,
                    DeviceWord::Sent | DeviceWord::Failed => false,
                };
            if !forward {
                return Err(format!("device {index} was read as {before:?} and now as {after:?}"));
            }
        }
        let version = |world: &Self| world.item.as_ref().map_or(0, |item| item.version);
        if self.item != next.item && version(next) != version(self) + 1 {
            return Err(format!("version {} after {}", version(next), version(self)));
        }
        Ok(())
    }

    /// Without further faults, one fair consumer brings the chunk to its end.
    pub(crate) fn check_drains(&self) -> Result<(), String> {
        let mut world = Self { network: Vec::new(), budget: 0, ..self.clone() };
        for _ in 0..500 {
            let action = if let Some(run) = world.running.first() {
                match run.waiting[0] {
                    Waiting::Todo(_) => Action::Perform(0, 0, How::Well),
                    Waiting::Done(_) => Action::Hear(0, 0),
                }
            } else if world.grave.is_some() {
                Action::Rebury(How::Well)
            } else if let Some(letter) = world.dead.iter().position(|letter| letter.visible_at <= world.now) {
                Action::Exhume(letter)
            } else if let Some(copy) = world.queue.iter().position(|copy| copy.visible_at <= world.now) {
                Action::Receive(copy)
            } else if let Some(soonest) = world.queue.iter().chain(&world.dead).map(|copy| copy.visible_at).min() {
                Action::Advance(soonest)
            } else {
                return if world.done() {
                    world.check_end()
                } else {
                    Err("the queue is empty and nothing done".into())
                };
            };
            let next = world.apply(action)?;
            next.check()?;
            world.check_step(action, &next)?;
            world = next;
        }
        Err("the chunk is not done after 500 steps".to_owned())
    }

    /// Done: a device that was never called is expired, or unknown where a claim went unrecorded.
    fn check_end(&self) -> Result<(), String> {
        let item = self.item.as_ref().ok_or("nothing is stored")?;
        for (index, (device, truth)) in item.devices.iter().zip(&self.truth).enumerate() {
            let attempted = truth.calls > 0
                || device.letter == Letter::Expired
                || (device.letter == Letter::Unknown && self.unrecorded);
            if !attempted {
                return Err(format!("device {index} ended as {:?} without a call", device.letter));
            }
            if truth.accepted > 0 && !matches!(device.letter, Letter::Sent | Letter::Unknown) {
                return Err(format!("device {index} was accepted and ended as {:?}", device.letter));
            }
        }
        Ok(())
    }
}
