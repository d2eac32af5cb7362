//! The queues as any SQS client sees them, past the proxy.

use aws_sdk_sqs::{
    Client,
    types::{Message, MessageSystemAttributeName},
};
use local_sqs::Sqs;
use platform::{AwsTimeouts, aws_config_at};
use serde_json::{Map, Value, json};

/// Where chunks wait for delivery.
pub const DELIVERIES: &str = "sendonce-deliveries";
/// Where copies go that were received too often.
pub const DEAD: &str = "sendonce-deliveries-dead";
/// Where payouts wait to be made.
pub const PAYOUTS: &str = "sendonce-payouts";
/// Where payouts' copies go that were received too often.
pub const PAYOUTS_DEAD: &str = "sendonce-payouts-dead";
/// Where things go that nobody can read.
pub const PARKING: &str = "sendonce-parking";

/// A door to the queues.
#[derive(Clone, Debug)]
pub struct Queues {
    client: Client,
    sqs: Sqs,
}

impl Queues {
    pub(crate) async fn new(url: &str, sqs: Sqs) -> Self {
        Self { client: Client::new(&aws_config_at(AwsTimeouts::within(20_000), url).await), sqs }
    }

    /// Every copy that a queue holds, hidden or not.
    #[must_use]
    pub fn held(&self, queue: &str) -> usize {
        let counts = self.sqs.counts(queue).unwrap();
        counts.visible + counts.in_flight + counts.delayed
    }

    /// Copies of a queue that anybody may receive now.
    #[must_use]
    pub fn visible(&self, queue: &str) -> usize {
        self.sqs.counts(queue).unwrap().visible
    }

    /// Copies of a queue that are hidden until a delay is over.
    #[must_use]
    pub fn delayed(&self, queue: &str) -> usize {
        self.sqs.counts(queue).unwrap().delayed
    }

    /// A queue's URL.
    pub async fn url(&self, queue: &str) -> String {
        self.client.get_queue_url().queue_name(queue).send().await.unwrap().queue_url.unwrap()
    }

    /// Puts any text into a queue.
    pub async fn send(&self, queue: &str, body: &str) {
        let url = self.url(queue).await;
        self.client.send_message().queue_url(url).message_body(body).send().await.unwrap();
    }

    /// Takes up to ten copies, as a consumer, hidden for so long.
    pub async fn take(&self, queue: &str, visibility_seconds: i32) -> Vec<Message> {
        let url = self.url(queue).await;
        let request = self.client.receive_message().queue_url(url).max_number_of_messages(10);
        let request = request.visibility_timeout(visibility_seconds);
        let request =
            request.message_system_attribute_names(MessageSystemAttributeName::All).message_attribute_names("All");
        request.send().await.unwrap().messages.unwrap_or_default()
    }

    /// Takes one copy whose body is as wanted, hidden for an hour; the others of the same receive come back at once.
    pub async fn take_one(&self, queue: &str, wanted: impl Fn(&Value) -> bool) -> Option<Message> {
        let mut found = None;
        for copy in self.take(queue, 3_600).await {
            let body: Value = serde_json::from_str(copy.body().unwrap_or_default()).unwrap_or_default();
            if found.is_none() && wanted(&body) {
                found = Some(copy);
            } else {
                self.show(queue, &copy).await;
            }
        }
        found
    }

    /// Makes a copy that was taken visible at once.
    pub async fn show(&self, queue: &str, copy: &Message) {
        let url = self.url(queue).await;
        let request = self.client.change_message_visibility().queue_url(url).visibility_timeout(0);
        request.set_receipt_handle(copy.receipt_handle.clone()).send().await.unwrap();
    }

    /// Deletes a copy that was taken.
    pub async fn delete(&self, queue: &str, copy: &Message) {
        let url = self.url(queue).await;
        let request = self.client.delete_message().queue_url(url).set_receipt_handle(copy.receipt_handle.clone());
        request.send().await.unwrap();
    }
}

/// The event with which Lambda hands copies to a function.
#[must_use]
pub fn event(copies: &[Message]) -> Value {
    let records = copies.iter().map(|copy| {
        let attributes = copy.attributes.iter().flatten();
        let attributes: Map<String, Value> =
            attributes.map(|(name, value)| (name.as_str().to_owned(), value.as_str().into())).collect();
        json!({
            "messageId": copy.message_id, "receiptHandle": copy.receipt_handle, "body": copy.body,
            "attributes": attributes, "messageAttributes": {}, "md5OfBody": copy.md5_of_body,
            "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:q", "awsRegion": "us-east-1",
        })
    });
    json!({ "Records": records.collect::<Vec<_>>() })
}

/// Which of these copies an answer wants kept.
#[must_use]
pub(crate) fn kept(answer: &Value, copies: &[Message]) -> Vec<bool> {
    let failures = answer["batchItemFailures"].as_array().map_or(&[][..], Vec::as_slice);
    let failed = |copy: &Message| failures.iter().any(|f| f["itemIdentifier"].as_str() == copy.message_id());
    copies.iter().map(failed).collect()
}
