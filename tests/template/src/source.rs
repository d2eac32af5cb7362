//! What the local system creates, asked of its own DynamoDB and SQS while it runs.

use aws_sdk_dynamodb::types::{KeySchemaElement, KeyType, Projection, TableDescription};
use aws_sdk_sqs::types::QueueAttributeName;
use local::{Options, System};
use platform::{AwsTimeouts, aws_config_at};
use protocol::timing::Timing;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Seconds that a received copy is hidden.
    pub visibility: u64,
    /// Seconds that a copy is kept.
    pub retention: u64,
    /// Where it goes after so many receives.
    pub redrive: Option<(String, u64)>,
    /// Which function consumes it, by its binary.
    pub consumer: Option<String>,
}

/// What there is.
#[derive(Clone, Debug)]
pub struct Local {
    /// The queues by their names without the service's.
    pub queues: BTreeMap<String, Queue>,
    /// The table in the words of CloudFormation.
    pub table: Value,
}

/// Starts the local system with a profile and looks.
///
/// # Errors
/// When it does not start or answer.
pub async fn local(timing: Timing) -> anyhow::Result<Local> {
    let system = System::start(Options { timing, ..Options::free_ports() }).await?;
    let looked = look(&system).await;
    system.stop().await?;
    looked
}

async fn look(system: &System) -> anyhow::Result<Local> {
    let limits = AwsTimeouts::within(20_000);
    let client = aws_sdk_sqs::Client::new(&aws_config_at(limits, &system.ready().sqs).await);
    let mut queues = BTreeMap::new();
    for url in client.list_queues().send().await?.queue_urls.unwrap_or_default() {
        let request = client.get_queue_attributes().queue_url(&url).attribute_names(QueueAttributeName::All);
        let attributes = request.send().await?.attributes.unwrap_or_default();
        let number = |name| attributes.get(&name).and_then(|text| text.parse().ok()).unwrap_or_default();
        let redrive = attributes.get(&QueueAttributeName::RedrivePolicy).map(|text| serde_json::from_str(text));
        let redrive: Option<Value> = redrive.transpose()?;
        let consumer = system.mappings().iter().find(|(queue, _)| *queue == url);
        let queue = Queue {
            visibility: number(QueueAttributeName::VisibilityTimeout),
            retention: number(QueueAttributeName::MessageRetentionPeriod),
            redrive: redrive.map(|policy| {
                let arn = policy["deadLetterTargetArn"].as_str().unwrap_or_default();
                let receives = crate::read::number(&policy["maxReceiveCount"]).unwrap_or_default();
                (short(arn.rsplit(':').next().unwrap_or_default()), receives)
            }),
            // /control has its own spelling of the function's name.
            consumer: consumer.map(|(_, function)| function.replace('_', "-")),
        };
        queues.insert(short(url.rsplit('/').next().unwrap_or_default()), queue);
    }
    let dynamodb = aws_sdk_dynamodb::Client::new(&aws_config_at(limits, &system.ready().dynamodb).await);
    let described = dynamodb.describe_table().table_name(Options::NAME).send().await?;
    let ttl = dynamodb.describe_time_to_live().table_name(Options::NAME).send().await?;
    let ttl = ttl.time_to_live_description.and_then(|ttl| ttl.attribute_name);
    let table = described.table.map(|table| cloudformation(&table)).unwrap_or_default();
    let mut local = Local { queues, table };
    local.table["TimeToLiveSpecification"] = json!({"AttributeName": ttl, "Enabled": ttl.is_some()});
    Ok(local)
}

/// A queue's name without the service's.
fn short(name: &str) -> String {
    name.trim_start_matches(Options::NAME).trim_start_matches('-').to_owned()
}

fn cloudformation(table: &TableDescription) -> Value {
    let keys = |keys: &[KeySchemaElement]| -> Value {
        let key = |kind: &KeyType| kind.as_str().to_owned();
        keys.iter().map(|k| json!({"AttributeName": k.attribute_name(), "KeyType": key(k.key_type())})).collect()
    };
    let mut attributes: Vec<Value> = table
        .attribute_definitions()
        .iter()
        .map(|a| json!({"AttributeName": a.attribute_name(), "AttributeType": a.attribute_type().as_str()}))
        .collect();
    attributes.sort_by_key(Value::to_string);
    let index = |name: Option<&str>, schema: &[KeySchemaElement], projection: Option<&Projection>| {
        let projection = projection.and_then(|p| p.projection_type()).map(|kind| kind.as_str().to_owned());
        json!({"IndexName": name, "KeySchema": keys(schema), "Projection": {"ProjectionType": projection}})
    };
    let global = table.global_secondary_indexes().iter();
    let global: Vec<Value> = global.map(|i| index(i.index_name(), i.key_schema(), i.projection())).collect();
    let own = table.local_secondary_indexes().iter();
    let own: Vec<Value> = own.map(|i| index(i.index_name(), i.key_schema(), i.projection())).collect();
    let stream = table.stream_specification().and_then(|s| s.stream_view_type()).map(|view| view.as_str().to_owned());
    let billing =
        table.billing_mode_summary().and_then(|mode| mode.billing_mode()).map(|mode| mode.as_str().to_owned());
    json!({
        "BillingMode": billing,
        "AttributeDefinitions": attributes,
        "KeySchema": keys(table.key_schema()),
        "GlobalSecondaryIndexes": global,
        "LocalSecondaryIndexes": own,
        "StreamSpecification": {"StreamViewType": stream},
    })
}
