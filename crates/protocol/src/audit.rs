//! What the daily audit looks for: chunks and payouts that should have a copy in a queue and perhaps have none.
//!
//! Called by the audit machine, per message and chunk. Nothing that the service does itself loses a copy, so a finding
//! means that somebody purged a queue, deleted an item, or that copies wait longer than they should. The audit cannot
//! see into a queue: a chunk whose copy only waits, in a backlog longer than the visibility timeout, is a finding too.
//! One that waits for a held project is none ([`waits_for`]).
//!
//! That is harmless, and bounded. One more copy of a chunk costs one read and one acknowledgement, since its consumer
//! reads before it writes. A pass adds one copy to a chunk, however many there are already, so copies are added and never
//! doubled; one more for each time that a page is repeated, since what SQS had confirmed of it is sent again (a crash, an
//! entry that was not confirmed). Passes begin [`PASS_EVERY`] apart and a message is looked at for at most
//! [`Timing::DELIVER_MAX`] + [`AUDITED_AFTER`], which makes 5 passes at most, besides those that a person asks for.

use crate::{
    delivery::{Delivery, State},
    hold::Hold,
    ids::{MessageId, OwnerToken},
    refund::{Refund, id::PayoutId, payout::State as PayoutState},
    timing::Timing,
};
use alloc::string::String;

const MINUTE: u64 = 60_000;

/// How often the function is invoked, in ms. Most invocations find nothing due; the others begin the day's pass or go
/// on with one that ran out of time.
pub const INVOKED_EVERY: u64 = 60 * MINUTE;
/// A pass begins so long after the last one began, in ms: a day, less half of [`INVOKED_EVERY`], so that an invocation
/// which comes a little early does not wait for the next.
pub const PASS_EVERY: u64 = 24 * 60 * MINUTE - INVOKED_EVERY / 2;
/// A message is audited until so long after its deadline, in ms. Its item lives at least as long (`timing`).
pub const AUDITED_AFTER: u64 = 24 * 60 * MINUTE;
/// The longest an invocation may take, in ms (AWS Lambda quotas, function timeout: 900 s).
pub const INVOCATION_MAX: u64 = 15 * MINUTE;
/// A page is begun only if so much of the invocation is left, in ms: a page of [`PAGE_ITEMS`] messages of one chunk takes
/// a second or two. One that takes longer is cut off, and repeated by the next invocation.
pub const PAGE_RESERVE: u64 = 2 * MINUTE;
/// Items that one page of the scan reads at most (DynamoDB also ends a page at 1 MB). One page at a time, in one segment:
/// the scan takes what is left of the table's capacity, slowly, and one position says how far it came.
pub const PAGE_ITEMS: u32 = 500;

/// Which messages are audited, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// Accepted before this, in ms.
    pub accepted_before_ms: u64,
    /// With a deadline after this, in ms.
    pub deliver_by_after_ms: u64,
}

impl Range {
    /// The range at `now_ms`: older than grace + window + visibility timeout, by when the inline send and the relay had
    /// their chance and a crashed first receive came back; and younger than a day after the deadline. What is older is
    /// told by the clock alone (`status`).
    ///
    /// A message whose time to live is shorter than grace + window + visibility timeout may be too young for one pass
    /// and too old for the next: the clock then tells its end without a finding.
    #[must_use]
    pub fn at(now_ms: u64, timing: &Timing) -> Self {
        let young = timing.grace.saturating_add(timing.window).saturating_add(timing.visibility);
        Self {
            accepted_before_ms: now_ms.saturating_sub(young),
            deliver_by_after_ms: now_ms.saturating_sub(AUDITED_AFTER),
        }
    }

    /// Whether a message is in it.
    #[must_use]
    pub fn holds(&self, at_ms: u64, deliver_by_ms: u64) -> bool {
        at_ms < self.accepted_before_ms && deliver_by_ms > self.deliver_by_after_ms
    }
}

/// What the scan found of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// Which message.
    pub id: MessageId,
    /// When it was accepted, in ms.
    pub at_ms: u64,
    /// When delivery is given up, in ms.
    pub deliver_by_ms: u64,
    /// How many chunks it has.
    pub chunks: u16,
}

/// How far a chunk's delivery item has come: what the audit reads of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Progress {
    /// Where it stands.
    pub state: State,
    /// When the last claim's lease ends, in ms.
    pub lease_ms: u64,
    /// Not to be claimed before, in ms.
    pub not_before_ms: u64,
}

impl From<&Delivery> for Progress {
    fn from(item: &Delivery) -> Self {
        Self { state: item.state, lease_ms: item.lease_ms, not_before_ms: item.not_before_ms }
    }
}

/// Why a chunk gets another copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Finding {
    /// It has no delivery item: no copy was ever claimed.
    NoDeliveryItem,
    /// A claim's lease ended, and no copy came back within the visibility timeout.
    StuckInFlight,
    /// It may be tried again, and no copy came within the visibility timeout.
    StuckRetry,
}

impl Finding {
    /// The word in reports and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoDeliveryItem => "no_delivery_item",
            Self::StuckInFlight => "stuck_in_flight",
            Self::StuckRetry => "stuck_retry",
        }
    }
}

/// Whether the chunks of a held project and provider are left alone at `now_ms`: their copies wait for the hold, and each
/// look of one makes the next. Somebody looks at least every `hold_look_max`, and probes when that is due; a probe that
/// has been due for longer than a look and a visibility timeout says that no copy is left to make it.
#[must_use]
pub fn waits_for(hold: &Hold, timing: &Timing, now_ms: u64) -> bool {
    let looked_by = hold.probe_at_ms.saturating_add(timing.hold_look_max).saturating_add(timing.visibility);
    hold.held && now_ms <= looked_by
}

/// Whether a chunk of a message in range needs another copy. `visibility` is the deliveries queue's timeout, in ms.
///
/// It needs no agreement of clocks: after max(lease end, not before) a copy is at hand again within the visibility
/// timeout, and a machine whose clock is off by seconds only enqueues seconds too early or too late. Nor need the item
/// still be as it was read: what is claimed or done meanwhile turns the copy away.
#[must_use]
pub fn judge(item: Option<&Progress>, visibility: u64, now_ms: u64) -> Option<Finding> {
    let Some(item) = item else { return Some(Finding::NoDeliveryItem) };
    let late = item.lease_ms.max(item.not_before_ms).saturating_add(visibility) < now_ms;
    match item.state {
        State::InFlight if late => Some(Finding::StuckInFlight),
        State::Retry if late => Some(Finding::StuckRetry),
        State::InFlight | State::Retry | State::Done => None,
    }
}

/// A payout that is due or submitted: a copy of it must be in a queue until it is settled.
///
/// The audit cannot see whether one is. A provider may take days to decide, and meanwhile each pass adds one copy; it
/// asks the provider what became of the payout, at the backoff's longest interval, and is acknowledged with all others
/// once that is known. No copy can make it be paid twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpenPayout {
    /// Which.
    pub payout: PayoutId,
    /// Due, or submitted.
    pub state: PayoutState,
    /// When it became due or, later, was first called for, in ms.
    pub since_ms: u64,
}

impl OpenPayout {
    /// The open payout of a refund, if it has one.
    #[must_use]
    pub fn of(refund: &Refund) -> Option<Self> {
        let (id, payout) = (refund.payout_id()?, refund.payout.as_ref()?);
        let since_ms = payout.first_call_ms.unwrap_or(payout.due_ms);
        payout.state.is_open().then_some(Self { payout: id, state: payout.state, since_ms })
    }

    /// Whether it gets another copy at `now_ms`: it has been open for longer than a message is too young to be audited
    /// ([`Range::at`]), and than its copy waits at most for its next call. One that is called for again and again, for
    /// longer than that, is a finding although its copy is well: nothing stored says when the last call was.
    #[must_use]
    pub fn waits_long(&self, timing: &Timing, now_ms: u64) -> bool {
        self.since_ms.saturating_add(timing.retry_delay_max()) < Range::at(now_ms, timing).accepted_before_ms
    }
}

/// How far a scan came: made and read by the store, opaque to everybody else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Position(pub String);

/// One walk over all messages, as it is stored so that a later invocation can go on with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pass {
    /// When it began, in ms.
    pub started_ms: u64,
    /// When it was last written, in ms.
    pub saved_ms: u64,
    /// Everything up to here is done; `None` at the beginning.
    pub position: Option<Position>,
    /// Whether it came to the end.
    pub finished: bool,
    /// The invocation that wrote it last.
    pub owner: OwnerToken,
    /// Counts writes; every write is conditional on it.
    pub version: u32,
}
