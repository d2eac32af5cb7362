//! The queues: what `Timing` demands of how long they keep and hide, and where their copies go.

use super::Findings;
use crate::{dead_letters::queue_url, failure::Failure, place::Place};
use aws_sdk_sqs::{Client, types::QueueAttributeName};
use protocol::timing::{RECEIVES_MAX, Timing};
use serde_json::Value;
use std::collections::HashMap;

/// The queues that were found.
#[derive(Debug, Default)]
pub(super) struct Queues {
    pub(super) deliveries: Found,
    pub(super) payouts: Found,
    pub(super) parking_url: Option<String>,
}

/// A queue that has consumers, and what is known of it.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) url: String,
    pub(super) arn: Option<String>,
    pub(super) dead_arn: Option<String>,
}

struct Queue {
    attributes: HashMap<QueueAttributeName, String>,
}

impl Queue {
    /// A queue by its name or its URL, with its URL. None: there is no such queue, which is a finding like any other.
    async fn find(sqs: &Client, named: &str) -> Result<Option<(String, Self)>, Failure> {
        let Some(url) = queue_url(sqs, named).await? else { return Ok(None) };
        Ok(Self::read(sqs, &url).await?.map(|queue| (url, queue)))
    }

    /// None: there is no such queue.
    async fn read(sqs: &Client, url: &str) -> Result<Option<Self>, Failure> {
        let asked = sqs.get_queue_attributes().queue_url(url).attribute_names(QueueAttributeName::All).send().await;
        match asked {
            Ok(answer) => Ok(Some(Self { attributes: answer.attributes.unwrap_or_default() })),
            Err(error) if error.as_service_error().is_some_and(|error| error.is_queue_does_not_exist()) => Ok(None),
            Err(error) => Err(Failure::aws("SQS", "GetQueueAttributes", &error)),
        }
    }

    fn get(&self, name: QueueAttributeName) -> &str {
        self.attributes.get(&name).map_or("none", String::as_str)
    }

    fn redrive(&self) -> Value {
        serde_json::from_str(self.get(QueueAttributeName::RedrivePolicy)).unwrap_or_default()
    }

    fn keeps(&self, part: &str, timing: &Timing, retention_ms: u64, findings: &mut Findings) {
        let visibility = self.get(QueueAttributeName::VisibilityTimeout);
        findings.equal(part, "VisibilityTimeout", visibility, timing.visibility.div_ceil(1_000));
        let retention = self.get(QueueAttributeName::MessageRetentionPeriod);
        findings.equal(part, "MessageRetentionPeriod", retention, retention_ms / 1_000);
        // A delay on the queue would hold every copy back, and is no part of the design's times.
        let delay = self.get(QueueAttributeName::DelaySeconds);
        findings.must(part, "DelaySeconds", delay, matches!(delay, "0" | "none"), 0);
    }

    /// A dead-letter queue with one of its own would drop what nobody looked at into a queue that nobody reads.
    fn ends_here(&self, part: &str, findings: &mut Findings) {
        let policy = self.get(QueueAttributeName::RedrivePolicy);
        findings.must(part, "RedrivePolicy", policy, matches!(policy, "none" | ""), "none");
    }
}

impl Queues {
    /// Finds the queues and holds each to what it must be.
    pub(super) async fn look(
        place: &Place,
        sqs: &Client,
        parking: Option<&str>,
        findings: &mut Findings,
    ) -> Result<Self, Failure> {
        let mut queues = Self {
            deliveries: Found::look(place, sqs, "DELIVERIES_QUEUE_URL", "deliveries", findings).await?,
            payouts: Found::look(place, sqs, "PAYOUTS_QUEUE_URL", "payouts", findings).await?,
            parking_url: None,
        };
        let named = place.queue_name(parking, "PARKING_QUEUE_URL", "parking")?;
        let part = "queue parking";
        let found = Queue::find(sqs, &named).await?;
        findings.must(part, "Queue", "missing", found.is_some(), "there");
        if let Some((url, parking)) = found {
            parking.keeps(part, &place.timing, Timing::DEAD_LETTER_RETENTION, findings);
            parking.ends_here(part, findings);
            queues.parking_url = Some(url);
        }
        Ok(queues)
    }
}

impl Found {
    /// Finds a queue and its dead-letter queue, and holds both to what they must be.
    async fn look(
        place: &Place,
        sqs: &Client,
        variable: &str,
        name: &str,
        findings: &mut Findings,
    ) -> Result<Self, Failure> {
        let named = place.queue_name(None, variable, name)?;
        let mut found = Self { url: named.clone(), ..Self::default() };
        let part = format!("queue {name}");
        let part = part.as_str();
        let queue = Queue::find(sqs, &named).await?;
        findings.must(part, "Queue", "missing", queue.is_some(), "there");
        if let Some((url, queue)) = queue {
            found.url = url;
            found.arn = Some(queue.get(QueueAttributeName::QueueArn).to_owned());
            queue.keeps(part, &place.timing, Timing::QUEUE_RETENTION, findings);
            let policy = queue.redrive();
            // SQS gives the number back as it was written, a number or a text.
            let receives = &policy["maxReceiveCount"];
            let receives = receives.as_str().map_or_else(|| receives.to_string(), str::to_owned);
            findings.equal(part, "RedrivePolicy.maxReceiveCount", receives, RECEIVES_MAX);
            found.dead_arn = policy["deadLetterTargetArn"].as_str().map(str::to_owned);
            let target = found.dead_arn.as_deref();
            findings.must(part, "RedrivePolicy.deadLetterTargetArn", "none", target.is_some(), "a dead-letter queue");
        }
        if let Some(dead) = found.dead_arn.as_deref().and_then(|arn| arn.rsplit(':').next()) {
            let part = format!("queue {name} dead letters");
            let part = part.as_str();
            // A redrive policy outlives the queue that it names.
            let dead = Queue::find(sqs, dead).await?;
            findings.must(part, "Queue", "missing", dead.is_some(), "there");
            if let Some((_, dead)) = dead {
                dead.keeps(part, &place.timing, Timing::DEAD_LETTER_RETENTION, findings);
                dead.ends_here(part, findings);
            }
        }
        Ok(found)
    }
}
