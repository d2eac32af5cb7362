//! One standard queue: its settings, its copies, and the event that wakes long polls.
//!
//! Owned by `state` and always used under its lock. Every call is given the time and first lets time do its work
//! ([`Queue::advance`]): expired copies leave, hidden ones become visible. No clock and no waiting in here.

mod attributes;
mod copies;
mod handle;
mod kept;
mod redrive;

pub use attributes::QueueAttributes;
pub use redrive::{Redrive, RedrivePolicy};

pub(crate) use attributes::Config;
pub(crate) use copies::{Copy, Order, Place};
pub(crate) use kept::is_kept;
pub(crate) use redrive::may_redrive;

use crate::{SqsError, limits, message::Payload, names};
use copies::Copies;
use handle::Handle;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::Notify;

/// How many copies a queue holds. Under `deliver_twice` both copies of a message count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Copies that a receive could get now.
    pub visible: usize,
    /// Copies that were received and neither deleted nor visible again.
    pub in_flight: usize,
    /// Copies that were sent with a delay that is not over.
    pub delayed: usize,
}

/// What a receive hands out for one copy.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) payload: Arc<Payload>,
    pub(crate) handle: String,
    pub(crate) sent_ms: u64,
    pub(crate) first_received_ms: u64,
    pub(crate) receive_count: u32,
    pub(crate) dead_letter_source: Option<String>,
}

/// What came of one look into a queue.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) received: Vec<Received>,
    /// Copies that were received too often; the caller puts them into the dead-letter queue.
    pub(crate) dead: Vec<Copy>,
}

/// A queue. What is serialised of it is what the disk keeps besides its copies.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Queue {
    pub(crate) name: String,
    pub(crate) config: Config,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) created_ms: u64,
    pub(crate) modified_ms: u64,
    pub(crate) purged_ms: Option<u64>,
    /// Told whenever a long poll that found nothing should look again.
    #[serde(skip)]
    pub(crate) changed: Arc<Notify>,
    /// Most copies that may be in flight. A switch of this server, not an attribute.
    #[serde(skip)]
    pub(crate) in_flight_limit: usize,
    /// Whether the disk has other settings or tags than these. Unimportant without a disk.
    #[serde(skip)]
    pub(crate) altered: bool,
    /// Tells this queue's handles from those of any other, also of one that had the same name before.
    identity: [u8; 8],
    #[serde(skip)]
    copies: Copies,
}

impl Queue {
    pub(crate) fn new(name: &str, config: Config, tags: BTreeMap<String, String>, identity: [u8; 8], now: u64) -> Self {
        Self {
            name: name.to_owned(),
            config,
            tags,
            created_ms: now,
            modified_ms: now,
            purged_ms: None,
            changed: Arc::default(),
            in_flight_limit: limits::IN_FLIGHT,
            altered: true,
            identity,
            copies: Copies::default(),
        }
    }

    /// Makes a new queue one whose copies are kept on disk.
    pub(crate) fn keep(&mut self) {
        self.copies = Copies::new(true);
    }

    /// Makes what was read from disk a queue with these copies. Ids given from now on are not below `next_id`.
    pub(crate) fn restore(&mut self, copies: Vec<(u64, Copy)>, next_id: u64) {
        self.in_flight_limit = limits::IN_FLIGHT;
        self.keep();
        for (id, copy) in copies {
            self.copies.restore(id, copy);
        }
        self.copies.ids_from(next_id);
    }

    /// What the disk does not know yet of the copies: each id, with its copy unless that is gone.
    pub(crate) fn unsaved(&self) -> impl Iterator<Item = (u64, Option<&Copy>)> {
        self.copies.unsaved()
    }

    /// The disk has everything.
    pub(crate) fn saved(&mut self) {
        self.altered = false;
        self.copies.saved();
    }

    /// Whether as many copies are in flight as may be.
    pub(crate) fn is_full(&self) -> bool {
        self.counts().in_flight >= self.in_flight_limit
    }

    /// Lets time pass up to `now`, in milliseconds since the Unix epoch.
    pub(crate) fn advance(&mut self, now: u64) {
        self.copies.advance(now, ms(self.config.retention_s));
    }

    pub(crate) fn counts(&self) -> Counts {
        self.copies.counts()
    }

    /// When the next hidden copy becomes visible, if nothing changes before.
    pub(crate) fn next_visible_ms(&self) -> Option<u64> {
        self.copies.next_due_ms()
    }

    /// Adds a new copy. `delay_s` is the message's own delay; without one the queue's counts.
    pub(crate) fn send(&mut self, payload: Arc<Payload>, delay_s: Option<u32>, now: u64) {
        let delay = ms(delay_s.unwrap_or(self.config.delay_s));
        self.copies.insert(Copy::new(payload, now), (delay > 0).then(|| now.saturating_add(delay)));
        self.changed.notify_waiters();
    }

    /// Adds a copy that another queue gave up; it keeps its message id, its sent time and its counts.
    pub(crate) fn adopt(&mut self, copy: Copy) {
        self.copies.insert(copy, None);
        self.changed.notify_waiters();
    }

    /// Takes up to `count` visible copies and hides each for `visibility_s`. `redrive_at`: copies that were received
    /// this often leave for the dead-letter queue instead.
    pub(crate) fn receive(
        &mut self,
        count: usize,
        visibility_s: Option<u32>,
        redrive_at: Option<u32>,
        order: &mut dyn Order,
        now: u64,
    ) -> Taken {
        let until = now.saturating_add(ms(visibility_s.unwrap_or(self.config.visibility_timeout_s)));
        let due_before = self.next_visible_ms();
        let mut taken = Taken::default();
        while taken.received.len() < count && !self.is_full() {
            let Some(id) = self.copies.pick(order) else { break };
            if let Some(dead) = redrive_at.and_then(|limit| self.copies.take_if_worn(id, limit)) {
                taken.dead.push(dead);
                continue;
            }
            let Some(copy) = self.copies.hide(id, until, now) else { continue };
            taken.received.push(Received {
                payload: Arc::clone(&copy.payload),
                handle: Handle { queue: self.identity, copy: id, turn: copy.turn }.encode(),
                sent_ms: copy.sent_ms,
                first_received_ms: copy.first_received_ms.unwrap_or(now),
                receive_count: copy.receive_count,
                dead_letter_source: copy.dead_letter_source.clone(),
            });
        }
        // Long polls sleep until the earliest end they know of; an earlier one has to be told.
        if self.next_visible_ms().is_some_and(|due| due_before.is_none_or(|before| due < before)) {
            self.changed.notify_waiters();
        }
        taken
    }

    /// The visible copy that is first in line.
    pub(crate) fn peek_visible(&mut self) -> Option<&Copy> {
        let id = self.copies.first_ready()?;
        self.copies.get(id)
    }

    /// Takes the visible copy that is first in line away for good.
    pub(crate) fn take_visible(&mut self) -> Option<Copy> {
        let id = self.copies.first_ready()?;
        self.copies.remove(id)
    }

    /// Deletes the copy that `handle` stands for. A handle that a later receive replaced, or whose copy is gone, is
    /// accepted and changes nothing. API reference, DeleteMessage.
    ///
    /// # Errors
    /// `ReceiptHandleIsInvalid` for what this queue never gave out.
    pub(crate) fn delete(&mut self, handle: &str) -> Result<(), SqsError> {
        let handle = Handle::decode(handle, self.identity)?;
        if self.copies.turn(handle.copy) == Some(handle.turn) {
            let was_full = self.is_full();
            self.copies.remove(handle.copy);
            if was_full {
                // Long polls may wait for room only.
                self.changed.notify_waiters();
            }
        }
        Ok(())
    }

    /// Hides the copy that `handle` stands for until `visibility_s` from now; 0 shows it at once.
    ///
    /// # Errors
    /// `ReceiptHandleIsInvalid`; `InvalidParameterValue` if the copy is gone, was received again, or would stay hidden
    /// for more than twelve hours after its receive; `MessageNotInflight` if it is visible.
    pub(crate) fn change_visibility(&mut self, handle: &str, visibility_s: u32, now: u64) -> Result<(), SqsError> {
        let text = handle;
        let handle = Handle::decode(text, self.identity)?;
        if self.copies.turn(handle.copy) != Some(handle.turn) {
            let reason = "Message does not exist or is not available for visibility timeout change";
            return Err(SqsError::parameter(text, "ReceiptHandle", reason));
        }
        let since = self.copies.received_ms(handle.copy).ok_or(SqsError::MessageNotInflight)?;
        let total_s = (now.saturating_sub(since) / 1_000).saturating_add(u64::from(visibility_s));
        if total_s > u64::from(*limits::VISIBILITY_S.end()) {
            let reason = "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]";
            return Err(SqsError::parameter(visibility_s, "VisibilityTimeout", reason));
        }
        self.copies.hide_until(handle.copy, now.saturating_add(ms(visibility_s)));
        self.advance(now);
        self.changed.notify_waiters();
        Ok(())
    }

    /// Deletes every copy.
    ///
    /// # Errors
    /// `PurgeQueueInProgress` within a minute after another purge.
    pub(crate) fn purge(&mut self, now: u64) -> Result<(), SqsError> {
        if self.purged_ms.is_some_and(|at| now < at.saturating_add(limits::PURGE_PAUSE_MS)) {
            return Err(SqsError::PurgeQueueInProgress(self.name.clone()));
        }
        self.purged_ms = Some(now);
        self.altered = true;
        self.copies.clear();
        Ok(())
    }

    /// This queue's ARN.
    pub(crate) fn arn(&self) -> String {
        names::arn(&self.name)
    }
}

/// Seconds as milliseconds.
fn ms(seconds: u32) -> u64 {
    u64::from(seconds) * 1_000
}
