//! The queues as any SQS client sees them, for what only a hostile or unlucky world does to them.

use super::eventually;
use aws_sdk_sqs::{
    Client,
    types::{Message, MessageSystemAttributeName, QueueAttributeName},
};
use local::Options;
use local_sqs::Counts;
use platform::{AwsTimeouts, aws_config_at};

/// Where chunks wait for delivery.
pub(crate) const DELIVERIES: &str = "sendonce-deliveries";
/// Where copies go that were received too often.
pub(crate) const DEAD: &str = "sendonce-deliveries-dead";
/// Where payouts wait to be made.
pub(crate) const PAYOUTS: &str = "sendonce-payouts";
/// Where payouts' copies go that were received too often.
pub(crate) const PAYOUTS_DEAD: &str = "sendonce-payouts-dead";
/// Where things go that nobody can read.
pub(crate) const PARKING: &str = "sendonce-parking";

/// A door to the queues.
pub(crate) struct Queues {
    pub(crate) client: Client,
    /// Whether it is the built-in SQS, which lives by the system's clock.
    pub(crate) built_in: bool,
    /// What the queues' names start with, in place of the usual.
    name: String,
}

impl Queues {
    pub(crate) async fn new(url: &str, built_in: bool, name: String) -> Self {
        Self { client: Client::new(&aws_config_at(AwsTimeouts::within(20_000), url).await), built_in, name }
    }

    fn full_name(&self, queue: &str) -> String {
        format!("{}{}", self.name, queue.strip_prefix(Options::NAME).unwrap())
    }

    /// What a queue of any SQS holds. AWS calls the numbers approximate; a stand-in knows.
    pub(crate) async fn counts(&self, queue: &str) -> Counts {
        let (visible, in_flight, delayed) = (
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        );
        let url = self.url(queue).await;
        let request = self.client.get_queue_attributes().queue_url(url);
        let request = request.set_attribute_names(Some(vec![visible.clone(), in_flight.clone(), delayed.clone()]));
        let numbers = request.send().await.unwrap().attributes.unwrap();
        let number = |name| numbers[name].parse().unwrap();
        Counts { visible: number(&visible), in_flight: number(&in_flight), delayed: number(&delayed) }
    }

    /// Every copy that a queue holds, hidden or not.
    pub(crate) async fn left(&self, queue: &str) -> usize {
        let Counts { visible, in_flight, delayed } = self.counts(queue).await;
        visible + in_flight + delayed
    }

    pub(crate) async fn url(&self, queue: &str) -> String {
        self.client.get_queue_url().queue_name(self.full_name(queue)).send().await.unwrap().queue_url.unwrap()
    }

    /// Puts any text into a queue.
    pub(crate) async fn send(&self, queue: &str, body: &str) {
        let url = self.url(queue).await;
        self.client.send_message().queue_url(url).message_body(body).send().await.unwrap();
    }

    /// Takes up to ten copies, as a consumer, hidden for so long.
    pub(crate) async fn take(&self, queue: &str, visibility_seconds: i32) -> Vec<Message> {
        let url = self.url(queue).await;
        let request = self.client.receive_message().queue_url(url).max_number_of_messages(10);
        let request = request.visibility_timeout(visibility_seconds);
        let request =
            request.message_system_attribute_names(MessageSystemAttributeName::All).message_attribute_names("All");
        request.send().await.unwrap().messages.unwrap_or_default()
    }

    /// Makes copies of the deliveries queue that were taken visible again, and tells SQS so itself: a clock that is
    /// moved ends their hiding in the built-in one only.
    pub(crate) async fn give_back(&self, copies: &[Message]) {
        let url = self.url(DELIVERIES).await;
        for copy in copies {
            let request = self.client.change_message_visibility().queue_url(&url).visibility_timeout(0);
            if let Err(error) = request.receipt_handle(copy.receipt_handle().unwrap()).send().await {
                // A consumer that released it may have hidden it for a shorter time, which is over.
                let error = error.into_service_error();
                assert!(error.is_message_not_inflight(), "{error:?}");
            }
        }
    }

    /// Receives without ever handling until SQS gives up on every copy of the deliveries queue. The consumers must be
    /// paused.
    pub(crate) async fn wear_out(&self, copies: usize) {
        eventually("SQS moves the copies to the dead-letter queue", async || {
            self.take(DELIVERIES, 0).await;
            (self.left(DEAD).await == copies && self.left(DELIVERIES).await == 0).then_some(())
        })
        .await;
    }
}
