//! Whether a table that exists is what [`Store::create_table`] makes, and what a production table needs besides.
//!
//! Read by the admin command's doctor. Nothing is changed.

use crate::{
    Store, StoreError,
    names::{INDEX_PK, INDEX_SK, LISTED, LISTED_INDEX, PK, REFUNDS_INDEX, SK},
    schema::TABLE_TTL_ATTRIBUTE,
};
use aws_sdk_dynamodb::types::{
    BillingMode, KeySchemaElement, KeyType, Projection, ProjectionType, SseStatus, SseType, StreamViewType,
    TableDescription, TableStatus,
};

/// A setting of the table that is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFault {
    /// Which, in CloudFormation's word.
    pub setting: &'static str,
    /// What it is.
    pub is: String,
    /// What it must be.
    pub must_be: String,
}

/// What a look at the table found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableCheck {
    /// What is wrong.
    pub faults: Vec<TableFault>,
    /// The ARN of its stream, if it has one.
    pub stream_arn: Option<String>,
    /// How many settings were looked at.
    pub looked_at: usize,
}

impl TableCheck {
    fn must(&mut self, setting: &'static str, is: impl Into<String>, must_be: impl Into<String>) {
        self.looked_at += 1;
        let (is, must_be) = (is.into(), must_be.into());
        if is != must_be {
            self.faults.push(TableFault { setting, is, must_be });
        }
    }
}

/// "pk string HASH, sk string RANGE".
fn keys(table: &TableDescription) -> String {
    let one = |name: &str, kind: &KeyType| {
        let definition = table.attribute_definitions().iter().find(|definition| definition.attribute_name() == name);
        let of = definition.map_or("?", |definition| definition.attribute_type().as_str());
        format!("{name} {of} {kind}")
    };
    let keys = table.key_schema().iter().map(|key| one(key.attribute_name(), key.key_type()));
    keys.collect::<Vec<_>>().join(", ")
}

/// An index in words: its name, its keys and what it holds.
fn index(name: Option<&str>, schema: &[KeySchemaElement], projection: Option<&Projection>) -> String {
    let keys = schema.iter().map(|key| format!("{} {}", key.attribute_name(), key.key_type().as_str()));
    let held = projection.and_then(|p| p.projection_type()).map_or("?", ProjectionType::as_str).to_owned();
    format!("{} ({})", name.unwrap_or("?"), keys.chain([held]).collect::<Vec<_>>().join(", "))
}

fn sorted(indexes: impl Iterator<Item = String>) -> String {
    let mut indexes: Vec<_> = indexes.collect();
    indexes.sort_unstable();
    if indexes.is_empty() { "none".to_owned() } else { indexes.join(", ") }
}

impl Store {
    /// Compares the table with what the service needs. `production`: with what production needs besides, a restore to
    /// any second and protection from deletion.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn check_table(&self, production: bool) -> Result<TableCheck, StoreError> {
        let described = self.client.describe_table().table_name(&self.table).send().await;
        let described = described.map_err(|error| StoreError::sdk("DescribeTable", &error))?;
        let table = described.table.ok_or_else(|| StoreError::corrupt("DescribeTable answered nothing"))?;
        let mut check = TableCheck { faults: Vec::new(), stream_arn: table.latest_stream_arn.clone(), looked_at: 0 };
        let status = table.table_status().map_or("?", TableStatus::as_str);
        check.must("TableStatus", if status == "UPDATING" { "ACTIVE" } else { status }, "ACTIVE");
        check.must("KeySchema", keys(&table), format!("{PK} S HASH, {SK} S RANGE"));
        let billing = table.billing_mode_summary().and_then(|summary| summary.billing_mode());
        check.must("BillingMode", billing.map_or("PROVISIONED", BillingMode::as_str), "PAY_PER_REQUEST");
        let stream = table.stream_specification().filter(|stream| stream.stream_enabled());
        let view = stream.map(|stream| stream.stream_view_type().map_or("?", StreamViewType::as_str));
        check.must("StreamSpecification", view.unwrap_or("no stream"), "NEW_AND_OLD_IMAGES");
        let global = table.global_secondary_indexes().iter();
        let global = global.map(|i| index(i.index_name(), i.key_schema(), i.projection()));
        let refunds = format!("{REFUNDS_INDEX} ({INDEX_PK} HASH, {INDEX_SK} RANGE, KEYS_ONLY)");
        check.must("GlobalSecondaryIndexes", sorted(global), refunds);
        let own = table.local_secondary_indexes().iter();
        let own = own.map(|i| index(i.index_name(), i.key_schema(), i.projection()));
        check.must("LocalSecondaryIndexes", sorted(own), format!("{LISTED_INDEX} ({PK} HASH, {LISTED} RANGE, ALL)"));

        // A key of KMS's is one that the roles may not use. The one that DynamoDB has by itself is not told of.
        let encrypted = table.sse_description().filter(|sse| sse.status() != Some(&SseStatus::Disabled));
        let key = encrypted.map(|sse| sse.kms_master_key_arn().or_else(|| sse.sse_type().map(SseType::as_str)));
        check.must("SSESpecification", key.map_or("none", |key| key.unwrap_or("?")), "none");

        let ttl = self.client.describe_time_to_live().table_name(&self.table).send().await;
        let ttl = ttl.map_err(|error| StoreError::sdk("DescribeTimeToLive", &error))?.time_to_live_description;
        let enabled = ttl.as_ref().filter(|ttl| {
            ttl.time_to_live_status().is_some_and(|status| matches!(status.as_str(), "ENABLED" | "ENABLING"))
        });
        let attribute = enabled.and_then(|ttl| ttl.attribute_name()).unwrap_or("disabled");
        check.must("TimeToLiveSpecification", attribute, TABLE_TTL_ATTRIBUTE);

        if production {
            let protected = table.deletion_protection_enabled() == Some(true);
            check.must("DeletionProtectionEnabled", protected.to_string(), "true");
            let backups = self.client.describe_continuous_backups().table_name(&self.table).send().await;
            let backups = backups.map_err(|error| StoreError::sdk("DescribeContinuousBackups", &error))?;
            let status = backups
                .continuous_backups_description()
                .and_then(|backups| backups.point_in_time_recovery_description())
                .and_then(|recovery| recovery.point_in_time_recovery_status())
                .map_or("DISABLED", |status| status.as_str());
            check.must("PointInTimeRecoverySpecification", status, "ENABLED");
        }
        Ok(check)
    }
}
