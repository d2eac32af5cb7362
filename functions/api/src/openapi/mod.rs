//! The OpenAPI document, made from the tables: routes, rules and codes.
//!
//! Served at GET /openapi.json. Nothing in it is written twice: limits are the rules' constants, errors the codes'
//! table, and the examples are sent through the running system by a test.

mod examples;
mod refunds;
mod schemas;

use crate::rules::RULES;
use sendonce_http::{
    CODES, Code,
    contract::{ROUTES, Row},
    list::{LIMIT_DEFAULT, LIMIT_MAX},
    refund_rules,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The document.
#[must_use]
pub fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for row in &ROUTES {
        paths.entry(row.path).or_insert_with(|| json!({}))[row.method] = operation(row);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Sendonce",
            "version": "1",
            "description": "Push notifications whose retry is always harmless. Repeat any request that got no answer \
                with the same idempotency key. A method that a path does not take is answered 405 \
                method_not_allowed with Allow; a path that is not here, 404 not_found. API Gateway's own 413, 429, \
                502 and 503 carry {\"message\": …} and may be retried in the same way.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"api_key": {"type": "http", "scheme": "bearer", "description":
                "An API key. It decides the project, the scopes and the actor's name."}},
            "schemas": schemas::all(),
        },
        "x-rules": RULES.iter().chain(refund_rules::RULES).map(|rule| json!({"pointer": rule.pointer, "rule": rule.text(), "source": rule.source}))
            .collect::<Vec<Value>>(),
        "x-codes": CODES.iter().map(|row| json!({"code": row.word, "status": row.status.as_u16(), "means": row.means,
            "advice": row.advice})).collect::<Vec<Value>>(),
    })
}

fn operation(row: &Row) -> Value {
    let mut operation = json!({"operationId": row.id, "summary": row.summary, "responses": responses(row)});
    match row.scope {
        Some(scope) => {
            operation["security"] = json!([{"api_key": []}]);
            operation["x-scope"] = json!(scope.as_str());
        }
        None => operation["security"] = json!([]),
    }
    match row.id {
        "sendMessage" => {
            operation["parameters"] = json!([{
                "name": "Idempotency-Key", "in": "header", "required": false, "schema": {"type": "string"},
                "description": "The key, if the body does not name it: a quoted string, or unquoted without commas, \
                    quotes and spaces. Both forms mean the same. If the body names a key too, it must be the same.",
            }]);
            operation["requestBody"] = json!({
                "required": true,
                "content": {"application/json": {
                    "schema": schemas::reference("Send"),
                    "examples": examples::sends(),
                }},
            });
        }
        "findMessage" => {
            operation["parameters"] = json!([{
                "name": "idempotency_key", "in": "query", "required": true, "schema": schemas::key(),
                "description": "The key, percent-encoded in UTF-8; + is a space. Of repeated ones the first counts.",
            }]);
        }
        "getMessage" => {
            operation["parameters"] = json!([{
                "name": "id", "in": "path", "required": true, "schema": schemas::reference("MessageId"),
            }]);
        }
        "listInvalidTokens" => operation["parameters"] = list_parameters(),
        _ => refunds::describe(row.id, &mut operation),
    }
    operation
}

/// What every list takes.
fn list_parameters() -> Value {
    json!([
        {
            "name": "limit", "in": "query", "required": false,
            "schema": {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
            "description": "Rows of the page at most.",
        },
        {
            "name": "cursor", "in": "query", "required": false, "schema": {"type": "string"},
            "description": "`next_cursor` of the page before, as it was given. Without it: the first page.",
        },
    ])
}

fn responses(row: &Row) -> Value {
    let mut responses: Map<String, Value> = Map::new();
    for answer in row.answers {
        let mut response = json!({
            "description": answer.when,
            "content": {"application/json": {"schema": schemas::reference(answer.schema)}},
        });
        let (location, replayed) = (
            json!({"schema": {"type": "string"}, "description": "Where it is shown."}),
            json!({"schema": {"const": "true"}, "description": "Only on a repeat."}),
        );
        match (answer.schema, answer.status) {
            ("Accepted", _) | ("RefundCreated", 200) => {
                response["headers"] = json!({"Location": location, "Idempotent-Replayed": replayed});
            }
            ("RefundCreated", _) => response["headers"] = json!({"Location": location}),
            _ => {}
        }
        responses.insert(answer.status.to_string(), response);
    }
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in row.codes {
        by_status.entry(code.row().status.as_u16()).or_default().push(*code);
    }
    for (status, codes) in by_status {
        let lines: Vec<String> =
            codes.iter().map(|code| format!("`{}`: {} {}", code.word(), code.row().means, code.row().advice)).collect();
        let words: Vec<&str> = codes.iter().map(|code| code.word()).collect();
        let examples: Map<String, Value> =
            codes.iter().map(|code| (code.word().to_owned(), json!({"value": examples::problem(*code)}))).collect();
        let headers = match status {
            401 => json!({"WWW-Authenticate": {"schema": {"const": "Bearer"}}}),
            409 if codes.contains(&Code::PayoutBusy) => json!({"Retry-After": {"schema": {"type": "string"},
                "description": "Seconds; only with payout_busy."}}),
            503 => json!({"Retry-After": {"schema": {"type": "string"}, "description": "Seconds."}}),
            _ => json!({}),
        };
        responses.insert(
            status.to_string(),
            json!({
                "headers": headers,
                "description": lines.join("\n\n"),
                "content": {"application/problem+json": {
                    "schema": {"allOf": [schemas::reference("Problem"), {"properties": {"code": {"enum": words}}}]},
                    "examples": examples,
                }},
            }),
        );
    }
    Value::Object(responses)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the answers themselves, not in the table behind the document.
    #[test]
    fn every_code_is_an_answer_of_some_route_or_the_router_s() {
        let answers = document()["paths"].to_string();
        for row in CODES {
            let quoted = format!("\"{}\"", row.word);
            assert_eq!(
                answers.contains(&quoted),
                row.code != Code::MethodNotAllowed,
                "{}: see its routes' codes",
                row.word
            );
        }
    }

    #[test]
    fn every_reference_has_a_schema() {
        let document = document();
        let text = document.to_string();
        for part in text.split("#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(!document["components"]["schemas"][name].is_null(), "no schema {name}");
        }
    }
}
