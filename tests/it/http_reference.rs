//! docs/HTTP.md is true: its requests are sent in order, its answers compared, its tables held to the code's.

use super::support::{Answer, TestApp, eventually};
use api::{contract::ROUTES, rules::RULES};
use http::Method;
use sendonce_http::{CODES, refund_rules};
use serde_json::Value;

const REFERENCE: &str = include_str!("../../docs/HTTP.md");
/// What `cargo run` listens on, as the reference writes it; a path alone is the API's.
const SANDBOX: &str = "http://127.0.0.1:8090";

/// The fenced `http` blocks, in order.
fn blocks() -> Vec<&'static str> {
    REFERENCE.split("```http\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect()
}

struct Block {
    first: &'static str,
    headers: Vec<(&'static str, &'static str)>,
    body: &'static str,
}

fn parse(block: &'static str) -> Block {
    let (head, body) = block.split_once("\n\n").unwrap_or((block, ""));
    let (first, headers) = head.split_once('\n').unwrap_or((head, ""));
    Block { first, headers: headers.lines().map(|line| line.split_once(": ").unwrap()).collect(), body }
}

/// `…` stands for any text.
fn text_matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('…') {
        None => pattern == text,
        Some((start, end)) => text.len() >= start.len() + end.len() && text.starts_with(start) && text.ends_with(end),
    }
}

fn matches(pattern: &Value, value: &Value) -> bool {
    match (pattern, value) {
        (Value::String(pattern), Value::String(text)) => text_matches(pattern, text),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| matches(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| matches(a, b)))
        }
        _ => pattern == value,
    }
}

fn agrees(answer: &Answer, expected: &Block) -> bool {
    let status = expected.first.split(' ').nth(1).unwrap();
    answer.status.as_str() == status
        && expected.headers.iter().all(|(name, value)| text_matches(value, answer.header(name)))
        && if expected.body.is_empty() {
            answer.text.is_empty()
        } else {
            matches(&serde_json::from_str(expected.body).unwrap(), &answer.body)
        }
}

#[tokio::test]
async fn every_example_of_the_reference_is_answered_as_it_says() {
    let app = TestApp::start().await;
    let blocks = blocks();
    assert!(blocks.len() >= 16 && blocks.len().is_multiple_of(2), "{} blocks", blocks.len());
    for pair in blocks.chunks(2) {
        let (request, expected) = (parse(pair[0]), parse(pair[1]));
        let (method, path) = request.first.split_once(' ').unwrap();
        let ready = app.system.ready();
        let url = match path.strip_prefix(SANDBOX) {
            Some(path) => format!("{}{path}", ready.sandbox),
            None => format!("{}{path}", ready.api),
        };
        let method = method.parse::<Method>().unwrap();
        let answer = app.http.send(&method, &url, &request.headers, request.body).await;
        if method == Method::GET && !agrees(&answer, &expected) {
            // What a GET tells may still be on its way.
            eventually(&format!("{} is answered {}", request.first, pair[1]), async || {
                let answer = app.http.send(&method, &url, &request.headers, request.body).await;
                agrees(&answer, &expected).then_some(())
            })
            .await;
        } else {
            assert!(agrees(&answer, &expected), "{}\nexpected {}\ngot {answer:?}", pair[0], pair[1]);
        }
    }
    app.stop().await;
}

#[test]
fn the_reference_lists_every_rule_code_and_route_as_the_code_has_them() {
    let rules: Vec<String> =
        RULES.iter().map(|rule| format!("| `{}` | {} | {} |", rule.pointer, rule.text(), rule.source)).collect();
    let refund_rules: Vec<String> = refund_rules::RULES
        .iter()
        .map(|rule| format!("| `{}` | {} | {} |", rule.pointer, rule.text(), rule.source))
        .collect();
    let codes: Vec<String> = CODES
        .iter()
        .map(|row| format!("| {} | `{}` | {} | {} |", row.status.as_u16(), row.word, row.means, row.advice))
        .collect();
    let routes: Vec<String> = ROUTES
        .iter()
        .map(|row| {
            let scope = row.scope.map_or("none".to_owned(), |scope| format!("`{}`", scope.as_str()));
            format!("| `{} {}` | {} | {scope} |", row.method.to_uppercase(), row.path, row.summary)
        })
        .collect();
    for (table, rows) in [
        ("| member | rule | source |", &rules),
        ("| refund member | rule | source |", &refund_rules),
        ("| status | code | what happened | what to do |", &codes),
        ("| route | what it does | scope |", &routes),
    ] {
        let written: Vec<&str> = REFERENCE
            .split_once(table)
            .unwrap_or_else(|| panic!("docs/HTTP.md has no table {table}"))
            .1
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'))
            .collect();
        assert_eq!(&written, rows, "docs/HTTP.md, table {table}: write the rows as the code has them");
    }
}
