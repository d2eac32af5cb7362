//! The runbook's queries find something: each names an event that the code writes, and fields that the event has.

use crate::Faults;
use platform::events::EVENTS;

/// Words of CloudWatch Logs Insights, and what every line has.
const WORDS: [&str; 14] = [
    "filter", "event", "and", "or", "in", "like", "stats", "count", "latest", "by", "sort", "desc", "limit", "display",
];

/// The names that a query uses, without texts, numbers and what the language has.
fn names(query: &str) -> Vec<String> {
    let unquoted: String = query.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let words = unquoted.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '@');
    let names = words.filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()) && !WORDS.contains(word));
    names.map(str::to_owned).collect()
}

/// What a document's queries look for in vain.
#[must_use]
pub fn faults(document: &str) -> Faults {
    let mut faults = Faults::new();
    let mut seen = 0;
    for quoted in document.split('`').skip(1).step_by(2).filter(|quoted| quoted.contains("event = \"")) {
        seen += 1;
        let word = quoted.split("event = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        match EVENTS.iter().find(|event| event.word == word) {
            None => faults.push(format!("`{quoted}` looks for the event {word:?}, which nothing writes")),
            Some(event) => {
                for name in names(quoted) {
                    if event.fields.iter().all(|field| field.name != name) {
                        faults.push(format!("`{quoted}` uses {name:?}, which the event {word} does not have"));
                    }
                }
            }
        }
    }
    if seen == 0 {
        faults.push("there is no query at all".to_owned());
    }
    faults
}
