//! Every request as a row of a table, refused ones too.

use super::{
    content::{Content, data},
    text::clipped,
};
use crate::ledger::Entry;
use platform::rfc3339_ms;
use std::fmt::Write;

/// Rows shown; the rest is in the ledger.
pub(super) const ROWS_MAX: usize = 200;
/// Characters shown in a cell: what a provider takes is shorter, so only refused ones are cut.
const CELL_MAX_CHARS: usize = 5_200;

pub(super) const HEAD: &str = "<tr><th scope=\"col\">#<th scope=\"col\">At<th scope=\"col\">Provider<th scope=\"col\">Device\
    <th scope=\"col\">Title<th scope=\"col\">Text<th scope=\"col\">Data<th scope=\"col\">Outcome</tr>";

/// The rows, in the order of the entries, with nothing between them.
pub(super) fn rows<'a>(newest_first: impl Iterator<Item = &'a Entry>) -> String {
    let rows: String = newest_first.take(ROWS_MAX).map(row).collect();
    if rows.is_empty() { "<tr><td colspan=\"8\">Nothing yet.</td></tr>".to_owned() } else { rows }
}

fn row(entry: &Entry) -> String {
    let outcome = match (entry.accepted, entry.status) {
        (true, Some(status)) => format!("accepted, answered {status}"),
        (true, None) => "accepted, no answer".to_owned(),
        (false, Some(status)) => format!("refused, answered {status}"),
        (false, None) => "not accepted, no answer".to_owned(),
    };
    let content = Content::of(entry);
    let cells = [
        entry.seq.to_string().into(),
        rfc3339_ms(entry.at).into(),
        entry.provider.into(),
        entry.token.as_deref().unwrap_or_default().into(),
        content.title,
        content.body,
        data(entry).into(),
        outcome.into(),
    ];
    let mut row = String::from(if entry.accepted { "<tr>" } else { "<tr class=\"refused\">" });
    for cell in cells {
        // Writing to a string cannot fail.
        let _ = write!(row, "<td><div dir=\"auto\">{}</div></td>", clipped(&cell, CELL_MAX_CHARS));
    }
    row.push_str("</tr>");
    row
}
