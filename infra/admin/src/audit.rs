//! The audit as a command: the function's own code, its own settings and its own exit codes.

use crate::{answer::Answer, dead_letters::find_queue, failure::Failure, place::Place};
use audit::{Audit, EXIT_FOUND, EXIT_NOTHING_FOUND, exit_code, report_json};
use platform::NoBoundary;
use protocol::machine::audit::{Asked, Ended};
use queue::Queue;
use std::sync::Arc;

/// Why a pass is not over, and what becomes of it.
fn why(ended: Ended) -> &'static str {
    match ended {
        Ended::Failed => "the table or a queue did not answer. The next audit goes on where this one stopped",
        Ended::OutOfTime => "its time was over. The next audit goes on where this one stopped",
        Ended::Elsewhere => "somebody else makes one at the same time, and goes on with it",
        Ended::NotDue | Ended::Finished => "there was none to make",
    }
}

pub(crate) async fn run(place: &Place) -> Result<Answer, Failure> {
    let (store, sqs) = (place.store().await?, place.sqs().await?);
    let name = place.queue_name(None, "DELIVERIES_QUEUE_URL", "deliveries")?;
    let deliveries = Queue::new(sqs.clone(), find_queue(&sqs, &name).await?);
    let name = place.queue_name(None, "PAYOUTS_QUEUE_URL", "payouts")?;
    let payouts = Queue::new(sqs.clone(), find_queue(&sqs, &name).await?);
    let audit = Audit::new(store, deliveries, payouts, place.clock.clone(), place.timing, Arc::new(NoBoundary));
    let report = audit.run(Asked::Now, None).await?;
    let text = format!(
        "{}: {} items read, {} messages in range; enqueued again: {} chunks without a delivery item, {} stuck in \
         flight, {} stuck in a retry, {} payouts due, {} payouts submitted; {} payouts in review wait for a person; {} \
         that only a person can repair.",
        report.ended.as_str(),
        report.scanned,
        report.messages,
        report.no_delivery_item,
        report.stuck_in_flight,
        report.stuck_retry,
        report.payouts_due,
        report.payouts_submitted,
        report.payouts_in_review,
        report.not_repaired
    );
    let answer = Answer::new(report_json(&report), text);
    Ok(match exit_code(&report) {
        EXIT_NOTHING_FOUND => answer,
        EXIT_FOUND => answer.found(),
        _ => answer.not_done(format!("the audit did not come to its end: {}", why(report.ended))),
    })
}
