//! The daily audit: walks over all messages and refunds and enqueues again each chunk and each payout that should have a
//! copy and seems to have none.
//!
//! Invoked by a schedule, every [`INVOKED_EVERY`](protocol::audit::INVOKED_EVERY), and as a command. It is the net below
//! everything else: nothing that the service does itself loses a copy, so what it finds was done by hand (a queue
//! purged, an item deleted) or waits longer than it should. It counts what it enqueues, and the count is expected to
//! be 0.
//!
//! **Resumable.** How far a pass came is an item of its own, written by compare-and-set after each page. An invocation
//! that ends in the middle, by its time or by a crash, costs nothing but the one page that a later one repeats; of two
//! that meet one stops. A schedule's invocation goes on with an unfinished pass, begins a new one once a day, or does
//! nothing. One that is asked for (`{"run": "now"}`, or the command) begins a pass of its own, which takes the place of
//! an unfinished one.
//!
//! **Harmless.** A copy too many finds its item done, or busy, and is acknowledged or waits, as the protocol has it;
//! [`protocol::audit`] says what bounds their number. So nothing needs to hold still: a message accepted meanwhile is too
//! young, an item written between the look and the send turns the copy away, and a clock that is off by seconds moves
//! the range by as much.
//!
//! **What it cannot know.** A delivery item that was deleted by hand takes with it what is known about its devices. If
//! all of them had been accepted, the audit sees a chunk that nobody ever claimed, and it is sent again; a device is
//! told apart from one that never heard of the message by nothing but that item.

mod page;
mod report;
mod settings;

pub use report::{EXIT_FAILED, EXIT_FOUND, EXIT_NOTHING_FOUND, exit_code, report_json};
pub use settings::Settings;

use page::Walk;
use platform::{AwsTimeouts, Boundary, Clock, Random, RandomError, aws_config, drive};
use protocol::{
    audit::PAGE_ITEMS,
    ids::OwnerToken,
    machine::audit::{Asked, Audit as Machine, Outcome, Report},
    timing::Timing,
};
use queue::Queue;
use serde_json::Value;
use std::sync::Arc;
use store::Store;

/// The function.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The table.
    pub store: Store,
    /// Where chunks are enqueued.
    pub deliveries: Queue,
    /// Where payouts are enqueued.
    pub payouts: Queue,
    /// Now.
    pub clock: Clock,
    /// Owner tokens.
    pub random: Random,
    /// The deployment's durations.
    pub timing: Timing,
    /// Items read for one page: [`PAGE_ITEMS`], or fewer.
    pub page_items: u32,
    /// What stands between two effects.
    pub boundary: Arc<dyn Boundary>,
}

impl Audit {
    /// The function as it is deployed: clients by the SDK's own variables, with the limits that the timing gives.
    pub async fn deployed(settings: Settings, clock: Clock, boundary: Arc<dyn Boundary>) -> Self {
        let aws = aws_config(AwsTimeouts::within(settings.timing.record)).await;
        let store = Store::new(aws_sdk_dynamodb::Client::new(&aws), settings.table);
        let sqs = aws_sdk_sqs::Client::new(&aws);
        let deliveries = Queue::new(sqs.clone(), settings.deliveries_url);
        let payouts = Queue::new(sqs, settings.payouts_url);
        Self::new(store, deliveries, payouts, clock, settings.timing, boundary)
    }

    /// The function with pages of the usual size.
    #[must_use]
    pub fn new(
        store: Store,
        deliveries: Queue,
        payouts: Queue,
        clock: Clock,
        timing: Timing,
        boundary: Arc<dyn Boundary>,
    ) -> Self {
        Self { store, deliveries, payouts, clock, random: Random::system(), timing, page_items: PAGE_ITEMS, boundary }
    }

    /// Handles an event: what is due, or a whole pass if it says `"run": "now"`. `ends_ms` is when this invocation is
    /// ended. The answer is the report ([`report_json`]).
    ///
    /// # Errors
    /// When the operating system gives no random bytes; nothing was done then.
    pub async fn handle(&self, event: &Value, ends_ms: u64) -> Result<Value, RandomError> {
        let asked = if event["run"] == "now" { Asked::Now } else { Asked::Due };
        self.run(asked, Some(ends_ms)).await.map(|report| report_json(&report))
    }

    /// One invocation; without `ends_ms` nobody ends it.
    ///
    /// # Errors
    /// When the operating system gives no random bytes; nothing was done then.
    pub async fn run(&self, asked: Asked, ends_ms: Option<u64>) -> Result<Report, RandomError> {
        let owner = OwnerToken(self.random.bytes()?);
        let machine = Machine::new(asked, owner, ends_ms, self.timing);
        let walk = Walk { function: self };
        let report = drive(machine, Outcome::Start, &walk, &self.clock, self.boundary.as_ref()).await;
        report::log(&report, self.clock.now_ms());
        Ok(report)
    }
}
