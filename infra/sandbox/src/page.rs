//! `GET /`: what arrived, newest first, for people.

use crate::{Sandbox, ledger::Entry, respond::typed};
use axum::{extract::State, response::Response};
use http::StatusCode;
use platform::rfc3339_ms;
use serde_json::Value;
use std::fmt::Write;

/// Rows shown; the rest is in the ledger.
const ROWS_MAX: usize = 200;

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Sendonce sandbox</title>\n\
    <style>body{font:15px/1.4 system-ui,sans-serif;margin:2rem}table{border-collapse:collapse}\
    td,th{text-align:left;vertical-align:top;padding:.3rem .8rem;border-bottom:1px solid #ccc}\
    td{overflow-wrap:anywhere}td:nth-child(2){white-space:nowrap}td:nth-child(5),td:nth-child(6){min-width:8rem}</style></head>\n<body><h1>What arrived</h1>\n";

pub(crate) async fn show(State(sandbox): State<Sandbox>) -> Response {
    let mut html = String::from(HEAD);
    let rows: String = sandbox.state().ledger.newest(ROWS_MAX).map(row).collect();
    if rows.is_empty() {
        html.push_str("<p>Nothing yet.</p>\n");
    } else {
        html.push_str("<table><tr><th>#<th>At<th>Provider<th>Device<th>Title<th>Text<th>Data<th>Outcome</tr>\n");
        html.push_str(&rows);
        html.push_str("</table>\n");
    }
    html.push_str("<p>Newest first. All of it as JSON: <a href=\"/ledger\">/ledger</a></p></body></html>\n");
    typed(StatusCode::OK, "text/html; charset=utf-8", html)
}

fn row(entry: &Entry) -> String {
    let text = |path: &str| match entry.payload.pointer(path) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let outcome = match (entry.accepted, entry.status) {
        (true, Some(status)) => format!("accepted, answered {status}"),
        (true, None) => "accepted, no answer".to_owned(),
        (false, Some(status)) => format!("refused, answered {status}"),
        (false, None) => "not accepted, no answer".to_owned(),
    };
    let cells = [
        entry.seq.to_string(),
        rfc3339_ms(entry.at),
        entry.provider.to_owned(),
        entry.token.clone().unwrap_or_default(),
        text("/message/notification/title") + &text("/aps/alert/title"),
        text("/message/notification/body") + &text("/aps/alert/body"),
        if entry.provider == "apns" { custom(&entry.payload) } else { text("/message/data") },
        outcome,
    ];
    let mut row = String::from("<tr>");
    for cell in cells {
        // Writing to a string cannot fail.
        let _ = write!(row, "<td>{}", escape(&cell));
    }
    row.push_str("</tr>\n");
    row
}

/// What an APNs payload holds besides `aps`.
fn custom(payload: &Value) -> String {
    let mut members = payload.as_object().cloned().unwrap_or_default();
    members.remove("aps");
    Value::Object(members).to_string()
}

/// Makes any text safe between tags and in a quoted attribute.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
