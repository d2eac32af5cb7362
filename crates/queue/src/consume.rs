//! A batch of received copies, handled all at once, with an outcome for each (ReportBatchItemFailures).
//!
//! Used by every function that SQS invokes. A panic fails only its own copy: unwinding ends that copy's future and the
//! others go on. The futures run in one task, so an invocation that is dropped takes all of them with it.

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use std::panic::AssertUnwindSafe;

/// Handles every copy of a batch with `handle`, which says whether the copy may be deleted. What it does not say so of
/// comes back.
pub async fn consume<'a, F>(event: &'a SqsEvent, handle: impl Fn(&'a SqsMessage) -> F) -> SqsBatchResponse
where
    F: Future<Output = bool> + 'a,
{
    // Each is polled when it is woken, and not whenever one of the others is.
    let mut copies: FuturesUnordered<_> = event
        .records
        .iter()
        .enumerate()
        .map(|(at, record)| {
            let work = AssertUnwindSafe(async { handle(record).await }).catch_unwind();
            async move {
                let gone = work.await.unwrap_or_else(|_| {
                    tracing::error!(message_id = record.message_id, "handling a copy panicked; it comes back");
                    false
                });
                (!gone).then_some((at, record))
            }
        })
        .collect();
    let mut kept = Vec::new();
    while let Some(copy) = copies.next().await {
        kept.extend(copy);
    }
    // As they were received, not as they ended.
    kept.sort_by_key(|(at, _)| *at);
    let mut response = SqsBatchResponse::default();
    for (_, record) in kept {
        let mut failure = BatchItemFailure::default();
        failure.item_identifier = record.message_id.clone().unwrap_or_default();
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

    #[tokio::test]
    async fn what_comes_back_is_named_in_the_order_of_the_batch() {
        let mut event = SqsEvent::default();
        for id in 0..5 {
            let mut message = SqsMessage::default();
            message.message_id = Some(id.to_string());
            event.records.push(message);
        }
        // The later ones end first.
        let response = consume(&event, |record| async {
            let id: usize = record.message_id.as_deref().unwrap().parse().unwrap();
            for _ in id..5 {
                tokio::task::yield_now().await;
            }
            id == 2
        })
        .await;
        let failed: Vec<&str> = response.batch_item_failures.iter().map(|f| f.item_identifier.as_str()).collect();
        assert_eq!(failed, ["0", "1", "3", "4"]);
    }
}
