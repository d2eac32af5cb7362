//! What is put into the parking queue: things nobody could process, for a person to look at.

use crate::ascii::to_ascii_json;
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
struct Parked<'a> {
    r#type: &'static str,
    reason: &'a str,
    what: &'a Value,
}

/// The body of a parked thing: why it is parked, and what is needed to find it.
///
/// # Errors
/// Never in practice: every field has a JSON form.
pub fn parked_body(reason: &str, what: &Value) -> Result<String, serde_json::Error> {
    to_ascii_json(&Parked { r#type: "parked_v1", reason, what })
}
