//! The two writes that exist: a conditional put and a conditional update.
//!
//! Each asks for the old item on failure, so the loser never reads again. The SDK may repeat a write whose answer was
//! lost; callers therefore ask "was it me?" of the item that comes back.

use crate::{
    Store, StoreError,
    attr::Item,
    condition::render,
    names::{PK, SK},
};
use aws_sdk_dynamodb::{
    error::SdkError,
    operation::{put_item::PutItemError, update_item::UpdateItemError},
    types::{ConsumedCapacity, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure},
};
use protocol::expect::Expect;

/// What came of a conditional write.
#[derive(Debug)]
pub(crate) enum Wrote {
    /// It happened.
    Written {
        /// Write units it took, where the table said so.
        units: Option<f64>,
    },
    /// The condition did not hold: the stored item, or none.
    Lost(Option<Item>),
    /// Nobody knows.
    Unknown(StoreError),
}

fn units(capacity: Option<&ConsumedCapacity>) -> Option<f64> {
    capacity.and_then(ConsumedCapacity::capacity_units)
}

impl Store {
    /// Writes the whole item if `expect` holds.
    #[expect(clippy::disallowed_methods, reason = "one of the two places that write; always conditional")]
    pub(crate) async fn put(&self, item: Item, expect: Expect) -> Wrote {
        let condition = render(expect);
        let mut request = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item))
            .condition_expression(condition.expression)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        for (placeholder, name) in condition.names {
            request = request.expression_attribute_names(placeholder, name);
        }
        for (placeholder, value) in condition.values {
            request = request.expression_attribute_values(placeholder, value);
        }
        match request.send().await {
            Ok(answer) => Wrote::Written { units: units(answer.consumed_capacity()) },
            Err(SdkError::ServiceError(failed)) if failed.err().is_conditional_check_failed_exception() => {
                match failed.into_err() {
                    PutItemError::ConditionalCheckFailedException(lost) => Wrote::Lost(lost.item),
                    other => Wrote::Unknown(StoreError::corrupt(other.to_string())),
                }
            }
            Err(error) => Wrote::Unknown(StoreError::sdk("PutItem", &error)),
        }
    }

    /// Sets every attribute of `item` and removes those of `absent`, if `expect` holds. `item` carries the key.
    #[expect(clippy::disallowed_methods, reason = "one of the two places that write; always conditional")]
    pub(crate) async fn update(&self, mut item: Item, absent: &[&'static str], expect: Expect) -> Wrote {
        let condition = render(expect);
        let mut request = self
            .client
            .update_item()
            .table_name(&self.table)
            .condition_expression(condition.expression)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        for key in [PK, SK] {
            if let Some(value) = item.remove(key) {
                request = request.key(key, value);
            }
        }
        let mut sets = Vec::new();
        for (index, (name, value)) in item.into_iter().enumerate() {
            sets.push(format!("#s{index} = :s{index}"));
            request = request
                .expression_attribute_names(format!("#s{index}"), name)
                .expression_attribute_values(format!(":s{index}"), value);
        }
        let mut expression = format!("SET {}", sets.join(", "));
        if !absent.is_empty() {
            let removes: Vec<String> = (0..absent.len()).map(|index| format!("#r{index}")).collect();
            expression = format!("{expression} REMOVE {}", removes.join(", "));
            for (index, name) in absent.iter().enumerate() {
                request = request.expression_attribute_names(format!("#r{index}"), *name);
            }
        }
        for (placeholder, name) in condition.names {
            request = request.expression_attribute_names(placeholder, name);
        }
        for (placeholder, value) in condition.values {
            request = request.expression_attribute_values(placeholder, value);
        }
        match request.update_expression(expression).send().await {
            Ok(answer) => Wrote::Written { units: units(answer.consumed_capacity()) },
            Err(SdkError::ServiceError(failed)) if failed.err().is_conditional_check_failed_exception() => {
                match failed.into_err() {
                    UpdateItemError::ConditionalCheckFailedException(lost) => Wrote::Lost(lost.item),
                    other => Wrote::Unknown(StoreError::corrupt(other.to_string())),
                }
            }
            Err(error) => Wrote::Unknown(StoreError::sdk("UpdateItem", &error)),
        }
    }
}
