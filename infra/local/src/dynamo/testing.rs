//! A small table with a stream, for the tests of this crate.

use super::Dynamo;
use aws_sdk_dynamodb::{
    Client,
    config::{BehaviorVersion, Credentials, Region},
    types::{
        AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, PutRequest, ScalarAttributeType,
        StreamSpecification, StreamViewType, TimeToLiveSpecification, WriteRequest,
    },
};
use platform::{AwsTimeouts, Clock};
use std::path::PathBuf;
use tokio::net::TcpListener;

pub(crate) const TABLE: &str = "items";

/// A running database with one table: keys `pk` and `sk`, stream with both images, time to live `exp`.
pub(crate) struct Fixture {
    pub(crate) dynamo: Dynamo,
    pub(crate) client: Client,
    pub(crate) streams: aws_sdk_dynamodbstreams::Client,
    pub(crate) stream_arn: String,
}

impl Fixture {
    pub(crate) async fn start(data_dir: Option<PathBuf>, clock: Clock) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let dynamo = Dynamo::start(listener, data_dir, clock).await.unwrap();
        let (client, streams) = clients(dynamo.url()).await;
        let stream_arn = match client.describe_table().table_name(TABLE).send().await {
            Ok(described) => described.table.unwrap().latest_stream_arn.unwrap(),
            Err(_) => create(&client).await,
        };
        Self { dynamo, client, streams, stream_arn }
    }

    /// Writes items `from` to `to` (without it), 25 at a time. `sk` is M for even ones, D for odd ones.
    pub(crate) async fn put(&self, from: usize, to: usize, exp: u64) {
        let numbers: Vec<usize> = (from..to).collect();
        for chunk in numbers.chunks(25) {
            let writes = chunk.iter().map(|n| {
                let put = PutRequest::builder()
                    .item("pk", AttributeValue::S(format!("K#{n}")))
                    .item("sk", AttributeValue::S(if n % 2 == 0 { "M" } else { "D" }.into()))
                    .item("exp", AttributeValue::N(exp.to_string()));
                WriteRequest::builder().put_request(put.build().unwrap()).build()
            });
            self.client.batch_write_item().request_items(TABLE, writes.collect()).send().await.unwrap();
        }
    }

    pub(crate) async fn count(&self) -> i32 {
        self.client.scan().table_name(TABLE).send().await.unwrap().count()
    }
}

async fn clients(url: &str) -> (Client, aws_sdk_dynamodbstreams::Client) {
    let shared = platform::aws_config(AwsTimeouts::within(10_000)).await;
    let shared = shared
        .into_builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(aws_sdk_dynamodb::config::SharedCredentialsProvider::new(Credentials::new(
            "local", "local", None, None, "test",
        )))
        .endpoint_url(url)
        .build();
    (Client::new(&shared), aws_sdk_dynamodbstreams::Client::new(&shared))
}

async fn create(client: &Client) -> String {
    let key = |name: &str, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap();
    let text = |name: &str| {
        let kind = ScalarAttributeType::S;
        AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build().unwrap()
    };
    let stream = StreamSpecification::builder().stream_enabled(true).stream_view_type(StreamViewType::NewAndOldImages);
    let created = client
        .create_table()
        .table_name(TABLE)
        .billing_mode(BillingMode::PayPerRequest)
        .key_schema(key("pk", KeyType::Hash))
        .key_schema(key("sk", KeyType::Range))
        .attribute_definitions(text("pk"))
        .attribute_definitions(text("sk"))
        .stream_specification(stream.build().unwrap())
        .send()
        .await
        .unwrap();
    let ttl = TimeToLiveSpecification::builder().enabled(true).attribute_name("exp").build().unwrap();
    client.update_time_to_live().table_name(TABLE).time_to_live_specification(ttl).send().await.unwrap();
    created.table_description.unwrap().latest_stream_arn.unwrap()
}
