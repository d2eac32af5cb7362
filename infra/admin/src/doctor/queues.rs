//! The queues: what `Timing` demands of how long they keep and hide, what they take from whom, and where their copies go.

use super::Findings;
use crate::{dead_letters::queue_url, failure::Failure, place::Place};
use aws_sdk_sqs::{Client, types::QueueAttributeName};
use protocol::timing::{RECEIVES_MAX, Timing};
use serde_json::Value;
use std::collections::HashMap;

/// Longest copy there may be, in bytes: none of a request's copies is longer than the request.
const COPY_MAX: usize = sendonce_http::BODY_LIMIT_BYTES;

/// The variables that name a queue and the queue of its dead letters.
const DELIVERIES: (&str, &str) = ("DELIVERIES_QUEUE_URL", "DELIVERIES_DEAD_QUEUE_URL");
const PAYOUTS: (&str, &str) = ("PAYOUTS_QUEUE_URL", "PAYOUTS_DEAD_QUEUE_URL");

/// The queues that were found.
#[derive(Debug, Default)]
pub(super) struct Queues {
    pub(super) deliveries: Found,
    pub(super) payouts: Found,
    pub(super) parking_url: Option<String>,
    pub(super) parking_arn: Option<String>,
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
        let longest = self.get(QueueAttributeName::MaximumMessageSize);
        // An emulator may not tell.
        let holds = longest == "none" || longest.parse::<usize>().is_ok_and(|longest| longest >= COPY_MAX);
        findings.must(part, "MaximumMessageSize", longest, holds, format!("{COPY_MAX} or more, the longest copy"));
        // Who may send and receive is the roles' to say: a policy could let in others, or refuse ours.
        self.has_none(part, QueueAttributeName::Policy, findings);
        // A key of KMS's is one that the roles may not use.
        self.has_none(part, QueueAttributeName::KmsMasterKeyId, findings);
    }

    fn has_none(&self, part: &str, name: QueueAttributeName, findings: &mut Findings) {
        let value = self.get(name.clone());
        findings.must(part, name.as_str(), value, matches!(value, "none" | ""), "none");
    }

    /// A queue that takes no dead letters from its source has SQS receive them again and again.
    fn takes_letters_of(&self, part: &str, source: Option<&str>, findings: &mut Findings) {
        let text = self.get(QueueAttributeName::RedriveAllowPolicy);
        let policy: Value = serde_json::from_str(text).unwrap_or_default();
        let listed = policy["sourceQueueArns"].as_array().map(Vec::as_slice).unwrap_or_default();
        let holds = match policy["redrivePermission"].as_str() {
            None => matches!(text, "none" | ""),
            Some("allowAll") => true,
            Some("byQueue") => source.is_some_and(|source| listed.iter().any(|arn| arn == source)),
            Some(_) => false,
        };
        findings.must(
            part,
            "RedriveAllowPolicy",
            text,
            holds,
            "none, or one that allows the queue whose letters it takes",
        );
    }

    /// A dead-letter queue with one of its own would drop what nobody looked at into a queue that nobody reads.
    fn ends_here(&self, part: &str, findings: &mut Findings) {
        self.has_none(part, QueueAttributeName::RedrivePolicy, findings);
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
            deliveries: Found::look(place, sqs, DELIVERIES, "deliveries", findings).await?,
            payouts: Found::look(place, sqs, PAYOUTS, "payouts", findings).await?,
            parking_url: None,
            parking_arn: None,
        };
        // Whoever names no dead-letter queues has them looked for where the queues send their letters.
        if let (Some(dead), Some(other)) = (&queues.payouts.dead_arn, &queues.deliveries.dead_arn) {
            let part = "queue payouts";
            findings.must(
                part,
                "RedrivePolicy.deadLetterTargetArn",
                dead,
                dead != other,
                "another than the deliveries'",
            );
        }
        let named = place.queue_name(parking, "PARKING_QUEUE_URL", "parking")?;
        let part = "queue parking";
        let found = Queue::find(sqs, &named).await?;
        findings.must(part, "Queue", "missing", found.is_some(), "there");
        if let Some((url, parking)) = found {
            parking.keeps(part, &place.timing, Timing::DEAD_LETTER_RETENTION, findings);
            parking.ends_here(part, findings);
            queues.parking_url = Some(url);
            queues.parking_arn = Some(parking.get(QueueAttributeName::QueueArn).to_owned());
        }
        Ok(queues)
    }
}

impl Found {
    /// Finds a queue and its dead-letter queue, and holds both to what they must be.
    async fn look(
        place: &Place,
        sqs: &Client,
        (variable, dead_variable): (&str, &str),
        name: &str,
        findings: &mut Findings,
    ) -> Result<Self, Failure> {
        let named = place.queue_name(None, variable, name)?;
        let mut found = Self { url: named.clone(), ..Self::default() };
        let part = format!("queue {name}");
        let part = part.as_str();
        let queue = Queue::find(sqs, &named).await?;
        findings.must(part, "Queue", "missing", queue.is_some(), "there");
        let mut target = None;
        if let Some((url, queue)) = queue {
            found.url = url;
            found.arn = Some(queue.get(QueueAttributeName::QueueArn).to_owned());
            queue.keeps(part, &place.timing, Timing::QUEUE_RETENTION, findings);
            let policy = queue.redrive();
            // SQS gives the number back as it was written, a number or a text.
            let receives = &policy["maxReceiveCount"];
            let receives = receives.as_str().map_or_else(|| receives.to_string(), str::to_owned);
            findings.equal(part, "RedrivePolicy.maxReceiveCount", receives, RECEIVES_MAX);
            target = policy["deadLetterTargetArn"].as_str().map(str::to_owned);
        }
        // What the stack calls its dead-letter queue is right, wherever the letters go.
        let designed = place.setting(dead_variable);
        let pointed = || target.as_deref().and_then(|arn| arn.rsplit(':').next()).map(str::to_owned);
        if let Some(named) = designed.clone().or_else(pointed) {
            let part = format!("queue {name} dead letters");
            let part = part.as_str();
            // A redrive policy outlives the queue that it names.
            let dead = Queue::find(sqs, &named).await?;
            findings.must(part, "Queue", "missing", dead.is_some(), "there");
            if let Some((_, dead)) = dead {
                dead.keeps(part, &place.timing, Timing::DEAD_LETTER_RETENTION, findings);
                dead.ends_here(part, findings);
                dead.takes_letters_of(part, found.arn.as_deref(), findings);
                found.dead_arn = designed.map(|_| dead.get(QueueAttributeName::QueueArn).to_owned());
            }
        }
        if found.arn.is_some() {
            let is = target.as_deref().unwrap_or("none");
            let must_be = found.dead_arn.as_deref().unwrap_or("a dead-letter queue");
            let holds =
                target.as_deref().is_some_and(|target| found.dead_arn.as_deref().is_none_or(|arn| arn == target));
            findings.must(part, "RedrivePolicy.deadLetterTargetArn", is, holds, must_be);
        }
        found.dead_arn = found.dead_arn.or(target);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(attributes: &[(QueueAttributeName, &str)]) -> Vec<String> {
        let attributes = attributes.iter().map(|(name, value)| (name.clone(), (*value).to_owned()));
        let timing = Timing::PRODUCTION;
        let mut queue = Queue { attributes: attributes.collect() };
        for (name, usual) in
            [(QueueAttributeName::VisibilityTimeout, "360"), (QueueAttributeName::MessageRetentionPeriod, "1209600")]
        {
            queue.attributes.entry(name).or_insert_with(|| usual.to_owned());
        }
        let mut findings = Findings::default();
        queue.keeps("q", &timing, Timing::DEAD_LETTER_RETENTION, &mut findings);
        queue.ends_here("q", &mut findings);
        queue.takes_letters_of("q", Some("arn:source"), &mut findings);
        findings.found.into_iter().map(|finding| finding.setting).collect()
    }

    #[test]
    fn what_a_queue_does_not_take_is_named() {
        assert_eq!(named(&[]), [""; 0]);
        for (name, good, bad) in [
            (QueueAttributeName::MaximumMessageSize, "262144", "1024"),
            (QueueAttributeName::MaximumMessageSize, "1048576", "262143"),
            (QueueAttributeName::Policy, "", r#"{"Statement":[{"Effect":"Deny","Action":"sqs:SendMessage"}]}"#),
            (QueueAttributeName::KmsMasterKeyId, "", "alias/ours"),
            (QueueAttributeName::RedrivePolicy, "", r#"{"deadLetterTargetArn":"arn:x","maxReceiveCount":3}"#),
            (
                QueueAttributeName::RedriveAllowPolicy,
                r#"{"redrivePermission":"allowAll"}"#,
                r#"{"redrivePermission":"denyAll"}"#,
            ),
            (
                QueueAttributeName::RedriveAllowPolicy,
                r#"{"redrivePermission":"byQueue","sourceQueueArns":["arn:source"]}"#,
                r#"{"redrivePermission":"byQueue","sourceQueueArns":["arn:other"]}"#,
            ),
        ] {
            assert_eq!(named(&[(name.clone(), good)]), [""; 0], "{good}");
            assert_eq!(named(&[(name.clone(), bad)]), [name.as_str()], "{bad}");
        }
    }
}
