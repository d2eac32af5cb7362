//! The copies of a queue, indexed so that no request walks through all of them.
//!
//! Used by `queue` only. A copy is in one of three places: ready (a receive may pick it), delayed, or in flight. Ends
//! of hiding are kept in order of time, and so are sent times for retention: each step costs the logarithm of the
//! queue's length. Where the queue is kept on disk, it also notes which copies the disk does not know yet.

use super::Counts;
use crate::message::Payload;
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

/// Which ready copy comes next. The plain order is that of readiness; the hostile one is any.
pub(crate) trait Order {
    /// An index below `len`, which is not 0. Anything larger is taken as the last.
    fn next(&mut self, len: usize) -> usize;
}

/// One copy of a message.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) payload: Arc<Payload>,
    /// When the message was first sent, in milliseconds; a move to a dead-letter queue keeps it, and retention counts
    /// from it. Developer guide, "dead-letter queues and message retention".
    pub(crate) sent_ms: u64,
    pub(crate) first_received_ms: Option<u64>,
    /// Receives in all, as reported; a move to a dead-letter queue keeps it.
    pub(crate) receive_count: u32,
    /// Receives from this queue: what a redrive policy counts, and what tells one receipt handle from the next.
    pub(crate) turn: u32,
    /// ARN of the queue that gave this copy up.
    pub(crate) dead_letter_source: Option<String>,
    pub(crate) place: Place,
    /// Whether the disk has this copy, so that only what changes about it has to be written.
    pub(crate) on_disk: bool,
}

/// Where a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Ready,
    Delayed { until: u64 },
    InFlight { since: u64, until: u64 },
}

impl Place {
    /// When it was received, if it is in flight.
    pub(crate) fn since(self) -> Option<u64> {
        match self {
            Self::InFlight { since, .. } => Some(since),
            Self::Ready | Self::Delayed { .. } => None,
        }
    }

    /// When its hiding ends, if it is hidden.
    pub(crate) fn until(self) -> Option<u64> {
        match self {
            Self::Ready => None,
            Self::Delayed { until } | Self::InFlight { until, .. } => Some(until),
        }
    }

    /// The place that these two describe.
    pub(crate) fn of(since: Option<u64>, until: Option<u64>) -> Self {
        match (since, until) {
            (_, None) => Self::Ready,
            (None, Some(until)) => Self::Delayed { until },
            (Some(since), Some(until)) => Self::InFlight { since, until },
        }
    }
}

impl Copy {
    pub(crate) fn new(payload: Arc<Payload>, now: u64) -> Self {
        Self {
            payload,
            sent_ms: now,
            first_received_ms: None,
            receive_count: 0,
            turn: 0,
            dead_letter_source: None,
            place: Place::Ready,
            on_disk: false,
        }
    }
}

/// All copies of one queue.
#[derive(Debug, Default)]
pub(super) struct Copies {
    held: HashMap<u64, Copy>,
    next_id: u64,
    /// Ids of ready copies in the order in which they became ready. A deleted copy's id stays until it is met or
    /// until `tidy`; an id is never used again, so it cannot mean another copy.
    ready: VecDeque<u64>,
    /// (end of hiding, id) of every delayed copy and every copy in flight.
    hidden: BTreeSet<(u64, u64)>,
    /// (sent, id) of every copy.
    by_sent: BTreeSet<(u64, u64)>,
    delayed: usize,
    in_flight: usize,
    /// Ids of copies that came, changed or went since the disk was written; `None` without a disk. What time alone
    /// does to a hidden copy is not among it: the disk has its end of hiding.
    unsaved: Option<BTreeSet<u64>>,
}

impl Copies {
    /// No copies yet; `on_disk` says whether they will be kept.
    pub(super) fn new(on_disk: bool) -> Self {
        Self { unsaved: on_disk.then(BTreeSet::new), ..Self::default() }
    }

    /// Puts a copy that the disk has back to its place.
    pub(super) fn restore(&mut self, id: u64, mut copy: Copy) {
        let place = std::mem::replace(&mut copy.place, Place::Ready);
        copy.on_disk = true;
        self.by_sent.insert((copy.sent_ms, id));
        self.held.insert(id, copy);
        self.set_place(id, place);
    }

    /// Ids given from now on are not below `id`.
    pub(super) fn ids_from(&mut self, id: u64) {
        self.next_id = self.next_id.max(id);
    }

    /// The ids that the disk does not know the present state of, each with its copy unless that is gone.
    pub(super) fn unsaved(&self) -> impl Iterator<Item = (u64, Option<&Copy>)> {
        self.unsaved.iter().flatten().map(|id| (*id, self.held.get(id)))
    }

    /// The disk has everything.
    pub(super) fn saved(&mut self) {
        let Some(unsaved) = &mut self.unsaved else { return };
        for id in std::mem::take(unsaved) {
            if let Some(copy) = self.held.get_mut(&id) {
                copy.on_disk = true;
            }
        }
    }

    pub(super) fn counts(&self) -> Counts {
        let visible = self.held.len().saturating_sub(self.delayed).saturating_sub(self.in_flight);
        Counts { visible, in_flight: self.in_flight, delayed: self.delayed }
    }

    pub(super) fn next_due_ms(&self) -> Option<u64> {
        self.hidden.first().map(|(due, _)| *due)
    }

    /// Drops what is older than the retention and shows what is hidden no longer.
    pub(super) fn advance(&mut self, now: u64, retention_ms: u64) {
        while let Some((sent, id)) = self.by_sent.first().copied() {
            if sent.saturating_add(retention_ms) > now {
                break;
            }
            self.remove(id);
        }
        while let Some((due, id)) = self.hidden.first().copied() {
            if due > now {
                break;
            }
            self.set_place(id, Place::Ready);
        }
    }

    /// Adds a copy, hidden until `delayed_until` if given.
    pub(super) fn insert(&mut self, mut copy: Copy, delayed_until: Option<u64>) {
        let id = self.next_id;
        self.next_id += 1;
        copy.place = Place::Ready;
        copy.turn = 0;
        copy.on_disk = false;
        self.note(id);
        self.by_sent.insert((copy.sent_ms, id));
        self.held.insert(id, copy);
        match delayed_until {
            Some(until) => self.set_place(id, Place::Delayed { until }),
            None => self.ready.push_back(id),
        }
    }

    /// Takes the id of a ready copy off the line. The caller hides or removes that copy.
    pub(super) fn pick(&mut self, order: &mut dyn Order) -> Option<u64> {
        while !self.ready.is_empty() {
            let last = self.ready.len() - 1;
            let chosen = order.next(self.ready.len()).min(last);
            self.ready.swap(0, chosen);
            let id = self.ready.pop_front()?;
            if self.held.contains_key(&id) {
                return Some(id);
            }
        }
        None
    }

    /// The first of the line, which stays there.
    pub(super) fn first_ready(&mut self) -> Option<u64> {
        while let Some(id) = self.ready.front() {
            if self.held.contains_key(id) {
                return Some(*id);
            }
            self.ready.pop_front();
        }
        None
    }

    pub(super) fn get(&self, id: u64) -> Option<&Copy> {
        self.held.get(&id)
    }

    /// Removes and returns a picked copy that was received at least `limit` times.
    pub(super) fn take_if_worn(&mut self, id: u64, limit: u32) -> Option<Copy> {
        if self.held.get(&id)?.turn < limit { None } else { self.remove(id) }
    }

    /// Puts a picked copy in flight until `until` and counts the receive.
    pub(super) fn hide(&mut self, id: u64, until: u64, now: u64) -> Option<&Copy> {
        self.set_place(id, Place::InFlight { since: now, until });
        self.note(id);
        let copy = self.held.get_mut(&id)?;
        copy.turn = copy.turn.saturating_add(1);
        copy.receive_count = copy.receive_count.saturating_add(1);
        copy.first_received_ms.get_or_insert(now);
        Some(copy)
    }

    /// Moves the end of hiding of a copy that is in flight.
    pub(super) fn hide_until(&mut self, id: u64, until: u64) {
        if let Some(since) = self.received_ms(id) {
            self.set_place(id, Place::InFlight { since, until });
            self.note(id);
        }
    }

    /// How often a copy was received from this queue; `None` when it is gone.
    pub(super) fn turn(&self, id: u64) -> Option<u32> {
        self.held.get(&id).map(|copy| copy.turn)
    }

    /// When a copy that is in flight was received.
    pub(super) fn received_ms(&self, id: u64) -> Option<u64> {
        self.held.get(&id)?.place.since()
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<Copy> {
        let copy = self.held.remove(&id)?;
        self.by_sent.remove(&(copy.sent_ms, id));
        self.leave(id, copy.place);
        self.note(id);
        self.tidy();
        Some(copy)
    }

    pub(super) fn clear(&mut self) {
        // Ids go on, so that an old handle never means a new copy.
        let mut unsaved = self.unsaved.take();
        if let Some(unsaved) = &mut unsaved {
            unsaved.extend(self.held.keys());
        }
        *self = Self { next_id: self.next_id, unsaved, ..Self::default() };
    }

    fn note(&mut self, id: u64) {
        if let Some(unsaved) = &mut self.unsaved {
            unsaved.insert(id);
        }
    }

    fn set_place(&mut self, id: u64, place: Place) {
        let Some(copy) = self.held.get_mut(&id) else { return };
        let before = std::mem::replace(&mut copy.place, place);
        self.leave(id, before);
        match place {
            Place::Ready => self.ready.push_back(id),
            Place::Delayed { .. } => self.delayed += 1,
            Place::InFlight { .. } => self.in_flight += 1,
        }
        if let Some(until) = place.until() {
            self.hidden.insert((until, id));
        }
    }

    fn leave(&mut self, id: u64, place: Place) {
        match place {
            Place::Ready => {}
            Place::Delayed { .. } => self.delayed = self.delayed.saturating_sub(1),
            Place::InFlight { .. } => self.in_flight = self.in_flight.saturating_sub(1),
        }
        if let Some(until) = place.until() {
            self.hidden.remove(&(until, id));
        }
    }

    /// Drops ids of deleted copies once they are the larger part of the line, so its length stays within the queue's.
    fn tidy(&mut self) {
        const SLACK: usize = 64;
        if self.ready.len() > 2 * self.held.len() + SLACK {
            self.ready.retain(|id| self.held.contains_key(id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Draft;

    struct First;
    impl Order for First {
        fn next(&mut self, _len: usize) -> usize {
            0
        }
    }

    fn copy(now: u64) -> Copy {
        let draft = Draft { body: Some("x".to_owned()), ..Draft::default() };
        Copy::new(Arc::new(draft.check(99, "id".to_owned()).unwrap()), now)
    }

    #[test]
    fn a_copy_goes_through_its_places() {
        let mut copies = Copies::default();
        copies.insert(copy(0), Some(10));
        assert_eq!(copies.counts(), Counts { delayed: 1, ..Counts::default() });
        assert_eq!((copies.pick(&mut First), copies.next_due_ms()), (None, Some(10)));
        copies.advance(10, 1_000);
        let id = copies.pick(&mut First).unwrap();
        assert_eq!(copies.hide(id, 30, 20).unwrap().receive_count, 1);
        assert_eq!(copies.counts(), Counts { in_flight: 1, ..Counts::default() });
        assert_eq!((copies.received_ms(id), copies.turn(id)), (Some(20), Some(1)));
        copies.advance(30, 1_000);
        assert_eq!(copies.counts(), Counts { visible: 1, ..Counts::default() });
        copies.advance(1_000, 1_000);
        assert_eq!(copies.counts(), Counts::default());
        assert_eq!(copies.pick(&mut First), None);
    }

    #[test]
    fn the_line_does_not_outgrow_the_queue() {
        let mut copies = Copies::default();
        for id in 0..10_000 {
            copies.insert(copy(0), None);
            copies.remove(id);
        }
        assert!(copies.ready.len() < 100 && copies.by_sent.is_empty() && copies.hidden.is_empty());
    }

    #[test]
    fn clearing_never_reuses_an_id() {
        let mut copies = Copies::default();
        copies.insert(copy(0), None);
        copies.clear();
        copies.insert(copy(0), None);
        assert_eq!((copies.turn(0), copies.turn(1)), (None, Some(0)));
    }
}
