//! Commands about dead letters.
//!
//! Any queue of ours can be named, so what is said here holds for every kind of copy: a letter is told by the type of its
//! envelope, and nothing of it is read that another kind would not have.

mod letter;

use crate::{
    answer::Answer,
    args::{DeadLetters, DeadQueue},
    failure::{Failure, said},
    place::Place,
    table::table,
};
use aws_sdk_sqs::{
    Client,
    types::{ChangeMessageVisibilityBatchRequestEntry, Message, MessageSystemAttributeName, QueueAttributeName},
};
use letter::Letter;
use serde_json::{Value, json};
use std::collections::HashSet;

/// Copies of one receive at most (Amazon SQS API reference, ReceiveMessage).
const BATCH: usize = 10;
/// Longest name of a queue (Amazon SQS API reference, CreateQueue).
const NAME_MAX: usize = 80;
/// How long letters that are looked at stay hidden, in s, should giving them back fail.
const HIDDEN_S: i32 = 60;
/// Receives in a row that bring nothing new, after which a queue counts as empty: SQS samples its servers.
const EMPTY_RECEIVES: u32 = 3;

pub(crate) async fn run(place: &Place, command: DeadLetters) -> Result<Answer, Failure> {
    let sqs = place.sqs().await?;
    match command {
        DeadLetters::Show { queue, limit } => show(&sqs, &dead_queue(place, &sqs, &queue).await?.0, limit).await,
        DeadLetters::Redrive { queue, to, limit } => {
            let (dead, of) = dead_queue(place, &sqs, &queue).await?;
            let to = match (to, of) {
                (Some(to), _) => {
                    let to = find_queue(&sqs, &to).await?;
                    came_from(&sqs, &dead, &to).await?;
                    to
                }
                (None, Some(of)) => of,
                (None, None) => source(&sqs, &dead).await?,
            };
            redrive(&sqs, &dead, &to, limit).await
        }
    }
}

/// The URL of a queue that is named by its name or its URL, which must be there as far as a name tells.
pub(crate) async fn find_queue(sqs: &Client, named: &str) -> Result<String, Failure> {
    queue_url(sqs, named).await?.ok_or_else(|| said(format!("there is no queue {named} here")))
}

/// The same; none if no queue has this name.
pub(crate) async fn queue_url(sqs: &Client, named: &str) -> Result<Option<String>, Failure> {
    if named.starts_with("https://") || named.starts_with("http://") {
        return Ok(Some(named.to_owned()));
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if named.is_empty() || named.len() > NAME_MAX || !named.bytes().all(allowed) {
        return Err(said(format!("{named:?} is neither a queue's name nor its URL")));
    }
    match sqs.get_queue_url().queue_name(named).send().await {
        Ok(answer) => Ok(answer.queue_url),
        Err(error) if error.as_service_error().is_some_and(|error| error.is_queue_does_not_exist()) => Ok(None),
        Err(error) => Err(Failure::aws("SQS", "GetQueueUrl", &error)),
    }
}

/// An attribute of a queue; none if it has none.
async fn attribute(sqs: &Client, url: &str, name: QueueAttributeName) -> Result<Option<String>, Failure> {
    let asked = sqs.get_queue_attributes().queue_url(url).attribute_names(name.clone()).send().await;
    let answer = asked.map_err(|error| Failure::aws("SQS", "GetQueueAttributes", &error))?;
    Ok(answer.attributes.and_then(|mut attributes| attributes.remove(&name)))
}

/// The dead-letter queue that is meant, and the queue whose it is, if that is how it was named.
async fn dead_queue(place: &Place, sqs: &Client, named: &DeadQueue) -> Result<(String, Option<String>), Failure> {
    if let Some(queue) = &named.queue {
        return Ok((find_queue(sqs, queue).await?, None));
    }
    let of = place.queue_name(named.of.as_deref(), "DELIVERIES_QUEUE_URL", "deliveries")?;
    let of = find_queue(sqs, &of).await?;
    let policy = attribute(sqs, &of, QueueAttributeName::RedrivePolicy).await?;
    let policy: Value = policy.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let name = policy["deadLetterTargetArn"].as_str().and_then(|arn| arn.rsplit(':').next());
    let name = name.ok_or_else(|| said(format!("the queue {of} has no dead-letter queue: name one with --queue")))?;
    Ok((find_queue(sqs, name).await?, Some(of)))
}

/// Letters go back to the queue they came from, and to no other: its consumer alone knows what they ask for, and what was
/// parked was no copy that anybody could read. A queue says itself where its dead letters go.
async fn came_from(sqs: &Client, dead: &str, to: &str) -> Result<(), Failure> {
    let arn = attribute(sqs, dead, QueueAttributeName::QueueArn).await?;
    let policy = attribute(sqs, to, QueueAttributeName::RedrivePolicy).await?;
    let policy: Value = policy.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    if arn.is_some_and(|arn| policy["deadLetterTargetArn"] == arn) {
        return Ok(());
    }
    Err(said(format!(
        "letters go back only to the queue they came from, and {to} does not send its dead letters to {dead}: its consumer \
         would not know them. Nothing was moved. What is parked goes nowhere: docs/RUNBOOK.md says what to do with it"
    )))
}

/// The queue whose dead letters come here. Not every emulator can say.
async fn source(sqs: &Client, dead: &str) -> Result<String, Failure> {
    let asked = sqs.list_dead_letter_source_queues().queue_url(dead).send().await;
    let mut urls = match asked {
        Ok(answer) => answer.queue_urls,
        Err(error) => {
            let failure = Failure::aws("SQS", "ListDeadLetterSourceQueues", &error);
            return Err(said(format!("{failure}: say where they go with --to")));
        }
    };
    match (urls.pop(), urls.is_empty()) {
        (Some(url), true) => Ok(url),
        (None, _) => Err(said(format!(
            "no queue sends its dead letters to {dead}; if one does and this place cannot tell, say where they go with --to"
        ))),
        (Some(_), false) => {
            Err(said(format!("several queues send their dead letters to {dead}: say where they go with --to")))
        }
    }
}

/// Up to ten letters that are now hidden.
async fn receive(sqs: &Client, url: &str, at_most: usize) -> Result<Vec<Message>, Failure> {
    let request =
        sqs.receive_message().queue_url(url).max_number_of_messages(i32::try_from(at_most.min(BATCH)).unwrap_or(1));
    let request = request.visibility_timeout(HIDDEN_S).wait_time_seconds(1);
    let request =
        request.message_system_attribute_names(MessageSystemAttributeName::All).message_attribute_names("All");
    let answer = request.send().await.map_err(|error| Failure::aws("SQS", "ReceiveMessage", &error))?;
    Ok(answer.messages.unwrap_or_default())
}

/// Makes letters visible again. One that cannot be given back comes back by itself.
async fn give_back(sqs: &Client, url: &str, messages: &[Message]) {
    for batch in messages.chunks(BATCH) {
        let entries = batch.iter().enumerate().filter_map(|(at, message)| {
            let entry = ChangeMessageVisibilityBatchRequestEntry::builder().id(at.to_string()).visibility_timeout(0);
            entry.set_receipt_handle(message.receipt_handle.clone()).build().ok()
        });
        let request = sqs.change_message_visibility_batch().queue_url(url).set_entries(Some(entries.collect()));
        // Nothing depends on it: they are hidden for a minute.
        let _ = request.send().await;
    }
}

async fn show(sqs: &Client, url: &str, limit: u32) -> Result<Answer, Failure> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let (mut taken, mut seen, mut empty) = (Vec::new(), HashSet::new(), 0);
    while taken.len() < limit && empty < EMPTY_RECEIVES {
        let received = receive(sqs, url, limit - taken.len()).await;
        let received = match received {
            Ok(received) => received,
            Err(failure) => {
                give_back(sqs, url, &taken).await;
                return Err(failure);
            }
        };
        empty = if received.is_empty() { empty + 1 } else { 0 };
        taken.extend(received.into_iter().filter(|message| seen.insert(message.message_id.clone())));
    }
    give_back(sqs, url, &taken).await;
    let waiting = waiting(sqs, url).await?;
    let letters: Vec<Letter> = taken.iter().map(Letter::of).collect();
    let rows: Vec<_> = letters.iter().map(Letter::row).collect();
    let head = format!("{url}: about {waiting} letters, {} shown\n", letters.len());
    let text = format!("{head}{}", table(["SENT", "RECEIVES", "TYPE", "PROJECT", "ABOUT", "WHY"], &rows));
    let value = json!({
        "queue": url, "waiting": waiting, "letters": letters.iter().map(Letter::json).collect::<Vec<_>>(),
    });
    Ok(Answer::new(value, text))
}

/// About how many letters there are, hidden ones too.
async fn waiting(sqs: &Client, url: &str) -> Result<u64, Failure> {
    let mut sum = 0;
    for name in [
        QueueAttributeName::ApproximateNumberOfMessages,
        QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
        QueueAttributeName::ApproximateNumberOfMessagesDelayed,
    ] {
        let number = attribute(sqs, url, name).await?;
        sum += number.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(sum)
}

async fn redrive(sqs: &Client, from: &str, to: &str, limit: Option<u32>) -> Result<Answer, Failure> {
    if from == to {
        return Err(said(format!("{from} cannot be re-driven to itself")));
    }
    // As many as there are now: what dies again meanwhile waits for the next time.
    let there = waiting(sqs, from).await?;
    let at_most = limit.map_or(there, |limit| there.min(u64::from(limit)));
    let (mut moved, mut kept, mut empty, mut failures) = (0_u64, 0_u64, 0, Vec::new());
    let mut stayed = Vec::new();
    while moved + kept < at_most && empty < EMPTY_RECEIVES && failures.is_empty() {
        let room = usize::try_from(at_most - moved - kept).unwrap_or(BATCH);
        let received = receive(sqs, from, room).await?;
        empty = if received.is_empty() { empty + 1 } else { 0 };
        for message in received {
            match pass_on(sqs, from, to, &message).await {
                Ok(()) => moved += 1,
                Err(failure) => {
                    kept += 1;
                    failures.push(failure.to_string());
                    stayed.push(message);
                }
            }
        }
    }
    // Whoever mends what kept them here need not wait for them.
    give_back(sqs, from, &stayed).await;
    // What was there and did not come: somebody else holds it. SQS counts roughly, so it is asked again.
    let rest = at_most - (moved + kept).min(at_most);
    let left = if rest > 0 && failures.is_empty() { rest.min(waiting(sqs, from).await?) } else { rest };
    let value = json!({"from": from, "to": to, "moved": moved, "kept": kept, "left": left, "failures": failures});
    let text = format!("Sent {moved} of about {there} letters from {from} to {to}.");
    if failures.is_empty() && left == 0 {
        return Ok(Answer::new(value, text));
    }
    if failures.is_empty() {
        let text = format!(
            "{text} About {left} were left: somebody else has received them, and they come back when that one's time is \
             over. Look again then."
        );
        return Ok(Answer::new(value, text).found());
    }
    let why = format!("{kept} letters stayed, and no more were tried: {}", failures.join("; "));
    Ok(Answer::new(value, text).not_done(why))
}

/// Sends a letter on as it is, and deletes it once SQS has confirmed the copy. A letter whose deletion fails comes back,
/// and a copy too many is harmless.
async fn pass_on(sqs: &Client, from: &str, to: &str, message: &Message) -> Result<(), Failure> {
    let group = message.attributes.as_ref().and_then(|a| a.get(&MessageSystemAttributeName::MessageGroupId)).cloned();
    let copy = sqs
        .send_message()
        .queue_url(to)
        .message_body(message.body.as_deref().unwrap_or_default())
        .set_message_group_id(group)
        .set_message_attributes(message.message_attributes.clone());
    copy.send().await.map_err(|error| Failure::aws("SQS", "SendMessage", &error))?;
    let delete = sqs.delete_message().queue_url(from).set_receipt_handle(message.receipt_handle.clone());
    delete.send().await.map(drop).map_err(|error| Failure::aws("SQS", "DeleteMessage", &error))
}
