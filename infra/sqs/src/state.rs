//! All queues of the server, and what concerns more than one of them: making and deleting, dead letters, copies.
//!
//! Owned by `service` behind one lock. A request holds that lock for a few look-ups; reading, checking, hashing and
//! writing of messages happens outside. With a file, each request ends with [`State::keep`], still under the lock.

use crate::{
    SqsError,
    disk::Disk,
    limits,
    message::Payload,
    moves::MoveTask,
    names,
    queue::{Config, Order, Queue, QueueAttributes, RedrivePolicy, Taken, may_redrive},
};
use platform::Random;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// Everything the server remembers.
#[derive(Debug, Default)]
pub(crate) struct State {
    queues: BTreeMap<String, Queue>,
    /// When each deleted name was freed, in milliseconds.
    deleted: HashMap<String, u64>,
    /// Whether every sent message gets two copies and receives pick any of them.
    pub(crate) twice: bool,
    /// The moves of dead letters, oldest first.
    pub(crate) moves: Vec<MoveTask>,
    /// The file that keeps all of it, if any.
    disk: Option<Disk>,
    /// Queues that are gone and that the disk still has.
    undeleted: Vec<String>,
    /// Most copies in flight in each queue, unless it is the documented number.
    in_flight_limit: Option<usize>,
}

/// The order of readiness.
struct InLine;

impl Order for InLine {
    fn next(&mut self, _len: usize) -> usize {
        0
    }
}

/// Any order. Without random bytes it is the order of readiness, which is always allowed.
struct Shuffled<'a>(&'a Random);

impl Order for Shuffled<'_> {
    fn next(&mut self, len: usize) -> usize {
        let drawn = self.0.bytes::<8>().map_or(0, u64::from_be_bytes);
        u64::try_from(len)
            .ok()
            .and_then(|len| drawn.checked_rem(len))
            .and_then(|i| usize::try_from(i).ok())
            .unwrap_or(0)
    }
}

impl State {
    /// What `disk` has, which is kept there from now on.
    pub(crate) fn on_disk(disk: Disk, queues: BTreeMap<String, Queue>) -> Self {
        Self { queues, disk: Some(disk), ..Self::default() }
    }

    /// Writes what changed to the disk, if there is one. What it does not take stays noted for the next time.
    ///
    /// # Errors
    /// `Internal` when the disk does not take it; the request must not be answered as done then.
    pub(crate) fn keep(&mut self) -> Result<(), SqsError> {
        let Some(disk) = &mut self.disk else { return Ok(()) };
        let changed = |queue: &Queue| queue.altered || queue.unsaved().next().is_some();
        if self.undeleted.is_empty() && !self.queues.values().any(changed) {
            return Ok(());
        }
        let written = disk.write(&self.queues, &self.undeleted);
        written.map_err(|error| SqsError::Internal(format!("the disk does not take it: {error}")))?;
        self.undeleted.clear();
        self.queues.values_mut().for_each(Queue::saved);
        Ok(())
    }

    /// Sets how many copies may be in flight in each queue, now and later.
    pub(crate) fn limit_in_flight(&mut self, most: usize) {
        self.in_flight_limit = Some(most);
        for queue in self.queues.values_mut() {
            queue.in_flight_limit = most;
            // Long polls may wait for room only.
            queue.changed.notify_waiters();
        }
    }

    /// The queue called `name`, with time let pass up to `now`.
    pub(crate) fn queue(&mut self, name: &str, now: u64) -> Result<&mut Queue, SqsError> {
        let queue = self.queues.get_mut(name).ok_or(SqsError::QueueDoesNotExist)?;
        queue.advance(now);
        Ok(queue)
    }

    /// Whether there is a queue called `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.queues.contains_key(name)
    }

    /// The names of all queues, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.queues.keys().map(String::as_str)
    }

    /// Makes a queue; one that is there already and agrees in all given attributes is left as it is.
    pub(crate) fn create(
        &mut self,
        name: &str,
        attributes: &QueueAttributes,
        tags: BTreeMap<String, String>,
        identity: [u8; 8],
        now: u64,
    ) -> Result<(), SqsError> {
        names::check_name(name)?;
        attributes.check()?;
        if let Some(queue) = self.queues.get(name) {
            let same = queue.config.with(attributes) == queue.config;
            return if same { Ok(()) } else { Err(SqsError::QueueNameExists) };
        }
        self.deleted.retain(|_, at| now < at.saturating_add(limits::NAME_PAUSE_MS));
        if self.deleted.contains_key(name) {
            return Err(SqsError::QueueDeletedRecently);
        }
        let config = Config::default().with(attributes);
        self.check_redrive(name, config.redrive.as_ref())?;
        let mut queue = Queue::new(name, config, tags, identity, now);
        queue.in_flight_limit = self.in_flight_limit.unwrap_or(limits::IN_FLIGHT);
        if self.disk.is_some() {
            queue.keep();
        }
        self.queues.insert(name.to_owned(), queue);
        Ok(())
    }

    /// Changes a queue's attributes.
    pub(crate) fn change(&mut self, name: &str, attributes: &QueueAttributes, now: u64) -> Result<(), SqsError> {
        attributes.check()?;
        let config = self.queue(name, now)?.config.with(attributes);
        self.check_redrive(name, config.redrive.as_ref())?;
        let queue = self.queue(name, now)?;
        queue.config = config;
        queue.modified_ms = now;
        queue.altered = true;
        queue.advance(now);
        Ok(())
    }

    /// Deletes a queue with all its messages; its long polls end with `QueueDoesNotExist`.
    pub(crate) fn delete(&mut self, name: &str, now: u64) -> Result<(), SqsError> {
        let queue = self.queues.remove(name).ok_or(SqsError::QueueDoesNotExist)?;
        self.deleted.insert(name.to_owned(), now);
        queue.changed.notify_waiters();
        if self.disk.is_some() {
            self.undeleted.push(name.to_owned());
        }
        Ok(())
    }

    /// Puts a message into a queue: one copy, or two that live apart.
    pub(crate) fn send(
        &mut self,
        name: &str,
        payload: Payload,
        delay_s: Option<u32>,
        now: u64,
    ) -> Result<Arc<Payload>, SqsError> {
        let copies = if self.twice { 2 } else { 1 };
        let queue = self.queue(name, now)?;
        let payload = Arc::new(payload);
        for _ in 0..copies {
            queue.send(Arc::clone(&payload), delay_s, now);
        }
        Ok(payload)
    }

    /// Takes visible messages out of a queue and moves worn ones to its dead-letter queue. A dead-letter queue that
    /// was deleted takes none: the messages stay receivable.
    pub(crate) fn receive(
        &mut self,
        name: &str,
        count: usize,
        visibility_s: Option<u32>,
        random: &Random,
        now: u64,
    ) -> Result<Taken, SqsError> {
        let target = self.queue(name, now)?.config.redrive.clone().and_then(|policy| {
            let target = names::name_in_arn(&policy.dead_letter_target_arn)?.to_owned();
            self.has(&target).then_some((target, policy.max_receive_count))
        });
        let redrive_at = target.as_ref().map(|(_, limit)| *limit);
        let (mut in_line, mut shuffled) = (InLine, Shuffled(random));
        let order: &mut dyn Order = if self.twice { &mut shuffled } else { &mut in_line };
        let queue = self.queue(name, now)?;
        let source = queue.arn();
        let mut taken = queue.receive(count, visibility_s, redrive_at, order, now);
        if let Some((target, _)) = target {
            for mut copy in taken.dead.drain(..) {
                copy.dead_letter_source = Some(source.clone());
                self.queue(&target, now)?.adopt(copy);
            }
        }
        Ok(taken)
    }

    /// The names of the queues whose dead letters go to the queue called `target`, in order.
    pub(crate) fn sources_of(&self, target: &str) -> Vec<String> {
        let arn = names::arn(target);
        let feeds = |queue: &&Queue| queue.config.redrive.as_ref().is_some_and(|p| p.dead_letter_target_arn == arn);
        self.queues.values().filter(feeds).map(|queue| queue.name.clone()).collect()
    }

    fn check_redrive(&self, source: &str, policy: Option<&RedrivePolicy>) -> Result<(), SqsError> {
        let Some(policy) = policy else { return Ok(()) };
        let refuse = |reason: &str| Err(SqsError::parameter(policy.write(), "RedrivePolicy", reason));
        let target = names::name_in_arn(&policy.dead_letter_target_arn).and_then(|name| self.queues.get(name));
        match target {
            None => refuse("Dead letter target does not exist"),
            Some(target) if !may_redrive(target.config.other.get("RedriveAllowPolicy"), &names::arn(source)) => {
                refuse("The dead letter target does not allow this queue")
            }
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sqs, message::Draft};
    use platform::Clock;

    #[test]
    fn what_the_disk_refuses_is_no_success_and_is_written_later() {
        let path = std::env::temp_dir().join(format!("sendonce-sqs-state-{}.sqlite", std::process::id()));
        let open = || Sqs::open(Clock::system(), "http://h".to_owned(), &path).unwrap();
        let refuse = |sqs: &Sqs, refuse| sqs.lock().disk.as_ref().unwrap().refuse(refuse);
        let sqs = open();
        sqs.create_queue("q", &QueueAttributes::default()).unwrap();
        let send = |sqs: &Sqs| {
            let draft = Draft { body: Some("x".to_owned()), ..Draft::default() };
            let payload = draft.check(99, "id".to_owned()).unwrap();
            sqs.apply(|state, now| state.send("q", payload, None, now).map(drop))
        };
        refuse(&sqs, true);
        assert!(matches!(send(&sqs), Err(SqsError::Internal(_))));
        refuse(&sqs, false);
        assert_eq!(send(&sqs), Ok(()));
        drop(sqs);
        assert_eq!(open().counts("q").unwrap().visible, 2);
        std::fs::remove_file(&path).unwrap();
    }
}
