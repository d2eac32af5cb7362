//! The two writes that exist: a conditional put and a conditional update.
//!
//! Each asks for the old item on failure, so the loser never reads again. The SDK may repeat a write whose answer was
//! lost; callers therefore ask "was it me?" of the item that comes back.

use crate::{
    Store, StoreError,
    attr::Item,
    condition::{Condition, render},
    names::{PK, SK},
};
use aws_sdk_dynamodb::{
    error::SdkError,
    operation::{put_item::PutItemError, update_item::UpdateItemError},
    types::{AttributeValue, ConsumedCapacity, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure},
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

/// One assignment of an update.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) value: Value,
}

/// What an attribute is set to.
#[derive(Debug)]
pub(crate) enum Value {
    /// This.
    Is(AttributeValue),
    /// What the stored item has under this name.
    CopyOf(&'static str),
    /// The list that is stored, and behind it this one.
    Appended(AttributeValue),
}

fn units(capacity: Option<&ConsumedCapacity>) -> Option<f64> {
    capacity.and_then(ConsumedCapacity::capacity_units)
}

impl Store {
    /// Writes the whole item if `expect` holds.
    pub(crate) async fn put(&self, item: Item, expect: Expect) -> Wrote {
        self.put_if(item, render(expect)).await
    }

    /// Writes the whole item if `condition` holds.
    #[expect(clippy::disallowed_methods, reason = "one of the two places that write; always conditional")]
    pub(crate) async fn put_if(&self, item: Item, condition: Condition) -> Wrote {
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
    pub(crate) async fn update(&self, item: Item, absent: &[&'static str], expect: Expect) -> Wrote {
        self.update_if(item, absent, render(expect)).await
    }

    /// The same with any condition.
    pub(crate) async fn update_if(&self, mut item: Item, absent: &[&'static str], condition: Condition) -> Wrote {
        let key = [PK, SK].into_iter().filter_map(|name| item.remove_entry(name)).collect();
        let sets = item.into_iter().map(|(name, value)| Set { name, value: Value::Is(value) }).collect();
        self.change_if(key, sets, absent, condition).await
    }

    /// Performs `sets` and removes `absent`, if `condition` holds.
    #[expect(clippy::disallowed_methods, reason = "one of the two places that write; always conditional")]
    pub(crate) async fn change_if(
        &self,
        key: Item,
        sets: Vec<Set>,
        absent: &[&'static str],
        condition: Condition,
    ) -> Wrote {
        let mut request = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key))
            .condition_expression(condition.expression)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let mut assigned = Vec::new();
        for (index, Set { name, value }) in sets.into_iter().enumerate() {
            request = request.expression_attribute_names(format!("#s{index}"), name);
            let (right, value) = match value {
                Value::Is(value) => (format!(":s{index}"), Some(value)),
                Value::Appended(value) => (format!("list_append(#s{index}, :s{index})"), Some(value)),
                Value::CopyOf(other) => {
                    request = request.expression_attribute_names(format!("#f{index}"), other);
                    (format!("#f{index}"), None)
                }
            };
            if let Some(value) = value {
                request = request.expression_attribute_values(format!(":s{index}"), value);
            }
            assigned.push(format!("#s{index} = {right}"));
        }
        let mut expression = format!("SET {}", assigned.join(", "));
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
