//! A batch of received copies, handled all at once, with an outcome for each (ReportBatchItemFailures).
//!
//! Used by every function that SQS invokes. A panic fails only its own copy: unwinding ends that copy's future and the
//! others go on. The futures run in one task, so an invocation that is dropped takes all of them with it.

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures_util::{FutureExt, future::join_all};
use std::panic::AssertUnwindSafe;

/// Handles every copy of a batch with `handle`, which says whether the copy may be deleted. What it does not say so of
/// comes back.
pub async fn consume<'a, F>(event: &'a SqsEvent, handle: impl Fn(&'a SqsMessage) -> F) -> SqsBatchResponse
where
    F: Future<Output = bool> + 'a,
{
    let copies = event.records.iter().map(|record| {
        let work = AssertUnwindSafe(async { handle(record).await }).catch_unwind();
        async move {
            let gone = work.await.unwrap_or_else(|_| {
                tracing::error!(message_id = record.message_id, "handling a copy panicked; it comes back");
                false
            });
            (!gone).then(|| record.message_id.clone().unwrap_or_default())
        }
    });
    let mut response = SqsBatchResponse::default();
    for id in join_all(copies).await.into_iter().flatten() {
        let mut failure = BatchItemFailure::default();
        failure.item_identifier = id;
        response.batch_item_failures.push(failure);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_fails_only_its_own_copy() {
        let mut event = SqsEvent::default();
        for id in ["a", "b", "c"] {
            let mut message = SqsMessage::default();
            message.message_id = Some(id.to_owned());
            event.records.push(message);
        }
        let response = consume(&event, |record| async {
            match record.message_id.as_deref() {
                Some("a") => true,
                Some("b") => panic!("b is bad"),
                _ => false,
            }
        })
        .await;
        let failed: Vec<&str> = response.batch_item_failures.iter().map(|f| f.item_identifier.as_str()).collect();
        assert_eq!(failed, ["b", "c"]);
    }
}
