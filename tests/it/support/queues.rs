//! The queues as any SQS client sees them, for what only a hostile or unlucky world does to them.

use super::eventually;
use aws_sdk_sqs::{Client, types::Message, types::MessageSystemAttributeName};
use local_sqs::{Counts, Sqs};
use platform::{AwsTimeouts, aws_config_at};

/// Where chunks wait for delivery.
pub(crate) const DELIVERIES: &str = "sendonce-deliveries";
/// Where copies go that were received too often.
pub(crate) const DEAD: &str = "sendonce-deliveries-dead";
/// Where things go that nobody can read.
pub(crate) const PARKING: &str = "sendonce-parking";

/// A door to the queues.
pub(crate) struct Queues {
    pub(crate) client: Client,
    sqs: Sqs,
}

impl Queues {
    pub(crate) async fn new(url: &str, sqs: Sqs) -> Self {
        Self { client: Client::new(&aws_config_at(AwsTimeouts::within(20_000), url).await), sqs }
    }

    pub(crate) fn counts(&self, queue: &str) -> Counts {
        self.sqs.counts(queue).unwrap()
    }

    /// Every copy that a queue holds, hidden or not.
    pub(crate) fn held(&self, queue: &str) -> usize {
        let Counts { visible, in_flight, delayed } = self.counts(queue);
        visible + in_flight + delayed
    }

    pub(crate) async fn url(&self, queue: &str) -> String {
        self.client.get_queue_url().queue_name(queue).send().await.unwrap().queue_url.unwrap()
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
        let request = request.message_system_attribute_names(MessageSystemAttributeName::All);
        request.send().await.unwrap().messages.unwrap_or_default()
    }

    /// Receives without ever handling until SQS gives up on every copy of the deliveries queue. The consumers must be
    /// paused.
    pub(crate) async fn wear_out(&self, copies: usize) {
        eventually("SQS moves the copies to the dead-letter queue", async || {
            self.take(DELIVERIES, 0).await;
            (self.held(DEAD) == copies && self.held(DELIVERIES) == 0).then_some(())
        })
        .await;
    }
}
