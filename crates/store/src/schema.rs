//! The table, as code: what the local system and the tests create, and what the template must equal.

use crate::{
    Store, StoreError,
    names::{EXPIRES, PK, SK},
};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, StreamSpecification,
    StreamViewType, TimeToLiveSpecification,
};

/// The attribute by which DynamoDB deletes items, in whole seconds. Deletion is late by days; nothing relies on it.
pub const TABLE_TTL_ATTRIBUTE: &str = EXPIRES;

impl Store {
    /// Creates the table (on demand, stream of new and old images, TTL), or finds it there. Returns its stream's ARN.
    ///
    /// # Errors
    /// When the table can neither be created nor described.
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
        for (name, kind) in [(PK, KeyType::Hash), (SK, KeyType::Range)] {
            let definition = AttributeDefinition::builder()
                .attribute_name(name)
                .attribute_type(ScalarAttributeType::S)
                .build()
                .map_err(|error| StoreError::corrupt(error.to_string()))?;
            let key = KeySchemaElement::builder()
                .attribute_name(name)
                .key_type(kind)
                .build()
                .map_err(|error| StoreError::corrupt(error.to_string()))?;
            request = request.attribute_definitions(definition).key_schema(key);
        }
        match request.send().await {
            Ok(_) => self.enable_ttl().await?,
            Err(error) if error.as_service_error().is_some_and(|e| e.is_resource_in_use_exception()) => {}
            Err(error) => return Err(StoreError::sdk("CreateTable", &error)),
        }
        self.client
            .describe_table()
            .table_name(&self.table)
            .send()
            .await
            .map_err(|error| StoreError::sdk("DescribeTable", &error))?
            .table
            .and_then(|table| table.latest_stream_arn)
            .ok_or_else(|| StoreError::corrupt("the table has no stream"))
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
