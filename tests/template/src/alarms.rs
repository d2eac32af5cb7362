//! The alarms: each names a section of docs/RUNBOOK.md that says how to look, what to do and what never to do; each
//! watches a metric that somebody writes; and each of the runbook's sections has an alarm.

use crate::{Faults, equal, read::of_type, resolve::resolve, yaml::root};
use platform::metrics::{METRICS, NAMESPACE};
use serde_json::Value;
use std::{collections::BTreeSet, fs};

/// Where the runbook is.
pub const RUNBOOK: &str = "docs/RUNBOOK.md";
/// What every section says, in this order.
const PARTS: [&str; 3] = ["**Look.**", "**Do.**", "**Never.**"];

/// The runbook's text.
///
/// # Errors
/// When it cannot be read.
pub fn runbook() -> std::io::Result<String> {
    fs::read_to_string(root().join(RUNBOOK))
}

/// A heading's anchor, as Markdown renderers make it.
fn anchor(heading: &str) -> String {
    heading.trim().to_lowercase().replace(' ', "-")
}

/// What is wrong with the alarms.
#[must_use]
pub fn faults(template: &Value, alarms: &Value, runbook: &str) -> Faults {
    let mut faults = Faults::new();
    let sections: Vec<(String, &str)> = runbook
        .split("\n## ")
        .skip(1)
        .filter_map(|section| section.split_once('\n'))
        .map(|(heading, text)| (anchor(heading), text))
        .collect();
    for (section, text) in &sections {
        let places: Vec<Option<usize>> = PARTS.iter().map(|part| text.find(part)).collect();
        let there = places.iter().all(Option::is_some) && places.is_sorted();
        equal(&mut faults, &format!("that section {section} says {PARTS:?}"), there, true);
    }
    let known: BTreeSet<&str> = sections.iter().map(|(section, _)| section.as_str()).collect();
    let mut named = BTreeSet::new();
    for (name, alarm) in of_type(alarms, "AWS::CloudWatch::Alarm") {
        let alarm = &alarm["Properties"];
        let description = alarm["AlarmDescription"].as_str().unwrap_or_default();
        match description.split_once(&format!(" {RUNBOOK}#")) {
            Some((meaning, section)) if meaning.len() > 30 && known.contains(section) => {
                named.insert(section);
            }
            _ => faults.push(format!("{name} says {description:?}, which names no section of {RUNBOOK}")),
        }
        // Which of them tell that they are over is the table's.
        let actions = &alarm["AlarmActions"];
        let told = actions["Fn::If"][0] == "HasTopic" && actions.to_string().contains("AlarmTopicArn");
        equal(&mut faults, &format!("that AlarmActions of {name} go to the topic"), told, true);
        for metric in metrics(alarm) {
            if metric["Namespace"] == NAMESPACE {
                ours(name, metric, &mut faults);
            }
        }
    }
    for section in known.difference(&named) {
        faults.push(format!("section {section} of {RUNBOOK} has no alarm"));
    }
    parameters(&resolve(template, &[].into()), alarms, &mut faults);
    faults
}

/// The metrics that an alarm watches.
fn metrics(alarm: &Value) -> Vec<&Value> {
    match alarm["Metrics"].as_array() {
        Some(metrics) => metrics.iter().map(|m| &m["MetricStat"]["Metric"]).filter(|m| !m.is_null()).collect(),
        None => vec![alarm],
    }
}

/// A metric of ours must be one that the code writes, with the dimensions that it writes.
fn ours(alarm: &str, metric: &Value, faults: &mut Faults) {
    let name = metric["MetricName"].as_str().unwrap_or_default();
    let Some(row) = METRICS.iter().find(|row| row.name == name) else {
        return faults.push(format!("{alarm} watches {name}, which nothing writes"));
    };
    let dimensions = metric["Dimensions"].as_array().into_iter().flatten();
    let names: Vec<&str> = dimensions.filter_map(|dimension| dimension["Name"].as_str()).collect();
    equal(faults, &format!("the dimensions of {name} in {alarm}"), names, row.dimensions.to_vec());
}

/// The nested stack gets every parameter, from a resource of that name where there is one.
fn parameters(template: &Value, alarms: &Value, faults: &mut Faults) {
    let declared: BTreeSet<&str> =
        alarms["Parameters"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let stacks: Vec<(&str, &Value)> = of_type(template, "AWS::Serverless::Application").collect();
    let [(_, stack)] = stacks.as_slice() else {
        return faults.push(format!("there are {} nested stacks and must be one", stacks.len()));
    };
    let given = stack["Properties"]["Parameters"].as_object();
    let names: BTreeSet<&str> = given.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    equal(faults, "the set of parameters of the alarms", names, declared);
    for (name, value) in given.into_iter().flatten() {
        let resource = &template["Resources"][name];
        if !resource.is_null() {
            equal(faults, &format!("the alarms' {name}"), crate::read::named(value), Some(name.as_str()));
        }
    }
}
