//! The table as any DynamoDB client sees it: a hand that is not ours deletes and looks.

use super::TestApp;
use aws_sdk_dynamodb::{Client, types::AttributeValue};
use platform::{AwsTimeouts, aws_config_at};
use std::collections::HashMap;

/// A door to the table.
pub(crate) struct Table {
    client: Client,
    name: String,
}

fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// The keys of a chunk's delivery item.
fn keys(id: &str, chunk: u16) -> (AttributeValue, AttributeValue) {
    let (key, nonce) = id.strip_prefix("msg_").unwrap().split_at(32);
    (text(format!("K#{key}")), text(format!("D#{nonce}#{chunk:04}")))
}

impl Table {
    pub(crate) async fn of(app: &TestApp) -> Self {
        let config = aws_config_at(AwsTimeouts::within(20_000), &app.system.ready().dynamodb).await;
        Self { client: Client::new(&config), name: app.table.clone() }
    }

    /// Whether a chunk has a delivery item, and in which state.
    pub(crate) async fn delivery_state(&self, id: &str, chunk: u16) -> Option<String> {
        let (pk, sk) = keys(id, chunk);
        let request = self.client.get_item().table_name(&self.name).key("pk", pk).key("sk", sk).consistent_read(true);
        let item = request.send().await.unwrap().item?;
        Some(item["s"].as_s().unwrap().clone())
    }

    /// Lets a message have been accepted so much earlier.
    pub(crate) async fn accepted_earlier(&self, id: &str, by_ms: u64) {
        let (pk, _) = keys(id, 0);
        #[expect(clippy::disallowed_methods, reason = "a hand that is not ours changes an item")]
        let update = self.client.update_item();
        let update = update.table_name(&self.name).key("pk", pk).key("sk", text("M"));
        let update = update.update_expression("SET #at = #at - :by").expression_attribute_names("#at", "at");
        let by = AttributeValue::N(by_ms.to_string());
        update.expression_attribute_values(":by", by).send().await.unwrap();
    }

    /// Takes the time of its acceptance from a message, which nobody can read then.
    pub(crate) async fn spoil_message(&self, id: &str) {
        let (pk, _) = keys(id, 0);
        #[expect(clippy::disallowed_methods, reason = "a hand that is not ours changes an item")]
        let update = self.client.update_item();
        let update = update.table_name(&self.name).key("pk", pk).key("sk", text("M"));
        update.update_expression("REMOVE #at").expression_attribute_names("#at", "at").send().await.unwrap();
    }

    /// Sets an attribute of a stored refund.
    pub(crate) async fn change_refund(&self, id: &str, name: &str, value: AttributeValue) {
        #[expect(clippy::disallowed_methods, reason = "a hand that is not ours changes an item")]
        let update = self.client.update_item();
        let update = update.table_name(&self.name).key("pk", text(format!("R#{}", &id[3..35]))).key("sk", text("R"));
        let update = update.update_expression("SET #a = :a").expression_attribute_names("#a", name);
        update.expression_attribute_values(":a", value).send().await.unwrap();
    }

    /// The one provider token that is stored.
    pub(crate) async fn provider_token(&self) -> HashMap<String, AttributeValue> {
        let mut items = Vec::new();
        let mut pages = self.client.scan().table_name(&self.name).consistent_read(true).into_paginator().items().send();
        while let Some(item) = pages.next().await {
            items.push(item.unwrap());
        }
        items.retain(|item| item["sk"] == text("J"));
        assert_eq!(items.len(), 1, "{items:?}");
        items.remove(0)
    }

    /// Sets an attribute of the stored provider token, or removes it.
    pub(crate) async fn change_provider_token(&self, name: &str, value: Option<AttributeValue>) {
        let mut item = self.provider_token().await;
        #[expect(clippy::disallowed_methods, reason = "a hand that is not ours changes an item")]
        let update = self.client.update_item();
        let update = update
            .table_name(&self.name)
            .set_key(Some(HashMap::from(["pk", "sk"].map(|name| (name.to_owned(), item.remove(name).unwrap())))));
        let update = update.expression_attribute_names("#a", name);
        let update = match value {
            Some(value) => update.update_expression("SET #a = :a").expression_attribute_values(":a", value),
            None => update.update_expression("REMOVE #a"),
        };
        update.send().await.unwrap();
    }

    /// Leaves a hold that no code can read.
    pub(crate) async fn spoil_hold(&self, project: &str, provider: &str) {
        #[expect(clippy::disallowed_methods, reason = "a hand that is not ours writes an item")]
        let put = self.client.put_item();
        let put = put.table_name(&self.name).item("pk", text(format!("H#{project}#{provider}")));
        put.item("sk", text("H")).send().await.unwrap();
    }

    /// Deletes a chunk's delivery item, which must be there.
    pub(crate) async fn delete_delivery(&self, id: &str, chunk: u16) {
        assert!(self.delivery_state(id, chunk).await.is_some(), "{id} {chunk} has no delivery item");
        let (pk, sk) = keys(id, chunk);
        #[expect(clippy::disallowed_methods, reason = "a hand that is not ours deletes an item")]
        let delete = self.client.delete_item();
        delete.table_name(&self.name).key("pk", pk).key("sk", sk).send().await.unwrap();
    }
}
