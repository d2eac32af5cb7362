//! ReceiveMessage, with its long poll.
//!
//! A poll that finds nothing waits for one of four events: something changed in the queue, the next hidden copy becomes
//! visible, a dead letter is moved, or its time is over; the last three on the server's clock, so a moved clock ends them. It looks
//! again after each and never in between.

use super::{
    required,
    select::{AttributeNames, SystemNames},
    within, write,
};
use crate::{
    Sqs, SqsError, limits,
    message::{AttributeValue, of_attributes},
    names,
    queue::Received,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, pin::pin};

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Receive {
    queue_url: Option<String>,
    attribute_names: Option<Vec<String>>,
    message_system_attribute_names: Option<Vec<String>>,
    message_attribute_names: Option<Vec<String>>,
    max_number_of_messages: Option<i64>,
    visibility_timeout: Option<i64>,
    wait_time_seconds: Option<i64>,
    receive_request_attempt_id: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Message<'a> {
    message_id: &'a str,
    receipt_handle: &'a str,
    #[serde(rename = "MD5OfBody")]
    body_md5: &'a str,
    body: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<&'static str, String>,
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    attributes_md5: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    message_attributes: BTreeMap<&'a String, &'a AttributeValue>,
}

pub(super) async fn receive(sqs: &Sqs, request: Receive) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url, "QueueUrl")?;
    let count = within(request.max_number_of_messages, &limits::RECEIVE_COUNT, "MaxNumberOfMessages")?.unwrap_or(1);
    let visibility_s = within(request.visibility_timeout, &limits::VISIBILITY_S, "VisibilityTimeout")?;
    let wait_s = within(request.wait_time_seconds, &limits::WAIT_S, "WaitTimeSeconds")?;
    if request.receive_request_attempt_id.is_some_and(|id| !id.is_empty()) {
        let reason = "The request includes a parameter that is not valid for this queue type";
        return Err(SqsError::parameter("given", "ReceiveRequestAttemptId", reason));
    }
    let system = SystemNames::read(
        request
            .attribute_names
            .unwrap_or_default()
            .into_iter()
            .chain(request.message_system_attribute_names.unwrap_or_default()),
    )?;
    let attributes = AttributeNames::new(request.message_attribute_names.unwrap_or_default());
    let wanted = Wanted { url: &url, count: usize::try_from(count).unwrap_or(1), visibility_s, wait_s };
    let received = poll(sqs, &wanted).await?;
    let messages = received.iter().map(|received| show(received, &system, &attributes)).collect();
    write(&Answer { messages })
}

struct Wanted<'a> {
    url: &'a str,
    count: usize,
    visibility_s: Option<u32>,
    wait_s: Option<u32>,
}

async fn poll(sqs: &Sqs, wanted: &Wanted<'_>) -> Result<Vec<Received>, SqsError> {
    let name = names::name_in_url(wanted.url)?;
    let (changed, wait_s) = sqs.on_queue(wanted.url, |queue, _| {
        Ok((queue.changed.clone(), wanted.wait_s.unwrap_or(queue.config.receive_wait_s)))
    })?;
    let deadline = sqs.now_ms().saturating_add(u64::from(wait_s) * 1_000);
    loop {
        // Registered before the look, so that what changes between the look and the wait is not missed.
        let mut event = pin!(changed.notified());
        event.as_mut().enable();
        let (received, due, now) = sqs.apply(|state, now| {
            let taken = state.receive(name, wanted.count, wanted.visibility_s, sqs.random(), now)?;
            let queue = state.queue(name, now)?;
            // API reference, ReceiveMessage: only a short poll is told about the limit, a long one waits.
            if taken.received.is_empty() && wait_s == 0 && queue.is_full() {
                return Err(SqsError::OverLimit(queue.in_flight_limit));
            }
            let visible = queue.next_visible_ms();
            Ok((taken.received, visible.into_iter().chain(state.next_move_ms()).min(), now))
        })?;
        if !received.is_empty() || now >= deadline {
            return Ok(received);
        }
        tokio::select! {
            () = event => {}
            () = sqs.clock().sleep_until(due.map_or(deadline, |due| due.min(deadline))) => {}
        }
    }
}

fn show<'a>(received: &'a Received, system: &SystemNames, names: &AttributeNames) -> Message<'a> {
    let payload = &received.payload;
    let message_attributes: BTreeMap<_, _> = payload.attributes.iter().filter(|(name, _)| names.wants(name)).collect();
    // The digest covers what is handed out, not what was sent, so that an SDK can check it.
    let whole = message_attributes.len() == payload.attributes.len();
    let attributes_md5 = if whole {
        payload.attributes_md5.clone()
    } else {
        of_attributes(message_attributes.iter().map(|(name, value)| (*name, *value)))
    };
    Message {
        message_id: &payload.message_id,
        receipt_handle: &received.handle,
        body_md5: &payload.body_md5,
        body: &payload.body,
        attributes: system.show(received),
        attributes_md5,
        message_attributes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{QueueAttributes, message::Draft};
    use platform::Clock;

    #[tokio::test]
    async fn a_full_flight_is_told_to_short_polls_only() {
        let sqs = Sqs::new(Clock::system(), "http://h".to_owned());
        let url = sqs.create_queue("q", &QueueAttributes::default()).unwrap();
        let now = sqs.now_ms();
        for _ in 0..=limits::IN_FLIGHT {
            let draft = Draft { body: Some("x".to_owned()), ..Draft::default() };
            let payload = draft.check(99, String::new()).unwrap();
            sqs.lock().send("q", payload, None, now).unwrap();
        }
        let mut last = Vec::new();
        while sqs.counts("q").unwrap().in_flight < limits::IN_FLIGHT {
            // Seven does not divide the limit: the last receive gets fewer than it asked for.
            last = sqs.lock().receive("q", 7, Some(43_200), sqs.random(), now).unwrap().received;
        }
        assert_eq!(last.len(), limits::IN_FLIGHT % 7);
        let poll = |wait| {
            receive(&sqs, Receive { queue_url: Some(url.clone()), wait_time_seconds: Some(wait), ..Receive::default() })
        };
        assert_eq!(poll(0).await.unwrap_err(), SqsError::OverLimit(limits::IN_FLIGHT));
        // Room wakes a long poll that waits for it.
        let room = async { sqs.on_queue(&url, |queue, _| queue.delete(&last[0].handle)) };
        let (answer, deleted) = tokio::join!(poll(20), room);
        deleted.unwrap();
        assert!(answer.unwrap().len() > 2);
    }
}
