//! docs/PUSH.md is true: its tables of answers are the code's.

use push::{
    answers::{Also, Row},
    apns, fcm,
};

const REFERENCE: &str = include_str!("../../docs/PUSH.md");

fn written(row: &Row) -> String {
    let (first, last) = (*row.status.start(), *row.status.end());
    let status = match (first, last) {
        (0, u16::MAX) => "any other".to_owned(),
        _ if first == last => first.to_string(),
        _ => format!("{first}–{last}"),
    };
    let mut reasons = row.reasons.to_vec();
    if row.others {
        reasons.push(if reasons.is_empty() { "any" } else { "any other" });
    }
    let besides = match row.also {
        Also::Nothing => String::new(),
        Also::WaitMs(wait_ms) => format!("without `Retry-After` {} s", wait_ms / 1_000),
        Also::RenewToken => "a new token first".to_owned(),
        Also::Reconnect => "a new connection".to_owned(),
    };
    format!("| {status} | {} | `{}` | {besides} | {} |", reasons.join(", "), row.class.as_str(), row.source)
}

#[test]
fn the_tables_of_answers_are_the_codes() {
    for (title, rows) in [("### APNs", apns::ANSWERS), ("### FCM", fcm::ANSWERS)] {
        let section = REFERENCE.split_once(title).unwrap_or_else(|| panic!("docs/PUSH.md has no {title}")).1;
        let table: Vec<&str> = section
            .lines()
            .skip_while(|line| !line.starts_with('|'))
            .skip(2)
            .take_while(|l| l.starts_with('|'))
            .collect();
        let rows: Vec<String> = rows.iter().map(written).collect();
        assert_eq!(table, rows, "docs/PUSH.md, {title}: write the rows as the code has them\n{}", rows.join("\n"));
    }
}
