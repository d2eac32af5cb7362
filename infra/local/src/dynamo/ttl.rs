//! Time to live, on the local clock.
//!
//! Called by `Dynamo::sweep_ttl`. Dynoxide has a sweep of its own, but for a database in a file it always judges by the
//! machine's time, while the local clock may have been moved (`advance_seconds`). It guarantees that an item is deleted
//! only if its time has passed when it is deleted. Unlike AWS's, such a deletion carries no `userIdentity` in the
//! stream. AWS may be two days late, so nothing may depend on a sweep: readers compare the attribute themselves.

use super::DynamoError;
use dynoxide::{Database, DynoxideError};
use serde_json::{Value, json};

/// Items looked at under one hold of dynoxide's lock.
const PAGE: usize = 200;

/// Deletes what expired before `now_s` (s since the Unix epoch) in every table with a time to live. Blocks.
pub(super) fn sweep(database: &Database, now_s: u64) -> Result<usize, DynamoError> {
    let mut swept = 0;
    let mut after: Option<String> = None;
    loop {
        let tables = database.list_tables(serde_json::from_value(json!({"ExclusiveStartTableName": after}))?)?;
        for table in &tables.table_names {
            let ttl = database.describe_time_to_live(serde_json::from_value(json!({"TableName": table}))?)?;
            let ttl = ttl.time_to_live_description;
            if let Some(attribute) = ttl.attribute_name.filter(|_| ttl.time_to_live_status == "ENABLED") {
                swept += sweep_table(database, table, &attribute, now_s)?;
            }
        }
        match tables.last_evaluated_table_name {
            Some(last) => after = Some(last),
            None => return Ok(swept),
        }
    }
}

fn sweep_table(database: &Database, table: &str, attribute: &str, now_s: u64) -> Result<usize, DynamoError> {
    let described = database.describe_table(serde_json::from_value(json!({"TableName": table}))?)?;
    let described = serde_json::to_value(described.table)?;
    let keys: Vec<&str> = (described["KeySchema"].as_array().into_iter().flatten())
        .filter_map(|key| key["AttributeName"].as_str())
        .collect();
    let expired = json!({":now": {"N": now_s.to_string()}});
    let mut swept = 0;
    let mut start: Option<Value> = None;
    loop {
        let mut scan = json!({
            "TableName": table, "Limit": PAGE, "FilterExpression": "#ttl < :now",
            "ExpressionAttributeNames": {"#ttl": attribute}, "ExpressionAttributeValues": expired,
        });
        if let Some(start) = start {
            scan["ExclusiveStartKey"] = start;
        }
        let page = database.scan(serde_json::from_value(scan)?)?;
        for item in page.items.unwrap_or_default() {
            let item = serde_json::to_value(item)?;
            let key: Value = keys.iter().map(|name| ((*name).to_owned(), item[*name].clone())).collect();
            let delete = json!({
                "TableName": table, "Key": key, "ConditionExpression": "#ttl < :now",
                "ExpressionAttributeNames": {"#ttl": attribute}, "ExpressionAttributeValues": expired,
            });
            match database.delete_item(serde_json::from_value(delete)?) {
                Ok(_) => swept += 1,
                // Overwritten since the scan.
                Err(DynoxideError::ConditionalCheckFailedException(..)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match page.last_evaluated_key {
            Some(last) => start = Some(serde_json::to_value(last)?),
            None => return Ok(swept),
        }
    }
}
