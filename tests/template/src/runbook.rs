//! The runbook's queries find something: each names an event that the code writes, and fields that the event has, and stands
//! beside the name of every function that writes it, since each has a log of its own; or it names the words of a line that
//! has no event, as the code writes them.

use crate::{Faults, equal, yaml::root};
use anyhow::{Context, ensure};
use platform::events::EVENTS;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Words of CloudWatch Logs Insights, and what every line has.
const WORDS: [&str; 16] = [
    "filter", "event", "message", "and", "or", "in", "like", "stats", "count", "sum", "latest", "by", "sort", "desc",
    "limit", "display",
];
/// Where the lines without an event are written that a query looks for. Their wording is no contract but the runbook's.
const LINES: &str = include_str!("../../../functions/deliver/src/observe.rs");
/// Whose log they are in.
const LINES_WRITER: &str = "deliver";
/// Where events are declared.
const EVENTS_FOLDER: &str = "crates/platform/src/events";
/// What the functions that answer HTTP have in common writes events for them.
const HTTP: &str = "crates/http/src";
/// How a manifest says that it has that.
const HTTP_DEPENDENCY: &str = "sendonce-http.workspace = true";

/// The functions that write an event, by the event's word.
pub type Writers = BTreeMap<String, BTreeSet<String>>;

/// Everything that is written in a folder's files.
fn text(folder: &Path) -> anyhow::Result<String> {
    let mut all = String::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let path = entry?.path();
        if path.is_file() {
            all.push_str(&fs::read_to_string(&path)?);
        }
    }
    Ok(all)
}

/// The functions that write each event, as their sources say.
///
/// # Errors
/// When the sources cannot be read.
pub fn writers() -> anyhow::Result<Writers> {
    let declared = text(&root().join(EVENTS_FOLDER))?;
    // `Request<'a> = "request", "One …";` in an `event!`.
    let types = declared.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("    ")?.split_once(" = \"")?;
        let (word, _) = rest.split_once("\", \"")?;
        Some((name.trim_end_matches("<'a>").to_owned(), word.to_owned()))
    });
    let types: Vec<(String, String)> = types.collect();
    let common = text(&root().join(HTTP))?;
    let mut writers = Writers::new();
    for function in fs::read_dir(root().join("functions"))? {
        let function = function?;
        let mut source = text(&function.path().join("src"))?;
        if fs::read_to_string(function.path().join("Cargo.toml"))?.contains(HTTP_DEPENDENCY) {
            source.push_str(&common);
        }
        for (name, word) in &types {
            if source.contains(&format!("events::{name} {{")) {
                writers.entry(word.clone()).or_default().insert(function.file_name().to_string_lossy().into_owned());
            }
        }
    }
    ensure!(!writers.is_empty(), "no function writes an event, as far as its source says");
    Ok(writers)
}

/// What the contract says of who writes an event, where the sources say otherwise: it ends the first sentence, in
/// brackets.
#[must_use]
pub fn contract(writers: &Writers) -> Faults {
    let mut faults = Faults::new();
    for event in &EVENTS {
        let (_, after) = event.means.rsplit_once(" (").unwrap_or_default();
        let (names, _) = after.split_once(')').unwrap_or_default();
        let told: BTreeSet<String> = names.split(", ").map(str::to_owned).collect();
        let written = writers.get(event.word).cloned().unwrap_or_default();
        equal(&mut faults, &format!("who writes {}", event.word), told, written);
    }
    faults
}

/// Whether a text names a function, or the stack's output of it.
fn is_named(text: &str, function: &str) -> bool {
    let output = format!("{}FUNCTION", function.replace('-', "").to_uppercase());
    text.contains(&output) || text.contains(&format!("{function} function"))
}

/// Paragraphs with queries; one that is a query alone belongs to the one before it.
fn paragraphs(document: &str) -> Vec<String> {
    let mut paragraphs: Vec<String> = Vec::new();
    for paragraph in document.split("\n\n") {
        match paragraphs.last_mut() {
            Some(before) if paragraph.starts_with("    ") => {
                before.push('\n');
                before.push_str(paragraph);
            }
            _ => paragraphs.push(paragraph.to_owned()),
        }
    }
    paragraphs
}

/// The names that a query uses, without texts, numbers and what the language has. What stands in backquotes is a name, even
/// if it is a word of the language.
fn names(query: &str) -> Vec<String> {
    let unquoted: String = query.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let words = unquoted.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '@' && c != '`');
    let words = words.filter(|word| !WORDS.contains(word)).map(|word| word.trim_matches('`'));
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase())).map(str::to_owned).collect()
}

/// Whether a query has the word of grouping where nothing is grouped: there it can only be meant as a field.
fn has_bare_by(query: &str) -> bool {
    let unquoted: String = query.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let mut others = unquoted.split('|').filter(|stage| !stage.trim_start().starts_with("stats"));
    others.any(|stage| stage.split([' ', ',']).any(|word| word == "by"))
}

/// The queries of a document: in backquotes, or alone on an indented line.
fn queries(document: &str) -> impl Iterator<Item = &str> {
    let quoted = document.split('`').skip(1).step_by(2);
    quoted.chain(document.lines().filter_map(|line| line.strip_prefix("    ")))
}

/// The text that a query compares a field with.
fn compared<'a>(query: &'a str, field: &str) -> Option<&'a str> {
    query.split_once(field)?.1.split('"').next()
}

/// What a document's queries look for in vain.
#[must_use]
pub fn faults(document: &str, writers: &Writers) -> Faults {
    let mut faults = Faults::new();
    let mut seen = 0;
    let paragraphs = paragraphs(document);
    for (paragraph, query) in paragraphs.iter().flat_map(|one| queries(one).map(move |query| (one.as_str(), query))) {
        let mut written_by = |function: &str| {
            if !is_named(paragraph, function) {
                faults.push(format!("`{query}` finds lines of the {function} function, which is not named beside it"));
            }
        };
        if let Some(word) = compared(query, "event = \"") {
            seen += 1;
            writers.get(word).into_iter().flatten().for_each(|function| written_by(function));
            match EVENTS.iter().find(|event| event.word == word) {
                None => faults.push(format!("`{query}` looks for the event {word:?}, which nothing writes")),
                Some(event) => {
                    if has_bare_by(query) {
                        faults.push(format!("`{query}` uses \"by\" as a field: that needs backquotes"));
                    }
                    for name in names(query) {
                        if event.fields.iter().all(|field| field.name != name) {
                            faults.push(format!("`{query}` uses {name:?}, which the event {word} does not have"));
                        }
                    }
                }
            }
        } else if let Some(text) = compared(query, "message like \"") {
            seen += 1;
            written_by(LINES_WRITER);
            // A field of the line stands alone in its call.
            let known = |name: &str| LINES.lines().any(|line| line.trim() == format!("{name},"));
            if text.len() < 8 || !LINES.contains(text) {
                faults.push(format!("`{query}` looks for the words {text:?}, which nothing writes"));
            }
            for name in names(query).into_iter().filter(|name| !known(name)) {
                faults.push(format!("`{query}` uses {name:?}, which the line does not have"));
            }
        }
    }
    if seen == 0 {
        faults.push("there is no query at all".to_owned());
    }
    faults
}
