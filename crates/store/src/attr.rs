//! Reading and making attribute values, with errors that name the attribute.

use crate::StoreError;
use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use std::{collections::HashMap, str::FromStr};

/// An item, as the SDK holds it.
pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) fn s(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(crate) fn n(value: impl std::fmt::Display) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

pub(crate) fn b(value: &[u8]) -> AttributeValue {
    AttributeValue::B(Blob::new(value))
}

fn missing(name: &str, kind: &str) -> StoreError {
    StoreError::corrupt(format!("attribute {name} is missing or no {kind}"))
}

pub(crate) fn get_s<'a>(item: &'a Item, name: &str) -> Result<&'a str, StoreError> {
    item.get(name).and_then(|value| value.as_s().ok()).map(String::as_str).ok_or_else(|| missing(name, "string"))
}

pub(crate) fn opt_n<T: FromStr>(item: &Item, name: &str) -> Option<T> {
    item.get(name).and_then(|value| value.as_n().ok()).and_then(|text| text.parse().ok())
}

pub(crate) fn get_n<T: FromStr>(item: &Item, name: &str) -> Result<T, StoreError> {
    opt_n(item, name).ok_or_else(|| missing(name, "number of its range"))
}

pub(crate) fn get_bytes<const N: usize>(item: &Item, name: &str) -> Result<[u8; N], StoreError> {
    item.get(name)
        .and_then(|value| value.as_b().ok())
        .and_then(|blob| blob.as_ref().try_into().ok())
        .ok_or_else(|| missing(name, "binary of its length"))
}

pub(crate) fn get_list<'a>(item: &'a Item, name: &str) -> Result<&'a [AttributeValue], StoreError> {
    item.get(name).and_then(|value| value.as_l().ok()).map(Vec::as_slice).ok_or_else(|| missing(name, "list"))
}
