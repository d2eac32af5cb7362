//! ListQueues and ListDeadLetterSourceQueues, with their pages.
//!
//! A page's token is the name of its last queue: queues made or deleted between two pages neither repeat nor hide
//! others.

use super::{required, within, write};
use crate::{Sqs, SqsError, limits, names};
use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct List {
    queue_name_prefix: Option<String>,
    queue_url: Option<String>,
    max_results: Option<i64>,
    next_token: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Queues {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queue_urls: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_token: Option<String>,
}

/// The same answer under the name that this one action spells in lower case.
#[derive(Serialize)]
struct Sources {
    #[serde(rename = "queueUrls")]
    queue_urls: Vec<String>,
    #[serde(rename = "NextToken", skip_serializing_if = "Option::is_none")]
    next_token: Option<String>,
}

pub(super) fn queues(sqs: &Sqs, request: List) -> Result<Vec<u8>, SqsError> {
    let prefix = request.queue_name_prefix.unwrap_or_default();
    let found = sqs.lock().names().filter(|name| name.starts_with(&prefix)).map(str::to_owned).collect();
    let (queue_urls, next_token) = page(sqs, found, request.max_results, request.next_token.as_deref())?;
    write(&Queues { queue_urls, next_token })
}

pub(super) fn sources(sqs: &Sqs, request: List) -> Result<Vec<u8>, SqsError> {
    let url = required(request.queue_url, "QueueUrl")?;
    let name = names::name_in_url(&url)?;
    sqs.on_queue(&url, |_, _| Ok(()))?;
    let found = sqs.lock().sources_of(name);
    let (queue_urls, next_token) = page(sqs, found, request.max_results, request.next_token.as_deref())?;
    write(&Sources { queue_urls, next_token })
}

/// The URLs after `token` in a list of names in order, and the token of the next page. Without `MaxResults` there is
/// one page of 1,000 and no token, as in SQS.
fn page(
    sqs: &Sqs,
    names: Vec<String>,
    max_results: Option<i64>,
    token: Option<&str>,
) -> Result<(Vec<String>, Option<String>), SqsError> {
    let asked = within(max_results, &limits::LIST_RESULTS, "MaxResults")?;
    let most = usize::try_from(asked.unwrap_or(*limits::LIST_RESULTS.end())).unwrap_or(1);
    let after = token.map(|token| {
        let bytes = BASE64URL_NOPAD.decode(token.as_bytes()).ok();
        let name = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        name.ok_or_else(|| SqsError::parameter(token, "NextToken", "It is not a token of this server"))
    });
    let after = after.transpose()?;
    let mut rest = names.into_iter().filter(|name| after.as_ref().is_none_or(|after| name > after));
    let page: Vec<String> = rest.by_ref().take(most).collect();
    let more = asked.is_some() && rest.next().is_some();
    let next = page.last().filter(|_| more).map(|last| BASE64URL_NOPAD.encode(last.as_bytes()));
    Ok((page.iter().map(|name| sqs.url(name)).collect(), next))
}
