//! `GET /`: what arrived, newest first, for people: on phones as their holders see it, and every request in a table.
//!
//! It is a plain page; with scripts it brings itself up to date (`page.js`): it asks for the page again with the version
//! it has seen, and gets 204 if that is still the newest. Everything in it that came from outside is escaped, and the
//! browser is told to load nothing from elsewhere.

mod cards;
mod content;
mod phones;
mod table;
mod text;

use crate::{Sandbox, ledger::Ledger, respond::typed};
use axum::{
    extract::{Query, State},
    response::{IntoResponse, Response},
};
use http::{
    HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS},
};
use phones::Screens;
use serde::Deserialize;
use text::{count, escape};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");
/// Only this server's script, which asks only this server.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[derive(Deserialize)]
pub(crate) struct Seen {
    seen: Option<String>,
}

pub(crate) async fn show(State(sandbox): State<Sandbox>, Query(query): Query<Seen>) -> Response {
    let state = sandbox.state();
    if query.seen.is_some_and(|seen| seen == state.ledger.version()) {
        return StatusCode::NO_CONTENT.into_response();
    }
    let html = document(&state.ledger);
    drop(state);
    guarded(typed(StatusCode::OK, "text/html; charset=utf-8", html))
}

pub(crate) async fn script() -> Response {
    guarded(typed(StatusCode::OK, "text/javascript; charset=utf-8", SCRIPT.to_owned()))
}

fn guarded(mut response: Response) -> Response {
    let headers = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ];
    response.headers_mut().extend(headers.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}

/// The parts with an id are those that the script brings up to date.
fn document(ledger: &Ledger) -> String {
    let screens = Screens::of(ledger.newest(phones::ENTRIES_MAX));
    let (version, status) = (escape(&ledger.version()), status(&screens));
    let (cards, head, rows) = (cards::cards(&screens), table::HEAD, table::rows(ledger.newest(table::ROWS_MAX)));
    let rows_max = table::ROWS_MAX;
    format!(
        r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sendonce sandbox</title>
<style>{STYLE}</style>
<script src="/page.js" defer></script></head>
<body data-version="{version}">
<header><h1>What arrived</h1>
<p id="status" role="status" aria-live="polite">{status}</p>
<p id="lost" role="alert" hidden>The sandbox does not answer. This is what was last seen.</p></header>
<main>
<section aria-labelledby="h-phones"><h2 id="h-phones">On the phones</h2>
<ul id="phones">{cards}</ul></section>
<section aria-labelledby="h-requests"><h2 id="h-requests">Every request</h2>
<p>The newest {rows_max}, refused ones too. All of it as JSON: <a href="/ledger">/ledger</a></p>
<div class="wide" role="region" aria-labelledby="h-requests" tabindex="0"><table><thead>{head}</thead>
<tbody id="requests">{rows}</tbody></table></div></section>
</main>
<footer><p>Newest first. Times are UTC. Images are named, not loaded.</p></footer>
</body></html>
"#
    )
}

/// Short, because it is read aloud whenever it changes.
fn status(screens: &Screens<'_>) -> String {
    match screens.phones.first() {
        None => "Nothing yet.".to_owned(),
        Some(phone) => format!(
            "{} on {}, the last on <bdi>{}</bdi>.",
            count(screens.notifications(), "notification"),
            count(screens.phones.len(), "phone"),
            text::clipped(phone.token, 40)
        ),
    }
}
