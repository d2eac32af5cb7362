//! README's section "Deploy": its sums are sums, and its list of actions is what the admin command's binary can do.

use crate::{Faults, equal, read::of_type, yaml::root};
use anyhow::Context;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// What a metric that an alarm looks at costs in a month, in cents, as README has it.
const ALARM_CENTS: usize = 10;
/// How far a stated sum may be from the sum of its rows, in cents: it is rounded to ten.
const ROUNDED_CENTS: u64 = 5;
/// Where the doctor's own requests are made, of which no SDK's symbol tells.
const LAMBDA: &str = "infra/admin/src/doctor/lambda.rs";
/// Actions of the list that are asked for on no resource, and must be allowed on all (Service Authorization Reference, AWS
/// Lambda).
const ON_ALL: [&str; 1] = ["lambda:ListEventSourceMappings"];
/// The head of the table of actions.
const ACTIONS: &str = "| service | actions of `sendonce` |";

/// README's text.
///
/// # Errors
/// When it cannot be read.
pub fn readme() -> anyhow::Result<String> {
    fs::read_to_string(root().join("README.md")).context("README.md cannot be read")
}

/// "$1.25" in cents.
fn cents(text: &str) -> Option<u64> {
    let (dollars, cents) = text.trim().strip_prefix('$')?.split_once('.')?;
    Some(dollars.parse::<u64>().ok()? * 100 + cents.get(..2)?.parse::<u64>().ok()?)
}

/// "$1.25", or "$0.60 to $1.50".
fn range(text: &str) -> Option<(u64, u64)> {
    let (least, most) = text.split_once(" to ").unwrap_or((text, text));
    Some((cents(least)?, cents(most)?))
}

/// Where what a million sends cost, and an idle stack's alarms, is not the sum of its parts.
#[must_use]
pub fn costs(readme: &str, alarms: &Value) -> Faults {
    let mut faults = Faults::new();
    let section = readme.split("### What it costs").nth(1).unwrap_or_default();
    let section = section.split("\n### ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| range(line.strip_suffix('|')?.rsplit('|').next()?.trim()));
    let (rows, least, most) = rows.fold((0, 0, 0), |(rows, least, most), row| (rows + 1, least + row.0, most + row.1));
    equal(&mut faults, "that the costs have more than ten rows", rows > 10, true);
    let stated = section.split("Together ").nth(1).and_then(|text| range(text.split(". ").next()?));
    let near = stated.is_some_and(|(a, b)| a.abs_diff(least) <= ROUNDED_CENTS && b.abs_diff(most) <= ROUNDED_CENTS);
    if !near {
        faults.push(format!("the rows make {least} to {most} cents together, not what is said: {stated:?}"));
    }
    let watched = of_type(alarms, "AWS::CloudWatch::Alarm").map(|(_, alarm)| {
        let metrics = alarm["Properties"]["Metrics"].as_array();
        metrics.map_or(1, |metrics| metrics.iter().filter(|metric| !metric["MetricStat"].is_null()).count())
    });
    let watched: usize = watched.sum();
    let price = watched * ALARM_CENTS;
    let said = format!("each of the {watched} metrics that they look at, ${}.{:02})", price / 100, price % 100);
    equal(&mut faults, &format!("that the costs say {said:?}"), section.contains(&said), true);
    faults
}

/// The action of an operation. A batch has none of its own (Amazon SQS Developer Guide, "Amazon SQS API permissions").
fn action(service: &str, operation: &str) -> String {
    let name = if service == "sqs" { operation.trim_end_matches("Batch") } else { operation };
    format!("{service}:{name}")
}

/// Where README's list differs from what the admin command can ask of AWS.
///
/// # Errors
/// When the sources cannot be read.
pub fn actions(readme: &str, operations: &BTreeSet<(String, String)>) -> anyhow::Result<Faults> {
    let mut needed = BTreeSet::new();
    // The SDK's chain of credentials has services of its own.
    let ours = operations.iter().filter(|(service, _)| ["dynamodb", "sqs", "secretsmanager"].contains(&&**service));
    needed.extend(ours.map(|(service, operation)| action(service, operation)));
    let source = fs::read_to_string(root().join(LAMBDA)).with_context(|| format!("{LAMBDA} cannot be read"))?;
    let asked = source.split("self.get(\"").skip(1).filter_map(|rest| rest.split('"').next());
    needed.extend(asked.map(|operation| action("lambda", operation)));
    let table = readme.split(ACTIONS).nth(1).unwrap_or_default().trim_start();
    let rows = table.lines().skip(1).map_while(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    let rows: BTreeMap<&str, &str> = rows.collect();
    let listed =
        rows.iter().flat_map(|(service, names)| names.split(", ").map(move |name| format!("{service}:{name}")));
    let mut faults = Faults::new();
    for action in ON_ALL.into_iter().filter(|action| needed.contains(*action)) {
        if !readme.lines().any(|line| line.contains(&format!("`{action}`")) && line.contains("on `*`")) {
            faults.push(format!("README does not say that {action} must be allowed on `*`"));
        }
    }
    equal(&mut faults, "the list of actions of `sendonce`", listed.collect::<BTreeSet<_>>(), needed);
    Ok(faults)
}
