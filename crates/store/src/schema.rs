//! The table, as code: what the local system and the tests create, and what the template must equal.

use crate::{
    Store, StoreError,
    names::{EXPIRES, INDEX_PK, INDEX_SK, LISTED, LISTED_INDEX, PK, REFUNDS_INDEX, SK},
};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, LocalSecondaryIndex, Projection,
    ProjectionType, ScalarAttributeType, StreamSpecification, StreamViewType, TableDescription,
    TimeToLiveSpecification,
};

/// The attribute by which DynamoDB deletes items, in whole seconds. Deletion is late by days; nothing relies on it.
pub const TABLE_TTL_ATTRIBUTE: &str = EXPIRES;

fn text_attribute(name: &str) -> Result<AttributeDefinition, StoreError> {
    let definition = AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S).build();
    definition.map_err(|error| StoreError::corrupt(error.to_string()))
}

fn key(name: &str, kind: KeyType) -> Result<KeySchemaElement, StoreError> {
    let key = KeySchemaElement::builder().attribute_name(name).key_type(kind).build();
    key.map_err(|error| StoreError::corrupt(error.to_string()))
}

/// A project's dead tokens, newest first. Local, so that a read is consistent like every other that a caller sees; it
/// holds the items that have its sort key and costs the others nothing.
fn listed() -> Result<LocalSecondaryIndex, StoreError> {
    LocalSecondaryIndex::builder()
        .index_name(LISTED_INDEX)
        .key_schema(key(PK, KeyType::Hash)?)
        .key_schema(key(LISTED, KeyType::Range)?)
        .projection(Projection::builder().projection_type(ProjectionType::All).build())
        .build()
        .map_err(|error| StoreError::corrupt(error.to_string()))
}

/// The index by which refunds are listed. Keys only: a decision moves an entry, and a small one costs two write units.
fn refunds_index() -> Result<GlobalSecondaryIndex, StoreError> {
    GlobalSecondaryIndex::builder()
        .index_name(REFUNDS_INDEX)
        .key_schema(key(INDEX_PK, KeyType::Hash)?)
        .key_schema(key(INDEX_SK, KeyType::Range)?)
        .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build())
        .build()
        .map_err(|error| StoreError::corrupt(error.to_string()))
}

fn has_both_indexes(table: &TableDescription) -> bool {
    let listed = table.local_secondary_indexes().iter().any(|index| index.index_name() == Some(LISTED_INDEX));
    listed && table.global_secondary_indexes().iter().any(|index| index.index_name() == Some(REFUNDS_INDEX))
}

impl Store {
    /// Creates the table (on demand, stream of new and old images, TTL, its two indexes), or finds it there. Returns its
    /// stream's ARN.
    ///
    /// # Errors
    /// When the table can neither be created nor described, or was made without an index.
    pub async fn create_table(&self) -> Result<String, StoreError> {
        let mut request = self
            .client
            .create_table()
            .table_name(&self.table)
            .billing_mode(BillingMode::PayPerRequest)
            .stream_specification(
                StreamSpecification::builder()
                    .stream_enabled(true)
                    .stream_view_type(StreamViewType::NewAndOldImages)
                    .build()
                    .map_err(|error| StoreError::corrupt(error.to_string()))?,
            );
        for name in [PK, SK, LISTED, INDEX_PK, INDEX_SK] {
            request = request.attribute_definitions(text_attribute(name)?);
        }
        request = request.key_schema(key(PK, KeyType::Hash)?).key_schema(key(SK, KeyType::Range)?);
        request = request.local_secondary_indexes(listed()?).global_secondary_indexes(refunds_index()?);
        match request.send().await {
            Ok(_) => self.enable_ttl().await?,
            Err(error) if error.as_service_error().is_some_and(|e| e.is_resource_in_use_exception()) => {}
            Err(error) => return Err(StoreError::sdk("CreateTable", &error)),
        }
        let described = self.client.describe_table().table_name(&self.table).send().await;
        let table = described.map_err(|error| StoreError::sdk("DescribeTable", &error))?.table;
        let table = table.ok_or_else(|| StoreError::corrupt("a table without a description"))?;
        if !has_both_indexes(&table) {
            let what = "the table was made by an earlier version and lacks an index that only a new table can have";
            return Err(StoreError::corrupt(what));
        }
        table.latest_stream_arn.ok_or_else(|| StoreError::corrupt("the table has no stream"))
    }

    async fn enable_ttl(&self) -> Result<(), StoreError> {
        let ttl = TimeToLiveSpecification::builder()
            .enabled(true)
            .attribute_name(TABLE_TTL_ATTRIBUTE)
            .build()
            .map_err(|error| StoreError::corrupt(error.to_string()))?;
        self.client
            .update_time_to_live()
            .table_name(&self.table)
            .time_to_live_specification(ttl)
            .send()
            .await
            .map(drop)
            .map_err(|error| StoreError::sdk("UpdateTimeToLive", &error))
    }
}
