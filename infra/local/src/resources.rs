//! What a deployment consists of besides code: the table, the queues, the projects, the API keys and the provider
//! secrets.
//!
//! Created through the AWS SDKs, so that the built-in stand-ins and any other endpoint are set up alike. Creating what
//! is there already changes nothing, except that a queue from an earlier run with another timing gets the present one.

use anyhow::{Context, bail};
use aws_sdk_sqs::{Client, error::DisplayErrorContext, types::QueueAttributeName};
use protocol::timing::{RECEIVES_MAX, Timing};
use sendonce_http::{READ_SCOPES, SCOPES};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use store::{ApiKey, Project, SeedOutcome, Store};

/// The table's name, and the start of the queues' names, unless [`Options::name`](crate::Options::name) has another.
pub(crate) const NAME: &str = "sendonce";
/// The region that stand-ins and events name.
pub(crate) const REGION: &str = "us-east-1";
/// The projects that exist from the start, each with its apps, the default first.
pub(crate) const PROJECTS: [(&str, &[&str]); 2] =
    [("acme", &["com.example.acme", "com.example.acme.beta"]), ("globex", &["com.example.globex"])];

/// Name in the ready line, project, actor, scopes. The keys are well known on purpose: they open nothing but the local
/// system, and a command pasted yesterday works today.
const KEYS: [(&str, &str, &str, &[&str]); 4] = [
    ("acme", "acme", "ada@acme.example", &SCOPES),
    ("acme_readonly", "acme", "reader@acme.example", &READ_SCOPES),
    ("acme_second", "acme", "grace@acme.example", &SCOPES),
    ("globex", "globex", "hank@globex.example", &SCOPES),
];

/// The API key of a name in the ready line.
fn api_key(name: &str) -> String {
    format!("local_{name}_key")
}

/// Stores the projects' settings.
pub(crate) async fn seed_projects(store: &Store) -> anyhow::Result<()> {
    for (name, apps) in PROJECTS {
        let project = Project { apps: apps.iter().map(|app| (*app).to_owned()).collect() };
        match store.add_project(name, &project).await {
            SeedOutcome::Stored | SeedOutcome::AlreadyThere => {}
            SeedOutcome::Unknown(error) => bail!("the project {name} could not be stored: {error}"),
        }
    }
    Ok(())
}

/// Stores the API keys and returns them by name.
pub(crate) async fn seed_api_keys(store: &Store) -> anyhow::Result<BTreeMap<String, String>> {
    let mut keys = BTreeMap::new();
    for (name, project, actor, scopes) in KEYS {
        let key = api_key(name);
        let item = ApiKey {
            project: project.to_owned(),
            name: actor.to_owned(),
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            revoked_at_ms: None,
        };
        match store.add_api_key(&Sha256::digest(key.as_bytes()).into(), &item).await {
            SeedOutcome::Stored | SeedOutcome::AlreadyThere => keys.insert(name.to_owned(), key),
            SeedOutcome::Unknown(error) => bail!("the API key {name} could not be stored: {error}"),
        };
    }
    Ok(keys)
}

/// The queues' URLs.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    pub(crate) deliveries: String,
    pub(crate) dead_letters: String,
    pub(crate) payouts: String,
    pub(crate) payout_dead_letters: String,
    pub(crate) parking: String,
}

/// Creates the queues whose names start with `name`, with the retention, visibility and redrive that the timing demands.
pub(crate) async fn create_queues(client: &Client, name: &str, timing: &Timing) -> anyhow::Result<Queues> {
    let long = Timing::DEAD_LETTER_RETENTION;
    let parking = create(client, &format!("{name}-parking"), timing.visibility, long, None).await?;
    let (deliveries, dead_letters) = create_pair(client, &format!("{name}-deliveries"), timing).await?;
    let (payouts, payout_dead_letters) = create_pair(client, &format!("{name}-payouts"), timing).await?;
    Ok(Queues { deliveries, dead_letters, payouts, payout_dead_letters, parking })
}

/// A queue with the queue of its dead letters.
async fn create_pair(client: &Client, name: &str, timing: &Timing) -> anyhow::Result<(String, String)> {
    let (long, visibility) = (Timing::DEAD_LETTER_RETENTION, timing.visibility);
    let dead_letters = create(client, &format!("{name}-dead"), visibility, long, None).await?;
    let arn = queue_arn(client, &dead_letters).await?;
    let redrive = format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":{RECEIVES_MAX}}}"#);
    let queue = create(client, name, visibility, Timing::QUEUE_RETENTION, Some(redrive)).await?;
    Ok((queue, dead_letters))
}

async fn create(
    client: &Client,
    name: &str,
    visibility_ms: u64,
    retention_ms: u64,
    redrive: Option<String>,
) -> anyhow::Result<String> {
    let mut attributes = HashMap::from([
        (QueueAttributeName::VisibilityTimeout, visibility_ms.div_ceil(1_000).to_string()),
        (QueueAttributeName::MessageRetentionPeriod, (retention_ms / 1_000).to_string()),
    ]);
    attributes.extend(redrive.map(|policy| (QueueAttributeName::RedrivePolicy, policy)));
    let request = client.create_queue().queue_name(name).set_attributes(Some(attributes.clone()));
    let url = match request.send().await {
        Ok(answer) => answer.queue_url,
        Err(error) if error.as_service_error().is_some_and(|e| e.is_queue_name_exists()) => {
            Some(change(client, name, attributes).await?)
        }
        Err(error) => bail!("the queue {name} could not be created: {}", DisplayErrorContext(error)),
    };
    url.with_context(|| format!("the queue {name} has no URL"))
}

/// Gives these attributes to a queue that exists with others. Messages in flight stay hidden as long as they were to be.
async fn change(client: &Client, name: &str, to: HashMap<QueueAttributeName, String>) -> anyhow::Result<String> {
    let answer = client.get_queue_url().queue_name(name).send().await;
    let url = answer.with_context(|| format!("the queue {name} could not be found"))?.queue_url;
    let url = url.with_context(|| format!("the queue {name} has no URL"))?;
    let changed = client.set_queue_attributes().queue_url(&url).set_attributes(Some(to)).send().await;
    changed.with_context(|| format!("the queue {name} could not be changed"))?;
    Ok(url)
}

/// A queue's ARN.
pub(crate) async fn queue_arn(client: &Client, url: &str) -> anyhow::Result<String> {
    client
        .get_queue_attributes()
        .queue_url(url)
        .attribute_names(QueueAttributeName::QueueArn)
        .send()
        .await
        .with_context(|| format!("the queue {url} could not be described"))?
        .attributes
        .and_then(|mut attributes| attributes.remove(&QueueAttributeName::QueueArn))
        .with_context(|| format!("the queue {url} has no ARN"))
}
